"""Redirects that would lead in a circle, or by more hops than a visitor is asked to make: none is let in."""

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
LINE: Final = [f"/{n}" for n in range(7)]
"""Paths that seven hops are between: one more than there may be."""


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site with nothing in it."""
    return make_site(api, organization)


class TestACircle:
    def test_of_one_is_refused(self, api: Api, site: Published) -> None:
        refused = asked_to_redirect(api, site, "/a", "/A/?x#y")
        assert (refused.code, refused.faults) == (LOOP, {"/toPath": "redirect_loop"})
        assert asked_to_redirect(api, site, "/").code == LOOP
        assert asked_to_redirect(api, site, "/a", "/b/../%61").code == LOOP
        own = f"https://{site.record['host']}/a"
        assert asked_to_redirect(api, site, "/a", own).code == LOOP

    def test_of_several_is_refused_whichever_comes_last(self, api: Api, site: Published) -> None:
        hops = [("/a", "/b"), ("/b", "/c"), ("/c", "/a")]
        for order in permutations(hops):
            *first, last = order
            made = [redirect(api, site, *hop) for hop in first]
            assert asked_to_redirect(api, site, *last).code == LOOP
            for each in made:
                removed(api, each)

    @pytest.mark.parametrize("to", ["/a/:splat", "/a/b/:splat", "/a/b", "/:splat/../a/x"])
    def test_within_all_below_a_path_is_refused(self, api: Api, site: Published, to: str) -> None:
        assert asked_to_redirect(api, site, "/a/*", to).code == LOOP

    def test_of_all_below_two_paths_is_refused(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a/*", "/b/:splat")
        assert asked_to_redirect(api, site, "/b/*", "/a/:splat").code == LOOP
        assert asked_to_redirect(api, site, "/b/*", "/a/x").code == LOOP
        assert asked_to_redirect(api, site, "/b/x", "/a/x").code == LOOP
        assert asked_to_redirect(api, site, "/b/x", "/a").status == 201

    def test_that_only_one_path_of_many_goes_in_leads_nowhere(self, api: Api, site: Published) -> None:
        redirect(api, site, "/b/x", "/a/x")
        redirect(api, site, "/a/*", "/b/:splat")
        assert (comes_to(api, site, "/a/y"), comes_to(api, site, "/a/x"), comes_to(api, site, "/b/x")) == (
            (301, "/b/y"),
            None,
            None,
        )

    def test_that_a_change_would_close_is_refused(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/b")
        other = redirect(api, site, "/c", "/a")
        assert altered(api, other, fromPath="/b").code == LOOP
        assert altered(api, other, toPath="/C").code == LOOP
        assert altered(api, other, fromPath="/b", toPath="/d").status == 200
        assert altered(api, other, statusCode=302).status == 200

    def test_that_was_disabled_is_refused_when_it_would_be_closed(self, api: Api, site: Published) -> None:
        one = redirect(api, site, "/a", "/b", enabled=False)
        other = redirect(api, site, "/b", "/a")
        assert altered(api, one, enabled=True).code == LOOP
        altered(api, other, enabled=False)
        assert altered(api, one, enabled=True).status == 200
        assert altered(api, other, enabled=True).code == LOOP

    def test_is_none_where_a_page_ends_the_way(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page_of(api, site, "Looms")
        redirect(api, site, "/*", "/looms")
        assert comes_to(api, site, "/mills") == (301, "/looms")
        redirect(api, site, "/looms/*", "/")

    def test_that_a_moved_page_is_part_of_is_refused(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page = page_of(api, site, "Looms")
        edit(api, page, slug="weavers")
        publish_page(api, page)
        assert asked_to_redirect(api, site, "/weavers", "/looms").code == LOOP

    def test_that_a_page_closes_by_moving_leads_nobody_round(self, api: Api, site: Published) -> None:
        page_of(api, site, "Welcome")
        page = page_of(api, site, "Looms")
        redirect(api, site, "/weavers", "/looms")
        edit(api, page, slug="weavers")
        publish_page(api, page)
        assert (comes_to(api, site, "/looms"), comes_to(api, site, "/weavers")) == ((301, "/weavers"), "Looms")


class TestALongWay:
    def test_has_five_hops_at_most_in_whatever_order_they_are_made(self, api: Api, site: Published) -> None:
        hops = [*pairwise(LINE)]
        for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [0, 5, 1, 4, 2, 3], [3, 1, 5, 0, 4, 2]):
            *first, last = order
            made = [redirect(api, site, *hops[n]) for n in first]
            assert asked_to_redirect(api, site, *hops[last]).code == LOOP
            for each in made:
                removed(api, each)

    def test_counts_what_leads_to_it_from_all_below_a_path(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a/*", LINE[1])
        redirect(api, site, "/b/*", "/a/:splat")
        for hop in pairwise(LINE[1:5]):
            redirect(api, site, *hop)
        assert asked_to_redirect(api, site, "/c/*", "/b/:splat").code == LOOP
        assert asked_to_redirect(api, site, *LINE[4:6]).code == LOOP

    def test_ends_elsewhere_or_where_one_is_disabled(self, api: Api, site: Published) -> None:
        for hop in pairwise(LINE[:5]):
            redirect(api, site, *hop)
        redirect(api, site, LINE[4], "https://example.com/", enabled=True)
        assert asked_to_redirect(api, site, "/x", LINE[0]).code == LOOP
        off = redirect(api, site, "/x", LINE[0], enabled=False)
        assert altered(api, off, enabled=True).code == LOOP
        assert altered(api, off, enabled=True, toPath=LINE[1]).status == 200

    def test_that_many_lead_to_is_one_hop_longer(self, api: Api, site: Published) -> None:
        for n in range(30):
            redirect(api, site, f"/from-{n}", "/1")
        for hop in pairwise(LINE[1:6]):
            redirect(api, site, *hop)
        assert asked_to_redirect(api, site, *LINE[5:7]).code == LOOP


Meanwhile = Callable[[Callable[[], Answer]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let something be done, with success, before the next write."""

    def before(what: Callable[[], Answer]) -> None:
        def succeeded() -> None:
            assert what().status < 300

        before_the_next_write(monkeypatch, succeeded)

    return before


class TestTwoAtOnce:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (("/a", "/b"), ("/b", "/a")),
            (("/a/*", "/b/:splat"), ("/b/*", "/a/:splat")),
            (("/a", "/b/x"), ("/b/*", "/a")),
            (("/b/*", "/a"), ("/a", "/b/x")),
            (("/c/*", "/a/x"), ("/a/*", "/c/y")),
        ],
    )
    def test_make_no_circle(
        self, api: Api, site: Published, meanwhile: Meanwhile, one: tuple[str, str], other: tuple[str, str]
    ) -> None:
        meanwhile(lambda: asked_to_redirect(api, site, *other))
        assert asked_to_redirect(api, site, *one).code == LOOP

    def test_make_none_with_others_between_them(self, api: Api, site: Published, meanwhile: Meanwhile) -> None:
        between = redirect(api, site, "/b", "/c")
        redirect(api, site, "/d", "/a")
        meanwhile(lambda: asked_to_redirect(api, site, "/c", "/d"))
        assert asked_to_redirect(api, site, "/a", "/b").code == LOOP
        altered(api, between, toPath="/e")
        meanwhile(lambda: altered(api, between, toPath="/c"))
        assert asked_to_redirect(api, site, "/a", "/b").code == LOOP

    def test_make_none_by_changes(self, api: Api, site: Published, meanwhile: Meanwhile) -> None:
        one, other = redirect(api, site, "/a", "/x", enabled=False), redirect(api, site, "/b", "/y")
        meanwhile(lambda: altered(api, other, toPath="/a"))
        assert altered(api, one, toPath="/b", enabled=True).code == LOOP
        altered(api, other, enabled=False)
        meanwhile(lambda: altered(api, other, enabled=True))
        assert altered(api, one, toPath="/b", enabled=True).code == LOOP

    def test_of_one_path_are_one(self, api: Api, site: Published, meanwhile: Meanwhile) -> None:
        meanwhile(lambda: asked_to_redirect(api, site, "/a", "/b"))
        assert asked_to_redirect(api, site, "/a", "/c").code == "409 already_exists"

    def test_that_have_nothing_to_do_with_each_other_are_both_let_in(
        self, api: Api, site: Published, meanwhile: Meanwhile
    ) -> None:
        meanwhile(lambda: asked_to_redirect(api, site, "/a", "/b"))
        assert asked_to_redirect(api, site, "/c", "/d").status == 201


def crowded(site: Published, number: int) -> None:
    """Let a site have so many redirects more."""
    place: dict[str, Any] = {"organization_id": site.record["organizationId"], "site_id": site.id}
    for n in range(number):
        made = Redirect(**new_record_fields(now()), **place, from_path=f"/crowd/{n}", to_path=f"/elsewhere/{n % 7}")
        for item in (made.item(), *made.derived_items):
            cloud.put(item)


class TestAmongVeryMany:
    @pytest.mark.parametrize("number", [10, 1000])
    def test_one_takes_two_reads_and_one_for_each_hop(self, api: Api, site: Published, number: int) -> None:
        crowded(site, number)
        api.get(site.path, as_=site.owner)
        taken = []
        for source, led in reversed([*pairwise(LINE[:6])]):
            answer = asked_to_redirect(api, site, source, led)
            assert answer.status == 201
            taken.append(len(answer.calls.reads))
        assert taken == [2, 3, 4, 5, 6]
        assert [len(asked_to_redirect(api, site, "/a", "/crowd").calls.reads)] == [2]

    @pytest.mark.parametrize("number", [10, 1000])
    def test_a_visit_takes_as_much_and_so_does_a_change(self, api: Api, site: Published, number: int) -> None:
        crowded(site, number)
        made = redirect(api, site, "/a", "/elsewhere/3", statusCode=302)
        comes_to(api, site, "/a")
        visit = api.get("/sites/resolve", query={"host": site.record["host"], "path": "/a"})
        assert len(visit.calls.reads) == 2
        assert len(altered(api, made, toPath="/crowd").calls.reads) == 2
        assert len(altered(api, made, statusCode=301).calls.reads) == 1
        assert len(api.get(f"{site.path}/redirects", as_=site.owner).calls.reads) == 2
