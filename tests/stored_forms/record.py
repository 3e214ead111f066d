"""Records the stored forms with the current code: `python -m tests.stored_forms.record`."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.record_types import all_record_types
from tests.catalogue.examples.registry import add_feature_neighbours, get_example, get_feature
from tests.catalogue.tenant_fixture import People, TenantFixture
from tests.faults import task_examples
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.signed_links import LinkHolder
from tests.harness.workers import Workers
from tests.stored_forms.case_runner import PEOPLE, create_people, open_stage, queued_messages
from tests.stored_forms.forms import FILE, Case, Outcome, Recording, Trigger, save
from tests.stored_forms.states import Difference, Json, State, apply_difference

_CREATED_AT: Final = "2026-12-01T09:00:00.000Z"
_PREPARED_AT: Final = "2026-12-01T09:05:00.000Z"
_RUN_AT: Final = "2026-12-01T09:06:00.000Z"
_REPEATED_AT: Final = "2026-12-01T09:07:00.000Z"
_NEIGHBOUR_COUNT: Final = 2
_SCHEDULES: Final = {task_examples.run_sweep: "sweep", task_examples.run_anchoring_schedule: "anchor"}


@dataclass
class Recorder:
    api: ApiClient
    workers: Workers
    people: dict[str, Person]
    tenant: TenantFixture
    initial_state: State
    prepared: dict[str, Difference] = field(default_factory=dict)
    crowds: dict[str, State] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def record(self) -> Recording:
        """Record all operations, tasks, messages and migrations, and return the recording."""
        for operation in all_operations():
            self._record_operation(operation)
        for name in task_examples.list_task_names():
            self._record_task(name)
        self._record_queued_messages()
        self._record_migrations()
        return Recording(
            people={role: [*known] for role, known in PEOPLE.items()},
            operations=[operation.id for operation in all_operations()],
            tasks=task_examples.list_task_names(),
            world=State({}, {}).difference_to(self.initial_state),
            prepared=self.prepared,
            cases=self.cases,
        )

    def _record_operation(self, operation: Operation) -> None:
        """Record the example of an operation, with an idempotent repetition of a POST and the pages of a list."""
        name = operation.id
        trigger, state, before = self._build_request(operation)
        if operation.method == "POST" and operation.emits_events:
            trigger = replace(trigger, headers={**trigger.headers, "Idempotency-Key": f"key of {name}"})
        outcome, done = self._record_case(name, name, state, before, trigger, _RUN_AT)
        assert outcome.status == operation.success, f"{name}: {outcome.status} {outcome.body}"
        if operation.method == "POST" and operation.emits_events:
            self._record_case(f"{name}:repeated", name, done, [*before, name], trigger, _REPEATED_AT)
        if operation.is_list and operation.method == "GET":
            self._record_pages(operation)
        if name == "verify_audit_integrity":
            self._record_further_pages(operation, outcome)
        if name == "list_api_keys":
            by_key = {"Authorization": f"Bearer {self.tenant.api_key.credential}"}
            trigger = replace(trigger, role=None, headers=by_key)
            self._record_case(f"{name}:by_key", name, state, before, trigger, _RUN_AT)

    def _record_pages(self, operation: Operation) -> None:
        """Record two consecutive pages of a list."""
        name, crowd = operation.id, f"crowd of {get_feature(operation)}"
        if crowd not in self.crowds:  # Another call would create neighbours with other ids.
            with open_stage(self.api, self.workers, self.people, crowd, _PREPARED_AT):
                self.initial_state.restore()
                add_feature_neighbours(get_feature(operation), self.tenant, _NEIGHBOUR_COUNT)
                self.crowds[crowd] = State.capture()
            self.prepared[crowd] = self.initial_state.difference_to(self.crowds[crowd])
        state_with_neighbours = self.crowds[crowd]
        trigger, state, before = self._build_request(operation, state_with_neighbours, [crowd], limit=1)
        page, _ = self._record_case(f"{name}:page", name, state, before, trigger, _RUN_AT)
        cursor = json.loads(page.body or "")["nextCursor"]
        if cursor is not None:
            options = {"limit": 1, "cursor": cursor}
            trigger, state, before = self._build_request(operation, state_with_neighbours, [crowd], **options)
            self._record_case(f"{name}:next_page", name, state, before, trigger, _REPEATED_AT)

    def _record_further_pages(self, operation: Operation, first_page: Outcome) -> None:
        """Record the further pages of the verification of a log."""
        number, outcome = 1, first_page
        while cursor := json.loads(outcome.body or "")["nextCursor"]:
            number += 1
            trigger, state, before = self._build_request(operation, cursor=cursor)
            name = f"{operation.id}:page_{number}"
            outcome, _ = self._record_case(name, operation.id, state, before, trigger, _REPEATED_AT)
        assert number > 1

    def _build_request(
        self, operation: Operation, state: State | None = None, before: list[str] | None = None, **query: Any
    ) -> tuple[Trigger, State, list[str]]:
        """Return the request of an operation's example, its initial state, and the differences that lead to it."""
        state, before = state or self.initial_state, before or []
        label = f"given for {operation.id}"
        with open_stage(self.api, self.workers, self.people, label, _PREPARED_AT):
            state.restore()
            example = get_example(operation, self.tenant)
            prepared = State.capture()
            caller = example.only_caller or self.tenant.get_least_privileged_caller(operation)
        difference = state.difference_to(prepared)
        if difference != Difference():
            assert self.prepared.setdefault(label, difference) == difference
            before = [*before, label]
        roles = [role for role, person in self.people.items() if person is caller]
        credential = caller.headers if isinstance(caller, LinkHolder) else {}
        assert len(roles) == (caller is not None and not credential)
        request_query = {**example.query, **query}
        url = example.get_path(operation) + (f"?{urlencode(request_query, doseq=True)}" if request_query else "")
        body = None if example.body is None else json.dumps(example.body, ensure_ascii=False)
        content_type = {"Content-Type": "application/json"} if body is not None else {}
        headers = {**example.headers, **content_type, **credential}
        trigger = Trigger("request", body, operation.method, url, roles[0] if roles else None, headers)
        return trigger, prepared, before

    def _record_task(self, name: str) -> None:
        """Record the message of a task, and the schedule that finds the task without a message."""
        example, label = task_examples.EXAMPLES[name], f"given for {name}"
        with open_stage(self.api, self.workers, self.people, label, _PREPARED_AT):
            self.initial_state.restore()
            key = example.prepare(self.tenant)
            state = State.capture()
        self.prepared[label] = self.initial_state.difference_to(state)
        run_at = timestamp(timestamp_ms(_RUN_AT) + round(timedelta(**example.due_after).total_seconds() * 1000))
        with open_stage(self.api, self.workers, self.people, name, run_at):
            state.restore()
            task_examples.enqueue(name, key)
            (message,) = queued_messages()
        self._record_case(f"task:{name}", name, state, [label], _to_trigger(message), run_at)
        if example.run_schedule in _SCHEDULES:
            tick = Trigger("schedule", _SCHEDULES[example.run_schedule])
            self._record_case(f"tick:{name}", name, state, [label], tick, run_at)

    def _record_queued_messages(self) -> None:
        """Record the messages that requests queued, one for each combination of tasks."""
        known = set()
        for case in [case for case in self.cases if case.trigger.kind == "request"]:
            for message in case.outcome.messages:
                text = json.loads(message["text"])
                message_type = (message["queue"], text.get("task"), *(then["task"] for then in text.get("then", [])))
                if message_type not in known:
                    known.add(message_type)
                    before, trigger = [*case.before, case.name], _to_trigger(message)
                    state = self._restore_state(before)
                    self._record_case(f"message:{case.name}", case.about, state, before, trigger, _REPEATED_AT)

    def _record_migrations(self) -> None:
        """Record the migrations, and a second run that applies none."""
        trigger = Trigger("function", "migrate")
        _, done = self._record_case("migrations", "migrate", self.initial_state, [], trigger, _RUN_AT)
        self._record_case("migrations:repeated", "migrate", done, ["migrations"], trigger, _REPEATED_AT)

    def _record_case(
        self, name: str, about: str, state: State, before: list[str], trigger: Trigger, run_at: str
    ) -> tuple[Outcome, State]:
        with open_stage(self.api, self.workers, self.people, name, run_at) as stage:
            state.restore()
            outcome = stage.run(about, trigger)
            self.cases.append(Case(name, about, before, run_at, trigger, outcome))
            return outcome, State.capture()

    def _restore_state(self, before: list[str]) -> State:
        self.initial_state.restore()
        for name in before:
            written = [case.outcome.written for case in self.cases if case.name == name]
            apply_difference(self.prepared.get(name) or written[0])
        return State.capture()


def _to_trigger(message: Json) -> Trigger:
    fields = {name: message[name] for name in ("text", "queue", "group", "deduplication")}
    return Trigger("message", **fields)


@contextmanager
def _recorder() -> Iterator[Recorder]:
    """Create the tenant at a fixed time with fixed randomness."""
    import_module("tests.conftest")  # This import sets the settings of tests.
    from app import app

    with TemporaryDirectory() as folder, memory_aws.aws_in_memory(), pytest.MonkeyPatch.context() as patched:
        issuer = Issuer(Path(folder))
        for name, value in issuer.settings().items():
            patched.setenv(name, value)
        people = create_people(issuer, PEOPLE)
        api, workers = ApiClient(app), Workers(app)
        all_operations()
        all_record_types()
        task_examples.list_task_names()
        with open_stage(api, workers, people, "tenant", _CREATED_AT):
            memory_aws.reset()
            tenant = TenantFixture.create(api, workers, People(**people, issuer=issuer))
            initial_state = State.capture()
        yield Recorder(api, workers, people, tenant, initial_state)


def main() -> None:
    logging.disable()
    with _recorder() as recorder:
        recording = recorder.record()
    size = save(recording)
    missing = sorted({kind.kind for kind in all_record_types()} - set(recording.kinds()))
    sys.stdout.write(f"{FILE.name}: {len(recording.cases)} cases, {size} bytes; no record of {missing or 'no kind'}\n")


if __name__ == "__main__":
    main()
