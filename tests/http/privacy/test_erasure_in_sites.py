"""Erasures in sites: texts that name the person, and pages that they wrote."""

from typing import Any

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.clock import Clock
from tests.harness.erasures import complete_erasure, keys_of_items_containing
from tests.harness.menus import page_item, put_menu, url_item
from tests.harness.organizations import CreatedOrganization
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_published_page,
    create_site,
    get_page_by_path,
    update_page,
)
from tests.harness.workers import Workers

SOPHIE = "sophie@example.org"
TEXT = f"Ask {SOPHIE}."
REDACTED = "Ask …."
BLOCKS: list[Json] = [
    {"id": "a", "type": "text", "text": TEXT},
    {"id": "b", "type": "columns", "columns": [[{"id": "c", "type": "custom", "data": {SOPHIE: [TEXT]}}]]},
]


@pytest.fixture
def site(api: ApiClient, organization: CreatedOrganization) -> CreatedSite:
    """A site whose texts all name Sophie."""
    robots = {"disallow": [f"/{SOPHIE}"], "extra": f"# {TEXT}"}
    return create_site(api, organization, slug="engines", name=TEXT, description=TEXT, robots=robots)


@pytest.fixture
def page(api: ApiClient, site: CreatedSite) -> CreatedPage:
    """A page whose published revision and draft name Sophie."""
    seo = {"title": TEXT, "description": TEXT, "image": f"https://example.org/?by={SOPHIE}"}
    page = create_published_page(api, site, TEXT, slug="looms", blocks=BLOCKS, seo=seo)
    update_page(api, page, blocks=[*BLOCKS, {"id": "d", "type": "quote", "text": TEXT, "cite": SOPHIE}])
    return page


@pytest.fixture
def erase(api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> Any:
    """A function that completes the erasure of a person in the organization."""
    return lambda **identity: complete_erasure(api, workers, clock, organization, **identity)


class TestTexts:
    def test_texts_of_sites_and_pages_are_redacted(self, api, site, page, erase):
        for from_path, to_path in (
            (f"/{SOPHIE}", "/"),
            ("/ask", f"https://example.org/?q={SOPHIE}"),
            ("/old", "/looms"),
        ):
            created = api.post(
                f"{site.path}/redirects", caller=site.owner, json={"fromPath": from_path, "toPath": to_path}
            )
            assert created.status == 201, created.text
        erase(email=SOPHIE)
        assert keys_of_items_containing(SOPHIE) == []
        record = api.get(site.path, caller=site.owner).json
        assert (record["name"], record["description"]) == (REDACTED, REDACTED)
        assert record["robots"] == {"disallow": ["/…"], "extra": f"# {REDACTED}"}
        draft = api.get(page.path, caller=site.owner).json
        assert (draft["title"], draft["seo"]["description"], draft["blocks"][2]["cite"]) == (REDACTED, REDACTED, "…")
        public = get_page_by_path(api, site, "/").json
        assert (public["title"], public["blocks"][0]["text"]) == (REDACTED, REDACTED)
        assert public["blocks"][1]["columns"][0][0]["data"] == {"…": [REDACTED]}
        found_pages = api.get_items(f"{site.path}/pages", caller=site.owner, query={"q": "Ask …"})
        assert [each["id"] for each in found_pages] == [page.id]
        assert [each["fromPath"] for each in api.get_items(f"{site.path}/redirects", caller=site.owner)] == ["/old"]

    def test_menus_are_redacted(self, api, site, page, erase):
        put_menu(api, site, page_item(page, TEXT, url_item(f"mailto:{SOPHIE}", "Mail")), name=TEXT)
        erase(email=SOPHIE)
        assert keys_of_items_containing(SOPHIE) == []
        menu = api.get(f"{site.path}/navigation/main").json
        item = menu["items"][0]
        assert (menu["name"], item["label"], item["path"]) == (REDACTED, REDACTED, "/")
        assert item["children"][0]["url"] == "mailto:…"

    def test_pages_of_an_erased_author_stay_without_their_author(self, api, site, edith, erase):
        created = api.post(f"{site.path}/pages", caller=edith, json={"title": "Hers"})
        assert created.status == 201
        path = f"{site.path}/pages/{created.json['id']}"
        assert api.patch(path, caller=edith, json={"title": "Still hers"}).status == 200
        preview = api.get(f"{path}/preview", caller=edith)
        assert preview.status == 200
        assert keys_of_items_containing(edith.id)
        erase(userId=edith.id)
        assert keys_of_items_containing(edith.id, edith.email) == []
        revisions = api.get_items(f"{path}/revisions", caller=site.owner)
        assert [(each["title"], each["createdBy"]) for each in revisions] == [("Still hers", None), ("Hers", None)]
        public_preview = api.get(f"{path}/preview-public", query={"token": preview.json["token"]})
        assert public_preview.status_and_code == "404 not_found"
