"""Migrations: they are applied in order and once, by one runner at a time, and continue after a failure."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from chalicelib.features.admin.migrations.logic import migration_history
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from chalicelib.features.admin.migrations.logic.runner import MigrationOutcome, apply_migrations_yielding_outcomes
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import memory_aws
from tests.harness.reference_data import deployed_dataset

pytestmark = pytest.mark.usefixtures("aws")


class FakeMigrations:
    """Migrations with three steps each, which write their names to the table. `a` and `b` exist from the start."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.executed: list[str] = []
        self.before_step: dict[str, Callable[[], object]] = {}
        self.catalogue: list[Migration] = []
        monkeypatch.setattr(migration_history, "MIGRATIONS", self.catalogue)
        self.add("a")
        self.add("b")

    def add(self, name: str) -> None:
        """Add a migration after the others."""
        module = ModuleType(f"tests_{name}")
        module.__dict__["step"] = self._step(name)
        self._monkeypatch.setitem(sys.modules, module.__name__, module)
        self.catalogue.append(Migration(name, f"Do {name}.", "1" * 64, module.__name__))

    def set_checksum_of_a(self, digit: str) -> None:
        """Replace the checksum of the first migration."""
        self.catalogue[0] = Migration("a", "Do a.", digit * 64, self.catalogue[0].module)

    def _step(self, name: str) -> Callable[[int, UnitOfWork], int | None]:
        def step(position: int, changes: UnitOfWork) -> int | None:
            step_name = f"{name}/{position}"
            self.before_step.pop(step_name, lambda: None)()
            self.executed.append(step_name)
            changes.add_write(Write("Put", ("X", step_name), item={"pk": "X", "sk": step_name}))
            return position + 1 if position < 2 else None

        return step

    def apply(self) -> list[MigrationOutcome]:
        return list(apply_migrations_yielding_outcomes(self.catalogue))

    def run(self) -> list[tuple[str, str]]:
        return [(outcome.id, outcome.state) for outcome in self.apply()]


@pytest.fixture
def migrations(monkeypatch):
    return FakeMigrations(monkeypatch)


def written_steps():
    return sorted(item["sk"] for item in memory_aws.all_items() if item["pk"] == "X")


def stored_records():
    return migration_history.load_records_and_lease()[0]


def raise_error(error: BaseException) -> Callable[[], object]:
    def raise_it() -> object:
        raise error

    return raise_it


class Killed(BaseException):
    """An exception that no code handles, as if the process were killed."""


ALL_STEPS = [f"{name}/{position}" for name in "ab" for position in range(3)]
BOTH_APPLIED = [("a", "applied"), ("b", "applied")]


class TestRunner:
    def test_migrations_are_applied_in_order_and_once(self, migrations):
        assert migrations.run() == BOTH_APPLIED
        assert migrations.executed == written_steps() == ALL_STEPS
        assert migrations.run() == []
        migrations.add("c")
        assert migrations.run() == [("c", "applied")]
        assert migrations.executed == [*ALL_STEPS, "c/0", "c/1", "c/2"]

    @pytest.mark.parametrize("step_name", ALL_STEPS)
    def test_a_run_continues_where_a_killed_one_stopped(self, migrations, clock, step_name):
        migrations.before_step[step_name] = raise_error(Killed())
        with pytest.raises(Killed):
            migrations.run()
        assert written_steps() == ALL_STEPS[: ALL_STEPS.index(step_name)]
        assert migrations.run() == [("", "held")]
        clock.shift(minutes=3)
        assert migrations.run()[-1] == ("b", "applied")
        assert migrations.executed == written_steps() == ALL_STEPS

    def test_a_step_and_its_position_are_one_transaction(self, migrations, monkeypatch):
        write = table.write_transaction

        def write_or_die(writes: Any) -> None:
            if any(item.key == ("X", "a/1") for item in writes):
                raise Killed
            write(writes)

        monkeypatch.setattr(table, "write_transaction", write_or_die)
        with pytest.raises(Killed):
            migrations.run()
        assert written_steps() == ["a/0"]
        (record,) = stored_records().values()
        assert record.position == 1

    def test_a_failed_migration_ends_the_run_and_is_retried(self, migrations):
        migrations.before_step["a/1"] = raise_error(Problem("conflict", "It was in the way."))
        (outcome,) = migrations.apply()
        assert outcome.error == "It was in the way."
        assert (written_steps(), [*stored_records()], stored_records()["a"].state) == (["a/0"], ["a"], "failed")
        migrations.before_step["a/1"] = raise_error(ValueError("the password is 1234"))
        (outcome,) = migrations.apply()
        assert "ValueError" in str(outcome.error)
        assert "1234" not in f"{outcome}{memory_aws.all_items()}", "the message of an unexpected error"
        assert migrations.run() == BOTH_APPLIED
        assert migrations.executed == ALL_STEPS
        assert stored_records()["a"].error is None

    def test_a_step_with_a_conflict_is_retried(self, migrations):
        attempts = []

        def conflict() -> None:
            attempts.append(1)
            if len(attempts) < 3:
                migrations.before_step["a/0"] = conflict
                raise ConcurrentModification

        migrations.before_step["a/0"] = conflict
        assert migrations.run()[-1] == ("b", "applied")
        assert len(attempts) == 3

    def test_a_changed_checksum_of_an_applied_migration_stops_the_run(self, migrations):
        migrations.run()
        migrations.set_checksum_of_a("2")
        migrations.add("c")
        assert migrations.run() == [("a", "failed")]
        assert "c/0" not in migrations.executed
        migrations.set_checksum_of_a("1")
        assert migrations.run() == [("c", "applied")]

    def test_a_changed_checksum_of_an_unfinished_migration_restarts_it(self, migrations):
        migrations.before_step["a/2"] = raise_error(ValueError())
        migrations.run()
        migrations.set_checksum_of_a("2")
        migrations.before_step["a/0"] = raise_error(ValueError())
        for _ in range(2):
            assert migrations.run()[-1][1] in ("failed", "applied")
        assert migrations.executed == ["a/0", "a/1", *ALL_STEPS]


class TestConcurrentRunners:
    def test_the_second_runner_reports_the_lease_and_applies_nothing(self, migrations):
        second: list[MigrationOutcome] = []
        migrations.before_step["a/1"] = lambda: second.extend(migrations.apply())
        assert migrations.run() == BOTH_APPLIED
        (outcome,) = second
        assert (outcome.id, outcome.state, "Its lease expires at" in str(outcome.error)) == ("", "held", True)
        lease = migration_history.load_records_and_lease()[1]
        assert lease is not None
        assert lease.holder is None
        assert migrations.executed == ALL_STEPS

    @pytest.mark.parametrize("step_name", ALL_STEPS)
    def test_a_runner_whose_lease_has_expired_writes_nothing(self, migrations, clock, step_name):
        def overtake() -> None:
            clock.shift(minutes=3)
            assert migrations.run()[-1][1] == "applied"
            memory_aws.delete_item({"pk": "X", "sk": step_name})

        migrations.before_step[step_name] = overtake
        assert migrations.run()[-1] == ("", "held")
        assert written_steps() == [name for name in ALL_STEPS if name != step_name]
        assert {record.state for record in stored_records().values()} == {"applied"}

    def test_only_one_of_two_runners_that_start_together_runs(self, migrations, monkeypatch):
        read_records, second = migration_history.load_records_and_lease, []

        def read_after_second() -> Any:
            records = read_records()
            monkeypatch.setattr(migration_history, "load_records_and_lease", read_records)
            second.extend(migrations.run())
            return records

        monkeypatch.setattr(migration_history, "load_records_and_lease", read_after_second)
        assert migrations.run() == [("", "held")]
        assert second == BOTH_APPLIED
        assert migrations.executed == ALL_STEPS


def get_health(api):
    return api.get("/system/migrations/health").json


def list_statuses(api, operator):
    return api.get_items("/system/migrations/status", caller=operator)


class TestHealthAndStatus:
    def test_pending_and_failed_migrations_are_counted(self, api, migrations, operator):
        assert get_health(api) == {"healthy": False, "pending": 2, "failed": 0}
        migrations.before_step["a/1"] = raise_error(ValueError())
        migrations.run()
        assert get_health(api) == {"healthy": False, "pending": 1, "failed": 1}
        migrations.run()
        assert get_health(api) == {"healthy": True, "pending": 0, "failed": 0}
        removed = migrations.catalogue.pop()
        assert [item["id"] for item in list_statuses(api, operator)] == ["a", "b"], "another release has applied b"
        assert get_health(api)["healthy"] is True
        migrations.catalogue.append(removed)
        migrations.set_checksum_of_a("2")
        assert get_health(api) == {"healthy": False, "pending": 0, "failed": 1}
        item = list_statuses(api, operator)[0]
        assert (item["state"], item["checksum"]) == ("failed", "2" * 64)
        assert "new migration" in item["error"]

    def test_the_state_of_every_migration_is_listed(self, api, migrations, operator, clock):
        timestamp = clock.freeze()
        migrations.before_step["b/1"] = raise_error(ValueError())
        migrations.run()
        migrations.add("c")
        items = list_statuses(api, operator)
        assert [(item["id"], item["state"], item["appliedAt"], item["durationMs"] is None) for item in items] == [
            ("a", "applied", timestamp, False),
            ("b", "failed", None, False),
            ("c", "pending", None, True),
        ]
        assert (items[0]["error"], items[2]["error"]) == (None, None)
        assert "ValueError" in items[1]["error"]
        assert {(item["description"], item["checksum"]) for item in items} == {(f"Do {n}.", "1" * 64) for n in "abc"}


RENAMED_CHECKSUMS = {"0001-reference-data": "23b9003cad6c08956e0e1fdda8df7de672008e74ce9784257a5007a349121fbc"}
"""The computed checksums, by id, of migrations in which only names have changed since they were applied."""


class TestMigrationsOfTheService:
    @pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda migration: str(migration.id))
    def test_the_checksums_of_released_migrations_are_unchanged(self, migration):
        advice = "an applied migration never changes: add another one, or store this checksum if it is unreleased"
        assert migration.compute_checksum() == RENAMED_CHECKSUMS.get(migration.id, migration.checksum), advice

    def test_migrations_are_numbered_in_order(self):
        numbers = [migration.id[:4] for migration in MIGRATIONS]
        assert numbers == [f"{number:04}" for number in range(1, len(MIGRATIONS) + 1)]

    def test_one_call_after_a_deployment_applies_all_and_loads_the_newest_reference_data(self, api, workers, operator):
        assert get_health(api)["pending"] == len(MIGRATIONS)
        outcomes = workers.run_migrations()
        assert [(outcome["id"], outcome["state"]) for outcome in outcomes] == [(m.id, "applied") for m in MIGRATIONS]
        assert get_health(api) == {"healthy": True, "pending": 0, "failed": 0}
        assert workers.run_migrations() == []
        assert list_statuses(api, operator)[0]["id"] == MIGRATIONS[0].id
        parts = [item for item in memory_aws.all_items() if item["pk"].startswith("DATA")]
        assert len(parts) == len(deployed_dataset().numbered_compressed_parts()) + 1 <= 60
        assert api.get("/reference/cities", query={"q": "mun"}).json["dataVersion"] == LATEST_VERSION
