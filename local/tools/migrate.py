"""The migrations of a run: `python -m local migrate`. `make run` applies them before it says that it is ready."""

from chalicelib.features.admin.migrations.logic.runner import apply_pending
from chalicelib.kernel.core.problems import Problem
from local.server.configuration import forget_the_cloud, use_run


class NotMigrated(Exception):
    """Something is left to be applied; says why."""


def migrate(port: int | None = None) -> None:
    """Apply the migrations of the run on a port, or of the one that was started last, and print a line for each.

    Raises NotMigrated, and SettingsError if the environment is of another stage.
    """
    forget_the_cloud()
    if not use_run(port):
        raise NotMigrated("No run was found. Start `make run`.")
    if not apply():
        print("Nothing was left to be applied.")


def apply() -> int:
    """Apply what is pending, print a line for each migration, and return how many these were. Raises NotMigrated."""
    applied = 0
    try:
        for outcome in apply_pending():
            if outcome.state == "held":
                raise NotMigrated(str(outcome.error))
            if outcome.state == "failed":
                raise NotMigrated(f"{outcome.id}: failed. {outcome.error}")
            print(f"{outcome.id}: applied in {outcome.duration_ms / 1000:.1f} s.", flush=True)
            applied += 1
    except Problem as problem:
        raise NotMigrated(problem.detail) from problem
    return applied
