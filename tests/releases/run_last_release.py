"""Runs the code of the last release on what the current code stores and sends, and prints a report as JSON.

It runs in the folder of the recorded release, whose modules it imports. The input is a JSON object: `recording`, the
path of the current recording of stored forms, and `environments`, settings by a name of the environment.
"""

import json
import logging
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from app import app
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core.settings import SettingsError, parse_settings, settings_model
from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json
from chalicelib.kernel.storage.record_types import all_record_types, find_record_type, record_from_item
from chalicelib.kernel.work.tasks import all_tasks
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer
from tests.harness.workers import Workers
from tests.stored_forms import forms
from tests.stored_forms.case_runner import create_people, open_stage, send_message
from tests.stored_forms.states import State, apply_difference

Json = dict[str, Any]

_WITHOUT_STORED_DATA: Final = (*forms.DOCUMENTS, *forms.DESCRIBED)
"""Operations that return documentation of the release itself."""


def report_settings(environments: Mapping[str, Mapping[str, str]]) -> Json:
    """Return the names of the settings, and for each environment why it is rejected, or None."""
    return {
        "names": sorted(settings_model().model_fields),
        "rejections": {name: _rejection(values) for name, values in environments.items()},
    }


def _rejection(environment: Mapping[str, str]) -> str | None:
    try:
        parse_settings({name.lower(): value for name, value in environment.items()})
    except SettingsError as error:
        return str(error)
    return None


def report_items(recording: forms.Recording) -> Json:
    """Return the number of items of each known kind, and why items cannot be read."""
    counts, failures = dict[str, int](), dict[str, str]()
    for recorded in recording.items():
        item = item_from_dynamodb_json(recorded)
        if "kind" not in item or find_record_type(item["kind"]) is None:
            continue
        counts[item["kind"]] = counts.get(item["kind"], 0) + 1
        try:
            assert dict(record_from_item(item).owned_item_attribute_values)
        except Exception:  # noqa: BLE001 - whatever goes wrong is the finding
            failures.setdefault(item["kind"], traceback.format_exc(limit=-1))
    return {"counts": counts, "failures": failures}


class Replay:
    """Runs cases of the current recording on the service of the last release."""

    def __init__(self, recording: forms.Recording, people: Mapping[str, Any]) -> None:
        self._recording = recording
        self._people = people
        self._states = dict[tuple[str, ...], State]()
        self._api, self._workers = ApiClient(app), Workers(app)

    def run(self, case: forms.Case) -> Json:
        """Run a case, and return its outcome, or the error that ended it."""
        try:
            return self._run(case)
        except Exception:  # noqa: BLE001 - whatever goes wrong is the finding
            return {"error": traceback.format_exc(limit=-2)}

    def _run(self, case: forms.Case) -> Json:
        """Run a case, and return the status and body of the response, the failed messages and the written kinds."""
        with open_stage(self._api, self._workers, self._people, case.name, case.moment) as stage:
            self._state((*case.before,)).restore()
            before = State.capture()
            if case.trigger.kind == "request":
                status, _, body = stage.send_request(case.about, case.trigger)
                failed = list[str]()
            else:
                status, body = None, None
                send_message(case.trigger)
                failed = self._workers.try_deliver().failed_bodies
            written = before.difference_to(State.capture()).items
        kinds = sorted({item["kind"]["S"] for item in written if "kind" in item})
        return {"status": status, "body": body, "failed": failed, "kinds": kinds}

    def _state(self, names: tuple[str, ...]) -> State:
        if names not in self._states:
            if names:
                self._state(names[:-1]).restore()
                apply_difference(self._recording.difference(names[-1]))
            else:
                memory_aws.reset()
                apply_difference(self._recording.world)
            self._states[names] = State.capture()
        return self._states[names]


def report_cases(recording: forms.Recording) -> Json:
    """Return the outcome of each read operation and of each message, by the name of the case."""
    reads = {operation.id for operation in all_operations() if operation.method == "GET"}.difference(
        _WITHOUT_STORED_DATA
    )
    chosen = [
        case
        for case in recording.cases
        if case.trigger.kind == "message" or (case.trigger.kind == "request" and case.about in reads)
    ]
    with TemporaryDirectory() as folder, memory_aws.aws_in_memory(), pytest.MonkeyPatch.context() as patched:
        issuer = Issuer(Path(folder))
        for name, value in issuer.settings().items():
            patched.setenv(name, value)
        replay = Replay(recording, create_people(issuer, recording.people))
        return {case.name: replay.run(case) for case in chosen}


def main() -> None:
    given = json.load(sys.stdin)
    logging.disable()
    forms.FILE = Path(given["recording"])  # type: ignore[misc]
    recording = forms.load()
    report = {
        "version": VERSION,
        "kinds": sorted(record_type.kind for record_type in all_record_types()),
        "settings": report_settings(given["environments"]),
        "items": report_items(recording),
        "cases": report_cases(recording),
        "tasks": sorted(task.name for task in all_tasks()),
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    import tests.conftest  # noqa: F401 - This import sets the settings of tests.

    main()
