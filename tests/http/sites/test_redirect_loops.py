"""Redirects of sites that would form a loop or a long chain, and the reads that finding these takes."""

from itertools import pairwise, permutations
from typing import Final

import pytest

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.redirects import create_redirect, delete_redirect, patch_redirect, post_redirect, resolve_visit

pytestmark = pytest.mark.usefixtures("home_page")

EXTERNAL_URL: Final = "https://example.com/looms"
TAKEN: Final = "409 already_exists"
LOOP: Final = "409 redirect_loop"


def hops(first: int, last: int) -> list[tuple[str, str]]:
    """Return the hops from one numbered path to another. Six are one more than the maximum."""
    return [*pairwise(f"/{n}" for n in range(first, last + 1))]


CIRCLE: Final = [("/a", "/b"), ("/b", "/c"), ("/c", "/a")]
TO_B: Final = ("/a/*", "/b/:splat")
LOOPS: Final = [
    *([("/a", target)] for target in ("/A/?x#y", "/b/../%61", "HTTPS://engines.sites.atrium.example/a")),
    [("/", "/")],
    *([("/a/*", target)] for target in ("/a/:splat", "/a/b/:splat", "/a/b", "/:splat/../a/x")),
    *permutations(CIRCLE),
    *([TO_B, hop] for hop in (("/b/*", "/a/:splat"), ("/b/*", "/a/x"), ("/b/x", "/a/x"))),
    *([hops(0, 6)[n] for n in order] for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 1, 5, 0, 4, 2])),
    [("/a/*", "/1"), ("/b/*", "/a/:splat"), *hops(1, 4), ("/c/*", "/b/:splat")],
    [("/a/*", "/1"), ("/b/*", "/a/:splat"), *hops(1, 5)],
    [*hops(0, 4), ("/4", EXTERNAL_URL), ("/x", "/0")],
    [*((f"/from-{n}", "/1") for n in range(10)), *hops(1, 6)],
]
"""Redirects of which the last would form a loop, or a chain of more than five hops."""
CHAINS: Final = [
    [TO_B, ("/b/x", "/a")],
    [*hops(0, 4), ("/4", EXTERNAL_URL), ("/x", "/1")],
    [*((f"/from-{n}", "/1") for n in range(10)), *hops(1, 5)],
]


class TestLoops:
    @pytest.mark.parametrize("redirects", LOOPS, ids=lambda redirects: ", ".join(map("->".join, redirects)))
    def test_a_loop_or_a_sixth_hop_is_rejected_in_any_order(self, api, site, redirects):
        *existing, last = redirects
        for hop in existing:
            create_redirect(api, site, *hop)
        assert post_redirect(api, site, *last).problem_and_errors == (LOOP, {"/toPath": "redirect_loop"})
        disabled = create_redirect(api, site, *last, enabled=False)
        assert patch_redirect(api, disabled, enabled=True).status_and_code == LOOP

    @pytest.mark.parametrize("redirects", CHAINS, ids=lambda redirects: ", ".join(map("->".join, redirects)))
    def test_five_hops_and_a_wildcard_that_ends_are_accepted(self, api, site, redirects):
        for hop in redirects:
            create_redirect(api, site, *hop)

    def test_a_loop_of_a_single_path_of_a_wildcard_is_not_followed(self, api, site):
        create_redirect(api, site, "/b/x", "/a/x")
        create_redirect(api, site, *TO_B)
        assert [resolve_visit(api, site, path) for path in ("/a/y", "/a/x", "/b/x")] == [(301, "/b/y"), None, None]

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({"fromPath": "/b"}, 409),
            ({"toPath": "/C"}, 409),
            ({"fromPath": "/b", "toPath": "/d"}, 200),
            ({"statusCode": 302}, 200),
        ],
    )
    def test_a_change_that_closes_a_loop_is_rejected(self, api, site, fields, status):
        create_redirect(api, site, "/a", "/b")
        response = patch_redirect(api, create_redirect(api, site, "/c", "/a"), **fields)
        assert response.status == status
        assert status == 200 or response.status_and_code == LOOP

    def test_enabling_the_other_redirect_of_a_loop_is_rejected(self, api, site):
        first = create_redirect(api, site, "/a", "/b", enabled=False)
        second = create_redirect(api, site, "/b", "/a")
        patch_redirect(api, second, enabled=False)
        assert patch_redirect(api, first, enabled=True).status == 200
        assert patch_redirect(api, second, enabled=True).status_and_code == LOOP

    def test_a_page_on_the_way_prevents_a_loop(self, api, site, pages):
        pages.publish("Looms")
        create_redirect(api, site, "/*", "/looms")
        assert resolve_visit(api, site, "/mills") == (301, "/looms")
        create_redirect(api, site, "/looms/*", "/")

    def test_a_loop_through_a_moved_page_is_rejected_and_one_closed_by_moving_it_is_not_followed(
        self, api, site, pages
    ):
        pages.publish("Looms")
        redirect = create_redirect(api, site, "/weavers", "/looms")
        pages.move(Looms="weavers")
        assert [resolve_visit(api, site, path) for path in ("/looms", "/weavers")] == [(301, "/weavers"), "Looms"]
        delete_redirect(api, redirect)
        assert post_redirect(api, site, "/weavers", "/looms").status_and_code == LOOP

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (("/a", "/b"), ("/b", "/a")),
            (("/a/*", "/b/:splat"), ("/b/*", "/a/:splat")),
            (("/a", "/b/x"), ("/b/*", "/a")),
            (("/b/*", "/a"), ("/a", "/b/x")),
            (("/c/*", "/a/x"), ("/a/*", "/c/y")),
        ],
    )
    def test_concurrent_requests_form_no_loop(self, api, site, run_before_write, first, second):
        run_before_write(lambda: post_redirect(api, site, *second))
        assert post_redirect(api, site, *first).status_and_code == LOOP

    def test_concurrent_requests_form_no_loop_through_other_redirects(self, api, site, run_before_write):
        middle = create_redirect(api, site, "/b", "/c")
        create_redirect(api, site, "/d", "/a")
        run_before_write(lambda: post_redirect(api, site, "/c", "/d"))
        assert post_redirect(api, site, "/a", "/b").status_and_code == LOOP
        patch_redirect(api, middle, toPath="/e")
        run_before_write(lambda: patch_redirect(api, middle, toPath="/c"))
        assert post_redirect(api, site, "/a", "/b").status_and_code == LOOP

    def test_concurrent_changes_form_no_loop(self, api, site, run_before_write):
        first, second = create_redirect(api, site, "/a", "/x", enabled=False), create_redirect(api, site, "/b", "/y")
        run_before_write(lambda: patch_redirect(api, second, toPath="/a"))
        assert patch_redirect(api, first, toPath="/b", enabled=True).status_and_code == LOOP
        patch_redirect(api, second, enabled=False)
        run_before_write(lambda: patch_redirect(api, second, enabled=True))
        assert patch_redirect(api, first, toPath="/b", enabled=True).status_and_code == LOOP

    def test_of_concurrent_redirects_of_one_path_one_is_created_and_others_are_unaffected(
        self, api, site, run_before_write
    ):
        run_before_write(lambda: post_redirect(api, site, "/a", "/b"))
        assert post_redirect(api, site, "/a", "/c").status_and_code == TAKEN
        run_before_write(lambda: post_redirect(api, site, "/c", "/d"))
        assert post_redirect(api, site, "/e", "/f").status == 201


@pytest.mark.parametrize("count", [10, 200])
def test_the_number_of_reads_depends_on_hops_and_not_on_the_number_of_redirects(api, site, count):
    container_fields = {"organization_id": site.record["organizationId"], "site_id": site.id}
    for n in range(count):
        paths: Json = {"from_path": f"/crowd/{n}", "to_path": f"/elsewhere/{n % 7}"}
        record = Redirect(**new_id_and_time_fields(now()), **container_fields, **paths)
        for item in (record.item(), *record.derived_items):
            memory_aws.put_item(item)
    api.get(site.path, caller=site.owner)
    responses = [post_redirect(api, site, *hop) for hop in reversed(hops(0, 5))]
    assert [(answer.status, len(answer.calls.read_names)) for answer in responses] == [(201, n) for n in range(2, 7)]
    redirect = create_redirect(api, site, "/b", "/elsewhere/3", statusCode=302)
    resolve_visit(api, site, "/b")
    responses = [
        post_redirect(api, site, "/a", "/crowd"),
        api.get("/sites/resolve", query={"host": site.record["host"], "path": "/b"}),
        patch_redirect(api, redirect, toPath="/crowd"),
        patch_redirect(api, redirect, statusCode=301),
        api.get(f"{site.path}/redirects", caller=site.owner),
    ]
    assert [len(answer.calls.read_names) for answer in responses] == [2, 2, 2, 1, 2]
