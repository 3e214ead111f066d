"""Applies the migrations of a run: `python -m local migrate`. `make run` applies them before it reports ready."""

from chalicelib.features.admin.migrations.logic.runner import apply_pending
from chalicelib.kernel.core.problems import Problem
from local.server.configuration import forget_the_cloud, use_run


class NotMigrated(Exception):
    """Not all migrations were applied. The message says why."""


def migrate(port: int | None = None) -> None:
    """Apply the pending migrations of the run on a port, by default of the last run, and print a line for each.

    Raises NotMigrated, and SettingsError if the environment belongs to another stage.
    """
    forget_the_cloud()
    if not use_run(port):
        raise NotMigrated("No run was found. Start `make run`.")
    if not apply():
        print("No migrations are pending.")


def apply() -> int:
    """Apply the pending migrations, print a line for each, and return their number. Raises NotMigrated."""
    applied_count = 0
    try:
        for outcome in apply_pending():
            if outcome.state == "held":
                raise NotMigrated(str(outcome.error))
            if outcome.state == "failed":
                raise NotMigrated(f"{outcome.id}: failed. {outcome.error}")
            print(f"{outcome.id}: applied in {outcome.duration_ms / 1000:.1f} s.", flush=True)
            applied_count += 1
    except Problem as problem:
        raise NotMigrated(problem.detail) from problem
    return applied_count
