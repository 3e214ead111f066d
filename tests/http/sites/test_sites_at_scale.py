"""Test that AWS calls for a site of 10,000 pages equal those for one of ten, and slugs that many pages share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, page_tree_partition
from chalicelib.features.sites.pages.entities import slug_index
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.pages.entities.slug_index import SlugIndexWriter
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_draft_page,
    create_published_page,
    create_site,
    get_page_by_path,
    publish_page,
    update_page,
)
from tests.harness.stored_records import new_id_and_time_fields

MAX_PAGES = 10_000
PAST = "2020-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class LargeSite:
    """A site with a chain of nested pages, and many children of the second of them."""

    site: CreatedSite
    ancestors: list[CreatedPage]
    other_page: CreatedPage


@pytest.fixture(params=[10, MAX_PAGES])
def large_site(request: pytest.FixtureRequest, api: ApiClient, organization: CreatedOrganization) -> LargeSite:
    """Return a site of the given number of pages."""
    number: int = request.param
    memory_aws.reset()
    return cached_scenario(
        f"a site of {number} pages",
        lambda: _create_large_site(api, create_organization(api, organization.owner), number),
    )


def _create_large_site(api: ApiClient, organization: CreatedOrganization, number: int) -> LargeSite:
    site = create_site(api, organization)
    create_published_page(api, site, "Welcome")
    ancestors = [create_published_page(api, site, "Shelf")]
    for title in ("Row", "Book", "Leaf"):
        ancestors.append(create_published_page(api, site, title, parent=ancestors[-1]))
    large_site = LargeSite(site, ancestors, create_published_page(api, site, "Attic"))
    for n in range(number - 6):
        _store_page(large_site, n)
    key = Page.make_item_key(site_id=site.id, id=ancestors[1].id)
    (row,) = (item for item in memory_aws.all_items() if (item["pk"], item["sk"]) == key)
    memory_aws.put_item({**row, "child_count": number - 5, "live_count": number - 5})
    return large_site


def _store_page(large_site: LargeSite, number: int) -> None:
    """Store a published page below the second of the nested pages, as the service would have written it."""
    timestamp, parent, slug = now(), large_site.ancestors[1], f"book-{number}"
    position: dict[str, Any] = {
        "parent_id": parent.id,
        "slug": slug,
        "ancestor_ids": [large_site.ancestors[0].id, parent.id],
        "tree_version": 1,
    }
    page = Page(
        **new_id_and_time_fields(timestamp),
        **position,
        **{f"published_{name}": value for name, value in position.items()},
        title=f"Book {number}",
        organization_id=large_site.site.record["organizationId"],
        site_id=large_site.site.id,
        draft_revision_id=parent.id,
        published_revision_id=parent.id,
        published_at=timestamp,
        status="published",
        was_published=True,
    )
    for tree, tree_position in (
        (page_tree_partition(page.site_id, DRAFT_TREE), page.draft_position_item),
        (page_tree_partition(page.site_id, PUBLISHED_TREE), page.published_position_item),
    ):
        writer = SlugIndexWriter(tree, {})
        writer.add(tree_position)
        ((index_key, index_values),) = ((write.key, write.values) for write in writer.build_writes())
        memory_aws.put_item(
            {"pk": index_key[0], "sk": index_key[1], page.id: next(iter((index_values or {}).values()))}
        )
    for item in (page.item(), *page.derived_items):
        memory_aws.put_item(item)


def _rename_parent(api: ApiClient, large_site: LargeSite) -> ApiResponse:
    return api.patch(large_site.ancestors[1].path, caller=large_site.site.owner, json={"slug": "renamed"})


def _move_parent(api: ApiClient, large_site: LargeSite) -> ApiResponse:
    _rename_parent(api, large_site)
    return api.post(f"{large_site.ancestors[1].path}/publish", caller=large_site.site.owner)


def _resolve_twice(api: ApiClient, large_site: LargeSite) -> ApiResponse:
    host = large_site.site.record["host"]
    api.get("/sites/resolve", query={"host": host})
    return api.get("/sites/resolve", query={"host": host, "path": "/shelf/row/book/leaf"})


SCENARIOS: dict[str, tuple[Callable[[ApiClient, LargeSite], ApiResponse], int, int]] = {
    "visit": (lambda api, large_site: get_page_by_path(api, large_site.site, "/shelf/row/book/leaf"), 2, 0),
    "visit the home": (lambda api, large_site: api.get(f"{large_site.site.path}/pages/home"), 2, 0),
    "resolve": (_resolve_twice, 2, 0),
    "visit a missing page": (
        lambda api, large_site: get_page_by_path(api, large_site.site, "/shelf/row/nothing/leaf"),
        1,
        0,
    ),
    "get": (lambda api, large_site: api.get(large_site.ancestors[3].path, caller=large_site.site.owner), 2, 0),
    "list": (
        lambda api, large_site: api.get(
            f"{large_site.site.path}/pages", caller=large_site.site.owner, query={"limit": 3}
        ),
        3,
        0,
    ),
    "rename a page with many descendants": (_rename_parent, 2, 14),
    "publish a page with many descendants at another path": (_move_parent, 3, 18),
    "delete a page with many descendants": (
        lambda api, large_site: api.delete(
            large_site.ancestors[1].path, caller=large_site.site.owner, query={"strategy": "cascade"}
        ),
        2,
        18,
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_aws_calls_do_not_depend_on_the_number_of_pages(api, large_site, name):
    send_request, max_reads, max_writes = SCENARIOS[name]
    get_page_by_path(api, large_site.site, "/")  # The process caches the site's ancestors.
    answer = send_request(api, large_site)
    assert (answer.status == 404) if name == "visit a missing page" else (answer.status in (200, 204)), answer.text
    assert len(answer.calls.read_names) <= max_reads
    assert (
        sum(len(call.parameters["TransactItems"]) for call in answer.calls.call_list if "Write" in call.name)
        <= max_writes
    )


class TestPagesWithTheSameSlug:
    @pytest.fixture(autouse=True)
    def _two_pages_per_slug(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(slug_index, "MAX_PAGES_PER_SLUG", 2)

    @pytest.mark.usefixtures("home_page")
    def test_more_pages_than_a_slug_index_item_lists_are_found_like_others(self, api, site):
        products = [create_published_page(api, site, f"Product {n}", slug=f"product-{n}") for n in range(4)]
        reviews = [create_published_page(api, site, "Reviews", parent=parent) for parent in products]
        for product, page in zip(products, reviews, strict=True):
            answer = get_page_by_path(api, site, f"{product.record['path']}/reviews")
            assert answer.json["id"] == page.id
            assert len(answer.calls.read_names) <= 4
            assert (
                get_page_by_path(api, site, page.record["path"], caller=site.owner, draft="true").json["id"] == page.id
            )
        update_page(api, reviews[0], slug="opinions")
        publish_page(api, reviews[0])
        assert get_page_by_path(api, site, "/product-0/reviews").location.endswith("%2Fproduct-0%2Fopinions")
        update_page(api, reviews[1], unpublishAt=PAST)
        assert get_page_by_path(api, site, "/product-1/reviews").status == 404
        assert get_page_by_path(api, site, "/product-2/reviews").json["id"] == reviews[2].id
        assert create_draft_page(api, site, "Reviews", parent=products[0]).record["path"] == "/product-0/reviews"
