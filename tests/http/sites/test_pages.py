"""Pages: create, list, get, change, delete."""

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.sites import SitePages, create_draft_page, create_site, get_page_by_path

TEXT_BLOCKS = [{"id": "b1", "type": "text", "text": "A loom **weaves**."}]
NO_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class TestCreatePage:
    def test_a_new_page_is_a_draft_and_the_first_is_the_home_page(self, api, site):
        answer = SitePages(api, site).post(title="All about Looms")
        generated = {name: answer.json[name] for name in ("id", "createdAt", "updatedAt", "draftRevisionId")}
        empty = dict.fromkeys(("parentId", "publishAt", "unpublishAt", "publishedRevisionId", "publishedAt"))
        content = {"title": "All about Looms", "slug": "all-about-looms", "seo": NO_SEO, "blocks": []}
        state = {"isHome": True, "path": "/", "status": "draft", "hasUnpublishedChanges": True}
        assert answer.json == {**generated, **empty, **content, **state, "version": 1, "siteId": site.id}
        assert not create_draft_page(api, site, "Mills").record["isHome"]

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
                response = pages.post(title="Another", slug=slug, parentId=parent_id)
                assert response.status_and_code == "409 slug_taken"
        assert pages.draft("Looms").record["slug"].startswith("looms-")
        assert pages.draft("Mills/Looms").record["slug"] == "looms"

    def test_a_tree_has_at_most_ten_levels_and_no_cycle(self, home_page, pages):
        pages.draft("Level 1", *(f"Level {level}/Level {level + 1}" for level in range(1, 10)))
        assert pages["Level 10"].record["path"].count("/") == 10
        assert pages.post(title="Deeper", parentId=pages["Level 10"].id).errors == {"/parentId": "too_deep"}
        assert pages.patch("Level 1", parentId=home_page.id).errors == {"/parentId": "too_deep"}
        answer = pages.patch("Level 1", parentId=pages["Level 3"].id)
        assert (answer.status_and_code, set(answer.errors)) == ("409 cycle", {"/parentId"})

    def test_the_tenth_level_below_the_home_page_is_the_last(self, pages):
        pages.draft("Welcome/Level 2", *(f"Level {level}/Level {level + 1}" for level in range(2, 10)))
        assert pages["Level 10"].record["path"].count("/") == 9
        assert pages.post(title="Deeper", parentId=pages["Level 10"].id).errors == {"/parentId": "too_deep"}

    def test_parent_and_site_of_a_page_match(self, api, organization, site, pages):
        other_site = create_site(api, organization, name="Mills")
        other_page = create_draft_page(api, other_site, "Welcome")
        for parent_id in (other_page.id, site.id):
            assert pages.post(title="Looms", parentId=parent_id).errors == {"/parentId": "unknown"}
        answer = api.get(f"{site.path}/pages/{other_page.id}", caller=site.owner)
        assert answer.status_and_code == "404 not_found"

    def test_invalid_blocks_are_rejected_with_their_positions(self, pages):
        blocks = [
            {"id": "a", "type": "heading", "level": 7, "text": "x"},
            {"id": "a", "type": "marquee"},
            {"id": "c", "type": "button", "label": "Go", "url": "javascript:alert(1)"},
        ]
        errors = {"0/level": "out_of_range", "1/type": "not_one_of", "2/url": "malformed"}
        answer = pages.post(title="Looms", blocks=blocks)
        assert answer.errors == {f"/blocks/{pointer}": code for pointer, code in errors.items()}

    def test_blocks_of_more_than_256_kib_are_rejected(self, pages):
        largest = "x" * (256 * 1024 - len('[{"id":"b","type":"text","text":""}]'))
        blocks = [{"id": "b", "type": "text", "text": largest}]
        assert pages.draft("Long", blocks=blocks).record["blocks"] == blocks
        answer = pages.post(title="Longer", blocks=[{**blocks[0], "text": f"{largest}x"}])
        assert answer.status_and_code == "413 payload_too_large"


class TestListPages:
    def test_pages_are_listed_without_blocks_in_order_of_creation(self, api, site, mary, pages):
        pages.draft("Looms", "Mills", blocks=TEXT_BLOCKS)
        listed = api.get_items(f"{site.path}/pages", caller=mary, query={"limit": 2})
        records = [pages[title].record for title in ("Looms", "Mills")]
        assert listed[1:] == [{name: v for name, v in record.items() if name != "blocks"} for record in records]

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
    def test_a_change_creates_a_draft_that_is_not_public(self, api, site, home_page, pages):
        public = get_page_by_path(api, site, "/").json
        record = pages.update("Welcome", title="Hello", blocks=TEXT_BLOCKS, seo={"description": "Hi"})
        assert (record["title"], record["blocks"]) == ("Hello", TEXT_BLOCKS)
        assert record["seo"] == {**NO_SEO, "description": "Hi"}
        assert record["hasUnpublishedChanges"]
        assert record["draftRevisionId"] != home_page.record["draftRevisionId"]
        assert record["publishedRevisionId"] == home_page.record["publishedRevisionId"]
        assert get_page_by_path(api, site, "/").json == public

    def test_a_change_without_effect_creates_no_revision(self, api, home_page, organization, pages):
        entries = list_entries(api, organization)
        for fields in ({}, {"title": "Welcome", "blocks": []}):
            assert pages.update("Welcome", **fields) == home_page.record
        assert list_entries(api, organization) == entries

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
        answer = pages.patch("Start", isHome=True)
        assert (answer.status_and_code, set(answer.errors)) == ("409 slug_taken", {"/isHome"})
        assert "contact" in answer.json["detail"]


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
        response = pages.delete("Machines")
        assert (response.status_and_code, set(response.errors)) == ("409 not_empty", {"query/strategy"})
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
        assert pages.draft("Start").record["isHome"]
