"""The last release and the current code understand each other's settings, records and messages.

During a deployment, code of both runs side by side, and a rollback runs the last release on what the current code
stored. Chalice updates the code of a function before its environment variables, so new code also starts with former
settings. The recording of `tests/stored_forms` contains what the current code stores and sends.
"""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from chalicelib.kernel.core.settings import SettingsError, parse_settings
from chalicelib.kernel.core.version import VERSION
from infrastructure.bootstrap import placeholder_environment
from local.paths import ROOT
from tests.releases.record import FILE, extract
from tests.stored_forms import forms

pytestmark = [pytest.mark.xdist_group("last_release"), pytest.mark.no_cover]

MAX_BYTES = 1_500_000
RECORDED = forms.load()
DIFFERENT_READS: dict[str, str] = {
    "verify_audit_integrity": "A cursor also says whether the newest anchor was rewritten. Either release reads both.",
    "get_migrations_health": "The last release does not know the migrations that were added since.",
    "get_migrations_status": "The last release does not know the migrations that were added since.",
}
"""Cases of read operations to which the last release responds differently, with the reason why that does no harm."""

DIFFERENT_WORK: dict[str, str] = {}
"""Cases of messages for which the last release writes records of other kinds, with the reason why that is harmless."""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The folder with the code of the last release."""
    return extract(tmp_path_factory.mktemp("last_release"))


@pytest.fixture(scope="module")
def report(release):
    """What the last release makes of the recording of the current code, and of its settings."""
    return run_release(release, forms.FILE)


def run_release(folder, recording):
    """Run the last release on a recording, and return its report."""
    given = {"recording": str(recording), "environments": {"current": placeholder_environment()}}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "COV_"))}
    done = subprocess.run(
        [sys.executable, "-P", ROOT / "tests/releases/run_last_release.py"],
        input=json.dumps(given),
        cwd=folder,
        env=inherited | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cases(kind, report):
    """Return the cases of a kind of trigger that the last release ran, with their outcomes."""
    return {
        name: (RECORDED.by_name[name], outcome)
        for name, outcome in report["cases"].items()
        if RECORDED.by_name[name].trigger.kind == kind
    }


def tasks_of(case):
    """Return the tasks that the message of a case names."""
    message = json.loads(case.trigger.text)
    return {message["task"], *(then["task"] for then in message.get("then", []))} if "task" in message else set()


def includes(current, former):
    """Return whether a response contains all of another one. Fields may have been added to its objects."""
    if isinstance(current, dict) and isinstance(former, dict):
        return all(name in current and includes(current[name], value) for name, value in former.items())
    if isinstance(current, list) and isinstance(former, list):
        return len(current) == len(former) and all(map(includes, current, former))
    return current == former


def content(body):
    """Return a body as JSON, if it is JSON."""
    try:
        return json.loads(body or "null")
    except ValueError:
        return body


def former_environment(report):
    """Return the settings of a stage as they are when new code starts with them: only those of the last release."""
    return {
        name: value for name, value in placeholder_environment().items() if name.lower() in report["settings"]["names"]
    }


def test_the_record_is_of_this_release_or_of_an_earlier_one(report):
    assert tuple(map(int, report["version"].split("."))) <= tuple(map(int, VERSION.split(".")))
    assert FILE.stat().st_size < MAX_BYTES


def test_new_code_starts_with_the_settings_of_the_last_release(report):
    parse_settings({name.lower(): value for name, value in former_environment(report).items()})


def test_the_last_release_starts_with_the_current_settings(report):
    assert report["settings"]["rejections"] == {"current": None}


def test_a_missing_setting_of_the_last_release_would_be_reported(report):
    environment = former_environment(report)
    assert {"SEAL_KEY", "JOBS_QUEUE_URL", "PLATFORMS_DOMAIN"} <= environment.keys()
    del environment["SEAL_KEY"]
    with pytest.raises(SettingsError, match="SEAL_KEY"):
        parse_settings({name.lower(): value for name, value in environment.items()})


def test_the_last_release_reads_every_kind_of_record_that_it_knows(report):
    assert report["items"]["failures"] == {}
    assert report["items"]["counts"].keys() == set(report["kinds"]) & set(RECORDED.kinds())
    assert len(report["items"]["counts"]) > 50


def test_the_last_release_returns_what_the_current_code_has_stored(report):
    reads = cases("request", report)
    assert len(reads) > 80
    different = {
        name: outcome
        for name, (case, outcome) in reads.items()
        if outcome.get("status") != case.outcome.status
        or not includes(content(case.outcome.body), content(outcome.get("body")))
    }
    assert different.keys() == DIFFERENT_READS.keys(), different


def test_the_last_release_processes_the_messages_of_the_current_code(report):
    known = {
        name: (case, outcome)
        for name, (case, outcome) in cases("message", report).items()
        if tasks_of(case) <= set(report["tasks"])
    }
    assert len(known) > 40
    assert {name: outcome for name, (_, outcome) in known.items() if outcome.get("failed") != []} == {}
    different = {
        name: (case.outcome.written, outcome["kinds"])
        for name, (case, outcome) in known.items()
        if not written_kinds(case, report) <= set(outcome["kinds"])
    }
    assert different.keys() == DIFFERENT_WORK.keys(), different


def written_kinds(case, report):
    """Return the kinds of records that the current code writes for a case, of those that the last release knows."""
    return {item["kind"]["S"] for item in case.outcome.written.items if "kind" in item} & set(report["kinds"])


def test_the_last_release_leaves_messages_of_new_tasks_in_their_queue(report):
    unknown = {
        name: outcome
        for name, (case, outcome) in cases("message", report).items()
        if not tasks_of(case) <= set(report["tasks"])
    }
    assert {name: outcome for name, outcome in unknown.items() if not outcome.get("failed")} == {}


def test_items_messages_and_responses_that_the_last_release_cannot_handle_are_reported(release, tmp_path):
    webhook = next(item for item in RECORDED.world.items if item.get("kind") == {"S": "organization.webhook"})
    newer = {**webhook, "shape": {"N": "99"}}
    message = next(case for case in RECORDED.cases if case.name == "task:pages.turn")
    renamed = json.dumps(json.loads(message.trigger.text or "") | {"task": "pages.turned"})
    changed = replace(
        RECORDED,
        world=replace(RECORDED.world, items=[newer if item is webhook else item for item in RECORDED.world.items]),
        cases=[RECORDED.by_name["get_webhook"], replace(message, trigger=replace(message.trigger, text=renamed))],
    )
    file = tmp_path / "recording.json.gz"
    file.write_bytes(gzip.compress(json.dumps(asdict(changed)).encode()))
    found = run_release(release, file)
    assert found["items"]["failures"].keys() == {"organization.webhook"}
    assert found["cases"]["get_webhook"]["status"] == 503
    assert found["cases"]["task:pages.turn"]["failed"] == [renamed]


def test_releases_describe_how_the_record_is_renewed():
    guide = (ROOT / "docs/operations/releases.md").read_text()
    assert "python -m tests.releases.record" in guide
    assert Path(FILE).relative_to(ROOT).as_posix() in guide
