"""Operations on migrations: they tell what has come of them. Applying them is no request: `running.py`."""

from chalicelib.features.admin.migrations.logic import migration_history
from chalicelib.features.admin.migrations.models import MigrationOut, MigrationsHealth, MigrationsQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("system")


@routes.get("/system/migrations/health", access=Caller.PUBLIC, scope=None, emits=None, cache_control="no-cache")
def get_migrations_health(_ctx: Context) -> MigrationsHealth:
    """Tell whether all migrations are applied, by numbers only."""
    states = [migration.state for migration in migration_history.migrations()]
    pending, failed = states.count("pending"), states.count("failed")
    return MigrationsHealth(healthy=not pending and not failed, pending=pending, failed=failed)


@routes.get("/system/migrations/status", access=Caller.OPERATOR, scope=None, emits=None)
def get_migrations_status(ctx: Context, query: MigrationsQuery) -> ListPage[MigrationOut]:
    """List all migrations, in their order: what each does, and what has come of it."""
    return ctx.slice_page(migration_history.migrations(), query)
