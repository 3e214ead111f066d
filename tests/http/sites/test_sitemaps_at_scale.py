"""Test the AWS calls for the sitemap of a site with more pages than one sitemap lists."""

from math import ceil
from typing import Any

import pytest

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, page_tree_partition
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.organizations import CreatedOrganization
from tests.harness.sitemaps import get_sitemap, sitemap_index_urls, sitemap_urls
from tests.harness.sites import CreatedPage, CreatedSite, create_published_page, create_site

MAX_PAGES = 10_000


@pytest.fixture
def site(api: ApiClient, organization: CreatedOrganization) -> CreatedSite:
    """Return a site with a home page, a page below it, and enough pages below that to fill more than one sitemap."""
    site = create_site(api, organization)
    create_published_page(api, site, "Welcome")
    branch = create_published_page(api, site, "Branch")
    for number in range(MAX_PAGES - 1):
        memory_aws.put_item(build_tree_item(site, branch, number))
    return site


def build_tree_item(site: CreatedSite, parent: CreatedPage, number: int) -> dict[str, Any]:
    """Return the tree item of a page that is published below another."""
    page_id = f"01939d3c-0000-7000-8000-{number:012d}"
    pk, sk = page_tree_partition(site.id, PUBLISHED_TREE).node_key(page_id)
    return {
        "pk": pk,
        "sk": sk,
        "id": page_id,
        "parent_id": parent.id,
        "slug": f"leaf-{number:05d}",
        "lineage": [parent.id],
        "placed": 1,
        "listed": True,
        "revision_id": page_id,
        "published_at": "2030-01-01T00:00:00.000Z",
        "indexable": True,
    }


def test_reads_one_query_per_megabyte_of_tree_items_and_no_page(api, site):
    index = get_sitemap(api, site)
    tree_size = sum(
        item_size(item)
        for item in memory_aws.all_items()
        if item["pk"] == page_tree_partition(site.id, PUBLISHED_TREE).partition
    )
    assert index.calls.call_names[0] == "dynamodb:BatchGetItem"
    queries = [name for name in index.calls.call_names if name == "dynamodb:Query"]
    assert {*index.calls.call_names[1:]} == {"dynamodb:Query", "dynamodb:TransactWriteItems"}
    assert len(queries) <= ceil(tree_size / 1_000_000) + 1
    assert len(sitemap_index_urls(index)) == 2
    first, second = (get_sitemap(api, site, page=number) for number in (1, 2))
    assert first.text.count("<url>") == MAX_PAGES
    assert [*sitemap_urls(second)] == [f"https://{site.record['host']}/branch/leaf-{MAX_PAGES - 2:05d}"]
    stored_index = get_sitemap(api, site)
    assert stored_index.text == index.text
    for answer in (first, second, stored_index):
        assert {*answer.calls.call_names} == {"dynamodb:BatchGetItem"}
        assert answer.calls.bytes_read < 64_000  # The tree items have several megabytes.


def item_size(item: dict[str, Any]) -> int:
    """Return the approximate size of an item in DynamoDB, in bytes."""
    return sum(len(name) + len(str(value)) for name, value in item.items())
