"""The sitemap of a site with more pages than one holds: what is asked of AWS for it."""

from math import ceil
from typing import Any

import pytest

from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, page_tree
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.organizations import Founded
from tests.harness.sitemaps import ask, listed, parts
from tests.harness.sites import Leaf, Published, make_site, page_of

MOST = 10_000


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site with a home, a page below it, and below that as many as make one sitemap too many."""
    site = make_site(api, organization)
    page_of(api, site, "Welcome")
    branch = page_of(api, site, "Branch")
    for number in range(MOST - 1):
        cloud.put(seat(site, branch, number))
    return site


def seat(site: Published, above: Leaf, number: int) -> dict[str, Any]:
    """Return the seat of a page that is published below another."""
    page_id = f"01939d3c-0000-7000-8000-{number:012d}"
    pk, sk = page_tree(site.id, PUBLISHED_TREE).node_key(page_id)
    return {
        "pk": pk,
        "sk": sk,
        "id": page_id,
        "parent_id": above.id,
        "slug": f"leaf-{number:05d}",
        "lineage": [above.id],
        "placed": 1,
        "listed": True,
        "revision_id": page_id,
        "published_at": "2030-01-01T00:00:00.000Z",
        "indexable": True,
    }


def test_it_takes_a_query_for_each_megabyte_of_seats_and_no_page(api: Api, site: Published) -> None:
    index = ask(api, site)
    seats = sum(
        item_size(item) for item in cloud.stored() if item["pk"] == page_tree(site.id, PUBLISHED_TREE).partition
    )
    assert index.calls.names[0] == "dynamodb:BatchGetItem"
    queries = [name for name in index.calls.names if name == "dynamodb:Query"]
    assert {*index.calls.names[1:]} == {"dynamodb:Query", "dynamodb:TransactWriteItems"}
    assert len(queries) <= ceil(seats / 1_000_000) + 1
    assert len(parts(index)) == 2
    first, second = (ask(api, site, page=number) for number in (1, 2))
    assert first.text.count("<url>") == MOST
    assert [*listed(second)] == [f"https://{site.record['host']}/branch/leaf-{MOST - 2:05d}"]
    again = ask(api, site)
    assert again.text == index.text
    for kept in (first, second, again):
        assert {*kept.calls.names} == {"dynamodb:BatchGetItem"}
        assert kept.calls.bytes_read < 64_000  # The seats have some megabytes.


def item_size(item: dict[str, Any]) -> int:
    """Return about how many bytes an item has for DynamoDB."""
    return sum(len(name) + len(str(value)) for name, value in item.items())
