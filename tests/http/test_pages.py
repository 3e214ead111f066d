"""Pages: create, list, get, change, delete."""

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, visit, write_page
from tests.harness.workers import Workers

TEXT_BLOCKS = [{"id": "b1", "type": "text", "text": "A loom **weaves**."}]
NO_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class TestCreatePage:
    def test_a_new_page_is_a_draft_and_the_first_is_the_home_page(self, api: Api, site: Published) -> None:
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "All about Looms"})
        generated_fields = ("id", "createdAt", "updatedAt", "draftRevisionId")
        assert {name: value for name, value in answer.json.items() if name not in generated_fields} == {
            "version": 1,
            "siteId": site.id,
            "title": "All about Looms",
            "slug": "all-about-looms",
            "parentId": None,
            "seo": NO_SEO,
            "publishAt": None,
            "unpublishAt": None,
            "isHome": True,
            "path": "/",
            "status": "draft",
            "hasUnpublishedChanges": True,
            "publishedRevisionId": None,
            "publishedAt": None,
            "blocks": [],
        }
        assert api.get(answer.location, as_=site.owner).json == answer.json
        assert not write_page(api, site, "Mills").record["isHome"]

    def test_the_path_of_a_child_extends_the_path_of_its_parent(self, api: Api, site: Published, home: Leaf) -> None:
        machines = write_page(api, site, "Machines")
        looms = write_page(api, site, "Looms", below=machines, blocks=TEXT_BLOCKS)
        assert (machines.record["path"], looms.record["path"]) == ("/machines", "/machines/looms")
        assert looms.record["blocks"] == TEXT_BLOCKS
        assert write_page(api, site, "Contact", below=home).record["path"] == "/contact"

    def test_slugs_that_are_reserved_for_hosts_are_valid_for_pages(self, api: Api, site: Published, home: Leaf) -> None:
        assert write_page(api, site, "About", below=home).record["path"] == "/about"
        assert write_page(api, site, "Help", slug="help").record["path"] == "/help"
        response = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Admin", "slug": "admin"})
        assert response.faults == {"/slug": "malformed"}

    def test_slugs_are_unique_among_siblings_and_children_of_the_home_page(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        write_page(api, site, "Looms")
        mills = write_page(api, site, "Mills", below=home)
        for slug, parent in (("looms", None), ("mills", None), ("looms", home.id), ("mills", home.id)):
            body = {"title": "Another", "slug": slug, "parentId": parent}
            assert api.post(f"{site.path}/pages", as_=site.owner, json=body).code == "409 slug_taken"
        assert write_page(api, site, "Looms").record["slug"].startswith("looms-")
        assert write_page(api, site, "Looms", below=mills).record["slug"] == "looms"

    def test_a_tree_has_at_most_ten_levels(self, api: Api, site: Published, home: Leaf) -> None:
        page = home
        for level in range(2, 11):
            page = write_page(api, site, f"Level {level}", below=page)
        assert page.record["path"].count("/") == 9
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Deeper", "parentId": page.id})
        assert answer.faults == {"/parentId": "too_deep"}

    def test_the_parent_must_be_a_page_of_the_site(self, api: Api, organization: Founded, site: Published) -> None:
        other_page = write_page(api, make_site(api, organization, name="Mills"), "Welcome")
        for parent in (other_page.id, site.id):
            body = {"title": "Looms", "parentId": parent}
            assert api.post(f"{site.path}/pages", as_=site.owner, json=body).faults == {"/parentId": "unknown"}

    def test_invalid_blocks_are_rejected_with_their_positions(self, api: Api, site: Published) -> None:
        blocks = [
            {"id": "a", "type": "heading", "level": 7, "text": "x"},
            {"id": "a", "type": "marquee"},
            {"id": "c", "type": "button", "label": "Go", "url": "javascript:alert(1)"},
        ]
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Looms", "blocks": blocks})
        assert answer.faults == {
            "/blocks/0/level": "out_of_range",
            "/blocks/1/type": "not_one_of",
            "/blocks/2/url": "malformed",
        }

    def test_blocks_of_more_than_256_kib_are_rejected(self, api: Api, site: Published) -> None:
        def build_blocks(size: int) -> list[dict[str, str]]:
            return [{"id": "b", "type": "text", "text": "x" * size}]

        max_size = 256 * 1024 - len('[{"id":"b","type":"text","text":""}]')
        assert write_page(api, site, "Long", blocks=build_blocks(max_size)).record["blocks"] == build_blocks(max_size)
        answer = api.post(
            f"{site.path}/pages", as_=site.owner, json={"title": "Longer", "blocks": build_blocks(max_size + 1)}
        )
        assert answer.code == "413 payload_too_large"

    def test_editors_create_pages_and_members_do_not(
        self, api: Api, site: Published, edith: Person, mary: Person, organization: Founded
    ) -> None:
        body = {"title": "Looms"}
        assert api.post(f"{site.path}/pages", as_=edith, json=body).status == 201
        assert api.post(f"{site.path}/pages", as_=mary, json=body).code == "403 insufficient_role"
        read_key = make_key(api, organization, "sites:read")
        assert api.post(f"{site.path}/pages", as_=read_key, json=body).code == "403 insufficient_scope"


class TestGetPage:
    def test_members_read_drafts_and_published_pages(
        self, api: Api, home: Leaf, mary: Person, stranger: Person
    ) -> None:
        assert api.get(home.path, as_=mary).json == home.record
        assert api.get(home.path, as_=stranger).code == "404 not_found"
        assert api.get(home.path).code == "401 unauthenticated"

    def test_a_page_of_another_site_is_not_found(self, api: Api, organization: Founded, home: Leaf) -> None:
        other_site = make_site(api, organization, name="Mills")
        assert api.get(f"{other_site.path}/pages/{home.id}", as_=home.site.owner).code == "404 not_found"


@pytest.mark.usefixtures("home")
class TestListPages:
    def test_pages_are_listed_without_blocks_in_order_of_creation(
        self, api: Api, site: Published, mary: Person
    ) -> None:
        pages = [write_page(api, site, title, blocks=TEXT_BLOCKS) for title in ("Looms", "Mills")]
        listed = api.items(f"{site.path}/pages", as_=mary, query={"limit": 2})
        expected = [{name: v for name, v in page.record.items() if name != "blocks"} for page in pages]
        assert listed[1:] == expected

    def test_pages_are_filtered_by_parent_status_and_prefix_of_the_title(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        write_page(api, site, "Łódź mills", below=machines)
        write_page(api, site, "Looming", publishAt="2099-01-01T00:00:00Z")

        def list_titles(**query: str) -> list[str]:
            return [page["title"] for page in api.items(f"{site.path}/pages", as_=site.owner, query=query)]

        assert list_titles(parentId=machines.id) == ["Looms", "Łódź mills"]
        assert list_titles(status="published") == ["Welcome", "Machines", "Looms"]
        assert list_titles(status="scheduled") == ["Looming"]
        assert list_titles(q="LOO") == ["Looming", "Looms"]
        assert list_titles(q="loo", status="published", parentId=machines.id) == ["Looms"]


@pytest.mark.usefixtures("home")
class TestUpdatePage:
    def test_a_change_creates_a_draft_that_is_not_public(self, api: Api, site: Published, home: Leaf) -> None:
        public = visit(api, site, "/").json
        response = edit(api, home, title="Hello", blocks=TEXT_BLOCKS, seo={"description": "Hi"})
        assert (response["title"], response["blocks"]) == ("Hello", TEXT_BLOCKS)
        assert response["seo"] == {**NO_SEO, "description": "Hi"}
        assert response["hasUnpublishedChanges"]
        assert response["draftRevisionId"] != home.record["draftRevisionId"]
        assert response["publishedRevisionId"] == home.record["publishedRevisionId"]
        assert visit(api, site, "/").json == public

    def test_a_change_without_effect_creates_no_revision(self, api: Api, home: Leaf, organization: Founded) -> None:
        entries = len(log_of(api, organization))
        assert edit(api, home) == home.record
        assert edit(api, home, title="Welcome", blocks=[]) == home.record
        assert len(log_of(api, organization)) == entries

    def test_a_page_moves_with_its_descendants(self, api: Api, site: Published) -> None:
        machines, tools = write_page(api, site, "Machines"), write_page(api, site, "Tools")
        looms = write_page(api, site, "Looms", below=machines)
        write_page(api, site, "Hand looms", below=looms)
        edit(api, looms, parentId=tools.id, slug="weaving")
        paths = [page["path"] for page in api.items(f"{site.path}/pages", as_=site.owner)]
        assert paths == ["/", "/machines", "/tools", "/tools/weaving", "/tools/weaving/hand-looms"]

    def test_a_page_cannot_move_below_itself_or_too_deep(self, api: Api, site: Published, home: Leaf) -> None:
        top = write_page(api, site, "Top")
        pages = [top]
        for level in range(2, 11):
            pages.append(write_page(api, site, f"Level {level}", below=pages[-1]))
        answer = api.patch(top.path, as_=site.owner, json={"parentId": pages[2].id})
        assert (answer.code, set(answer.faults)) == ("409 cycle", {"/parentId"})
        answer = api.patch(top.path, as_=site.owner, json={"parentId": home.id})
        assert answer.faults == {"/parentId": "too_deep"}

    def test_if_match_rejects_a_changed_page(self, api: Api, home: Leaf) -> None:
        etag = api.get(home.path, as_=home.site.owner).etag
        edit(api, home, title="Hello")
        response = api.patch(home.path, as_=home.site.owner, json={"title": "Hi"}, headers={"If-Match": etag})
        assert response.code == "412 precondition_failed"

    def test_another_page_becomes_the_home_page_but_a_site_always_has_one(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        contact = write_page(api, site, "Contact", below=home)
        other = write_page(api, site, "Start")
        response = api.patch(home.path, as_=site.owner, json={"isHome": False})
        assert response.faults == {"/isHome": "required"}
        assert (edit(api, other, isHome=True)["path"], edit(api, home)["path"]) == ("/", "/welcome")
        assert api.get(contact.path, as_=site.owner).json["path"] == "/welcome/contact"
        assert api.get(site.path, as_=site.owner).json["homePageId"] == other.id

    def test_a_path_conflict_prevents_a_new_home_page(self, api: Api, site: Published) -> None:
        start = write_page(api, site, "Start")
        write_page(api, site, "Contact", below=start)
        write_page(api, site, "Contact", slug="contact")
        answer = api.patch(start.path, as_=site.owner, json={"isHome": True})
        assert (answer.code, set(answer.faults)) == ("409 slug_taken", {"/isHome"})
        assert "contact" in answer.json["detail"]


@pytest.mark.usefixtures("home")
class TestDeletePage:
    def test_a_deleted_page_is_not_found_and_its_slug_is_free(
        self, api: Api, site: Published, workers: Workers
    ) -> None:
        looms = page_of(api, site, "Looms")
        assert api.delete(looms.path, as_=site.owner).status == 204
        for path in (looms.path, f"{looms.path}/revisions"):
            assert api.get(path, as_=site.owner).code == "404 not_found"
        assert visit(api, site, "/looms").status == 404
        workers.settle()
        assert page_of(api, site, "Looms").record["path"] == "/looms"

    def test_a_page_with_children_is_only_deleted_by_cascade(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        response = api.delete(machines.path, as_=site.owner)
        assert (response.code, set(response.faults)) == ("409 not_empty", {"query/strategy"})
        assert api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert api.get(looms.path, as_=site.owner).code == "404 not_found"
        assert visit(api, site, "/machines/looms").status == 404
        assert [page["title"] for page in api.items(f"{site.path}/pages", as_=site.owner)] == ["Welcome"]

    def test_a_published_child_whose_draft_has_moved_stays_as_a_draft(
        self, api: Api, site: Published, organization: Founded, workers: Workers
    ) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        edit(api, looms, parentId=None)
        assert api.delete(machines.path, as_=site.owner).code == "409 not_empty"
        api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"})
        workers.settle()
        draft = api.get(looms.path, as_=site.owner).json
        assert (draft["status"], draft["path"], draft["publishedRevisionId"]) == ("archived", "/looms", None)
        assert log_of(api, organization)[0]["type"] == "page.unpublished"

    def test_a_page_that_stayed_as_a_draft_has_no_published_children(
        self, api: Api, site: Published, workers: Workers
    ) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        cards = page_of(api, site, "Cards", below=looms)
        edit(api, looms, parentId=None)
        edit(api, cards, parentId=None)
        api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"})
        workers.settle()
        assert api.delete(looms.path, as_=site.owner).status == 204

    def test_a_site_without_its_home_page_has_none_until_the_next_page(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        api.delete(home.path, as_=site.owner)
        assert api.get(site.path, as_=site.owner).json["homePageId"] is None
        assert visit(api, site, "/").status == 404
        assert write_page(api, site, "Start").record["isHome"]
