"""Guessed routes, which name the right operation, and the links at the root."""

from collections import defaultdict

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.entrypoints.route_hints import ROUTE_HINTS, hints_by_path
from local.server.nearest_routes import find_nearest_routes

MAX_RESOURCES = 290
"""Resources of the API: each prefix of a path is one. API Gateway's quota is 300, and some are left for a release."""

ROUTES = {o.id: f"{o.method} {o.path}" for o in all_operations()}
METHODS_BY_PATH = {o.path: {each.method for each in all_operations() if each.path == o.path} for o in all_operations()}
ID = "0192f3a0-0000-7000-8000-000000000000"


def to_url(path):
    return path.format_map(defaultdict(lambda: ID))


def test_every_hint_names_an_operation_and_is_none_itself():
    assert {hint.operation_id for hint in ROUTE_HINTS} <= set(ROUTES)
    hinted = [f"{hint.method} {hint.path}" for hint in ROUTE_HINTS]
    assert len(set(hinted)) == len(hinted)
    assert not {*hinted} & {*ROUTES.values()}
    assert sum(len(hints) for hints in hints_by_path().values()) == len(ROUTE_HINTS), "hints of a path are apart"


def test_all_paths_fit_into_one_api():
    paths = [*METHODS_BY_PATH, *hints_by_path()]
    resources = {path.rsplit("/", n)[0] for path in paths for n in range(path.count("/") + 1)}
    assert len(resources) <= MAX_RESOURCES


@pytest.mark.parametrize("hint", ROUTE_HINTS, ids=lambda hint: f"{hint.method} {hint.path}")
def test_a_guessed_route_names_the_operation_to_everybody(api, ada, hint):
    allowed = METHODS_BY_PATH.get(hint.path)
    for caller in (None, ada, "broken"):
        answer = api.request(hint.method, to_url(hint.path), caller=caller, json={})
        code = "405 method_not_allowed" if allowed else "404 no_such_route"
        answer.expect_problem(code, f"Do you mean {ROUTES[hint.operation_id]} {hint.usage}".rstrip() + "?")
        assert answer.json["nearestRoutes"] == [ROUTES[hint.operation_id]]
        assert {name for name in answer.headers.get("Allow", "").split(", ") if name} == (allowed or set())
        # The fixture `api` sends requests to an API with the path `/api`.
        assert answer.headers.get("Link") == (None if allowed else '</api/docs>; rel="service-doc"')


@pytest.mark.parametrize("path", [path for path in hints_by_path() if path not in METHODS_BY_PATH])
def test_other_methods_of_a_guessed_path_get_all_its_hints(api, path):
    answer = api.delete(to_url(path)).expect_problem("404 no_such_route")
    assert answer.json["nearestRoutes"] == [ROUTES[hint.operation_id] for hint in hints_by_path()[path]]


@pytest.mark.parametrize("path", hints_by_path())
def test_browsers_may_send_the_guessed_methods_and_those_of_the_operations(api, path):
    methods = {hint.method for hint in hints_by_path()[path]} | METHODS_BY_PATH.get(path, set()) | {"OPTIONS"}
    allowed = api.request("OPTIONS", to_url(path)).expect(204).headers["Access-Control-Allow-Methods"]
    assert {*allowed.split(", ")} == methods


def test_the_root_leads_browsers_to_the_documentation_and_programs_to_the_first_operations(api):
    for accept in ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"):
        answer = api.get("/", headers={"Accept": accept}).expect(302)
        assert (answer.headers["Location"], answer.headers["Vary"]) == ("/api/docs", "Accept")
    for accept in ("*/*", "application/json", "application/json, text/html"):
        links = api.get("/", headers={"Accept": accept}).expect(200).json
        paths = {o.path for o in all_operations() if o.method == "GET"}
        assert {link.removeprefix("/api") for link in links.values()} <= paths
        assert (links["docs"], links["me"]) == ("/api/docs", "/api/me")


@pytest.mark.parametrize(
    ("method", "path", "nearest"),
    [
        ("GET", "/organisations", "GET /organizations"),
        ("POST", f"/organizations/{ID}/apikeys/", "POST /organizations/{organization_id}/api-keys"),
        (
            "DELETE",
            f"/organizations/{ID}/webhook/{ID}",
            "DELETE /organizations/{organization_id}/webhooks/{webhook_id}",
        ),
        ("BREW", "/platforms", "GET /platforms"),
        ("GET", "/doc", "GET /docs"),
        ("GET", "/tea%2Fpot", None),
        ("GET", "/" + "x/" * 5000, None),
    ],
)
def test_the_local_stage_finds_the_nearest_routes(method, path, nearest):
    assert next(iter(find_nearest_routes(method, path)), None) == nearest
