"""Records the stored forms with the code as it stands: `python -m tests.stored_forms.record`."""

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

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.record_types import all_record_types
from tests.catalogue.examples.registry import crowd_of, example_of, feature_of
from tests.catalogue.tenant_fixture import People, World
from tests.faults import tasks
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.workers import Workers
from tests.stored_forms.forms import FILE, Case, Outcome, Recording, Trigger, save
from tests.stored_forms.running import PEOPLE, messages, people_of, staged
from tests.stored_forms.states import Difference, Json, State, apply

_MADE: Final = "2026-12-01T09:00:00.000Z"
_PREPARED: Final = "2026-12-01T09:05:00.000Z"
_DONE: Final = "2026-12-01T09:06:00.000Z"
_AGAIN: Final = "2026-12-01T09:07:00.000Z"
_NEIGHBOURS: Final = 2
_TICKS: Final = {tasks.sweeping: "sweep", tasks.anchoring: "anchor"}


@dataclass
class Recorder:
    """Records one case after the other."""

    api: Api
    workers: Workers
    people: dict[str, Person]
    world: World
    made: State
    prepared: dict[str, Difference] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)

    def record(self) -> Recording:
        """Record a case of everything, and return the recording."""
        for operation in operations():
            self._operation(operation)
        for name in tasks.names():
            self._task(name)
        self._queued_messages()
        self._migrations()
        return Recording(
            people={role: [*known] for role, known in PEOPLE.items()},
            operations=[operation.id for operation in operations()],
            tasks=tasks.names(),
            world=State({}, {}).until(self.made),
            prepared=self.prepared,
            cases=self.cases,
        )

    def _operation(self, operation: Operation) -> None:
        """Record the operation's example; with a key that is repeated if it is a POST, page by page if it is a list."""
        name = operation.id
        trigger, state, before = self._example(operation)
        if operation.method == "POST" and operation.mutates:
            trigger = replace(trigger, headers={**trigger.headers, "Idempotency-Key": f"key of {name}"})
        outcome, done = self._case(name, name, state, before, trigger, _DONE)
        assert outcome.status == operation.success, f"{name}: {outcome.status} {outcome.body}"
        if operation.method == "POST" and operation.mutates:
            self._case(f"{name}:repeated", name, done, [*before, name], trigger, _AGAIN)
        if operation.is_list and operation.method == "GET":
            self._pages(operation)
        if name == "verify_audit_integrity":
            self._continue(operation, outcome)
        if name == "list_api_keys":
            headers = {"Authorization": f"Bearer {self.world.api_key.credential}"}
            self._case(f"{name}:by_key", name, state, before, replace(trigger, role=None, headers=headers), _DONE)

    def _pages(self, operation: Operation) -> None:
        """Record two pages of a list, the second of which begins at the cursor of the first."""
        name, crowd = operation.id, f"crowd of {feature_of(operation)}"
        with staged(self.api, self.workers, self.people, crowd, _PREPARED):
            self.made.restore()
            crowd_of(feature_of(operation), self.world, _NEIGHBOURS)
            crowded = State.present()
        self.prepared[crowd] = self.made.until(crowded)
        trigger, state, before = self._example(operation, crowded, [crowd], limit=1)
        page, _ = self._case(f"{name}:page", name, state, before, trigger, _DONE)
        cursor = json.loads(page.body or "")["nextCursor"]
        if cursor is not None:
            trigger, state, before = self._example(operation, crowded, [crowd], limit=1, cursor=cursor)
            self._case(f"{name}:next_page", name, state, before, trigger, _AGAIN)

    def _continue(self, operation: Operation, begun: Outcome) -> None:
        """Record how the verification of a log is continued until it ends."""
        number, outcome = 1, begun
        while cursor := json.loads(outcome.body or "")["nextCursor"]:
            number += 1
            trigger, state, before = self._example(operation, cursor=cursor)
            outcome, _ = self._case(f"{operation.id}:page_{number}", operation.id, state, before, trigger, _AGAIN)
        assert number > 1

    def _example(
        self, operation: Operation, state: State | None = None, before: list[str] | None = None, **query: Any
    ) -> tuple[Trigger, State, list[str]]:
        """Return the request of an operation's example, and the state that it begins with."""
        state, before = state or self.made, before or []
        given = f"given for {operation.id}"
        with staged(self.api, self.workers, self.people, given, _PREPARED):
            state.restore()
            example = example_of(operation, self.world)
            prepared = State.present()
        difference = state.until(prepared)
        if difference != Difference():
            assert self.prepared.setdefault(given, difference) == difference
            before = [*before, given]
        caller = example.only or self.world.entitled(operation)
        roles = [role for role, person in self.people.items() if person is caller]
        assert len(roles) == (caller is not None)
        asked = {**example.query, **query}
        url = example.path(operation) + (f"?{urlencode(asked, doseq=True)}" if asked else "")
        body = None if example.body is None else json.dumps(example.body, ensure_ascii=False)
        headers = {**example.headers, **({"Content-Type": "application/json"} if body is not None else {})}
        trigger = Trigger("request", body, operation.method, url, roles[0] if roles else None, headers)
        return trigger, prepared, before

    def _task(self, name: str) -> None:
        """Record what a task's message does, and what the schedule does that finds the task without a message."""
        example, given = tasks.EXAMPLES[name], f"given for {name}"
        with staged(self.api, self.workers, self.people, given, _PREPARED):
            self.made.restore()
            key = example.given(self.world)
            state = State.present()
        self.prepared[given] = self.made.until(state)
        moment = timestamp(timestamp_ms(_DONE) + round(timedelta(**example.later).total_seconds() * 1000))
        with staged(self.api, self.workers, self.people, name, moment):
            state.restore()
            tasks.start(name, key)
            (message,) = messages()
        self._case(f"task:{name}", name, state, [given], _queued(message), moment)
        if example.tick in _TICKS:
            tick = Trigger("schedule", _TICKS[example.tick])
            self._case(f"tick:{name}", name, state, [given], tick, moment)

    def _queued_messages(self) -> None:
        """Record what the workers do with messages that requests queued: one for each combination of tasks."""
        known = set()
        for case in [case for case in self.cases if case.trigger.kind == "request"]:
            for message in case.outcome.messages:
                text = json.loads(message["text"])
                named = (message["queue"], text.get("task"), *(then["task"] for then in text.get("then", [])))
                if named not in known:
                    known.add(named)
                    before = [*case.before, case.name]
                    self._case(
                        f"message:{case.name}", case.about, self._state(before), before, _queued(message), _AGAIN
                    )

    def _migrations(self) -> None:
        """Record the migrations, and that they are not applied again."""
        trigger = Trigger("function", "migrate")
        _, done = self._case("migrations", "migrate", self.made, [], trigger, _DONE)
        self._case("migrations:repeated", "migrate", done, ["migrations"], trigger, _AGAIN)

    def _case(
        self, name: str, about: str, state: State, before: list[str], trigger: Trigger, moment: str
    ) -> tuple[Outcome, State]:
        with staged(self.api, self.workers, self.people, name, moment) as stage:
            state.restore()
            outcome = stage.run(about, trigger)
            self.cases.append(Case(name, about, before, moment, trigger, outcome))
            return outcome, State.present()

    def _state(self, before: list[str]) -> State:
        self.made.restore()
        for name in before:
            written = [case.outcome.written for case in self.cases if case.name == name]
            apply(self.prepared.get(name) or written[0])
        return State.present()


def _queued(message: Json) -> Trigger:
    return Trigger(
        "message",
        message["text"],
        queue=message["queue"],
        group=message["group"],
        deduplication=message["deduplication"],
    )


@contextmanager
def _recorder() -> Iterator[Recorder]:
    """Make the world, at a moment and with a randomness that are always the same."""
    import_module("tests.conftest")  # It gives this process the settings of tests.
    from app import app

    with TemporaryDirectory() as folder, cloud.aws_in_memory(), pytest.MonkeyPatch.context() as patched:
        issuer = Issuer(Path(folder))
        for name, value in issuer.settings().items():
            patched.setenv(name, value)
        people = people_of(issuer, PEOPLE)
        api, workers = Api(app), Workers(app)
        operations()
        all_record_types()
        tasks.names()
        with staged(api, workers, people, "world", _MADE):
            cloud.clear()
            world = World.made(api, workers, People(**people, issuer=issuer))
            made = State.present()
        yield Recorder(api, workers, people, world, made)


def main() -> None:
    """Write the recording, and say what it has."""
    logging.disable()
    with _recorder() as recorder:
        recording = recorder.record()
    size = save(recording)
    missing = sorted({kind.kind for kind in all_record_types()} - set(recording.kinds()))
    sys.stdout.write(f"{FILE.name}: {len(recording.cases)} cases, {size} bytes; no record of {missing or 'no kind'}\n")


if __name__ == "__main__":
    main()
