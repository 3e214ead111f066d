"""Applies the migrations of a run: `python -m local migrate`. `make run` applies them before it reports ready."""

from chalicelib.features.admin.migrations.logic.runner import apply_migrations_yielding_outcomes
from chalicelib.kernel.core.problems import Problem
from local.server.configuration import clear_cloud_variables, use_run


class MigrationsFailed(Exception):
    """Not all migrations were applied. The message says why."""


def migrate_run(port: int | None = None) -> None:
    """Apply the pending migrations of the run on a port, by default of the last run, and print a line for each.

    Raises MigrationsFailed, and SettingsError if the environment belongs to another stage.
    """
    clear_cloud_variables()
    if not use_run(port):
        raise MigrationsFailed("No run was found. Start `make run`.")
    if not apply_migrations():
        print("No migrations are pending.")


def apply_migrations() -> int:
    """Apply the pending migrations, print a line for each, and return their number. Raises MigrationsFailed."""
    applied_count = 0
    try:
        for outcome in apply_migrations_yielding_outcomes():
            if outcome.state == "held":
                raise MigrationsFailed(str(outcome.error))
            if outcome.state == "failed":
                raise MigrationsFailed(f"{outcome.id}: failed. {outcome.error}")
            print(f"{outcome.id}: applied in {outcome.duration_ms / 1000:.1f} s.", flush=True)
            applied_count += 1
    except Problem as problem:
        raise MigrationsFailed(problem.detail) from problem
    return applied_count
