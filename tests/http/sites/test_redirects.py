"""Redirects of sites: their paths and targets, their precedence, and those of moved pages."""

from typing import Final

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.domains import set_domain_state
from tests.harness.redirects import (
    create_redirect,
    delete_redirect,
    get_page_redirect,
    list_redirects,
    patch_redirect,
    post_redirect,
    resolve_visit,
)
from tests.harness.sites import create_site, get_page_by_path

pytestmark = pytest.mark.usefixtures("home_page")

EXTERNAL_URL: Final = "https://example.com/looms"
TAKEN: Final = "409 already_exists"
INVALID_SOURCES: Final = [
    *("", "looms", "//looms", "/looms?x", "/looms#top", "/a*", "/a/*/b", "/a\\b", "/a%3Fb", "https://a.b/"),
    *("/a" * 11 + "/*", "/" + "é" * 501),
]
INVALID_TARGETS: Final = [
    *("//evil.example", "/\\evil.example", "/\t/evil.example", "/%2f%2fevil.example", "/%5cevil.example"),
    *("/.//evil.example", "/\uff0fevil.example", "javascript:alert(1)", "data:text/html,x", "looms", "/a b"),
    *("ftp://example.com", "https://ada@example.com", "https://example.com\\@evil.example"),
    *("https://:splat.example.com", "https:/evil.example"),
]


class TestCreateRedirect:
    def test_a_path_is_enough(self, api, site):
        record = create_redirect(api, site, "/old-looms").record
        defaults = {"toPath": "/", "statusCode": 301, "enabled": True, "origin": "manual", "version": 1}
        assert record | defaults | {"siteId": site.id, "fromPath": "/old-looms"} == record
        assert resolve_visit(api, site, "/old-looms") == (301, "/")

    @pytest.mark.parametrize("path", ["/Old%2DLooms/", "/old/looms/../../old-looms", "/./OLD-LOOMS"])
    def test_every_spelling_of_a_path_is_the_same_path(self, api, site, path):
        assert create_redirect(api, site, path, "/looms").record["fromPath"] == "/old-looms"
        assert resolve_visit(api, site, path) == (301, "/looms")
        assert post_redirect(api, site, "/old-looms", "/mills").status_and_code == TAKEN

    def test_an_invalid_path_a_target_with_an_ambiguous_host_and_an_invalid_status_are_rejected(self, api, site):
        for path in INVALID_SOURCES:
            assert post_redirect(api, site, path).errors.keys() == {"/fromPath"}, path
        for path in INVALID_SOURCES[-2:]:
            assert post_redirect(api, site, path).errors == {"/fromPath": "malformed"}
        for target in INVALID_TARGETS:
            assert post_redirect(api, site, "/a", target).errors == {"/toPath": "malformed"}, target
        assert post_redirect(api, site, "/a", "/b", statusCode=303).errors == {"/statusCode": "not_one_of"}

    @pytest.mark.parametrize(
        ("suffix", "stored_target"),
        [("/looms?by=ada#top", "/looms?by=ada#top"), ("", "/"), ("//evil.example", "/evil.example")],
    )
    def test_a_target_on_a_host_of_the_site_is_stored_as_a_path(self, api, site, suffix, stored_target):
        own_origin = f"HTTPS://{site.record['host'].upper()}:443"
        assert create_redirect(api, site, "/a", f"{own_origin}{suffix}").record["toPath"] == stored_target
        assert post_redirect(api, site, "/d", f"{own_origin}/%2fevil.example").errors == {"/toPath": "malformed"}

    def test_a_target_on_any_host_of_the_site_is_stored_as_a_path(self, api, site, platform):
        api.patch(site.path, caller=site.owner, json={"platformId": platform.id}).expect(200)
        set_domain_state(platform, "verified", "shop.example.com")
        hosts = (site.record["host"], f"{platform.record['slug']}.atrium.example", "shop.example.com")
        for number, host in enumerate(hosts):
            redirect = create_redirect(api, site, f"/{number}", f"https://{host}/looms")
            assert redirect.record["toPath"] == "/looms"

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_a_visitor_is_redirected_to_an_external_url_with_the_status(self, api, site, status):
        assert create_redirect(api, site, "/a", EXTERNAL_URL, statusCode=status).record["toPath"] == EXTERNAL_URL
        assert resolve_visit(api, site, "/a") == (status, EXTERNAL_URL)

    def test_a_path_of_a_site_has_one_redirect(self, api, site, organization, pages):
        create_redirect(api, site, "/a", "/b", enabled=False)
        assert post_redirect(api, site, "/A/", "/c").problem_and_errors == (TAKEN, {"/fromPath": "already_exists"})
        assert create_redirect(api, site, "/a/*", "/b").record["fromPath"] == "/a/*"
        assert post_redirect(api, site, "/a/*", "/c").status_and_code == TAKEN
        pages.publish("Looms")
        pages.move(Looms="weavers")
        post_redirect(api, site, "/looms", "/b").expect_problem(TAKEN, "can be changed")
        other = create_site(api, organization, name="Mills")
        create_redirect(api, other, "/a/*", "/c")
        assert (resolve_visit(api, site, "/a/x"), resolve_visit(api, other, "/a/x")) == ((301, "/b"), (301, "/c"))


class TestVisits:
    def test_a_wildcard_redirects_all_descendants_but_not_the_path_itself(self, api, site):
        create_redirect(api, site, "/old/*", "/new/:splat?from=:splat")
        assert resolve_visit(api, site, "/old/Looms/jacquard/") == (301, "/new/Looms/jacquard?from=Looms/jacquard")
        assert [resolve_visit(api, site, path) for path in ("/old", "/older/looms")] == [None, None]

    def test_a_page_that_moved_to_the_path_takes_precedence_over_its_redirect(self, api, site, pages):
        pages.publish("Machines", "Machines/Looms")
        create_redirect(api, site, "/tools/looms", "https://example.com/")
        pages.move(Machines="tools")
        assert resolve_visit(api, site, "/tools/looms") == "Looms"

    @pytest.mark.parametrize(
        ("path", "target", "location"),
        [
            ("/old", "/new?from=mail#top", "%2Fnew%3Ffrom%3Dmail%23top"),
            ("/my%20file.pdf", "/files", "%2Ffiles"),
            ("/old", "https://exämple.com/ü", "https://xn--exmple-cua.com/%C3%BC"),
        ],
    )
    def test_a_page_requested_by_path_is_redirected(self, api, site, path, target, location):
        create_redirect(api, site, path, target)
        response = get_page_by_path(api, site, path.replace("%20", " "))
        prefix = "" if "://" in location else f"{site.path}/pages/by-path?path="
        assert (response.status, response.location) == (301, f"{prefix}{location}")
        assert response.headers["Cache-Control"] == "public, max-age=60"

    def test_a_requested_path_never_redirects_to_another_host(self, api, site):
        create_redirect(api, site, "/go/*", "/:splat")
        targets = dict.fromkeys(("%2f%2fevil.example", "/evil.example"), (301, "/evil.example"))
        targets |= {"https://evil.ex": (301, "/https%3A/evil.ex"), "\uff0fevil.example": (301, "/")}
        found = {path: resolve_visit(api, site, f"/go/{path}") for path in (*targets, "%5cevil.example")}
        assert found == {**targets, "%5cevil.example": None}

    def test_an_exact_path_takes_precedence_over_the_longest_wildcard(self, api, site, pages):
        pages.publish("All")
        for from_path, to_path in {"/*": "/all", "/a/b/*": "/2", "/a/*": "/1", "/a/b/c": "/itself"}.items():
            create_redirect(api, site, from_path, to_path)
        targets = {path: resolve_visit(api, site, path) for path in ("/a/b/c", "/a/b/d", "/a/b", "/b")}
        assert targets == {"/a/b/c": (301, "/itself"), "/a/b/d": (301, "/2"), "/a/b": (301, "/1"), "/b": (301, "/all")}

    def test_pages_take_precedence_over_wildcards_and_exact_redirects_over_pages(self, api, site, pages):
        pages.publish("Looms")
        create_redirect(api, site, "/*", "/", enabled=False)
        create_redirect(api, site, "/looms/*", "/mills")
        assert create_redirect(api, site, "/:x/*", "/mills").record["fromPath"] == "/:x/*"
        assert resolve_visit(api, site, "/looms") == "Looms"
        create_redirect(api, site, "/looms", "/mills", statusCode=302)
        assert resolve_visit(api, site, "/looms") == (302, "/mills")


class TestListRedirects:
    def test_all_redirects_are_listed_in_order_of_creation(self, api, site, pages):
        pages.publish("Looms")
        create_redirect(api, site, "/b", "/c")
        pages.move(Looms="weavers")
        create_redirect(api, site, "/a", "/c", enabled=False)
        listed = [(item["fromPath"], item["toPath"], item["origin"]) for item in list_redirects(api, site)]
        assert listed == [("/b", "/c", "manual"), ("/looms", "/weavers", "page"), ("/a", "/c", "manual")]

    def test_moved_pages_are_listed_with_their_current_paths_in_few_reads(self, api, site, pages):
        pages.publish("Section", *(f"Section/Page {n}" for n in range(5)))
        pages.move(**{f"Page {n}": f"moved-{n}" for n in range(5)}, Section="part")
        pages.update("Page 0", unpublishAt="2020-01-01T00:00:00Z")
        answer = api.get(f"{site.path}/redirects", caller=site.owner)
        targets = {item["fromPath"]: item["toPath"] for item in answer.json["items"]}
        moved = {f"/section/page-{n}": f"/part/moved-{n}" for n in range(1, 5)}
        assert targets == {"/section/page-0": None, **moved, "/section": "/part"}
        assert len(answer.calls.read_names) <= 4


class TestChangeRedirect:
    def test_a_change_applies_at_once(self, api, site):
        redirect = create_redirect(api, site, "/a", "/b")
        changes = {"fromPath": "/c/*", "toPath": "/d/:splat", "statusCode": 308}
        record = patch_redirect(api, redirect, **changes).json
        assert record == {**redirect.record, **changes, "version": 2, "updatedAt": record["updatedAt"]}
        assert (resolve_visit(api, site, "/a"), resolve_visit(api, site, "/c/x")) == (None, (308, "/d/x"))
        assert patch_redirect(api, create_redirect(api, site, "/a", "/b"), fromPath="/c/*").status_and_code == TAKEN
        assert [delete_redirect(api, redirect).status for _ in range(2)] == [204, 404]
        assert resolve_visit(api, site, "/c/x") is None
        create_redirect(api, site, "/c/*", "/c")

    def test_a_redirect_can_be_disabled_and_enabled(self, api, site):
        redirect = create_redirect(api, site, "/a", "/b")
        for value, enabled, destination in ((False, False, None), (None, True, (301, "/b"))):
            assert patch_redirect(api, redirect, enabled=value).json["enabled"] is enabled
            assert resolve_visit(api, site, "/a") == destination

    def test_an_ineffective_change_adds_no_entry(self, api, site, organization):
        redirect = create_redirect(api, site, "/a", "/b")
        own_url = f"https://{site.record['host']}/b"
        for fields in ({}, {"fromPath": "/A/", "origin": "manual", "version": 1}, {"toPath": own_url}):
            assert patch_redirect(api, redirect, **fields).json == redirect.record
        assert patch_redirect(api, redirect, fromPath=None).errors == {"/fromPath": "required"}
        assert len(list_entries(api, organization, targetId=redirect.id)) == 1


class TestRedirectOfAMovedPage:
    @pytest.fixture(autouse=True)
    def moved_looms(self, pages):
        """A page with a child, which has moved from /looms."""
        pages.publish("Looms", "Looms/Jacquard")
        pages.move(Looms="weavers")

    @pytest.fixture
    def redirect(self, api, site, moved_looms):
        """The redirect from /looms."""
        return get_page_redirect(api, site, "/looms")

    def test_the_redirect_follows_the_page_and_its_children(self, api, site, pages, redirect):
        for slug in ("weavers", "mills"):
            pages.move(Looms=slug)
            assert resolve_visit(api, site, "/looms") == (301, f"/{slug}")
            assert resolve_visit(api, site, "/looms/jacquard") == (301, f"/{slug}/jacquard")
            assert api.get(redirect.path, caller=site.owner).json["toPath"] == f"/{slug}"

    def test_deleting_the_redirect_ends_it_for_the_children_too(self, api, site, organization, redirect):
        assert delete_redirect(api, redirect).status == 204
        destinations = [resolve_visit(api, site, path) for path in ("/looms", "/looms/jacquard", "/weavers/jacquard")]
        assert destinations == [None, None, "Jacquard"]
        (entry,) = list_entries(api, organization, targetId=redirect.id)
        assert (entry["type"], entry["data"]["toPath"]) == ("site.redirect.deleted", "/weavers")
        assert list_redirects(api, site) == []

    def test_a_changed_redirect_becomes_manual_and_no_longer_follows_the_page(
        self, api, site, organization, pages, redirect
    ):
        assert patch_redirect(api, redirect).json == redirect.record
        record = patch_redirect(api, redirect, statusCode=302).json
        assert record | {"origin": "manual", "toPath": "/weavers"} == record
        for slug in ("weavers", "mills"):
            pages.move(Looms=slug)
            destinations = [resolve_visit(api, site, path) for path in ("/looms", "/looms/jacquard")]
            assert destinations == [(302, "/weavers"), None]
        (entry,) = list_entries(api, organization, targetId=redirect.id)
        changes = [(change["field"], change["from"], change["to"]) for change in entry["changes"]]
        assert changes == [("statusCode", 301, 302), ("origin", "page", "manual")]

    def test_the_redirect_has_no_target_while_the_page_is_unpublished(self, api, site, pages):
        pages.update("Looms", unpublishAt="2020-01-01T00:00:00Z")
        redirect = get_page_redirect(api, site, "/looms")
        assert (redirect.record["toPath"], resolve_visit(api, site, "/looms")) == (None, None)
        for fields in ({}, {"enabled": True, "toPath": None}):
            assert patch_redirect(api, redirect, **fields).json == redirect.record
        record = patch_redirect(api, redirect, statusCode=302).json
        assert (record["origin"], record["toPath"]) == ("manual", "/")

    def test_the_redirect_is_removed_when_a_page_is_published_at_its_path(self, api, site, pages):
        pages.publish("Looms again", slug="looms")
        assert (resolve_visit(api, site, "/looms"), list_redirects(api, site)) == ("Looms again", [])

    def test_the_redirect_is_removed_with_its_page(self, api, site, pages, workers):
        assert pages.delete("Looms", "cascade").status == 204
        assert get_page_redirect(api, site, "/looms").record["toPath"] is None
        workers.run_until_idle()
        assert (resolve_visit(api, site, "/looms"), list_redirects(api, site)) == (None, [])
