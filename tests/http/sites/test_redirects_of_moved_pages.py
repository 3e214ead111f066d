"""Redirects from the former paths of moved pages."""

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.redirects import delete_redirect, get_page_redirect, list_redirects, patch_redirect, resolve_visit


@pytest.fixture(autouse=True)
def moved_looms(pages):
    """A page with a child, which has moved from /looms."""
    pages.publish("Looms", "Looms/Jacquard")
    pages.move(Looms="weavers")


def test_the_redirect_follows_the_page_and_its_children(api, site, pages):
    redirect = get_page_redirect(api, site, "/looms")
    for slug in ("weavers", "mills"):
        pages.move(Looms=slug)
        assert resolve_visit(api, site, "/looms") == (301, f"/{slug}")
        assert resolve_visit(api, site, "/looms/jacquard") == (301, f"/{slug}/jacquard")
        assert api.get(redirect.path, caller=site.owner).json["toPath"] == f"/{slug}"


def test_deleting_the_redirect_ends_it_for_the_children_too(api, site, organization):
    redirect = get_page_redirect(api, site, "/looms")
    assert delete_redirect(api, redirect).status == 204
    destinations = [resolve_visit(api, site, path) for path in ("/looms", "/looms/jacquard", "/weavers/jacquard")]
    assert destinations == [None, None, "Jacquard"]
    (entry,) = list_entries(api, organization, targetId=redirect.id)
    assert (entry["type"], entry["data"]["toPath"]) == ("site.redirect.deleted", "/weavers")
    assert list_redirects(api, site) == []


def test_a_changed_redirect_becomes_manual_and_no_longer_follows_the_page(api, site, organization, pages):
    redirect = get_page_redirect(api, site, "/looms")
    assert patch_redirect(api, redirect).json == redirect.record
    response = patch_redirect(api, redirect, statusCode=302)
    assert (response.status, response.json["origin"], response.json["toPath"]) == (200, "manual", "/weavers")
    for slug in ("weavers", "mills"):
        pages.move(Looms=slug)
        assert resolve_visit(api, site, "/looms") == (302, "/weavers")
        assert resolve_visit(api, site, "/looms/jacquard") is None
    (entry,) = list_entries(api, organization, targetId=redirect.id)
    assert entry["changes"] == [
        {"field": "statusCode", "from": 301, "to": 302},
        {"field": "origin", "from": "page", "to": "manual"},
    ]


def test_the_redirect_has_no_target_while_the_page_is_unpublished(api, site, pages):
    pages.update("Looms", unpublishAt="2020-01-01T00:00:00Z")
    redirect = get_page_redirect(api, site, "/looms")
    assert redirect.record["toPath"] is None
    assert resolve_visit(api, site, "/looms") is None
    for fields in ({}, {"enabled": True, "toPath": None}):
        assert patch_redirect(api, redirect, **fields).json == redirect.record
    response = patch_redirect(api, redirect, statusCode=302)
    assert (response.json["origin"], response.json["toPath"]) == ("manual", "/")


def test_the_redirect_is_removed_when_a_page_is_published_at_its_path(api, site, pages):
    pages.publish("Looms again", slug="looms")
    assert resolve_visit(api, site, "/looms") == "Looms again"
    assert list_redirects(api, site) == []


def test_the_redirect_is_removed_with_its_page(api, site, pages, workers):
    assert pages.delete("Looms", "cascade").status == 204
    assert get_page_redirect(api, site, "/looms").record["toPath"] is None
    workers.run_until_idle()
    assert list_redirects(api, site) == []
    assert resolve_visit(api, site, "/looms") is None
