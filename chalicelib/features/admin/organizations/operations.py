"""The search for organizations by operators."""

from chalicelib.features.admin.organizations import logic
from chalicelib.features.admin.organizations.models import FoundOrganization, OrganizationSearchQuery
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup

routes = RouteGroup("system")


@routes.get("/system/organizations", access=Caller.OPERATOR, scope=None, emits=None)
def search_organizations(ctx: Context, query: OrganizationSearchQuery) -> ListPage[FoundOrganization]:
    """Search all organizations by id, or by the beginning of the name or slug, whatever their status.

    Use it to find the organization that a support request names, and its owner. With `q` the list is in alphabetical
    order, otherwise in the order of creation. Operators get no access to an organization by this. The service logs
    every search with its operation, without the text that was searched for.
    """
    return logic.search_organizations(ctx, query)
