"""Pages: create, list, get, change, delete."""

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key
from tests.harness.sites import (
    create_draft_page,
    create_published_page,
    create_site,
    get_page_by_path,
    update_page,
)

TEXT_BLOCKS = [{"id": "b1", "type": "text", "text": "A loom **weaves**."}]
NO_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class TestCreatePage:
    def test_a_new_page_is_a_draft_and_the_first_is_the_home_page(self, api, site):
        answer = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "All about Looms"})
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
        assert api.get(answer.location, caller=site.owner).json == answer.json
        assert not create_draft_page(api, site, "Mills").record["isHome"]

    def test_the_path_of_a_child_extends_the_path_of_its_parent(self, api, site, home_page):
        machines = create_draft_page(api, site, "Machines")
        looms = create_draft_page(api, site, "Looms", parent=machines, blocks=TEXT_BLOCKS)
        assert (machines.record["path"], looms.record["path"]) == ("/machines", "/machines/looms")
        assert looms.record["blocks"] == TEXT_BLOCKS
        assert create_draft_page(api, site, "Contact", parent=home_page).record["path"] == "/contact"

    def test_slugs_that_are_reserved_for_hosts_are_valid_for_pages(self, api, site, home_page):
        assert create_draft_page(api, site, "About", parent=home_page).record["path"] == "/about"
        assert create_draft_page(api, site, "Help", slug="help").record["path"] == "/help"
        response = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Admin", "slug": "admin"})
        assert response.errors == {"/slug": "malformed"}

    def test_slugs_are_unique_among_siblings_and_children_of_the_home_page(self, api, site, home_page):
        create_draft_page(api, site, "Looms")
        mills = create_draft_page(api, site, "Mills", parent=home_page)
        for slug, parent in (("looms", None), ("mills", None), ("looms", home_page.id), ("mills", home_page.id)):
            body = {"title": "Another", "slug": slug, "parentId": parent}
            assert api.post(f"{site.path}/pages", caller=site.owner, json=body).status_and_code == "409 slug_taken"
        assert create_draft_page(api, site, "Looms").record["slug"].startswith("looms-")
        assert create_draft_page(api, site, "Looms", parent=mills).record["slug"] == "looms"

    def test_a_tree_has_at_most_ten_levels(self, api, site, home_page):
        page = home_page
        for level in range(2, 11):
            page = create_draft_page(api, site, f"Level {level}", parent=page)
        assert page.record["path"].count("/") == 9
        answer = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Deeper", "parentId": page.id})
        assert answer.errors == {"/parentId": "too_deep"}

    def test_the_parent_must_be_a_page_of_the_site(self, api, organization, site):
        other_page = create_draft_page(api, create_site(api, organization, name="Mills"), "Welcome")
        for parent in (other_page.id, site.id):
            body = {"title": "Looms", "parentId": parent}
            assert api.post(f"{site.path}/pages", caller=site.owner, json=body).errors == {"/parentId": "unknown"}

    def test_invalid_blocks_are_rejected_with_their_positions(self, api, site):
        blocks = [
            {"id": "a", "type": "heading", "level": 7, "text": "x"},
            {"id": "a", "type": "marquee"},
            {"id": "c", "type": "button", "label": "Go", "url": "javascript:alert(1)"},
        ]
        answer = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Looms", "blocks": blocks})
        assert answer.errors == {
            "/blocks/0/level": "out_of_range",
            "/blocks/1/type": "not_one_of",
            "/blocks/2/url": "malformed",
        }

    def test_blocks_of_more_than_256_kib_are_rejected(self, api, site):
        def build_blocks(size: int) -> list[dict[str, str]]:
            return [{"id": "b", "type": "text", "text": "x" * size}]

        max_size = 256 * 1024 - len('[{"id":"b","type":"text","text":""}]')
        assert create_draft_page(api, site, "Long", blocks=build_blocks(max_size)).record["blocks"] == build_blocks(
            max_size
        )
        answer = api.post(
            f"{site.path}/pages", caller=site.owner, json={"title": "Longer", "blocks": build_blocks(max_size + 1)}
        )
        assert answer.status_and_code == "413 payload_too_large"

    def test_editors_create_pages_and_members_do_not(self, api, site, edith, mary, organization):
        body = {"title": "Looms"}
        assert api.post(f"{site.path}/pages", caller=edith, json=body).status == 201
        assert api.post(f"{site.path}/pages", caller=mary, json=body).status_and_code == "403 insufficient_role"
        read_key = create_api_key(api, organization, "sites:read")
        assert api.post(f"{site.path}/pages", caller=read_key, json=body).status_and_code == "403 insufficient_scope"


class TestGetPage:
    def test_members_read_drafts_and_published_pages(self, api, home_page, mary, stranger):
        assert api.get(home_page.path, caller=mary).json == home_page.record
        assert api.get(home_page.path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(home_page.path).status_and_code == "401 unauthenticated"

    def test_a_page_of_another_site_is_not_found(self, api, organization, home_page):
        other_site = create_site(api, organization, name="Mills")
        assert (
            api.get(f"{other_site.path}/pages/{home_page.id}", caller=home_page.site.owner).status_and_code
            == "404 not_found"
        )


@pytest.mark.usefixtures("home_page")
class TestListPages:
    def test_pages_are_listed_without_blocks_in_order_of_creation(self, api, site, mary):
        pages = [create_draft_page(api, site, title, blocks=TEXT_BLOCKS) for title in ("Looms", "Mills")]
        listed = api.get_items(f"{site.path}/pages", caller=mary, query={"limit": 2})
        expected = [{name: v for name, v in page.record.items() if name != "blocks"} for page in pages]
        assert listed[1:] == expected

    def test_pages_are_filtered_by_parent_status_and_prefix_of_the_title(self, api, site):
        machines = create_published_page(api, site, "Machines")
        create_published_page(api, site, "Looms", parent=machines)
        create_draft_page(api, site, "Łódź mills", parent=machines)
        create_draft_page(api, site, "Looming", publishAt="2099-01-01T00:00:00Z")

        def list_titles(**query: str) -> list[str]:
            return [page["title"] for page in api.get_items(f"{site.path}/pages", caller=site.owner, query=query)]

        assert list_titles(parentId=machines.id) == ["Looms", "Łódź mills"]
        assert list_titles(status="published") == ["Welcome", "Machines", "Looms"]
        assert list_titles(status="scheduled") == ["Looming"]
        assert list_titles(q="LOO") == ["Looming", "Looms"]
        assert list_titles(q="loo", status="published", parentId=machines.id) == ["Looms"]


@pytest.mark.usefixtures("home_page")
class TestUpdatePage:
    def test_a_change_creates_a_draft_that_is_not_public(self, api, site, home_page):
        public = get_page_by_path(api, site, "/").json
        response = update_page(api, home_page, title="Hello", blocks=TEXT_BLOCKS, seo={"description": "Hi"})
        assert (response["title"], response["blocks"]) == ("Hello", TEXT_BLOCKS)
        assert response["seo"] == {**NO_SEO, "description": "Hi"}
        assert response["hasUnpublishedChanges"]
        assert response["draftRevisionId"] != home_page.record["draftRevisionId"]
        assert response["publishedRevisionId"] == home_page.record["publishedRevisionId"]
        assert get_page_by_path(api, site, "/").json == public

    def test_a_change_without_effect_creates_no_revision(self, api, home_page, organization):
        entries = len(list_entries(api, organization))
        assert update_page(api, home_page) == home_page.record
        assert update_page(api, home_page, title="Welcome", blocks=[]) == home_page.record
        assert len(list_entries(api, organization)) == entries

    def test_a_page_moves_with_its_descendants(self, api, site):
        machines, tools = create_draft_page(api, site, "Machines"), create_draft_page(api, site, "Tools")
        looms = create_draft_page(api, site, "Looms", parent=machines)
        create_draft_page(api, site, "Hand looms", parent=looms)
        update_page(api, looms, parentId=tools.id, slug="weaving")
        paths = [page["path"] for page in api.get_items(f"{site.path}/pages", caller=site.owner)]
        assert paths == ["/", "/machines", "/tools", "/tools/weaving", "/tools/weaving/hand-looms"]

    def test_a_page_cannot_move_below_itself_or_too_deep(self, api, site, home_page):
        top = create_draft_page(api, site, "Top")
        pages = [top]
        for level in range(2, 11):
            pages.append(create_draft_page(api, site, f"Level {level}", parent=pages[-1]))
        answer = api.patch(top.path, caller=site.owner, json={"parentId": pages[2].id})
        assert (answer.status_and_code, set(answer.errors)) == ("409 cycle", {"/parentId"})
        answer = api.patch(top.path, caller=site.owner, json={"parentId": home_page.id})
        assert answer.errors == {"/parentId": "too_deep"}

    def test_if_match_rejects_a_changed_page(self, api, home_page):
        etag = api.get(home_page.path, caller=home_page.site.owner).etag
        update_page(api, home_page, title="Hello")
        response = api.patch(
            home_page.path, caller=home_page.site.owner, json={"title": "Hi"}, headers={"If-Match": etag}
        )
        assert response.status_and_code == "412 precondition_failed"

    def test_another_page_becomes_the_home_page_but_a_site_always_has_one(self, api, site, home_page):
        contact = create_draft_page(api, site, "Contact", parent=home_page)
        other = create_draft_page(api, site, "Start")
        response = api.patch(home_page.path, caller=site.owner, json={"isHome": False})
        assert response.errors == {"/isHome": "required"}
        assert (update_page(api, other, isHome=True)["path"], update_page(api, home_page)["path"]) == ("/", "/welcome")
        assert api.get(contact.path, caller=site.owner).json["path"] == "/welcome/contact"
        assert api.get(site.path, caller=site.owner).json["homePageId"] == other.id

    def test_a_path_conflict_prevents_a_new_home_page(self, api, site):
        start = create_draft_page(api, site, "Start")
        create_draft_page(api, site, "Contact", parent=start)
        create_draft_page(api, site, "Contact", slug="contact")
        answer = api.patch(start.path, caller=site.owner, json={"isHome": True})
        assert (answer.status_and_code, set(answer.errors)) == ("409 slug_taken", {"/isHome"})
        assert "contact" in answer.json["detail"]


@pytest.mark.usefixtures("home_page")
class TestDeletePage:
    def test_a_deleted_page_is_not_found_and_its_slug_is_free(self, api, site, workers):
        looms = create_published_page(api, site, "Looms")
        assert api.delete(looms.path, caller=site.owner).status == 204
        for path in (looms.path, f"{looms.path}/revisions"):
            assert api.get(path, caller=site.owner).status_and_code == "404 not_found"
        assert get_page_by_path(api, site, "/looms").status == 404
        workers.run_until_idle()
        assert create_published_page(api, site, "Looms").record["path"] == "/looms"

    def test_a_page_with_children_is_only_deleted_by_cascade(self, api, site):
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        response = api.delete(machines.path, caller=site.owner)
        assert (response.status_and_code, set(response.errors)) == ("409 not_empty", {"query/strategy"})
        assert api.delete(machines.path, caller=site.owner, query={"strategy": "cascade"}).status == 204
        assert api.get(looms.path, caller=site.owner).status_and_code == "404 not_found"
        assert get_page_by_path(api, site, "/machines/looms").status == 404
        assert [page["title"] for page in api.get_items(f"{site.path}/pages", caller=site.owner)] == ["Welcome"]

    def test_a_published_child_whose_draft_has_moved_stays_as_a_draft(self, api, site, organization, workers):
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        update_page(api, looms, parentId=None)
        assert api.delete(machines.path, caller=site.owner).status_and_code == "409 not_empty"
        api.delete(machines.path, caller=site.owner, query={"strategy": "cascade"})
        workers.run_until_idle()
        draft = api.get(looms.path, caller=site.owner).json
        assert (draft["status"], draft["path"], draft["publishedRevisionId"]) == ("archived", "/looms", None)
        assert list_entries(api, organization)[0]["type"] == "page.unpublished"

    def test_a_page_that_stayed_as_a_draft_has_no_published_children(self, api, site, workers):
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        cards = create_published_page(api, site, "Cards", parent=looms)
        update_page(api, looms, parentId=None)
        update_page(api, cards, parentId=None)
        api.delete(machines.path, caller=site.owner, query={"strategy": "cascade"})
        workers.run_until_idle()
        assert api.delete(looms.path, caller=site.owner).status == 204

    def test_a_site_without_its_home_page_has_none_until_the_next_page(self, api, site, home_page):
        api.delete(home_page.path, caller=site.owner)
        assert api.get(site.path, caller=site.owner).json["homePageId"] is None
        assert get_page_by_path(api, site, "/").status == 404
        assert create_draft_page(api, site, "Start").record["isHome"]
