"""Test the AWS calls for the sitemap of a site with more pages than one sitemap lists."""

from math import ceil

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, page_tree_partition
from chalicelib.features.sites.visits.logic import sitemaps
from tests.harness import memory_aws
from tests.harness.sitemaps import get_sitemap, sitemap_index_urls, sitemap_urls

LISTED_PAGES = 3000
"""The items of these pages in the tree have more than a megabyte, which one query returns at most."""


def store_pages(site, parent):
    """Store the tree items of pages that are published below another, and return the size of each in bytes."""
    for number in range(LISTED_PAGES - 1):
        page_id = f"01939d3c-0000-7000-8000-{number:012d}"
        pk, sk = page_tree_partition(site.id, PUBLISHED_TREE).node_key(page_id)
        item = {
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
        memory_aws.put_item(item)
    return sum(len(name) + len(str(value)) for name, value in item.items())


def test_reads_one_query_per_megabyte_of_tree_items_and_no_page(api, site, pages, monkeypatch):
    assert sitemaps.MAX_ENTRIES == 10_000
    monkeypatch.setattr(sitemaps, "MAX_ENTRIES", LISTED_PAGES)
    tree_size = LISTED_PAGES * store_pages(site, pages.publish("Branch"))
    index = get_sitemap(api, site)
    assert index.calls.call_names[0] == "dynamodb:BatchGetItem"
    assert {*index.calls.call_names[1:]} == {"dynamodb:Query", "dynamodb:TransactWriteItems"}
    assert index.calls.call_names.count("dynamodb:Query") <= ceil(tree_size / 1_000_000) + 1
    assert len(sitemap_index_urls(index)) == 2
    first, second = (get_sitemap(api, site, page=number) for number in (1, 2))
    assert first.text.count("<url>") == LISTED_PAGES
    assert [*sitemap_urls(second)] == [f"https://{site.record['host']}/branch/leaf-{LISTED_PAGES - 2:05d}"]
    stored_index = get_sitemap(api, site)
    assert stored_index.text == index.text
    for answer in (first, second, stored_index):
        assert {*answer.calls.call_names} == {"dynamodb:BatchGetItem"}
        assert answer.calls.bytes_read < 64_000  # The tree items have more than a megabyte.
