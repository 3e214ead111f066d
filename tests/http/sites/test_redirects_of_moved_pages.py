"""Redirects from the former paths of moved pages."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.redirects import (
    delete_redirect,
    get_page_redirect,
    list_redirects,
    patch_redirect,
    resolve_visit,
)
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_published_page,
    publish_at,
    update_page,
)

pytestmark = pytest.mark.usefixtures("home_page")


class TestRedirectsOfMovedPages:
    @pytest.fixture
    def looms(self, api: ApiClient, site: CreatedSite) -> CreatedPage:
        """A page with a child, which has moved from /looms."""
        looms = create_published_page(api, site, "Looms")
        create_published_page(api, site, "Jacquard", parent=looms)
        publish_at(api, looms, "weavers")
        return looms

    def test_the_redirect_follows_the_page_and_its_children(self, api, site, looms):
        assert resolve_visit(api, site, "/looms") == (301, "/weavers")
        assert resolve_visit(api, site, "/looms/jacquard") == (301, "/weavers/jacquard")
        former_redirect = get_page_redirect(api, site, "/looms")
        assert api.get(former_redirect.path, caller=site.owner).json["toPath"] == "/weavers"
        publish_at(api, looms, "mills")
        assert api.get(former_redirect.path, caller=site.owner).json["toPath"] == "/mills"
        assert resolve_visit(api, site, "/looms/jacquard") == (301, "/mills/jacquard")

    def test_deleting_the_redirect_ends_it_for_the_children_too(self, api, site, looms, organization):
        former_redirect = get_page_redirect(api, site, "/looms")
        assert delete_redirect(api, former_redirect).status == 204
        assert (resolve_visit(api, site, "/looms"), resolve_visit(api, site, "/looms/jacquard")) == (None, None)
        assert resolve_visit(api, site, "/weavers/jacquard") == "Jacquard"
        (entry,) = list_entries(api, organization, targetId=former_redirect.id)
        assert (entry["type"], entry["data"]["toPath"]) == ("site.redirect.deleted", "/weavers")
        assert looms.id not in [item["id"] for item in list_redirects(api, site)]

    def test_a_changed_redirect_becomes_manual_and_no_longer_follows_the_page(self, api, site, looms, organization):
        former_redirect = get_page_redirect(api, site, "/looms")
        assert patch_redirect(api, former_redirect).json == former_redirect.record
        response = patch_redirect(api, former_redirect, statusCode=302)
        assert (response.status, response.json["origin"], response.json["toPath"]) == (200, "manual", "/weavers")
        assert resolve_visit(api, site, "/looms") == (302, "/weavers")
        assert resolve_visit(api, site, "/looms/jacquard") is None
        publish_at(api, looms, "mills")
        assert resolve_visit(api, site, "/looms") == (302, "/weavers")
        (entry,) = list_entries(api, organization, targetId=former_redirect.id)
        assert entry["changes"] == [
            {"field": "statusCode", "from": 301, "to": 302},
            {"field": "origin", "from": "page", "to": "manual"},
        ]

    def test_the_redirect_has_no_target_while_the_page_is_unpublished(self, api, site, looms):
        update_page(api, looms, unpublishAt="2020-01-01T00:00:00Z")
        former_redirect = get_page_redirect(api, site, "/looms")
        assert former_redirect.record["toPath"] is None
        assert resolve_visit(api, site, "/looms") is None
        assert patch_redirect(api, former_redirect).json == former_redirect.record
        assert patch_redirect(api, former_redirect, enabled=True, toPath=None).json == former_redirect.record
        response = patch_redirect(api, former_redirect, statusCode=302)
        assert (response.json["origin"], response.json["toPath"]) == ("manual", "/")

    def test_the_redirect_is_removed_when_a_page_is_published_at_its_path(self, api, site, looms):
        create_published_page(api, site, "Looms again", slug="looms")
        assert resolve_visit(api, site, "/looms") == "Looms again"
        assert list_redirects(api, site) == []
        assert looms.record["path"] == "/looms"

    def test_the_redirect_is_removed_with_its_page(self, api, site, looms, workers):
        assert api.delete(looms.path, caller=site.owner, query={"strategy": "cascade"}).status == 204
        assert get_page_redirect(api, site, "/looms").record["toPath"] is None
        workers.run_until_idle()
        assert list_redirects(api, site) == []
        assert resolve_visit(api, site, "/looms") is None
