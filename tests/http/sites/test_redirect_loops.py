"""Redirects that would form a loop or exceed the maximum number of hops are rejected."""

from itertools import pairwise, permutations
from typing import Final

import pytest

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.redirects import create_redirect, delete_redirect, patch_redirect, post_redirect, resolve_visit

LOOP: Final = "409 redirect_loop"
PATHS: Final = [f"/{n}" for n in range(7)]
"""Seven paths. Their six hops are one more than the maximum."""


class TestLoops:
    def test_a_loop_of_one_redirect_is_rejected(self, api, site):
        response = post_redirect(api, site, "/a", "/A/?x#y")
        assert (response.status_and_code, response.errors) == (LOOP, {"/toPath": "redirect_loop"})
        assert post_redirect(api, site, "/").status_and_code == LOOP
        for to_path in ("/b/../%61", f"https://{site.record['host']}/a"):
            assert post_redirect(api, site, "/a", to_path).status_and_code == LOOP
        for to_path in ("/a/:splat", "/a/b/:splat", "/a/b", "/:splat/../a/x"):
            assert post_redirect(api, site, "/a/*", to_path).status_and_code == LOOP, to_path

    def test_a_loop_of_several_redirects_is_rejected_in_any_order(self, api, site):
        for *first, last in permutations([("/a", "/b"), ("/b", "/c"), ("/c", "/a")]):
            redirects = [create_redirect(api, site, *hop) for hop in first]
            assert post_redirect(api, site, *last).status_and_code == LOOP
            for redirect in redirects:
                delete_redirect(api, redirect)

    def test_a_loop_of_two_wildcards_is_rejected(self, api, site):
        create_redirect(api, site, "/a/*", "/b/:splat")
        for from_path, to_path in [("/b/*", "/a/:splat"), ("/b/*", "/a/x"), ("/b/x", "/a/x")]:
            assert post_redirect(api, site, from_path, to_path).status_and_code == LOOP
        assert post_redirect(api, site, "/b/x", "/a").status == 201

    def test_a_loop_of_a_single_path_of_a_wildcard_is_not_followed(self, api, site):
        create_redirect(api, site, "/b/x", "/a/x")
        create_redirect(api, site, "/a/*", "/b/:splat")
        assert [resolve_visit(api, site, path) for path in ("/a/y", "/a/x", "/b/x")] == [(301, "/b/y"), None, None]

    def test_a_change_that_closes_a_loop_is_rejected(self, api, site):
        create_redirect(api, site, "/a", "/b")
        second = create_redirect(api, site, "/c", "/a")
        changes: list[tuple[Json, int]] = [
            ({"fromPath": "/b"}, 409),
            ({"toPath": "/C"}, 409),
            ({"fromPath": "/b", "toPath": "/d"}, 200),
            ({"statusCode": 302}, 200),
        ]
        for fields, status in changes:
            response = patch_redirect(api, second, **fields)
            assert response.status == status
            assert status == 200 or response.status_and_code == LOOP

    def test_enabling_a_redirect_that_closes_a_loop_is_rejected(self, api, site):
        first = create_redirect(api, site, "/a", "/b", enabled=False)
        second = create_redirect(api, site, "/b", "/a")
        assert patch_redirect(api, first, enabled=True).status_and_code == LOOP
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


class TestMaximumHops:
    def test_a_chain_has_at_most_five_hops_in_any_order_of_creation(self, api, site):
        hops = [*pairwise(PATHS)]
        for *first, last in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 1, 5, 0, 4, 2]):
            redirects = [create_redirect(api, site, *hops[n]) for n in first]
            assert post_redirect(api, site, *hops[last]).status_and_code == LOOP
            for redirect in redirects:
                delete_redirect(api, redirect)

    def test_hops_of_wildcards_are_counted(self, api, site):
        create_redirect(api, site, "/a/*", PATHS[1])
        create_redirect(api, site, "/b/*", "/a/:splat")
        for hop in pairwise(PATHS[1:5]):
            create_redirect(api, site, *hop)
        assert post_redirect(api, site, "/c/*", "/b/:splat").status_and_code == LOOP
        assert post_redirect(api, site, *PATHS[4:6]).status_and_code == LOOP

    def test_external_targets_and_disabled_redirects_end_a_chain(self, api, site):
        for hop in pairwise(PATHS[:5]):
            create_redirect(api, site, *hop)
        create_redirect(api, site, PATHS[4], "https://example.com/", enabled=True)
        assert post_redirect(api, site, "/x", PATHS[0]).status_and_code == LOOP
        disabled = create_redirect(api, site, "/x", PATHS[0], enabled=False)
        assert patch_redirect(api, disabled, enabled=True).status_and_code == LOOP
        assert patch_redirect(api, disabled, enabled=True, toPath=PATHS[1]).status == 200

    def test_many_redirects_to_one_path_count_as_one_hop(self, api, site):
        for n in range(10):
            create_redirect(api, site, f"/from-{n}", "/1")
        for hop in pairwise(PATHS[1:6]):
            create_redirect(api, site, *hop)
        assert post_redirect(api, site, *PATHS[5:7]).status_and_code == LOOP


class TestConcurrency:
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
        assert post_redirect(api, site, "/a", "/c").status_and_code == "409 already_exists"
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
    responses = [post_redirect(api, site, *hop) for hop in reversed([*pairwise(PATHS[:6])])]
    assert [(answer.status, len(answer.calls.read_names)) for answer in responses] == [(201, n) for n in range(2, 7)]
    assert len(post_redirect(api, site, "/a", "/crowd").calls.read_names) == 2
    redirect = create_redirect(api, site, "/b", "/elsewhere/3", statusCode=302)
    resolve_visit(api, site, "/b")
    response = api.get("/sites/resolve", query={"host": site.record["host"], "path": "/b"})
    assert len(response.calls.read_names) == 2
    assert len(patch_redirect(api, redirect, toPath="/crowd").calls.read_names) == 2
    assert len(patch_redirect(api, redirect, statusCode=301).calls.read_names) == 1
    assert len(api.get(f"{site.path}/redirects", caller=site.owner).calls.read_names) == 2
