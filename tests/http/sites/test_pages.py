"""Pages: create, list, get, change, delete. AWS calls for a site of 3,000 pages equal those for one of ten."""

import pytest

from chalicelib.features.sites.entities.sites import DRAFT_TREE, PUBLISHED_TREE, page_tree
from chalicelib.features.sites.pages.entities import slug_index
from chalicelib.features.sites.pages.entities.pages import Page
from chalicelib.features.sites.pages.entities.slug_index import SlugIndexWriter
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import create_organization
from tests.harness.sites import SitePages, create_draft_page, create_site, get_page_by_path, publish_page, update_page
from tests.harness.stored_records import new_id_and_time_fields

TEXT_BLOCKS = [{"id": "b1", "type": "text", "text": "A loom **weaves**."}]
NO_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class TestCreatePage:
    def test_the_path_of_a_child_extends_the_path_of_its_parent(self, pages):
        looms = pages.draft("Machines", "Machines/Looms", blocks=TEXT_BLOCKS)
        assert (pages["Machines"].record["path"], looms.record["path"]) == ("/machines", "/machines/looms")
        assert looms.record["blocks"] == TEXT_BLOCKS
        assert pages.draft("Welcome/Contact").record["path"] == "/contact"
        # Slugs that are reserved for hosts are valid for pages.
        assert pages.draft("Welcome/About").record["path"] == "/about"
        assert pages.draft("Help", slug="help").record["path"] == "/help"
        assert pages.post(title="Admin", slug="admin").errors == {"/slug": "malformed"}

    def test_slugs_are_unique_among_siblings_and_children_of_the_home_page(self, home_page, pages):
        pages.draft("Looms", "Welcome/Mills")
        for slug in ("looms", "mills"):
            for parent_id in (None, home_page.id):
                assert pages.post(title="Another", slug=slug, parentId=parent_id).status_and_code == "409 slug_taken"
        assert pages.draft("Looms").record["slug"].startswith("looms-")
        assert pages.draft("Mills/Looms").record["slug"] == "looms"

    def test_a_tree_has_at_most_ten_levels_and_no_cycle(self, home_page, pages):
        pages.draft("Level 1", *(f"Level {level}/Level {level + 1}" for level in range(1, 10)))
        pages.draft("Welcome/Below 2", *(f"Below {level}/Below {level + 1}" for level in range(2, 10)))
        for title, slashes in (("Level 10", 10), ("Below 10", 9)):
            assert pages[title].record["path"].count("/") == slashes
            assert pages.post(title="Deeper", parentId=pages[title].id).errors == {"/parentId": "too_deep"}
        assert pages.patch("Level 1", parentId=home_page.id).errors == {"/parentId": "too_deep"}
        assert pages.patch("Level 1", parentId=pages["Level 3"].id).problem_and_pointers == ("409 cycle", ["/parentId"])

    def test_parent_and_site_of_a_page_match(self, api, organization, site, pages):
        other_site = create_site(api, organization, name="Mills")
        other_page = create_draft_page(api, other_site, "Welcome")
        for parent_id in (other_page.id, site.id):
            assert pages.post(title="Looms", parentId=parent_id).errors == {"/parentId": "unknown"}
        assert api.get(f"{site.path}/pages/{other_page.id}", caller=site.owner).status_and_code == "404 not_found"

    def test_invalid_blocks_are_rejected_with_their_positions(self, pages):
        heading = {"id": "a", "type": "heading", "level": 7, "text": "x"}
        button = {"id": "c", "type": "button", "label": "Go", "url": "javascript:alert(1)"}
        answer = pages.post(title="Looms", blocks=[heading, {"id": "a", "type": "marquee"}, button])
        errors = {"0/level": "out_of_range", "1/type": "not_one_of", "2/url": "malformed"}
        assert answer.errors == {f"/blocks/{pointer}": code for pointer, code in errors.items()}

    def test_blocks_of_more_than_256_kib_are_rejected(self, pages):
        largest = "x" * (256 * 1024 - len('[{"id":"b","type":"text","text":""}]'))
        blocks = [{"id": "b", "type": "text", "text": largest}]
        assert pages.draft("Long", blocks=blocks).record["blocks"] == blocks
        answer = pages.post(title="Longer", blocks=[{**blocks[0], "text": f"{largest}x"}])
        assert answer.status_and_code == "413 payload_too_large"


class TestListPages:
    def test_pages_are_filtered_by_parent_status_and_prefix_of_the_title(self, api, site, pages):
        machines_id = pages.publish("Machines").id
        pages.publish("Machines/Looms")
        pages.draft("Machines/Łódź mills")
        pages.draft("Looming", publishAt="2099-01-01T00:00:00Z")
        for query, titles in [
            ({"parentId": machines_id}, ["Looms", "Łódź mills"]),
            ({"status": "published"}, ["Welcome", "Machines", "Looms"]),
            ({"status": "scheduled"}, ["Looming"]),
            ({"q": "LOO"}, ["Looming", "Looms"]),
            ({"q": "loo", "status": "published", "parentId": machines_id}, ["Looms"]),
        ]:
            listed = api.get_items(f"{site.path}/pages", caller=site.owner, query=query)
            assert [page["title"] for page in listed] == titles, query


class TestUpdatePage:
    def test_an_effective_change_creates_a_draft_that_is_not_public(self, api, site, home_page, organization, pages):
        public = get_page_by_path(api, site, "/").json
        for fields in ({}, {"title": "Welcome", "blocks": []}):  # They have no effect.
            assert pages.update("Welcome", **fields) == home_page.record
        record = pages.update("Welcome", title="Hello", blocks=TEXT_BLOCKS, seo={"description": "Hi"})
        generated = {name: record[name] for name in ("draftRevisionId", "updatedAt")}
        changed = {"title": "Hello", "blocks": TEXT_BLOCKS, "hasUnpublishedChanges": True}
        changed["seo"] = {**NO_SEO, "description": "Hi"}
        assert record == {**home_page.record, **changed, **generated, "version": home_page.record["version"] + 1}
        assert record["draftRevisionId"] != home_page.record["draftRevisionId"]
        assert get_page_by_path(api, site, "/").json == public
        assert len(list_entries(api, organization, type="page.updated")) == 1

    def test_a_page_moves_with_its_descendants(self, api, site, pages):
        pages.draft("Machines", "Tools", "Machines/Looms", "Looms/Hand looms")
        pages.update("Looms", parentId=pages["Tools"].id, slug="weaving")
        paths = [page["path"] for page in api.get_items(f"{site.path}/pages", caller=site.owner)]
        assert paths == ["/", "/machines", "/tools", "/tools/weaving", "/tools/weaving/hand-looms"]

    def test_another_page_becomes_the_home_page_but_a_site_always_has_one(self, api, site, pages):
        contact, start = pages.draft("Welcome/Contact"), pages.draft("Start")
        assert pages.patch("Welcome", isHome=False).errors == {"/isHome": "required"}
        assert (pages.update("Start", isHome=True)["path"], pages.update("Welcome")["path"]) == ("/", "/welcome")
        assert api.get(contact.path, caller=site.owner).json["path"] == "/welcome/contact"
        assert api.get(site.path, caller=site.owner).json["homePageId"] == start.id

    def test_a_path_conflict_prevents_a_new_home_page(self, pages):
        pages.draft("Start", "Start/Contact")
        pages.draft("Other contact", slug="contact")
        answer = pages.patch("Start", isHome=True).expect_problem("409 slug_taken", "contact")
        assert [*answer.errors] == ["/isHome"]


class TestDeletePage:
    def test_a_deleted_page_is_not_found_and_its_slug_is_free(self, api, site, workers, pages):
        looms = pages.publish("Looms")
        assert pages.delete("Looms").status == 204
        for path in (looms.path, f"{looms.path}/revisions"):
            assert api.get(path, caller=site.owner).status_and_code == "404 not_found"
        assert pages.visit("/looms") is None
        workers.run_until_idle()
        assert pages.publish("Looms").record["path"] == "/looms"

    def test_a_page_with_children_is_only_deleted_by_cascade(self, api, site, pages):
        looms = pages.publish("Machines", "Machines/Looms")
        assert pages.delete("Machines").problem_and_pointers == ("409 not_empty", ["query/strategy"])
        assert pages.delete("Machines", "cascade").status == 204
        assert api.get(looms.path, caller=site.owner).status_and_code == "404 not_found"
        assert pages.visit("/machines/looms") is None
        assert [page["title"] for page in api.get_items(f"{site.path}/pages", caller=site.owner)] == ["Welcome"]

    @pytest.mark.parametrize("with_child", [False, True])
    def test_a_published_child_whose_draft_has_moved_stays_as_a_draft(
        self, api, site, organization, workers, pages, with_child
    ):
        looms = pages.publish("Machines", "Machines/Looms")
        if with_child:
            pages.publish("Looms/Cards")
            pages.update("Cards", parentId=None)
        pages.update("Looms", parentId=None)
        assert pages.delete("Machines").status_and_code == "409 not_empty"
        pages.delete("Machines", "cascade")
        workers.run_until_idle()
        draft = api.get(looms.path, caller=site.owner).json
        assert (draft["status"], draft["path"], draft["publishedRevisionId"]) == ("archived", "/looms", None)
        assert list_entries(api, organization)[0]["type"] == "page.unpublished"
        assert pages.delete("Looms").status == 204  # It has no published children.

    def test_a_site_without_its_home_page_has_none_until_the_next_page(self, api, site, pages):
        pages.delete("Welcome")
        assert api.get(site.path, caller=site.owner).json["homePageId"] is None
        assert pages.visit("/") is None
        assert [pages.draft(title).record["isHome"] for title in ("Start", "Mills")] == [True, False]


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
        (page_tree(site.id, DRAFT_TREE), page.draft_position_item),
        (page_tree(site.id, PUBLISHED_TREE), page.published_position_item),
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
