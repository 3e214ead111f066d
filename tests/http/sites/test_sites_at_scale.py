"""Test that AWS calls for a site of 3,000 pages equal those for one of ten, and slugs that many pages share."""

import pytest

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, page_tree_partition
from chalicelib.features.sites.pages.entities import slug_index
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.pages.entities.slug_index import SlugIndexWriter
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import create_organization
from tests.harness.sites import SitePages, create_site, get_page_by_path, publish_page, update_page
from tests.harness.stored_records import new_id_and_time_fields

MAX_PAGES = 3000
"""Their items have more than a megabyte, which one query returns at most."""


@pytest.fixture(params=[10, MAX_PAGES])
def large_site(request, api, ada):
    """The nested pages of a site, the second of which has many children."""
    return cached_scenario(f"a site of {request.param} pages", lambda: create_large_site(api, ada, request.param))


def create_large_site(api, owner, number):
    pages = SitePages(api, create_site(api, create_organization(api, owner)))
    pages.publish("Welcome", "Shelf", "Shelf/Row", "Row/Book", "Book/Leaf", "Attic")
    for n in range(number - 6):
        store_page(pages, n)
    row = memory_aws.get_item(*Page.make_item_key(site_id=pages.site.id, id=pages["Row"].id))
    assert row
    memory_aws.put_item({**row, "child_count": number - 5, "live_count": number - 5})
    return pages


def store_page(pages, number):
    """Store a published page below the second of the nested pages, as the service would have written it."""
    timestamp, site, row = now(), pages.site, pages["Row"]
    ancestor_ids = [pages["Shelf"].id, row.id]
    position = {"parent_id": row.id, "slug": f"book-{number}", "ancestor_ids": ancestor_ids, "tree_version": 1}
    page = Page(
        **new_id_and_time_fields(timestamp),
        **position,
        **{f"published_{name}": value for name, value in position.items()},
        title=f"Book {number}",
        organization_id=site.record["organizationId"],
        site_id=site.id,
        draft_revision_id=row.id,
        published_revision_id=row.id,
        published_at=timestamp,
        status="published",
        was_published=True,
    )
    for tree, position_item in (
        (page_tree_partition(site.id, DRAFT_TREE), page.draft_position_item),
        (page_tree_partition(site.id, PUBLISHED_TREE), page.published_position_item),
    ):
        writer = SlugIndexWriter(tree, {})
        writer.add(position_item)
        (write,) = writer.build_writes()
        (value,) = (write.values or {}).values()
        memory_aws.put_item({"pk": write.key[0], "sk": write.key[1], page.id: value})
    for item in (page.item(), *page.derived_items):
        memory_aws.put_item(item)


def resolve_twice(api, pages):
    host = pages.site.record["host"]
    api.get("/sites/resolve", query={"host": host})
    return api.get("/sites/resolve", query={"host": host, "path": "/shelf/row/book/leaf"})


def move_parent(api, pages):
    pages.update("Row", slug="renamed")
    return api.post(f"{pages['Row'].path}/publish", caller=pages.site.owner)


def list_pages(api, pages):
    return api.get(f"{pages.site.path}/pages", caller=pages.site.owner, query={"limit": 3})


@pytest.mark.parametrize(
    ("send_request", "status", "max_reads", "max_writes"),
    [
        (lambda api, pages: get_page_by_path(api, pages.site, "/shelf/row/book/leaf"), 200, 2, 0),
        (lambda api, pages: api.get(f"{pages.site.path}/pages/home"), 200, 2, 0),
        (resolve_twice, 200, 2, 0),
        (lambda api, pages: get_page_by_path(api, pages.site, "/shelf/row/nothing/leaf"), 404, 1, 0),
        (lambda api, pages: api.get(pages["Leaf"].path, caller=pages.site.owner), 200, 2, 0),
        (list_pages, 200, 3, 0),
        (lambda _, pages: pages.patch("Row", slug="renamed"), 200, 2, 14),
        (move_parent, 200, 3, 18),
        (lambda _, pages: pages.delete("Row", "cascade"), 204, 2, 18),
    ],
    ids=["visit", "visit the home", "resolve", "visit nothing", "get", "list", "rename", "move", "delete"],
)
def test_aws_calls_do_not_depend_on_the_number_of_pages(api, large_site, send_request, status, max_reads, max_writes):
    large_site.visit("/")  # The process caches the site's ancestors.
    answer = send_request(api, large_site)
    assert answer.status == status, answer.text
    assert len(answer.calls.read_names) <= max_reads
    transactions = [call.parameters["TransactItems"] for call in answer.calls.call_list if "Write" in call.name]
    assert sum(map(len, transactions)) <= max_writes


def test_more_pages_than_a_slug_index_item_lists_are_found_like_others(api, site, pages, monkeypatch):
    monkeypatch.setattr(slug_index, "MAX_PAGES_PER_SLUG", 2)
    pages.publish(*(f"Product {n}" for n in range(4)))
    reviews = [pages.publish(f"Product {n}/Reviews") for n in range(4)]
    for n, page in enumerate(reviews):
        answer = get_page_by_path(api, site, f"/product-{n}/reviews")
        assert answer.json["id"] == page.id
        assert len(answer.calls.read_names) <= 4
        draft = get_page_by_path(api, site, page.record["path"], caller=site.owner, draft="true")
        assert draft.json["id"] == page.id
    update_page(api, reviews[0], slug="opinions")
    publish_page(api, reviews[0])
    assert pages.visit("/product-0/reviews") == "/product-0/opinions"
    update_page(api, reviews[1], unpublishAt="2020-01-01T00:00:00.000Z")
    assert pages.visit("/product-1/reviews") is None
    assert get_page_by_path(api, site, "/product-2/reviews").json["id"] == reviews[2].id
    assert pages.draft("Product 0/Reviews").record["path"] == "/product-0/reviews"
