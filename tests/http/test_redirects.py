"""Redirects of sites: their paths and targets, their precedence, and redirects of moved pages."""

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

EXTERNAL_URL: Final = "https://example.com/looms"


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site with a home page."""
    site = make_site(api, organization)
    page_of(api, site, "Welcome")
    return site


def publish_at(api: Api, page: Leaf, slug: str) -> None:
    """Publish a page at another path."""
    edit(api, page, slug=slug)
    publish_page(api, page)


class TestCreateRedirect:
    def test_a_path_is_enough(self, api: Api, site: Published) -> None:
        response = asked_to_redirect(api, site, "/old-looms")
        assert response.status == 201
        assert response.json == {
            "id": response.json["id"],
            "createdAt": response.json["createdAt"],
            "updatedAt": response.json["createdAt"],
            "version": 1,
            "siteId": site.id,
            "fromPath": "/old-looms",
            "toPath": "/",
            "statusCode": 301,
            "enabled": True,
            "origin": "manual",
        }
        assert response.location == f"{site.path}/redirects/{response.json['id']}"
        assert comes_to(api, site, "/old-looms") == (301, "/")

    @pytest.mark.parametrize("path", ["/Old%2DLooms/", "/old/looms/../../old-looms", "/./OLD-LOOMS"])
    def test_every_spelling_of_a_path_is_the_same_path(self, api: Api, site: Published, path: str) -> None:
        new_redirect = redirect(api, site, path, "/looms")
        assert new_redirect.record["fromPath"] == "/old-looms"
        assert comes_to(api, site, path) == (301, "/looms")
        assert asked_to_redirect(api, site, "/old-looms", "/mills").code == "409 already_exists"

    def test_an_invalid_path_is_rejected(self, api: Api, site: Published) -> None:
        paths = ("", "looms", "//looms", "/looms?x", "/looms#top", "/a*", "/a/*/b", "/a\\b", "/a%3Fb", "https://a.b/")
        for path in paths:
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
    def test_a_target_with_an_ambiguous_host_is_rejected(self, api: Api, site: Published, path: str) -> None:
        assert asked_to_redirect(api, site, "/a", path).faults == {"/toPath": "malformed"}

    def test_a_target_on_a_host_of_the_site_is_stored_as_a_path(self, api: Api, site: Published) -> None:
        own_origin = f"HTTPS://{site.record['host'].upper()}:443"
        assert redirect(api, site, "/a", f"{own_origin}/looms?by=ada#top").record["toPath"] == "/looms?by=ada#top"
        assert redirect(api, site, "/b", own_origin).record["toPath"] == "/"
        assert redirect(api, site, "/c", f"{own_origin}//evil.example").record["toPath"] == "/evil.example"
        assert asked_to_redirect(api, site, "/d", f"{own_origin}/%2fevil.example").faults == {"/toPath": "malformed"}
        assert redirect(api, site, "/e", EXTERNAL_URL).record["toPath"] == EXTERNAL_URL

    def test_an_invalid_status_is_rejected(self, api: Api, site: Published) -> None:
        assert asked_to_redirect(api, site, "/a", "/b", statusCode=303).faults == {"/statusCode": "not_one_of"}
        for status in (301, 302, 307, 308):
            redirect(api, site, f"/{status}", EXTERNAL_URL, statusCode=status)
            assert comes_to(api, site, f"/{status}") == (status, EXTERNAL_URL)

    def test_a_second_redirect_of_a_path_is_rejected(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/b", enabled=False)
        response = asked_to_redirect(api, site, "/A/", "/c")
        assert (response.code, response.faults) == ("409 already_exists", {"/fromPath": "already_exists"})
        assert redirect(api, site, "/a/*", "/b").record["fromPath"] == "/a/*"
        assert asked_to_redirect(api, site, "/a/*", "/c").code == "409 already_exists"

    def test_a_redirect_of_a_moved_pages_former_path_is_rejected_with_advice(self, api: Api, site: Published) -> None:
        page = page_of(api, site, "Looms")
        publish_at(api, page, "weavers")
        response = asked_to_redirect(api, site, "/looms", "/b")
        assert response.code == "409 already_exists"
        assert "can be changed" in response.json["detail"]

    def test_two_sites_can_redirect_the_same_path(self, api: Api, site: Published, organization: Founded) -> None:
        other = make_site(api, organization, name="Mills")
        redirect(api, site, "/a", "/b")
        redirect(api, other, "/a", "/c")
        assert (comes_to(api, site, "/a"), comes_to(api, other, "/a")) == ((301, "/b"), (301, "/c"))

    def test_only_editors_create_redirects(
        self, api: Api, site: Published, mary: Person, edith: Person, stranger: Person
    ) -> None:
        assert asked_to_redirect(api, site, "/a", as_=mary).code == "403 insufficient_role"
        assert asked_to_redirect(api, site, "/a", as_=stranger).code == "404 not_found"
        assert asked_to_redirect(api, site, "/a", as_=edith).status == 201


class TestVisits:
    def test_a_wildcard_redirects_all_descendants_but_not_the_path_itself(self, api: Api, site: Published) -> None:
        redirect(api, site, "/old/*", "/new/:splat?from=:splat")
        assert comes_to(api, site, "/old/Looms/jacquard/") == (
            301,
            "/new/Looms/jacquard?from=Looms/jacquard",
        )
        assert comes_to(api, site, "/old") is None
        assert comes_to(api, site, "/older/looms") is None

    def test_a_page_that_moved_to_the_path_takes_precedence_over_its_redirect(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        redirect(api, site, "/tools/looms", "https://example.com/")
        edit(api, machines, slug="tools")
        publish_page(api, machines)
        assert comes_to(api, site, "/tools/looms") == "Looms"

    def test_a_target_keeps_its_query_and_fragment(self, api: Api, site: Published) -> None:
        redirect(api, site, "/old", "/new?from=mail#top")
        response = visit(api, site, "/old")
        assert response.location.endswith("path=%2Fnew%3Ffrom%3Dmail%23top")
        assert response.headers["Cache-Control"] == "public, max-age=60"

    def test_a_path_can_contain_spaces(self, api: Api, site: Published) -> None:
        redirect(api, site, "/my%20file.pdf", "/files")
        assert comes_to(api, site, "/my file.pdf") == (301, "/files")

    def test_an_exact_path_takes_precedence_over_the_longest_wildcard(self, api: Api, site: Published) -> None:
        page_of(api, site, "All")
        redirect(api, site, "/*", "/all")
        redirect(api, site, "/a/b/*", "/longest")
        redirect(api, site, "/a/*", "/longer")
        redirect(api, site, "/a/b/c", "/itself")
        paths = ["/a/b/c", "/a/b/d", "/a/b", "/b"]
        destinations = [comes_to(api, site, path) for path in paths]
        assert destinations == [(301, "/itself"), (301, "/longest"), (301, "/longer"), (301, "/all")]

    def test_pages_take_precedence_over_wildcards_and_exact_redirects_over_pages(
        self, api: Api, site: Published
    ) -> None:
        page_of(api, site, "Looms")
        redirect(api, site, "/*", "/", enabled=False)
        redirect(api, site, "/looms/*", "/mills")
        wildcard = redirect(api, site, "/:x/*", "/mills")
        assert wildcard.record["fromPath"] == "/:x/*"
        assert comes_to(api, site, "/looms") == "Looms"
        redirect(api, site, "/looms", "/mills", statusCode=302)
        assert comes_to(api, site, "/looms") == (302, "/mills")

    @pytest.mark.parametrize(
        "path",
        [
            "/go/%2f%2fevil.example",
            "/go//evil.example",
            "/go/%5cevil.example",
            "/go/\uff0fevil.example",
            "/go/https://evil.example",
        ],
    )
    def test_a_requested_path_never_redirects_to_another_host(self, api: Api, site: Published, path: str) -> None:
        redirect(api, site, "/go/*", "/:splat")
        destination = comes_to(api, site, path)
        if destination is not None:
            assert isinstance(destination, tuple)
            assert not destination[1].lower().startswith(("//", "/\\", "/%2f", "/%5c", "/%ef%bc%8f", "http"))

    def test_a_page_requested_by_path_is_redirected(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/looms")
        redirect(api, site, "/b", "https://exämple.com/ü")
        response = visit(api, site, "/a")
        assert (response.status, response.location) == (301, f"{site.path}/pages/by-path?path=%2Flooms")
        response = visit(api, site, "/b")
        assert (response.status, response.headers["Location"]) == (301, "https://xn--exmple-cua.com/%C3%BC")


class TestListRedirects:
    def test_all_redirects_are_listed_in_order_of_creation(self, api: Api, site: Published) -> None:
        page = page_of(api, site, "Looms")
        redirect(api, site, "/b", "/c")
        publish_at(api, page, "weavers")
        redirect(api, site, "/a", "/c", enabled=False)
        listed = [(item["fromPath"], item["toPath"], item["origin"]) for item in redirects_of(api, site)]
        assert listed == [("/b", "/c", "manual"), ("/looms", "/weavers", "page"), ("/a", "/c", "manual")]

    def test_moved_pages_are_listed_with_their_current_paths_in_few_reads(self, api: Api, site: Published) -> None:
        section = page_of(api, site, "Section")
        pages = [page_of(api, site, f"Page {n}", below=section) for n in range(5)]
        for number, page in enumerate(pages):
            publish_at(api, page, f"moved-{number}")
        publish_at(api, section, "part")
        edit(api, pages[0], unpublishAt="2020-01-01T00:00:00Z")
        answer = api.get(f"{site.path}/redirects", as_=site.owner)
        targets = {item["fromPath"]: item["toPath"] for item in answer.json["items"]}
        assert targets == {
            "/section/page-0": None,
            **{f"/section/page-{n}": f"/part/moved-{n}" for n in range(1, 5)},
            "/section": "/part",
        }
        assert len(answer.calls.reads) <= 4

    def test_only_members_read_redirects(self, api: Api, site: Published, mary: Person, stranger: Person) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        assert api.get(new_redirect.path, as_=mary).json == new_redirect.record
        assert api.get(f"{site.path}/redirects", as_=mary).json["items"] == [new_redirect.record]
        assert api.get(f"{site.path}/redirects", as_=stranger).code == "404 not_found"
        assert api.get(f"{site.path}/redirects").code == "401 unauthenticated"


class TestUpdateRedirect:
    def test_a_change_applies_at_once(self, api: Api, site: Published) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        response = altered(api, new_redirect, fromPath="/c/*", toPath="/d/:splat", statusCode=308)
        assert response.json == {
            **new_redirect.record,
            "fromPath": "/c/*",
            "toPath": "/d/:splat",
            "statusCode": 308,
            "version": 2,
            "updatedAt": response.json["updatedAt"],
        }
        assert (comes_to(api, site, "/a"), comes_to(api, site, "/c/x")) == (None, (308, "/d/x"))
        redirect(api, site, "/a", "/b")

    def test_a_redirect_can_be_disabled_and_enabled(self, api: Api, site: Published) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        assert altered(api, new_redirect, enabled=False).json["enabled"] is False
        assert comes_to(api, site, "/a") is None
        assert altered(api, new_redirect, enabled=None).json["enabled"] is True
        assert comes_to(api, site, "/a") == (301, "/b")

    def test_an_ineffective_change_adds_no_entry(self, api: Api, site: Published, organization: Founded) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        assert altered(api, new_redirect).json == new_redirect.record
        assert altered(api, new_redirect, fromPath="/A/", origin="manual", version=1).json == new_redirect.record
        assert len(log_of(api, organization, targetId=new_redirect.id)) == 1

    def test_a_change_to_the_path_of_another_redirect_is_rejected(self, api: Api, site: Published) -> None:
        redirect(api, site, "/a", "/b")
        assert altered(api, redirect(api, site, "/c", "/b"), fromPath="/a").code == "409 already_exists"

    def test_read_only_fields_are_rejected(self, api: Api, site: Published) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        assert altered(api, new_redirect, origin="page", fromPath=None).faults == {
            "/origin": "read_only",
            "/fromPath": "required",
        }

    def test_if_match_rejects_a_changed_redirect(self, api: Api, site: Published) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        etag = api.get(new_redirect.path, as_=site.owner).etag
        altered(api, new_redirect, toPath="/c")
        response = api.patch(new_redirect.path, as_=site.owner, json={"toPath": "/d"}, headers={"If-Match": etag})
        assert response.code == "412 precondition_failed"

    def test_every_change_adds_an_entry(self, api: Api, site: Published, organization: Founded) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        altered(api, new_redirect, toPath="/c")
        removed(api, new_redirect)
        entries = log_of(api, organization, targetId=new_redirect.id)
        assert [entry["type"] for entry in entries] == [
            "site.redirect.deleted",
            "site.redirect.updated",
            "site.redirect.created",
        ]
        assert entries[1]["changes"] == [{"field": "toPath", "from": "/b", "to": "/c"}]
        assert {entry["target"]["name"] for entry in entries} == {"/a"}


class TestDeleteRedirect:
    def test_a_deleted_redirect_frees_its_path(self, api: Api, site: Published) -> None:
        new_redirect = redirect(api, site, "/a", "/b")
        assert removed(api, new_redirect).status == 204
        assert comes_to(api, site, "/a") is None
        assert removed(api, new_redirect).code == "404 not_found"
        redirect(api, site, "/a", "/c")


class TestRedirectsOfMovedPages:
    @pytest.fixture
    def looms(self, api: Api, site: Published) -> Leaf:
        """A page with a child, which has moved from /looms."""
        looms = page_of(api, site, "Looms")
        page_of(api, site, "Jacquard", below=looms)
        publish_at(api, looms, "weavers")
        return looms

    def test_the_redirect_follows_the_page_and_its_children(self, api: Api, site: Published, looms: Leaf) -> None:
        assert comes_to(api, site, "/looms") == (301, "/weavers")
        assert comes_to(api, site, "/looms/jacquard") == (301, "/weavers/jacquard")
        former_redirect = left_behind(api, site, "/looms")
        assert api.get(former_redirect.path, as_=site.owner).json["toPath"] == "/weavers"
        publish_at(api, looms, "mills")
        assert api.get(former_redirect.path, as_=site.owner).json["toPath"] == "/mills"
        assert comes_to(api, site, "/looms/jacquard") == (301, "/mills/jacquard")

    def test_deleting_the_redirect_ends_it_for_the_children_too(
        self, api: Api, site: Published, looms: Leaf, organization: Founded
    ) -> None:
        former_redirect = left_behind(api, site, "/looms")
        assert removed(api, former_redirect).status == 204
        assert (comes_to(api, site, "/looms"), comes_to(api, site, "/looms/jacquard")) == (None, None)
        assert comes_to(api, site, "/weavers/jacquard") == "Jacquard"
        (entry,) = log_of(api, organization, targetId=former_redirect.id)
        assert (entry["type"], entry["data"]["toPath"]) == ("site.redirect.deleted", "/weavers")
        assert looms.id not in [item["id"] for item in redirects_of(api, site)]

    def test_a_changed_redirect_becomes_manual_and_no_longer_follows_the_page(
        self, api: Api, site: Published, looms: Leaf, organization: Founded
    ) -> None:
        former_redirect = left_behind(api, site, "/looms")
        assert altered(api, former_redirect).json == former_redirect.record
        response = altered(api, former_redirect, statusCode=302)
        assert (response.status, response.json["origin"], response.json["toPath"]) == (200, "manual", "/weavers")
        assert comes_to(api, site, "/looms") == (302, "/weavers")
        assert comes_to(api, site, "/looms/jacquard") is None
        publish_at(api, looms, "mills")
        assert comes_to(api, site, "/looms") == (302, "/weavers")
        (entry,) = log_of(api, organization, targetId=former_redirect.id)
        assert entry["changes"] == [
            {"field": "statusCode", "from": 301, "to": 302},
            {"field": "origin", "from": "page", "to": "manual"},
        ]

    def test_the_redirect_has_no_target_while_the_page_is_unpublished(
        self, api: Api, site: Published, looms: Leaf
    ) -> None:
        edit(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        former_redirect = left_behind(api, site, "/looms")
        assert former_redirect.record["toPath"] is None
        assert comes_to(api, site, "/looms") is None
        assert altered(api, former_redirect).json == former_redirect.record
        assert altered(api, former_redirect, enabled=True, toPath=None).json == former_redirect.record
        response = altered(api, former_redirect, statusCode=302)
        assert (response.json["origin"], response.json["toPath"]) == ("manual", "/")

    def test_the_redirect_is_removed_when_a_page_is_published_at_its_path(
        self, api: Api, site: Published, looms: Leaf
    ) -> None:
        page_of(api, site, "Looms again", slug="looms")
        assert comes_to(api, site, "/looms") == "Looms again"
        assert redirects_of(api, site) == []
        assert looms.record["path"] == "/looms"

    def test_the_redirect_is_removed_with_its_page(
        self, api: Api, site: Published, looms: Leaf, workers: Workers
    ) -> None:
        assert api.delete(looms.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert left_behind(api, site, "/looms").record["toPath"] is None
        workers.settle()
        assert redirects_of(api, site) == []
        assert comes_to(api, site, "/looms") is None
