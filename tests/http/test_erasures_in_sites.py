"""Somebody is erased whom the sites of the organization name: in their texts, and as who wrote them."""

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
WORDS = f"Ask {SOPHIE}."
SILENT = "Ask …."
BLOCKS: list[Json] = [
    {"id": "a", "type": "text", "text": WORDS},
    {"id": "b", "type": "columns", "columns": [[{"id": "c", "type": "custom", "data": {SOPHIE: [WORDS]}}]]},
]


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site that names Sophie wherever it can."""
    robots = {"disallow": [f"/{SOPHIE}"], "extra": f"# {WORDS}"}
    return make_site(api, organization, slug="engines", name=WORDS, description=WORDS, robots=robots)


@pytest.fixture
def page(api: Api, site: Published) -> Leaf:
    """A page of it that does so too, as it is published, and as its draft is."""
    seo = {"title": WORDS, "description": WORDS, "image": f"https://example.org/?by={SOPHIE}"}
    page = page_of(api, site, WORDS, slug="looms", blocks=BLOCKS, seo=seo)
    edit(api, page, blocks=[*BLOCKS, {"id": "d", "type": "quote", "text": WORDS, "cite": SOPHIE}])
    return page


@pytest.fixture
def erase(api: Api, organization: Founded, workers: Workers, clock: Clock) -> Any:
    """Erase somebody of the organization, to the end."""
    return lambda **whom: erased(api, workers, clock, organization, **whom)


class TestTextsOfSites:
    def test_name_the_person_no_more(self, api: Api, site: Published, page: Leaf, erase: Any) -> None:
        for from_path, to_path in (
            (f"/{SOPHIE}", "/"),
            ("/ask", f"https://example.org/?q={SOPHIE}"),
            ("/old", "/looms"),
        ):
            made = api.post(f"{site.path}/redirects", as_=site.owner, json={"fromPath": from_path, "toPath": to_path})
            assert made.status == 201, made.text
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        shown = api.get(site.path, as_=site.owner).json
        assert (shown["name"], shown["description"]) == (SILENT, SILENT)
        assert shown["robots"] == {"disallow": ["/…"], "extra": f"# {SILENT}"}
        draft = api.get(page.path, as_=site.owner).json
        assert (draft["title"], draft["seo"]["description"], draft["blocks"][2]["cite"]) == (SILENT, SILENT, "…")
        public = visit(api, site, "/").json
        assert (public["title"], public["blocks"][0]["text"]) == (SILENT, SILENT)
        assert public["blocks"][1]["columns"][0][0]["data"] == {"…": [SILENT]}
        found = api.items(f"{site.path}/pages", as_=site.owner, query={"q": "Ask …"})
        assert [each["id"] for each in found] == [page.id]
        assert [each["fromPath"] for each in api.items(f"{site.path}/redirects", as_=site.owner)] == ["/old"]

    def test_name_the_person_no_more_in_menus(self, api: Api, site: Published, page: Leaf, erase: Any) -> None:
        put_menu(api, site, to_page(page, WORDS, to_url(f"mailto:{SOPHIE}", "Mail")), name=WORDS)
        erase(email=SOPHIE)
        assert left_of(SOPHIE) == []
        shown = api.get(f"{site.path}/navigation/main").json
        assert (shown["name"], shown["items"][0]["label"], shown["items"][0]["path"]) == (SILENT, SILENT, "/")
        assert shown["items"][0]["children"][0]["url"] == "mailto:…"

    def test_who_wrote_a_page_is_forgotten_and_what_they_wrote_is_not(
        self, api: Api, site: Published, edith: Person, erase: Any
    ) -> None:
        made = api.post(f"{site.path}/pages", as_=edith, json={"title": "Hers"})
        assert made.status == 201
        path = f"{site.path}/pages/{made.json['id']}"
        assert api.patch(path, as_=edith, json={"title": "Still hers"}).status == 200
        preview = api.get(f"{path}/preview", as_=edith)
        assert preview.status == 200
        assert left_of(edith.id)
        erase(userId=edith.id)
        assert left_of(edith.id, edith.email) == []
        revisions = api.items(f"{path}/revisions", as_=site.owner)
        assert [(each["title"], each["createdBy"]) for each in revisions] == [("Still hers", None), ("Hers", None)]
        shown = api.get(f"{path}/preview-public", query={"token": preview.json["token"]})
        assert shown.code == "404 not_found"
