"""Migrations: applied in order and once, by one runner at a time, going on where one before ended; and what is told."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from chalicelib.features.admin.migrations.logic import migration_history
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from chalicelib.features.admin.migrations.logic.runner import Outcome, apply_pending
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.reference import file
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("aws")
Step = Callable[[int, UnitOfWork], int | None]


class Steps:
    """Migrations of the tests' own. Each has three steps, which put what they are called into the table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.done: list[str] = []
        self.before: dict[str, Callable[[], object]] = {}
        self.known: list[Migration] = []

    def add(self, name: str, checksum: str = "1") -> Migration:
        """Add a migration behind the others."""
        module = ModuleType(f"tests_{name}")
        module.__dict__["step"] = self._step(name)
        self._monkeypatch.setitem(sys.modules, module.__name__, module)
        migration = Migration(id=name, description=f"Do {name}.", checksum=checksum * 64, module=module.__name__)
        self.known.append(migration)
        self._monkeypatch.setattr(migration_history, "MIGRATIONS", self.known)
        return migration

    def _step(self, name: str) -> Step:
        def step(position: int, changes: UnitOfWork) -> int | None:
            called = f"{name}/{position}"
            self.before.pop(called, lambda: None)()
            self.done.append(called)
            item = {"pk": "X", "sk": called}
            changes.add_write(Write("Put", ("X", called), item=item))
            return position + 1 if position < 2 else None

        return step

    def run(self) -> list[tuple[str, str]]:
        """Run what is pending, and return what came of each."""
        return [(outcome.id, outcome.state) for outcome in apply_pending(self.known)]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Two migrations, `a` and `b`."""
    made = Steps(monkeypatch)
    for name in ("a", "b"):
        made.add(name)
    return made


def left() -> list[str]:
    """What the steps have left in the table."""
    return sorted(item["sk"] for item in cloud.stored() if item["pk"] == "X")


def fail(error: BaseException) -> Callable[[], object]:
    def failing() -> object:
        raise error

    return failing


class Killed(BaseException):
    """What no process survives."""


ALL = [f"{name}/{position}" for name in "ab" for position in range(3)]


class TestRunning:
    def test_applies_all_in_order_and_but_once(self, steps: Steps) -> None:
        assert steps.run() == [("a", "applied"), ("b", "applied")]
        assert steps.done == left() == ALL
        assert steps.run() == []
        steps.add("c")
        assert steps.run() == [("c", "applied")]
        assert steps.done == [*ALL, "c/0", "c/1", "c/2"]

    @pytest.mark.parametrize("at", ALL)
    def test_goes_on_where_one_that_died_had_come_to(self, steps: Steps, clock: Clock, at: str) -> None:
        steps.before[at] = fail(Killed())
        with pytest.raises(Killed):
            steps.run()
        assert left() == ALL[: ALL.index(at)]
        assert steps.run() == [("", "held")]
        clock.shift(minutes=3)
        assert steps.run()[-1] == ("b", "applied")
        assert steps.done == left() == ALL

    def test_a_step_and_how_far_it_is_are_one_transaction(self, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
        write = table.write_transaction

        def dying(writes: Any) -> None:
            if any(item.key == ("X", "a/1") for item in writes):
                raise Killed
            write(writes)

        with monkeypatch.context() as patch:
            patch.setattr(table, "write_transaction", dying)
            with pytest.raises(Killed):
                steps.run()
        assert left() == ["a/0"]
        (record,) = migration_history.read_records()[0].values()
        assert record.position == 1

    def test_one_that_fails_ends_the_run_and_is_tried_again(self, steps: Steps) -> None:
        steps.before["a/1"] = fail(Problem("conflict", "It was in the way."))
        (outcome,) = apply_pending(steps.known)
        assert outcome.error == "It was in the way."
        assert (left(), migration_history.read_records()[0]["a"].state, "b" in migration_history.read_records()[0]) == (
            ["a/0"],
            "failed",
            False,
        )
        assert steps.run() == [("a", "applied"), ("b", "applied")]
        assert steps.done == ALL
        assert migration_history.read_records()[0]["a"].error is None

    def test_what_a_library_says_of_a_failure_is_told_to_nobody(self, steps: Steps) -> None:
        steps.before["a/0"] = fail(ValueError("the password is 1234"))
        (outcome,) = apply_pending(steps.known)
        assert "ValueError" in str(outcome.error)
        assert "1234" not in f"{outcome}{cloud.stored()}"

    def test_a_race_with_somebody_who_changes_the_same_is_run_again(self, steps: Steps) -> None:
        tries = []

        def conflict() -> None:
            tries.append(1)
            if len(tries) < 3:
                steps.before["a/0"] = conflict
                raise ConcurrentModification

        steps.before["a/0"] = conflict
        assert steps.run()[-1] == ("b", "applied")
        assert len(tries) == 3

    def test_what_was_applied_and_does_another_thing_now_stops_it(self, steps: Steps) -> None:
        steps.run()
        steps.known[0] = Migration("a", "Do a.", "2" * 64, steps.known[0].module)
        steps.add("c")
        assert steps.run() == [("a", "failed")]
        assert "c/0" not in steps.done
        steps.known[0] = Migration("a", "Do a.", "1" * 64, steps.known[0].module)
        assert steps.run() == [("c", "applied")]

    def test_what_was_begun_and_does_another_thing_now_is_begun_anew(self, steps: Steps) -> None:
        steps.before["a/2"] = fail(ValueError())
        steps.run()
        steps.known[0] = Migration("a", "Do a.", "2" * 64, steps.known[0].module)
        steps.before["a/0"] = fail(ValueError())
        for _ in range(2):
            assert steps.run()[-1][1] in ("failed", "applied")
        assert steps.done == ["a/0", "a/1", *ALL]


class TestTwoRunners:
    def test_the_second_says_who_is_at_it_and_applies_nothing(self, steps: Steps) -> None:
        second: list[Outcome] = []
        steps.before["a/1"] = lambda: second.extend(apply_pending(steps.known))
        assert steps.run() == [("a", "applied"), ("b", "applied")]
        lease = migration_history.read_records()[1]
        assert [(outcome.id, outcome.state) for outcome in second] == [("", "held")]
        assert "Its lease expires at" in str(second[0].error)
        assert lease is not None
        assert lease.holder is None
        assert steps.done == ALL

    @pytest.mark.parametrize("at", ALL)
    def test_one_that_was_silent_for_too_long_changes_nothing_any_more(
        self, steps: Steps, clock: Clock, at: str
    ) -> None:
        def overtake() -> None:
            clock.shift(minutes=3)
            assert [outcome.state for outcome in apply_pending(steps.known)][-1] == "applied"
            cloud.remove({"pk": "X", "sk": at})

        steps.before[at] = overtake
        assert steps.run()[-1] == ("", "held")
        assert left() == [name for name in ALL if name != at]
        assert {record.state for record in migration_history.read_records()[0].values()} == {"applied"}

    def test_two_that_begin_at_once_are_one(self, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
        stored, second = migration_history.read_records, []

        def meanwhile() -> Any:
            seen = stored()
            monkeypatch.setattr(migration_history, "read_records", stored)
            second.extend(steps.run())
            return seen

        monkeypatch.setattr(migration_history, "read_records", meanwhile)
        assert steps.run() == [("", "held")]
        assert second == [("a", "applied"), ("b", "applied")]
        assert steps.done == ALL


def health(api: Api) -> dict[str, Any]:
    answer: dict[str, Any] = api.get("/system/migrations/health").json
    return answer


class TestMigrationsHealth:
    def test_counts_what_is_left_and_what_failed(self, api: Api, steps: Steps) -> None:
        assert health(api) == {"healthy": False, "pending": 2, "failed": 0}
        steps.before["a/1"] = fail(ValueError())
        steps.run()
        assert health(api) == {"healthy": False, "pending": 1, "failed": 1}
        steps.run()
        assert health(api) == {"healthy": True, "pending": 0, "failed": 0}
        steps.known[0] = Migration("a", "Do a.", "2" * 64, steps.known[0].module)
        assert health(api) == {"healthy": False, "pending": 0, "failed": 1}


class TestMigrationsStatus:
    def test_tells_how_each_stands(self, api: Api, steps: Steps, operator: Person, clock: Clock) -> None:
        moment = clock.freeze()
        steps.before["b/1"] = fail(ValueError())
        steps.run()
        steps.add("c")
        items = api.items("/system/migrations/status", as_=operator)
        assert [(item["id"], item["state"], item["appliedAt"]) for item in items] == [
            ("a", "applied", moment),
            ("b", "failed", None),
            ("c", "pending", None),
        ]
        assert [item["durationMs"] is None for item in items] == [False, False, True]
        assert (items[0]["error"], items[2]["error"]) == (None, None)
        assert "ValueError" in items[1]["error"]
        assert {(item["description"], item["checksum"]) for item in items} == {(f"Do {n}.", "1" * 64) for n in "abc"}

    def test_says_of_one_that_has_changed_since_what_to_do(self, api: Api, steps: Steps, operator: Person) -> None:
        steps.run()
        steps.known[0] = Migration("a", "Do a.", "2" * 64, steps.known[0].module)
        item = api.items("/system/migrations/status", as_=operator)[0]
        assert (item["state"], item["checksum"]) == ("failed", "2" * 64)
        assert "new migration" in item["error"]

    def test_shows_what_only_another_version_of_the_service_knows(
        self, api: Api, steps: Steps, operator: Person
    ) -> None:
        steps.run()
        later = steps.known.pop()
        assert [item["id"] for item in api.items("/system/migrations/status", as_=operator)] == ["a", later.id]
        assert health(api)["healthy"] is True

    def test_is_for_operators(self, api: Api, ada: Person) -> None:
        assert api.get("/system/migrations/status", as_=ada).code == "403 forbidden"


RENAMED = {"0001-reference-data": "9b87083c8b86e52c7eb783ea8f2c9ee17e6fc9154c671e4c1701658ea2ed9dcc"}
"""What is computed of migrations in which only names have changed since they were applied, by their ids."""


class TestThoseOfTheService:
    @pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda migration: str(migration.id))
    def test_do_what_they_did_when_they_were_added(self, migration: Migration) -> None:
        advice = "what was applied never changes: add another migration; one never released yet gets this checksum"
        assert migration.compute_checksum() == RENAMED.get(migration.id, migration.checksum), advice

    def test_stand_in_the_order_of_their_ids(self) -> None:
        ids = [migration.id for migration in MIGRATIONS]
        assert ids == sorted(set(ids))
        assert [migration_id[:4] for migration_id in ids] == [f"{number:04}" for number in range(1, len(ids) + 1)]

    def test_are_applied_by_one_call_after_a_deployment(self, api: Api, workers: Workers, operator: Person) -> None:
        assert health(api)["pending"] == len(MIGRATIONS)
        outcomes = workers.migrate()
        assert [(outcome["id"], outcome["state"]) for outcome in outcomes] == [(m.id, "applied") for m in MIGRATIONS]
        assert health(api) == {"healthy": True, "pending": 0, "failed": 0}
        assert workers.migrate() == []
        assert api.items("/system/migrations/status", as_=operator)[0]["id"] == MIGRATIONS[0].id

    def test_load_the_newest_reference_data_that_is_deployed(self, api: Api, workers: Workers) -> None:
        workers.migrate()
        stored = [item for item in cloud.stored() if item["pk"].startswith("DATA")]
        assert len(stored) == len(file().parts()) + 1 <= 60
        assert api.get("/reference/cities", query={"q": "mun"}).json["dataVersion"] == LATEST_VERSION
