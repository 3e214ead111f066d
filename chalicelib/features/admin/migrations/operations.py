"""The state of migrations. `runner.py` applies them."""

from chalicelib.features.admin.migrations.logic import migration_history
from chalicelib.features.admin.migrations.models import MigrationOut, MigrationsHealth, MigrationsQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("system")


@routes.get("/system/migrations/health", access=Caller.PUBLIC, scope=None, emits=None, cache_control="no-cache")
def get_migrations_health(_ctx: Context) -> MigrationsHealth:
    """Get whether all migrations are applied, and how many are not.

    Use it in a deployment, or as a probe: `healthy` is false while a migration is pending or has failed. It shows no
    names or errors, and therefore needs no credential.
    """
    states = [migration.state for migration in migration_history.load_migration_states()]
    pending, failed = states.count("pending"), states.count("failed")
    return MigrationsHealth(healthy=not pending and not failed, pending=pending, failed=failed)


@routes.get("/system/migrations/status", access=Caller.OPERATOR, scope=None, emits=None)
def get_migrations_status(ctx: Context, query: MigrationsQuery) -> ListPage[MigrationOut]:
    """List all migrations in order, with their states.

    Use it to see which migration a deployment waits for, and why one failed. A migration is applied once per table, and
    its checksum shows whether its code changed afterwards.
    """
    return ctx.slice_page(migration_history.load_migration_states(), query)
