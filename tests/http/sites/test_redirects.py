"""Redirects of sites: their paths and targets, and their precedence."""

from typing import Final

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.redirects import (
    create_redirect,
    delete_redirect,
    list_redirects,
    patch_redirect,
    post_redirect,
    resolve_visit,
)
from tests.harness.sites import (
    create_published_page,
    create_site,
    get_page_by_path,
    publish_at,
    publish_page,
    update_page,
)

pytestmark = pytest.mark.usefixtures("home_page")

EXTERNAL_URL: Final = "https://example.com/looms"


class TestCreateRedirect:
    def test_a_path_is_enough(self, api, site):
        response = post_redirect(api, site, "/old-looms")
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
        assert resolve_visit(api, site, "/old-looms") == (301, "/")

    @pytest.mark.parametrize("path", ["/Old%2DLooms/", "/old/looms/../../old-looms", "/./OLD-LOOMS"])
    def test_every_spelling_of_a_path_is_the_same_path(self, api, site, path):
        new_redirect = create_redirect(api, site, path, "/looms")
        assert new_redirect.record["fromPath"] == "/old-looms"
        assert resolve_visit(api, site, path) == (301, "/looms")
        assert post_redirect(api, site, "/old-looms", "/mills").status_and_code == "409 already_exists"

    def test_an_invalid_path_is_rejected(self, api, site):
        paths = ("", "looms", "//looms", "/looms?x", "/looms#top", "/a*", "/a/*/b", "/a\\b", "/a%3Fb", "https://a.b/")
        for path in paths:
            assert post_redirect(api, site, path).errors.keys() == {"/fromPath"}, path
        too_deep = "/a" * 11 + "/*"
        assert post_redirect(api, site, too_deep).errors == {"/fromPath": "malformed"}
        assert post_redirect(api, site, "/" + "é" * 501).errors == {"/fromPath": "malformed"}

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
    def test_a_target_with_an_ambiguous_host_is_rejected(self, api, site, path):
        assert post_redirect(api, site, "/a", path).errors == {"/toPath": "malformed"}

    def test_a_target_on_a_host_of_the_site_is_stored_as_a_path(self, api, site):
        own_origin = f"HTTPS://{site.record['host'].upper()}:443"
        assert (
            create_redirect(api, site, "/a", f"{own_origin}/looms?by=ada#top").record["toPath"] == "/looms?by=ada#top"
        )
        assert create_redirect(api, site, "/b", own_origin).record["toPath"] == "/"
        assert create_redirect(api, site, "/c", f"{own_origin}//evil.example").record["toPath"] == "/evil.example"
        assert post_redirect(api, site, "/d", f"{own_origin}/%2fevil.example").errors == {"/toPath": "malformed"}
        assert create_redirect(api, site, "/e", EXTERNAL_URL).record["toPath"] == EXTERNAL_URL

    def test_an_invalid_status_is_rejected(self, api, site):
        assert post_redirect(api, site, "/a", "/b", statusCode=303).errors == {"/statusCode": "not_one_of"}
        for status in (301, 302, 307, 308):
            create_redirect(api, site, f"/{status}", EXTERNAL_URL, statusCode=status)
            assert resolve_visit(api, site, f"/{status}") == (status, EXTERNAL_URL)

    def test_a_second_redirect_of_a_path_is_rejected(self, api, site):
        create_redirect(api, site, "/a", "/b", enabled=False)
        response = post_redirect(api, site, "/A/", "/c")
        assert (response.status_and_code, response.errors) == ("409 already_exists", {"/fromPath": "already_exists"})
        assert create_redirect(api, site, "/a/*", "/b").record["fromPath"] == "/a/*"
        assert post_redirect(api, site, "/a/*", "/c").status_and_code == "409 already_exists"

    def test_a_redirect_of_a_moved_pages_former_path_is_rejected_with_advice(self, api, site):
        page = create_published_page(api, site, "Looms")
        publish_at(api, page, "weavers")
        response = post_redirect(api, site, "/looms", "/b")
        assert response.status_and_code == "409 already_exists"
        assert "can be changed" in response.json["detail"]

    def test_two_sites_can_redirect_the_same_path(self, api, site, organization):
        other = create_site(api, organization, name="Mills")
        create_redirect(api, site, "/a", "/b")
        create_redirect(api, other, "/a", "/c")
        assert (resolve_visit(api, site, "/a"), resolve_visit(api, other, "/a")) == ((301, "/b"), (301, "/c"))

    def test_only_editors_create_redirects(self, api, site, mary, edith, stranger):
        assert post_redirect(api, site, "/a", caller=mary).status_and_code == "403 insufficient_role"
        assert post_redirect(api, site, "/a", caller=stranger).status_and_code == "404 not_found"
        assert post_redirect(api, site, "/a", caller=edith).status == 201


class TestVisits:
    def test_a_wildcard_redirects_all_descendants_but_not_the_path_itself(self, api, site):
        create_redirect(api, site, "/old/*", "/new/:splat?from=:splat")
        assert resolve_visit(api, site, "/old/Looms/jacquard/") == (
            301,
            "/new/Looms/jacquard?from=Looms/jacquard",
        )
        assert resolve_visit(api, site, "/old") is None
        assert resolve_visit(api, site, "/older/looms") is None

    def test_a_page_that_moved_to_the_path_takes_precedence_over_its_redirect(self, api, site):
        machines = create_published_page(api, site, "Machines")
        create_published_page(api, site, "Looms", parent=machines)
        create_redirect(api, site, "/tools/looms", "https://example.com/")
        update_page(api, machines, slug="tools")
        publish_page(api, machines)
        assert resolve_visit(api, site, "/tools/looms") == "Looms"

    def test_a_target_keeps_its_query_and_fragment(self, api, site):
        create_redirect(api, site, "/old", "/new?from=mail#top")
        response = get_page_by_path(api, site, "/old")
        assert response.location.endswith("path=%2Fnew%3Ffrom%3Dmail%23top")
        assert response.headers["Cache-Control"] == "public, max-age=60"

    def test_a_path_can_contain_spaces(self, api, site):
        create_redirect(api, site, "/my%20file.pdf", "/files")
        assert resolve_visit(api, site, "/my file.pdf") == (301, "/files")

    def test_an_exact_path_takes_precedence_over_the_longest_wildcard(self, api, site):
        create_published_page(api, site, "All")
        create_redirect(api, site, "/*", "/all")
        create_redirect(api, site, "/a/b/*", "/longest")
        create_redirect(api, site, "/a/*", "/longer")
        create_redirect(api, site, "/a/b/c", "/itself")
        paths = ["/a/b/c", "/a/b/d", "/a/b", "/b"]
        destinations = [resolve_visit(api, site, path) for path in paths]
        assert destinations == [(301, "/itself"), (301, "/longest"), (301, "/longer"), (301, "/all")]

    def test_pages_take_precedence_over_wildcards_and_exact_redirects_over_pages(self, api, site):
        create_published_page(api, site, "Looms")
        create_redirect(api, site, "/*", "/", enabled=False)
        create_redirect(api, site, "/looms/*", "/mills")
        wildcard = create_redirect(api, site, "/:x/*", "/mills")
        assert wildcard.record["fromPath"] == "/:x/*"
        assert resolve_visit(api, site, "/looms") == "Looms"
        create_redirect(api, site, "/looms", "/mills", statusCode=302)
        assert resolve_visit(api, site, "/looms") == (302, "/mills")

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
    def test_a_requested_path_never_redirects_to_another_host(self, api, site, path):
        create_redirect(api, site, "/go/*", "/:splat")
        destination = resolve_visit(api, site, path)
        if destination is not None:
            assert isinstance(destination, tuple)
            assert not destination[1].lower().startswith(("//", "/\\", "/%2f", "/%5c", "/%ef%bc%8f", "http"))

    def test_a_page_requested_by_path_is_redirected(self, api, site):
        create_redirect(api, site, "/a", "/looms")
        create_redirect(api, site, "/b", "https://exämple.com/ü")
        response = get_page_by_path(api, site, "/a")
        assert (response.status, response.location) == (301, f"{site.path}/pages/by-path?path=%2Flooms")
        response = get_page_by_path(api, site, "/b")
        assert (response.status, response.headers["Location"]) == (301, "https://xn--exmple-cua.com/%C3%BC")


class TestListRedirects:
    def test_all_redirects_are_listed_in_order_of_creation(self, api, site):
        page = create_published_page(api, site, "Looms")
        create_redirect(api, site, "/b", "/c")
        publish_at(api, page, "weavers")
        create_redirect(api, site, "/a", "/c", enabled=False)
        listed = [(item["fromPath"], item["toPath"], item["origin"]) for item in list_redirects(api, site)]
        assert listed == [("/b", "/c", "manual"), ("/looms", "/weavers", "page"), ("/a", "/c", "manual")]

    def test_moved_pages_are_listed_with_their_current_paths_in_few_reads(self, api, site):
        section = create_published_page(api, site, "Section")
        pages = [create_published_page(api, site, f"Page {n}", parent=section) for n in range(5)]
        for number, page in enumerate(pages):
            publish_at(api, page, f"moved-{number}")
        publish_at(api, section, "part")
        update_page(api, pages[0], unpublishAt="2020-01-01T00:00:00Z")
        answer = api.get(f"{site.path}/redirects", caller=site.owner)
        targets = {item["fromPath"]: item["toPath"] for item in answer.json["items"]}
        assert targets == {
            "/section/page-0": None,
            **{f"/section/page-{n}": f"/part/moved-{n}" for n in range(1, 5)},
            "/section": "/part",
        }
        assert len(answer.calls.read_names) <= 4

    def test_only_members_read_redirects(self, api, site, mary, stranger):
        new_redirect = create_redirect(api, site, "/a", "/b")
        assert api.get(new_redirect.path, caller=mary).json == new_redirect.record
        assert api.get(f"{site.path}/redirects", caller=mary).json["items"] == [new_redirect.record]
        assert api.get(f"{site.path}/redirects", caller=stranger).status_and_code == "404 not_found"
        assert api.get(f"{site.path}/redirects").status_and_code == "401 unauthenticated"


class TestUpdateRedirect:
    def test_a_change_applies_at_once(self, api, site):
        new_redirect = create_redirect(api, site, "/a", "/b")
        response = patch_redirect(api, new_redirect, fromPath="/c/*", toPath="/d/:splat", statusCode=308)
        assert response.json == {
            **new_redirect.record,
            "fromPath": "/c/*",
            "toPath": "/d/:splat",
            "statusCode": 308,
            "version": 2,
            "updatedAt": response.json["updatedAt"],
        }
        assert (resolve_visit(api, site, "/a"), resolve_visit(api, site, "/c/x")) == (None, (308, "/d/x"))
        create_redirect(api, site, "/a", "/b")

    def test_a_redirect_can_be_disabled_and_enabled(self, api, site):
        new_redirect = create_redirect(api, site, "/a", "/b")
        assert patch_redirect(api, new_redirect, enabled=False).json["enabled"] is False
        assert resolve_visit(api, site, "/a") is None
        assert patch_redirect(api, new_redirect, enabled=None).json["enabled"] is True
        assert resolve_visit(api, site, "/a") == (301, "/b")

    def test_an_ineffective_change_adds_no_entry(self, api, site, organization):
        new_redirect = create_redirect(api, site, "/a", "/b")
        assert patch_redirect(api, new_redirect).json == new_redirect.record
        assert patch_redirect(api, new_redirect, fromPath="/A/", origin="manual", version=1).json == new_redirect.record
        assert len(list_entries(api, organization, targetId=new_redirect.id)) == 1

    def test_a_change_to_the_path_of_another_redirect_is_rejected(self, api, site):
        create_redirect(api, site, "/a", "/b")
        assert (
            patch_redirect(api, create_redirect(api, site, "/c", "/b"), fromPath="/a").status_and_code
            == "409 already_exists"
        )

    def test_read_only_fields_are_rejected(self, api, site):
        new_redirect = create_redirect(api, site, "/a", "/b")
        assert patch_redirect(api, new_redirect, origin="page", fromPath=None).errors == {
            "/origin": "read_only",
            "/fromPath": "required",
        }

    def test_if_match_rejects_a_changed_redirect(self, api, site):
        new_redirect = create_redirect(api, site, "/a", "/b")
        etag = api.get(new_redirect.path, caller=site.owner).etag
        patch_redirect(api, new_redirect, toPath="/c")
        response = api.patch(new_redirect.path, caller=site.owner, json={"toPath": "/d"}, headers={"If-Match": etag})
        assert response.status_and_code == "412 precondition_failed"

    def test_every_change_adds_an_entry(self, api, site, organization):
        new_redirect = create_redirect(api, site, "/a", "/b")
        patch_redirect(api, new_redirect, toPath="/c")
        delete_redirect(api, new_redirect)
        entries = list_entries(api, organization, targetId=new_redirect.id)
        assert [entry["type"] for entry in entries] == [
            "site.redirect.deleted",
            "site.redirect.updated",
            "site.redirect.created",
        ]
        assert entries[1]["changes"] == [{"field": "toPath", "from": "/b", "to": "/c"}]
        assert {entry["target"]["name"] for entry in entries} == {"/a"}


class TestDeleteRedirect:
    def test_a_deleted_redirect_frees_its_path(self, api, site):
        new_redirect = create_redirect(api, site, "/a", "/b")
        assert delete_redirect(api, new_redirect).status == 204
        assert resolve_visit(api, site, "/a") is None
        assert delete_redirect(api, new_redirect).status_and_code == "404 not_found"
        create_redirect(api, site, "/a", "/c")
