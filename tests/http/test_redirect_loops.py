"""Redirects that would form a loop or exceed the maximum number of hops are rejected."""

from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any, Final

import pytest

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_record_fields
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.invitations import before_the_next_write
from tests.harness.organizations import Founded
from tests.harness.redirects import altered, asked_to_redirect, comes_to, redirect, removed
from tests.harness.sites import Published, edit, make_site, page_of, publish_page

LOOP: Final = "409 redirect_loop"
PATHS: Final = [f"/{n}" for n in range(7)]
"""Seven paths. Their six hops are one more than the maximum."""


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """An empty site."""
    return make_site(api, organization)


class TestLoops:
    def test_a_loop_of_one_redirect_is_rejected(self, api: Api, site: Published) -> None:
        response = asked_to_redirect(api, site, "/a", "/A/?x#y")
        assert (response.code, response.faults) == (LOOP, {"/toPath": "redirect_loop"})
        assert asked_to_redirect(api, site, "/").code == LOOP
        assert asked_to_redirect(api, site, "/a", "/b/../%61").code == LOOP
        own_url = f"https://{site.record['host']}/a"
        assert asked_to_redirect(api, site, "/a", own_url).code == LOOP

    def test_a_loop_of_several_redirects_is_rejected_in_any_order(self, api: Api, site: Published) -> None:
        hops = [("/a", "/b"), ("/b", "/c"), ("/c", "/a")]
        for order in permutations(hops):
            *first, last = order
            redirects = [redirect(api, site, *hop) for hop in first]
            assert asked_to_redirect(api, site, *last).code == LOOP
            for created in redirects:
                removed(api, created)

    @pytest.mark.parametrize("to_path", ["/a/:splat", "/a/b/:splat", "/a/b", "/:splat/../a/x"])
    def test_a_wildcard_that_leads_to_itself_is_rejected(self, api: Api, site: Published, to_path: str) -> None:
        assert asked_to_redirect(api, site, "/a/*", to_path).code == LOOP

    def test_a_loop_of_two_wildcards_is_rejected(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a/*", "/b/:splat")
        assert asked_to_redirect(api, site, "/b/*", "/a/:splat").code == LOOP
        assert asked_to_redirect(api, site, "/b/*", "/a/x").code == LOOP
        assert asked_to_redirect(api, site, "/b/x", "/a/x").code == LOOP
        assert asked_to_redirect(api, site, "/b/x", "/a").status == 201

    def test_a_loop_of_a_single_path_of_a_wildcard_is_not_followed(self, api: Api, site: Published) -> None:
        redirect(api, site, "/b/x", "/a/x")
        redirect(api, site, "/a/*", "/b/:splat")
        assert (comes_to(api, site, "/a/y"), comes_to(api, site, "/a/x"), comes_to(api, site, "/b/x")) == (
            (301, "/b/y"),
            None,
            None,
        )

    def test_a_change_that_closes_a_loop_is_rejected(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/b")
        second = redirect(api, site, "/c", "/a")
        assert altered(api, second, fromPath="/b").code == LOOP
        assert altered(api, second, toPath="/C").code == LOOP
        assert altered(api, second, fromPath="/b", toPath="/d").status == 200
        assert altered(api, second, statusCode=302).status == 200

    def test_enabling_a_redirect_that_closes_a_loop_is_rejected(self, api: Api, site: Published) -> None:
        first = redirect(api, site, "/a", "/b", enabled=False)
        second = redirect(api, site, "/b", "/a")
        assert altered(api, first, enabled=True).code == LOOP
        altered(api, second, enabled=False)
        assert altered(api, first, enabled=True).status == 200
        assert altered(api, second, enabled=True).code == LOOP

    def test_a_page_on_the_way_prevents_a_loop(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page_of(api, site, "Looms")
        redirect(api, site, "/*", "/looms")
        assert comes_to(api, site, "/mills") == (301, "/looms")
        redirect(api, site, "/looms/*", "/")

    def test_a_loop_through_a_moved_page_is_rejected(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page = page_of(api, site, "Looms")
        edit(api, page, slug="weavers")
        publish_page(api, page)
        assert asked_to_redirect(api, site, "/weavers", "/looms").code == LOOP

    def test_a_loop_closed_by_moving_a_page_is_not_followed(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page = page_of(api, site, "Looms")
        redirect(api, site, "/weavers", "/looms")
        edit(api, page, slug="weavers")
        publish_page(api, page)
        assert (comes_to(api, site, "/looms"), comes_to(api, site, "/weavers")) == ((301, "/weavers"), "Looms")


class TestMaximumHops:
    def test_a_chain_has_at_most_five_hops_in_any_order_of_creation(self, api: Api, site: Published) -> None:
        hops = [*pairwise(PATHS)]
        for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [0, 5, 1, 4, 2, 3], [3, 1, 5, 0, 4, 2]):
            *first, last = order
            redirects = [redirect(api, site, *hops[n]) for n in first]
            assert asked_to_redirect(api, site, *hops[last]).code == LOOP
            for created in redirects:
                removed(api, created)

    def test_hops_of_wildcards_are_counted(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a/*", PATHS[1])
        redirect(api, site, "/b/*", "/a/:splat")
        for hop in pairwise(PATHS[1:5]):
            redirect(api, site, *hop)
        assert asked_to_redirect(api, site, "/c/*", "/b/:splat").code == LOOP
        assert asked_to_redirect(api, site, *PATHS[4:6]).code == LOOP

    def test_external_targets_and_disabled_redirects_end_a_chain(self, api: Api, site: Published) -> None:
        for hop in pairwise(PATHS[:5]):
            redirect(api, site, *hop)
        redirect(api, site, PATHS[4], "https://example.com/", enabled=True)
        assert asked_to_redirect(api, site, "/x", PATHS[0]).code == LOOP
        disabled = redirect(api, site, "/x", PATHS[0], enabled=False)
        assert altered(api, disabled, enabled=True).code == LOOP
        assert altered(api, disabled, enabled=True, toPath=PATHS[1]).status == 200

    def test_many_redirects_to_one_path_count_as_one_hop(self, api: Api, site: Published) -> None:
        for n in range(30):
            redirect(api, site, f"/from-{n}", "/1")
        for hop in pairwise(PATHS[1:6]):
            redirect(api, site, *hop)
        assert asked_to_redirect(api, site, *PATHS[5:7]).code == LOOP


RunBeforeWrite = Callable[[Callable[[], Answer]], None]


@pytest.fixture
def run_before_write(monkeypatch: pytest.MonkeyPatch) -> RunBeforeWrite:
    """Run a successful request before the next write."""

    def schedule(send: Callable[[], Answer]) -> None:
        def send_successfully() -> None:
            assert send().status < 300

        before_the_next_write(monkeypatch, send_successfully)

    return schedule


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
    def test_concurrent_requests_form_no_loop(
        self,
        api: Api,
        site: Published,
        run_before_write: RunBeforeWrite,
        first: tuple[str, str],
        second: tuple[str, str],
    ) -> None:
        run_before_write(lambda: asked_to_redirect(api, site, *second))
        assert asked_to_redirect(api, site, *first).code == LOOP

    def test_concurrent_requests_form_no_loop_through_other_redirects(
        self, api: Api, site: Published, run_before_write: RunBeforeWrite
    ) -> None:
        middle = redirect(api, site, "/b", "/c")
        redirect(api, site, "/d", "/a")
        run_before_write(lambda: asked_to_redirect(api, site, "/c", "/d"))
        assert asked_to_redirect(api, site, "/a", "/b").code == LOOP
        altered(api, middle, toPath="/e")
        run_before_write(lambda: altered(api, middle, toPath="/c"))
        assert asked_to_redirect(api, site, "/a", "/b").code == LOOP

    def test_concurrent_changes_form_no_loop(self, api: Api, site: Published, run_before_write: RunBeforeWrite) -> None:
        first, second = redirect(api, site, "/a", "/x", enabled=False), redirect(api, site, "/b", "/y")
        run_before_write(lambda: altered(api, second, toPath="/a"))
        assert altered(api, first, toPath="/b", enabled=True).code == LOOP
        altered(api, second, enabled=False)
        run_before_write(lambda: altered(api, second, enabled=True))
        assert altered(api, first, toPath="/b", enabled=True).code == LOOP

    def test_concurrent_redirects_of_one_path_are_one(
        self, api: Api, site: Published, run_before_write: RunBeforeWrite
    ) -> None:
        run_before_write(lambda: asked_to_redirect(api, site, "/a", "/b"))
        assert asked_to_redirect(api, site, "/a", "/c").code == "409 already_exists"

    def test_concurrent_unrelated_redirects_are_both_created(
        self, api: Api, site: Published, run_before_write: RunBeforeWrite
    ) -> None:
        run_before_write(lambda: asked_to_redirect(api, site, "/a", "/b"))
        assert asked_to_redirect(api, site, "/c", "/d").status == 201


def put_redirects(site: Published, count: int) -> None:
    """Store a number of redirects of a site."""
    container_fields: dict[str, Any] = {"organization_id": site.record["organizationId"], "site_id": site.id}
    for n in range(count):
        record = Redirect(
            **new_record_fields(now()), **container_fields, from_path=f"/crowd/{n}", to_path=f"/elsewhere/{n % 7}"
        )
        for item in (record.item(), *record.derived_items):
            cloud.put(item)


class TestManyRedirects:
    @pytest.mark.parametrize("count", [10, 1000])
    def test_creating_a_redirect_takes_two_reads_and_one_for_each_hop(
        self, api: Api, site: Published, count: int
    ) -> None:
        put_redirects(site, count)
        api.get(site.path, as_=site.owner)
        read_counts = []
        for source, to_path in reversed([*pairwise(PATHS[:6])]):
            answer = asked_to_redirect(api, site, source, to_path)
            assert answer.status == 201
            read_counts.append(len(answer.calls.reads))
        assert read_counts == [2, 3, 4, 5, 6]
        assert [len(asked_to_redirect(api, site, "/a", "/crowd").calls.reads)] == [2]

    @pytest.mark.parametrize("count", [10, 1000])
    def test_the_number_of_reads_does_not_depend_on_the_number_of_redirects(
        self, api: Api, site: Published, count: int
    ) -> None:
        put_redirects(site, count)
        created = redirect(api, site, "/a", "/elsewhere/3", statusCode=302)
        comes_to(api, site, "/a")
        response = api.get("/sites/resolve", query={"host": site.record["host"], "path": "/a"})
        assert len(response.calls.reads) == 2
        assert len(altered(api, created, toPath="/crowd").calls.reads) == 2
        assert len(altered(api, created, statusCode=301).calls.reads) == 1
        assert len(api.get(f"{site.path}/redirects", as_=site.owner).calls.reads) == 2
