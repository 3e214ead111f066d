"""Redirects of sites: what they lead from and to, which of several counts, and those that pages leave behind."""

from typing import Final

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.redirects import (
    altered,
    asked_to_redirect,
    comes_to,
    left_behind,
    redirect,
    redirects_of,
    removed,
)
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, visit
from tests.harness.workers import Workers

ELSEWHERE: Final = "https://example.com/looms"


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site with nothing in it but a home."""
    site = make_site(api, organization)
    page_of(api, site, "Welcome")
    return site


def moved(api: Api, page: Leaf, slug: str) -> None:
    """Let a page be published at another path."""
    edit(api, page, slug=slug)
    publish_page(api, page)


class TestCreation:
    def test_needs_a_path_alone(self, api: Api, site: Published) -> None:
        made = asked_to_redirect(api, site, "/old-looms")
        assert made.status == 201
        assert made.json == {
            "id": made.json["id"],
            "createdAt": made.json["createdAt"],
            "updatedAt": made.json["createdAt"],
            "version": 1,
            "siteId": site.id,
            "fromPath": "/old-looms",
            "toPath": "/",
            "statusCode": 301,
            "enabled": True,
            "origin": "manual",
        }
        assert made.location == f"{site.path}/redirects/{made.json['id']}"
        assert comes_to(api, site, "/old-looms") == (301, "/")

    @pytest.mark.parametrize("path", ["/Old%2DLooms/", "/old/looms/../../old-looms", "/./OLD-LOOMS"])
    def test_takes_each_way_to_write_a_path_for_the_same(self, api: Api, site: Published, path: str) -> None:
        made = redirect(api, site, path, "/looms")
        assert made.record["fromPath"] == "/old-looms"
        assert comes_to(api, site, path) == (301, "/looms")
        assert asked_to_redirect(api, site, "/old-looms", "/mills").code == "409 already_exists"

    def test_of_what_is_not_one_path_is_refused(self, api: Api, site: Published) -> None:
        for path in (
            "",
            "looms",
            "//looms",
            "/looms?x",
            "/looms#top",
            "/a*",
            "/a/*/b",
            "/a\\b",
            "/a%3Fb",
            "https://a.b/",
        ):
            assert asked_to_redirect(api, site, path).faults.keys() == {"/fromPath"}, path
        too_deep = "/a" * 11 + "/*"
        assert asked_to_redirect(api, site, too_deep).faults == {"/fromPath": "malformed"}
        assert asked_to_redirect(api, site, "/" + "é" * 501).faults == {"/fromPath": "malformed"}

    @pytest.mark.parametrize(
        "path",
        [
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/%2f%2fevil.example",
            "/%5cevil.example",
            "/.//evil.example",
            "/\uff0fevil.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://example.com",
            "https://ada@example.com",
            "https://example.com\\@evil.example",
            "https://:splat.example.com",
            "https:/evil.example",
            "looms",
            "/a b",
        ],
    )
    def test_to_what_may_be_elsewhere_than_it_says_is_refused(self, api: Api, site: Published, path: str) -> None:
        assert asked_to_redirect(api, site, "/a", path).faults == {"/toPath": "malformed"}

    def test_to_a_host_of_the_sites_own_keeps_the_path_alone(self, api: Api, site: Published) -> None:
        own = f"HTTPS://{site.record['host'].upper()}:443"
        assert redirect(api, site, "/a", f"{own}/looms?by=ada#top").record["toPath"] == "/looms?by=ada#top"
        assert redirect(api, site, "/b", own).record["toPath"] == "/"
        assert redirect(api, site, "/c", f"{own}//evil.example").record["toPath"] == "/evil.example"
        assert asked_to_redirect(api, site, "/d", f"{own}/%2fevil.example").faults == {"/toPath": "malformed"}
        assert redirect(api, site, "/e", ELSEWHERE).record["toPath"] == ELSEWHERE

    def test_of_another_status_than_a_redirect_has_is_refused(self, api: Api, site: Published) -> None:
        assert asked_to_redirect(api, site, "/a", "/b", statusCode=303).faults == {"/statusCode": "not_one_of"}
        for status in (301, 302, 307, 308):
            redirect(api, site, f"/{status}", ELSEWHERE, statusCode=status)
            assert comes_to(api, site, f"/{status}") == (status, ELSEWHERE)

    def test_of_a_path_that_leads_somewhere_already_is_refused(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/b", enabled=False)
        again = asked_to_redirect(api, site, "/A/", "/c")
        assert (again.code, again.faults) == ("409 already_exists", {"/fromPath": "already_exists"})
        assert redirect(api, site, "/a/*", "/b").record["fromPath"] == "/a/*"
        assert asked_to_redirect(api, site, "/a/*", "/c").code == "409 already_exists"

    def test_of_a_path_that_a_page_left_is_refused_and_says_what_can_be_done(self, api: Api, site: Published) -> None:
        page = page_of(api, site, "Looms")
        moved(api, page, "weavers")
        refused = asked_to_redirect(api, site, "/looms", "/b")
        assert refused.code == "409 already_exists"
        assert "can be changed" in refused.json["detail"]

    def test_in_one_site_lets_the_same_path_of_another_be(
        self, api: Api, site: Published, organization: Founded
    ) -> None:
        other = make_site(api, organization, name="Mills")
        redirect(api, site, "/a", "/b")
        redirect(api, other, "/a", "/c")
        assert (comes_to(api, site, "/a"), comes_to(api, other, "/a")) == ((301, "/b"), (301, "/c"))

    def test_is_for_editors(self, api: Api, site: Published, mary: Person, edith: Person, stranger: Person) -> None:
        assert asked_to_redirect(api, site, "/a", as_=mary).code == "403 insufficient_role"
        assert asked_to_redirect(api, site, "/a", as_=stranger).code == "404 not_found"
        assert asked_to_redirect(api, site, "/a", as_=edith).status == 201


class TestVisitors:
    def test_are_sent_on_from_all_below_a_path_but_not_from_the_path_itself(self, api: Api, site: Published) -> None:
        redirect(api, site, "/old/*", "/new/:splat?from=:splat")
        assert comes_to(api, site, "/old/Looms/jacquard/") == (
            301,
            "/new/Looms/jacquard?from=Looms/jacquard",
        )
        assert comes_to(api, site, "/old") is None
        assert comes_to(api, site, "/older/looms") is None

    def test_see_a_page_that_came_to_a_path_after_its_redirect_by_moving_with_those_above(
        self, api: Api, site: Published
    ) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        redirect(api, site, "/tools/looms", "https://example.com/")
        edit(api, machines, slug="tools")
        publish_page(api, machines)
        assert comes_to(api, site, "/tools/looms") == "Looms"

    def test_keep_what_a_target_says_behind_its_path(self, api: Api, site: Published) -> None:
        redirect(api, site, "/old", "/new?from=mail#top")
        moved = visit(api, site, "/old")
        assert moved.location.endswith("path=%2Fnew%3Ffrom%3Dmail%23top")
        assert moved.headers["Cache-Control"] == "public, max-age=60"

    def test_come_from_files_with_blanks_in_their_names(self, api: Api, site: Published) -> None:
        redirect(api, site, "/my%20file.pdf", "/files")
        assert comes_to(api, site, "/my file.pdf") == (301, "/files")

    def test_are_sent_by_the_path_itself_before_the_longest_one_above_it(self, api: Api, site: Published) -> None:
        page_of(api, site, "All")
        redirect(api, site, "/*", "/all")
        redirect(api, site, "/a/b/*", "/longest")
        redirect(api, site, "/a/*", "/longer")
        redirect(api, site, "/a/b/c", "/itself")
        paths = ["/a/b/c", "/a/b/d", "/a/b", "/b"]
        found = [comes_to(api, site, path) for path in paths]
        assert found == [(301, "/itself"), (301, "/longest"), (301, "/longer"), (301, "/all")]

    def test_see_pages_before_what_leads_on_from_all_below_a_path_and_after_what_leads_on_from_there(
        self, api: Api, site: Published
    ) -> None:
        page_of(api, site, "Looms")
        redirect(api, site, "/*", "/", enabled=False)
        redirect(api, site, "/looms/*", "/mills")
        below = redirect(api, site, "/:x/*", "/mills")
        assert below.record["fromPath"] == "/:x/*"
        assert comes_to(api, site, "/looms") == "Looms"
        redirect(api, site, "/looms", "/mills", statusCode=302)
        assert comes_to(api, site, "/looms") == (302, "/mills")

    @pytest.mark.parametrize(
        "asked",
        [
            "/go/%2f%2fevil.example",
            "/go//evil.example",
            "/go/%5cevil.example",
            "/go/\uff0fevil.example",
            "/go/https://evil.example",
        ],
    )
    def test_are_never_led_off_the_site_by_what_they_ask_for(self, api: Api, site: Published, asked: str) -> None:
        redirect(api, site, "/go/*", "/:splat")
        sent = comes_to(api, site, asked)
        if sent is not None:
            assert isinstance(sent, tuple)
            assert not sent[1].lower().startswith(("//", "/\\", "/%2f", "/%5c", "/%ef%bc%8f", "http"))

    def test_who_ask_for_a_page_by_its_path_are_led_on(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/looms")
        redirect(api, site, "/b", "https://exämple.com/ü")
        led = visit(api, site, "/a")
        assert (led.status, led.location) == (301, f"{site.path}/pages/by-path?path=%2Flooms")
        led = visit(api, site, "/b")
        assert (led.status, led.headers["Location"]) == (301, "https://xn--exmple-cua.com/%C3%BC")


class TestList:
    def test_holds_all_in_the_order_they_were_created(self, api: Api, site: Published) -> None:
        page = page_of(api, site, "Looms")
        redirect(api, site, "/b", "/c")
        moved(api, page, "weavers")
        redirect(api, site, "/a", "/c", enabled=False)
        listed = [(each["fromPath"], each["toPath"], each["origin"]) for each in redirects_of(api, site)]
        assert listed == [("/b", "/c", "manual"), ("/looms", "/weavers", "page"), ("/a", "/c", "manual")]

    def test_says_where_moved_pages_are_now_by_a_read_or_two(self, api: Api, site: Published) -> None:
        section = page_of(api, site, "Section")
        pages = [page_of(api, site, f"Page {n}", below=section) for n in range(5)]
        for number, page in enumerate(pages):
            moved(api, page, f"moved-{number}")
        moved(api, section, "part")
        edit(api, pages[0], unpublishAt="2020-01-01T00:00:00Z")
        answer = api.get(f"{site.path}/redirects", as_=site.owner)
        led = {each["fromPath"]: each["toPath"] for each in answer.json["items"]}
        assert led == {
            "/section/page-0": None,
            **{f"/section/page-{n}": f"/part/moved-{n}" for n in range(1, 5)},
            "/section": "/part",
        }
        assert len(answer.calls.reads) <= 4

    def test_is_for_members(self, api: Api, site: Published, mary: Person, stranger: Person) -> None:
        made = redirect(api, site, "/a", "/b")
        assert api.get(made.path, as_=mary).json == made.record
        assert api.get(f"{site.path}/redirects", as_=mary).json["items"] == [made.record]
        assert api.get(f"{site.path}/redirects", as_=stranger).code == "404 not_found"
        assert api.get(f"{site.path}/redirects").code == "401 unauthenticated"


class TestChange:
    def test_holds_at_once(self, api: Api, site: Published) -> None:
        made = redirect(api, site, "/a", "/b")
        changed = altered(api, made, fromPath="/c/*", toPath="/d/:splat", statusCode=308)
        assert changed.json == {
            **made.record,
            "fromPath": "/c/*",
            "toPath": "/d/:splat",
            "statusCode": 308,
            "version": 2,
            "updatedAt": changed.json["updatedAt"],
        }
        assert (comes_to(api, site, "/a"), comes_to(api, site, "/c/x")) == (None, (308, "/d/x"))
        redirect(api, site, "/a", "/b")

    def test_switches_off_and_on(self, api: Api, site: Published) -> None:
        made = redirect(api, site, "/a", "/b")
        assert altered(api, made, enabled=False).json["enabled"] is False
        assert comes_to(api, site, "/a") is None
        assert altered(api, made, enabled=None).json["enabled"] is True
        assert comes_to(api, site, "/a") == (301, "/b")

    def test_of_nothing_leaves_nothing(self, api: Api, site: Published, organization: Founded) -> None:
        made = redirect(api, site, "/a", "/b")
        assert altered(api, made).json == made.record
        assert altered(api, made, fromPath="/A/", origin="manual", version=1).json == made.record
        assert len(log_of(api, organization, targetId=made.id)) == 1

    def test_to_the_path_of_another_is_refused(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/b")
        assert altered(api, redirect(api, site, "/c", "/b"), fromPath="/a").code == "409 already_exists"

    def test_of_what_only_the_service_sets_is_refused(self, api: Api, site: Published) -> None:
        made = redirect(api, site, "/a", "/b")
        assert altered(api, made, origin="page", fromPath=None).faults == {
            "/origin": "read_only",
            "/fromPath": "required",
        }

    def test_that_is_late_is_refused(self, api: Api, site: Published) -> None:
        made = redirect(api, site, "/a", "/b")
        seen = api.get(made.path, as_=site.owner).etag
        altered(api, made, toPath="/c")
        late = api.patch(made.path, as_=site.owner, json={"toPath": "/d"}, headers={"If-Match": seen})
        assert late.code == "412 precondition_failed"

    def test_is_told_as_an_event(self, api: Api, site: Published, organization: Founded) -> None:
        made = redirect(api, site, "/a", "/b")
        altered(api, made, toPath="/c")
        removed(api, made)
        entries = log_of(api, organization, targetId=made.id)
        assert [entry["type"] for entry in entries] == [
            "site.redirect.deleted",
            "site.redirect.updated",
            "site.redirect.created",
        ]
        assert entries[1]["changes"] == [{"field": "toPath", "from": "/b", "to": "/c"}]
        assert {entry["target"]["name"] for entry in entries} == {"/a"}


class TestDeletion:
    def test_lets_the_path_be_free(self, api: Api, site: Published) -> None:
        made = redirect(api, site, "/a", "/b")
        assert removed(api, made).status == 204
        assert comes_to(api, site, "/a") is None
        assert removed(api, made).code == "404 not_found"
        redirect(api, site, "/a", "/c")


class TestWhatAPageLeavesBehind:
    @pytest.fixture
    def looms(self, api: Api, site: Published) -> Leaf:
        """A page that has one below it, and was at /looms."""
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        moved(api, looms, "weavers")
        return looms

    def test_leads_to_where_it_is_now_and_from_below_to_what_is_below(
        self, api: Api, site: Published, looms: Leaf
    ) -> None:
        assert comes_to(api, site, "/looms") == (301, "/weavers")
        assert comes_to(api, site, "/looms/jacquard") == (301, "/weavers/jacquard")
        left = left_behind(api, site, "/looms")
        assert api.get(left.path, as_=site.owner).json["toPath"] == "/weavers"
        moved(api, looms, "mills")
        assert api.get(left.path, as_=site.owner).json["toPath"] == "/mills"
        assert comes_to(api, site, "/looms/jacquard") == (301, "/mills/jacquard")

    def test_leads_nowhere_once_it_is_deleted_nor_from_below(
        self, api: Api, site: Published, looms: Leaf, organization: Founded
    ) -> None:
        left = left_behind(api, site, "/looms")
        assert removed(api, left).status == 204
        assert (comes_to(api, site, "/looms"), comes_to(api, site, "/looms/jacquard")) == (None, None)
        assert comes_to(api, site, "/weavers/jacquard") == "Jacquard"
        (told,) = log_of(api, organization, targetId=left.id)
        assert (told["type"], told["data"]["toPath"]) == ("site.redirect.deleted", "/weavers")
        assert looms.id not in [each["id"] for each in redirects_of(api, site)]

    def test_is_a_manual_one_once_it_is_changed_and_follows_the_page_no_more(
        self, api: Api, site: Published, looms: Leaf, organization: Founded
    ) -> None:
        left = left_behind(api, site, "/looms")
        assert altered(api, left).json == left.record
        changed = altered(api, left, statusCode=302)
        assert (changed.status, changed.json["origin"], changed.json["toPath"]) == (200, "manual", "/weavers")
        assert comes_to(api, site, "/looms") == (302, "/weavers")
        assert comes_to(api, site, "/looms/jacquard") is None
        moved(api, looms, "mills")
        assert comes_to(api, site, "/looms") == (302, "/weavers")
        (told,) = log_of(api, organization, targetId=left.id)
        assert told["changes"] == [
            {"field": "statusCode", "from": 301, "to": 302},
            {"field": "origin", "from": "page", "to": "manual"},
        ]

    def test_leads_nowhere_while_the_page_is_nowhere(self, api: Api, site: Published, looms: Leaf) -> None:
        edit(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        left = left_behind(api, site, "/looms")
        assert left.record["toPath"] is None
        assert comes_to(api, site, "/looms") is None
        assert altered(api, left).json == left.record
        assert altered(api, left, enabled=True, toPath=None).json == left.record
        changed = altered(api, left, statusCode=302)
        assert (changed.json["origin"], changed.json["toPath"]) == ("manual", "/")

    def test_goes_when_a_page_is_published_there(self, api: Api, site: Published, looms: Leaf) -> None:
        page_of(api, site, "Looms again", slug="looms")
        assert comes_to(api, site, "/looms") == "Looms again"
        assert redirects_of(api, site) == []
        assert looms.record["path"] == "/looms"

    def test_goes_with_the_page(self, api: Api, site: Published, looms: Leaf, workers: Workers) -> None:
        assert api.delete(looms.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert left_behind(api, site, "/looms").record["toPath"] is None
        workers.settle()
        assert redirects_of(api, site) == []
        assert comes_to(api, site, "/looms") is None
