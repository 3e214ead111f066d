"""Routes that callers guess from other APIs, and the operations that they mean.

API Gateway rejects an unknown path or method before the service sees it, and can only answer with a fixed text. So each
guess is a route of its own, whose response names the right operation. A guess is not an operation: it is not in the
OpenAPI document, and needs no credential.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final

from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.core.problems import Problem, describe_nearest_routes, no_such_route


@dataclass(frozen=True)
class RouteHint:
    """A guessed method and path, and the id of the operation that is meant.

    `usage`: how to call that operation, in words that follow its path.
    """

    method: str
    path: str
    operation_id: str
    usage: str = ""


_IN_BODY: Final = "with `{}` in the body"
_IN_QUERY: Final = "with `{}` in the query"
_INTO_SPACE: Final = "for a member of the platform"

ROUTE_HINTS: Final = (
    RouteHint("PUT", "/organizations/{organization_id}", "update_organization"),
    RouteHint("POST", "/organizations/{organization_id}/invitations", "invite_to_organization"),
    RouteHint("POST", "/organizations/{organization_id}/members", "invite_to_organization"),
    RouteHint("POST", "/organizations/{organization_id}/members/invite", "invite_to_organization"),
    RouteHint("GET", "/organizations/{organization_id}/users", "list_organization_members"),
    RouteHint("POST", "/organizations/{organization_id}/users", "invite_to_organization"),
    RouteHint(
        "GET", "/organizations/{organization_id}/platforms", "list_platforms", _IN_QUERY.format("organizationId")
    ),
    RouteHint(
        "POST", "/organizations/{organization_id}/platforms", "create_platform", _IN_BODY.format("organizationId")
    ),
    RouteHint("GET", "/organizations/{organization_id}/keys", "list_api_keys"),
    RouteHint("POST", "/organizations/{organization_id}/keys", "create_api_key"),
    RouteHint("GET", "/organizations/{organization_id}/domains", "list_domain_inventory"),
    RouteHint("GET", "/organizations/{organization_id}/channels", "list_integration_channels"),
    RouteHint("POST", "/organizations/{organization_id}/channels", "create_integration_channel"),
    RouteHint("GET", "/orgs", "list_organizations"),
    RouteHint("POST", "/orgs", "create_organization"),
    RouteHint("GET", "/orgs/{organization_id}", "get_organization"),
    RouteHint("GET", "/invitations", "list_invitations"),
    RouteHint("POST", "/invitations", "invite_to_organization"),
    RouteHint("PUT", "/platforms/{platform_id}", "update_platform"),
    RouteHint("GET", "/platforms/{platform_id}/invitations", "list_invitations", _IN_QUERY.format("platformId")),
    RouteHint("POST", "/platforms/{platform_id}/invitations", "invite_to_platform"),
    RouteHint("POST", "/platforms/{platform_id}/members", "invite_to_platform"),
    RouteHint("POST", "/platforms/{platform_id}/members/invite", "invite_to_platform"),
    RouteHint("GET", "/platforms/{platform_id}/users", "list_platform_members"),
    RouteHint("POST", "/platforms/{platform_id}/users", "invite_to_platform"),
    RouteHint("POST", "/platforms/{platform_id}/spaces", "create_space", _IN_BODY.format("platformId")),
    RouteHint("POST", "/platforms/{platform_id}/modules", "update_platform_modules"),
    RouteHint("PUT", "/platforms/{platform_id}/modules", "update_platform_modules"),
    RouteHint("PUT", "/platforms/{platform_id}/project-blocks", "update_project_blocks"),
    RouteHint("PUT", "/platforms/{platform_id}/theme", "update_platform_theme"),
    RouteHint("PUT", "/platforms/{platform_id}/navigation", "update_platform_navigation"),
    RouteHint("PUT", "/platforms/{platform_id}/home", "update_platform_home"),
    RouteHint("POST", "/platforms/{platform_id}/publish", "publish_platform"),
    RouteHint("GET", "/platforms/{platform_id}/domain", "get_custom_domain"),
    RouteHint("POST", "/platforms/{platform_id}/domain", "set_custom_domain"),
    RouteHint("PUT", "/platforms/{platform_id}/custom-domain", "set_custom_domain"),
    RouteHint("POST", "/platforms/{platform_id}/taxonomy-nodes", "create_taxonomy_node", _IN_BODY.format("platformId")),
    RouteHint("GET", "/spaces", "list_platform_spaces"),
    RouteHint("PUT", "/spaces/{space_id}", "update_space"),
    RouteHint("POST", "/spaces/{space_id}/members", "update_space_member", _INTO_SPACE),
    RouteHint("POST", "/spaces/{space_id}/invite", "update_space_member", _INTO_SPACE),
    RouteHint("GET", "/spaces/{space_id}/users", "list_space_members"),
    RouteHint("POST", "/spaces/{space_id}/users", "update_space_member", _INTO_SPACE),
    RouteHint("GET", "/spaces/{space_id}/modules", "list_effective_modules"),
    RouteHint("PUT", "/spaces/{space_id}/modules", "replace_module_overrides"),
    RouteHint("PATCH", "/spaces/{space_id}/modules", "set_module_override"),
    RouteHint("PATCH", "/spaces/{space_id}/module-overrides", "set_module_override"),
    RouteHint(
        "PUT", "/spaces/{space_id}/module-overrides/{module_id}", "set_module_override", _IN_BODY.format("moduleId")
    ),
    RouteHint(
        "PATCH", "/spaces/{space_id}/module-overrides/{module_id}", "set_module_override", _IN_BODY.format("moduleId")
    ),
    RouteHint("GET", "/sites", "list_sites"),
    RouteHint("POST", "/sites", "create_site"),
    RouteHint("PUT", "/sites/{site_id}", "update_site"),
    RouteHint("POST", "/sites/{site_id}/publish", "update_site", 'with the body `{"status": "published"}`'),
    RouteHint("GET", "/sites/{site_id}/menus", "list_navigation_menus"),
    RouteHint("POST", "/sites/{site_id}/menus", "put_navigation_menu"),
    RouteHint("POST", "/sites/{site_id}/navigation", "put_navigation_menu"),
    RouteHint("GET", "/webhooks", "list_webhooks"),
    RouteHint("POST", "/webhooks", "create_webhook"),
    RouteHint("GET", "/api-keys", "list_api_keys"),
    RouteHint("POST", "/api-keys", "create_api_key"),
    RouteHint("GET", "/audit-log", "list_audit_log"),
    RouteHint("GET", "/users", "list_organization_members"),
    RouteHint("GET", "/users/me", "get_me"),
    RouteHint("GET", "/health", "get_status"),
)
"""The guesses that a first-time caller is likely to make. Those at the same path follow each other."""


@cache
def hints_by_path() -> Mapping[str, Sequence[RouteHint]]:
    """Return the guesses at each path."""
    return {path: [*hints] for path, hints in groupby(ROUTE_HINTS, attrgetter("path"))}


def build_problem(method: str, path: str, base: str) -> Problem:
    """Return the problem of a request to the path of a guess: 405 if the path has operations, else 404.

    It names the operation that the method means. At a path without operations, an unexpected method gets all of them.
    `base`: the path of the API, such as `/prod`.
    """
    at_path = hints_by_path()[path]
    hints = [hint for hint in at_path if hint.method == method]
    allowed = ", ".join(known_method for _, known_method, known_path, _ in ROUTES if known_path == path)
    if not allowed:
        return no_such_route(_meant_routes(hints or at_path), base=base)
    routes = _meant_routes(hints)
    return Problem(
        "method_not_allowed",
        f"Allowed methods: {allowed}. {describe_nearest_routes(routes)}".rstrip(),
        headers={"Allow": allowed},
        extensions={"nearestRoutes": [*routes]} if routes else {},
    )


def _meant_routes(hints: Sequence[RouteHint]) -> dict[str, str]:
    """Return the methods and paths of the operations that are meant, with the words on calling them."""
    routes = {target.rpartition(":")[2]: f"{method} {path}" for _, method, path, target in ROUTES}
    return {routes[hint.operation_id]: hint.usage for hint in hints}
