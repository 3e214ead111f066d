"""A site of 10,000 pages: what is asked of AWS is what it is with ten. And slugs that very many pages have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, page_tree
from chalicelib.features.sites.pages.entities import slug_index
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.pages.entities.slug_index import SlugIndexWriter
from chalicelib.kernel.core.clock import now
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.organizations import Founded, found
from tests.harness.scenes import scene
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, visit, write_page
from tests.harness.stored_records import beginning

MOST = 10_000
PAST = "2020-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Library:
    """A site with a line of pages, and very many below the second of them."""

    site: Published
    line: list[Leaf]
    other: Leaf


@pytest.fixture(params=[10, MOST])
def library(request: pytest.FixtureRequest, api: Api, organization: Founded) -> Library:
    """A site of so many pages."""
    number: int = request.param
    cloud.clear()
    return scene(f"a library of {number}", lambda: _grown(api, found(api, organization.owner), number))


def _grown(api: Api, organization: Founded, number: int) -> Library:
    site = make_site(api, organization)
    page_of(api, site, "Welcome")
    line = [page_of(api, site, "Shelf")]
    for title in ("Row", "Book", "Leaf"):
        line.append(page_of(api, site, title, below=line[-1]))
    library = Library(site, line, page_of(api, site, "Attic"))
    for n in range(number - 6):
        _shelve(library, n)
    key = Page.make_item_key(site_id=site.id, id=line[1].id)
    (row,) = (item for item in cloud.stored() if (item["pk"], item["sk"]) == key)
    cloud.put({**row, "child_count": number - 5, "live_count": number - 5})
    return library


def _shelve(library: Library, number: int) -> None:
    """Put a published page below the second of the line, as if it had been written there."""
    moment, row, slug = now(), library.line[1], f"book-{number}"
    position: dict[str, Any] = {
        "parent_id": row.id,
        "slug": slug,
        "ancestor_ids": [library.line[0].id, row.id],
        "tree_version": 1,
    }
    page = Page(
        **beginning(moment),
        **position,
        **{f"published_{name}": value for name, value in position.items()},
        title=f"Book {number}",
        organization_id=library.site.record["organizationId"],
        site_id=library.site.id,
        draft_revision_id=row.id,
        published_revision_id=row.id,
        published_at=moment,
        status="published",
        was_published=True,
    )
    for tree, place in (
        (page_tree(page.site_id, DRAFT_TREE), page.draft_position),
        (page_tree(page.site_id, PUBLISHED_TREE), page.published_position),
    ):
        steps = SlugIndexWriter(tree, {})
        steps.add(place)
        ((trail, led),) = ((write.key, write.values) for write in steps.writes())
        cloud.put({"pk": trail[0], "sk": trail[1], page.id: next(iter((led or {}).values()))})
    for item in (page.item(), *page.derived_items):
        cloud.put(item)


def _renamed(api: Api, library: Library) -> Answer:
    return api.patch(library.line[1].path, as_=library.site.owner, json={"slug": "renamed"})


def _moved(api: Api, library: Library) -> Answer:
    _renamed(api, library)
    return api.post(f"{library.line[1].path}/publish", as_=library.site.owner)


def _resolved(api: Api, library: Library) -> Answer:
    host = library.site.record["host"]
    api.get("/sites/resolve", query={"host": host})
    return api.get("/sites/resolve", query={"host": host, "path": "/shelf/row/book/leaf"})


ASKS: dict[str, tuple[Callable[[Api, Library], Answer], int, int]] = {
    "visit": (lambda api, at: visit(api, at.site, "/shelf/row/book/leaf"), 2, 0),
    "visit the home": (lambda api, at: api.get(f"{at.site.path}/pages/home"), 2, 0),
    "resolve": (_resolved, 2, 0),
    "where nothing is": (lambda api, at: visit(api, at.site, "/shelf/row/nothing/leaf"), 1, 0),
    "get": (lambda api, at: api.get(at.line[3].path, as_=at.site.owner), 2, 0),
    "list": (lambda api, at: api.get(f"{at.site.path}/pages", as_=at.site.owner, query={"limit": 3}), 3, 0),
    "rename what has all below it": (_renamed, 2, 14),
    "publish what has all below it at another path": (_moved, 3, 18),
    "delete what has all below it": (
        lambda api, at: api.delete(at.line[1].path, as_=at.site.owner, query={"strategy": "cascade"}),
        2,
        18,
    ),
}


@pytest.mark.parametrize("name", ASKS)
def test_what_it_takes_does_not_depend_on_how_many_pages_there_are(api: Api, library: Library, name: str) -> None:
    ask, reads, writes = ASKS[name]
    visit(api, library.site, "/")  # Who has met the site knows whose it is.
    answer = ask(api, library)
    assert (answer.status == 404) if name == "where nothing is" else (answer.status in (200, 204)), answer.text
    assert len(answer.calls.reads) <= reads
    assert sum(len(call.parameters["TransactItems"]) for call in answer.calls.made if "Write" in call.name) <= writes


class TestNamesakes:
    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(slug_index, "MAX_PAGES_PER_SLUG", 2)

    @pytest.mark.usefixtures("home")
    def test_of_which_there_are_more_than_a_trail_names_are_found_as_others_are(
        self, api: Api, site: Published
    ) -> None:
        above = [page_of(api, site, f"Product {n}", slug=f"product-{n}") for n in range(4)]
        reviews = [page_of(api, site, "Reviews", below=each) for each in above]
        for product, page in zip(above, reviews, strict=True):
            answer = visit(api, site, f"{product.record['path']}/reviews")
            assert answer.json["id"] == page.id
            assert len(answer.calls.reads) <= 4
            assert visit(api, site, page.record["path"], as_=site.owner, draft="true").json["id"] == page.id
        edit(api, reviews[0], slug="opinions")
        publish_page(api, reviews[0])
        assert visit(api, site, "/product-0/reviews").location.endswith("%2Fproduct-0%2Fopinions")
        edit(api, reviews[1], unpublishAt=PAST)
        assert visit(api, site, "/product-1/reviews").status == 404
        assert visit(api, site, "/product-2/reviews").json["id"] == reviews[2].id
        assert write_page(api, site, "Reviews", below=above[0]).record["path"] == "/product-0/reviews"
