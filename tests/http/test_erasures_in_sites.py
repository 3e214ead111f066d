"""Erasures in sites: texts that name the person, and pages that they wrote."""

from typing import Any

import pytest

from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased, left_of
from tests.harness.menus import put_menu, to_page, to_url
from tests.harness.organizations import Founded
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, visit
from tests.harness.workers import Workers

SOPHIE = "sophie@example.org"
TEXT = f"Ask {SOPHIE}."
REDACTED = "Ask …."
BLOCKS: list[Json] = [
    {"id": "a", "type": "text", "text": TEXT},
    {"id": "b", "type": "columns", "columns": [[{"id": "c", "type": "custom", "data": {SOPHIE: [TEXT]}}]]},
]


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site whose texts all name Sophie."""
    robots = {"disallow": [f"/{SOPHIE}"], "extra": f"# {TEXT}"}
    return make_site(api, organization, slug="engines", name=TEXT, description=TEXT, robots=robots)


@pytest.fixture
def page(api: Api, site: Published) -> Leaf:
    """A page whose published revision and draft name Sophie."""
    seo = {"title": TEXT, "description": TEXT, "image": f"https://example.org/?by={SOPHIE}"}
    page = page_of(api, site, TEXT, slug="looms", blocks=BLOCKS, seo=seo)
    edit(api, page, blocks=[*BLOCKS, {"id": "d", "type": "quote", "text": TEXT, "cite": SOPHIE}])
    return page


@pytest.fixture
def erase(api: Api, organization: Founded, workers: Workers, clock: Clock) -> Any:
    """A function that completes the erasure of a person in the organization."""
    return lambda **identity: erased(api, workers, clock, organization, **identity)


class TestTexts:
    def test_texts_of_sites_and_pages_are_redacted(self, api: Api, site: Published, page: Leaf, erase: Any) -> None:
        for from_path, to_path in (
            (f"/{SOPHIE}", "/"),
            ("/ask", f"https://example.org/?q={SOPHIE}"),
            ("/old", "/looms"),
        ):
            created = api.post(
                f"{site.path}/redirects", as_=site.owner, json={"fromPath": from_path, "toPath": to_path}
            )
            assert created.status == 201, created.text
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        record = api.get(site.path, as_=site.owner).json
        assert (record["name"], record["description"]) == (REDACTED, REDACTED)
        assert record["robots"] == {"disallow": ["/…"], "extra": f"# {REDACTED}"}
        draft = api.get(page.path, as_=site.owner).json
        assert (draft["title"], draft["seo"]["description"], draft["blocks"][2]["cite"]) == (REDACTED, REDACTED, "…")
        public = visit(api, site, "/").json
        assert (public["title"], public["blocks"][0]["text"]) == (REDACTED, REDACTED)
        assert public["blocks"][1]["columns"][0][0]["data"] == {"…": [REDACTED]}
        found_pages = api.items(f"{site.path}/pages", as_=site.owner, query={"q": "Ask …"})
        assert [each["id"] for each in found_pages] == [page.id]
        assert [each["fromPath"] for each in api.items(f"{site.path}/redirects", as_=site.owner)] == ["/old"]

    def test_menus_are_redacted(self, api: Api, site: Published, page: Leaf, erase: Any) -> None:
        put_menu(api, site, to_page(page, TEXT, to_url(f"mailto:{SOPHIE}", "Mail")), name=TEXT)
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        menu = api.get(f"{site.path}/navigation/main").json
        item = menu["items"][0]
        assert (menu["name"], item["label"], item["path"]) == (REDACTED, REDACTED, "/")
        assert item["children"][0]["url"] == "mailto:…"

    def test_pages_of_an_erased_author_stay_without_their_author(
        self, api: Api, site: Published, edith: Person, erase: Any
    ) -> None:
        created = api.post(f"{site.path}/pages", as_=edith, json={"title": "Hers"})
        assert created.status == 201
        path = f"{site.path}/pages/{created.json['id']}"
        assert api.patch(path, as_=edith, json={"title": "Still hers"}).status == 200
        preview = api.get(f"{path}/preview", as_=edith)
        assert preview.status == 200
        assert left_of(edith.id)
        erase(userId=edith.id)
        assert left_of(edith.id, edith.email) == []
        revisions = api.items(f"{path}/revisions", as_=site.owner)
        assert [(each["title"], each["createdBy"]) for each in revisions] == [("Still hers", None), ("Hers", None)]
        public_preview = api.get(f"{path}/preview-public", query={"token": preview.json["token"]})
        assert public_preview.code == "404 not_found"
