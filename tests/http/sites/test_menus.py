"""Menus of sites: their items, the destinations of the items, and the public view."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import MenuEntry, load_public_menu_entries
from chalicelib.kernel.storage import table
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import run_before_next_transaction
from tests.harness.menus import get_menu_targets, group_item, page_item, put_menu, send_menu, url_item
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_draft_page,
    create_published_page,
    create_site,
    publish_page,
    update_page,
)

pytestmark = pytest.mark.usefixtures("home_page")


@pytest.fixture
def looms(api: ApiClient, site: CreatedSite) -> CreatedPage:
    """A published page of the site."""
    return create_published_page(api, site, "Looms")


def publish_at(api: ApiClient, page: CreatedPage, slug: str) -> None:
    """Publish a page at another path."""
    update_page(api, page, slug=slug)
    publish_page(api, page)


class TestReplaceMenu:
    def test_a_menu_is_created_and_then_replaced(self, api, site, looms):
        menu = put_menu(api, site, page_item(looms), name="Main")
        assert menu == {
            "id": "main",
            "siteId": site.id,
            "name": "Main",
            "version": 1,
            "createdAt": menu["createdAt"],
            "updatedAt": menu["createdAt"],
            "items": [
                {
                    "id": f"to-{looms.id}",
                    "label": "Looms",
                    "type": "page",
                    "pageId": looms.id,
                    "url": None,
                    "path": "/looms",
                    "dangling": False,
                    "children": [],
                }
            ],
        }
        assert api.get(f"{site.path}/navigation/main", caller=site.owner).json == menu
        replaced = put_menu(api, site, name="All")
        assert (replaced["name"], replaced["items"], replaced["version"]) == ("All", [], 2)
        assert replaced["createdAt"] == menu["createdAt"]

    def test_replacing_a_menu_with_itself_changes_nothing(self, api, site, looms, organization):
        menu = put_menu(api, site, page_item(looms))
        assert put_menu(api, site, page_item(looms)) == menu
        parent = create_published_page(api, site, "Mills")
        update_page(api, looms, parentId=parent.id)
        publish_page(api, looms)
        repeated = put_menu(api, site, page_item(looms))
        assert (repeated["items"][0]["path"], repeated["version"]) == ("/mills/looms", 1)
        event_types = [entry["type"] for entry in list_entries(api, organization, type="site.navigation.*")]
        assert event_types == ["site.navigation.updated"]

    def test_an_entry_shows_what_changed(self, api, site, organization):
        put_menu(api, site, url_item("https://example.com/", "Shop"))
        put_menu(api, site, url_item("https://example.com/", "Shop"), name="Footer")
        last, first = list_entries(api, organization, type="site.navigation.updated")
        assert (first["target"]["name"], first["changes"]) == ("Main menu", [])
        assert last["changes"] == [{"field": "name", "from": "Main menu", "to": "Footer"}]
        assert last["data"]["items"][0]["url"] == "https://example.com/"

    def test_if_match_is_checked(self, api, site):
        response = send_menu(api, site, headers={"If-Match": "*"})
        assert response.status_and_code == "412 precondition_failed"
        first = send_menu(api, site)
        assert first.status == 200
        put_menu(api, site, name="Changed")
        response = send_menu(api, site, name="Late", headers={"If-Match": first.etag})
        assert response.status_and_code == "412 precondition_failed"
        current = api.get(f"{site.path}/navigation/main", caller=site.owner)
        assert send_menu(api, site, name="Sooner", headers={"If-Match": current.etag}).status == 200

    @pytest.mark.parametrize("name", ["Main", "-main", "main_menu", "é", "m" * 65])
    def test_a_malformed_id_is_not_found(self, api, site, name):
        assert send_menu(api, site, navigation_id=name).status_and_code == "404 not_found"
        assert api.get(f"{site.path}/navigation/{name}", caller=site.owner).status_and_code == "404 not_found"

    @pytest.mark.parametrize("name", ["m", "0", "main-menu-2", "m" * 64])
    def test_the_caller_chooses_the_id(self, api, site, name):
        assert put_menu(api, site, navigation_id=name)["id"] == name

    def test_only_editors_replace_a_menu(self, api, site, mary, edith, stranger):
        assert send_menu(api, site, caller=mary).status_and_code == "403 insufficient_role"
        assert send_menu(api, site, caller=stranger).status_and_code == "404 not_found"
        assert send_menu(api, site, caller=edith).status == 200

    def test_a_concurrent_replacement_is_retried(self, api, site, monkeypatch):
        run_before_next_transaction(monkeypatch, lambda: put_menu(api, site, name="First"))
        assert put_menu(api, site, name="Second")["version"] == 2

    def test_the_number_of_menus_is_limited(self, api, site, monkeypatch):
        monkeypatch.setattr(Menu, "quota", replace(Menu.quota, limit=2))
        for name in ("one", "two", "one"):
            put_menu(api, site, navigation_id=name, name=f"{name} of two")
        assert send_menu(api, site, navigation_id="three").status_and_code == "409 limit_exceeded"


class TestMenuItems:
    def test_the_type_of_an_item_determines_its_fields(self, api, site, looms):
        page, url = page_item(looms), url_item("/looms")
        invalid_items: list[tuple[Json, dict[str, str]]] = [
            ({**page, "pageId": None}, {"/items/0/pageId": "required"}),
            ({**page, "url": "/looms"}, {"/items/0/url": "malformed"}),
            ({**url, "url": None}, {"/items/0/url": "required"}),
            ({**url, "pageId": looms.id}, {"/items/0/pageId": "malformed"}),
            (
                {**group_item("All"), "url": "/", "pageId": looms.id},
                {
                    "/items/0/url": "malformed",
                    "/items/0/pageId": "malformed",
                },
            ),
            ({**page, "type": "space"}, {"/items/0/type": "not_one_of"}),
            ({**page, "label": " "}, {"/items/0/label": "too_short"}),
        ]
        for item, faults in invalid_items:
            assert send_menu(api, site, item).errors == faults

    @pytest.mark.parametrize(
        "url",
        [
            "javascript:alert(1)",
            "//evil.example",
            "/\\evil.example",
            "data:text/html,x",
            "https://ada@example.com",
        ],
    )
    def test_dangerous_urls_are_rejected(self, api, site, url):
        assert send_menu(api, site, url_item(url)).errors == {"/items/0/url": "malformed"}

    def test_pages_of_other_sites_are_rejected(self, api, site, looms, organization):
        other = create_published_page(api, create_site(api, organization, name="Other"), "Mills")
        items = [
            page_item(looms),
            group_item("More", page_item(other), {**page_item(looms), "id": "x", "pageId": str(uuid4())}),
        ]
        assert send_menu(api, site, *items).errors == {
            "/items/1/children/0/pageId": "unknown",
            "/items/1/children/1/pageId": "unknown",
        }

    def test_ids_are_unique_across_all_levels(self, api, site):
        item = group_item("All", group_item("Some", url_item("/", "all")), {**group_item("More"), "id": "some"})
        assert send_menu(api, site, {**item, "id": "to-all"}).errors == {
            "/items/0/children/0/children/0/id": "repeated",
            "/items/0/children/1/id": "repeated",
        }

    def test_items_have_at_most_three_levels(self, api, site):
        put_menu(api, site, group_item("One", group_item("Two", group_item("Three"))))
        too_deep = group_item("One", group_item("Two", group_item("Three", group_item("Four"))))
        assert send_menu(api, site, too_deep).errors == {"/items/0/children/0/children/0/children": "out_of_range"}

    def test_items_are_limited_in_number_and_size(self, api, site):
        branches = [group_item(f"b{n}", *(group_item(f"b{n}-{m}") for m in range(9))) for n in range(20)]
        put_menu(api, site, *branches)
        assert send_menu(api, site, *branches, group_item("more")).errors == {"/items": "too_many"}
        assert send_menu(api, site, *(group_item(f"g{n}") for n in range(201))).errors == {"/items": "too_many"}
        long_items = [{**url_item(f"https://example.com/{'x' * 400}"), "id": f"u{n}"} for n in range(150)]
        assert send_menu(api, site, *long_items).errors == {"": "too_large"}


class TestDestinations:
    def test_items_lead_to_the_current_paths_of_their_pages(self, api, site, looms):
        jacquard = create_published_page(api, site, "Jacquard", parent=looms)
        put_menu(
            api,
            site,
            page_item(looms, "All looms", page_item(jacquard)),
            group_item("More", url_item("/mills", "Mills")),
        )
        assert get_menu_targets(api, site) == {
            "All looms": ("/looms", {"Jacquard": "/looms/jacquard"}),
            "More": (None, {"Mills": "/mills"}),
        }
        publish_at(api, looms, "weavers")
        assert get_menu_targets(api, site)["All looms"] == ("/weavers", {"Jacquard": "/weavers/jacquard"})

    def test_only_members_see_items_of_drafts(self, api, site, looms, mary):
        draft = create_draft_page(api, site, "Secret")
        put_menu(api, site, page_item(draft, None, url_item("/below", "Below")), page_item(looms))
        assert get_menu_targets(api, site) == {"Looms": "/looms"}
        assert get_menu_targets(api, site, caller=mary) == {"Secret": (None, {"Below": "/below"}), "Looms": "/looms"}
        assert "Secret" not in api.get(f"{site.path}/navigation/main").text
        publish_page(api, draft)
        assert get_menu_targets(api, site) == {"Secret": ("/secret", {"Below": "/below"}), "Looms": "/looms"}
        update_page(api, draft, unpublishAt="2020-01-01T00:00:00Z")
        assert get_menu_targets(api, site) == {"Looms": "/looms"}

    def test_the_public_sees_no_empty_groups(self, api, site, mary):
        draft = create_draft_page(api, site, "Secret")
        put_menu(api, site, group_item("More", page_item(draft)), url_item("/below", "Below"))
        assert get_menu_targets(api, site) == {"Below": "/below"}
        assert "More" in get_menu_targets(api, site, caller=mary)

    def test_a_menu_with_a_dangling_item_can_be_replaced_with_itself(self, api, site, looms):
        put_menu(api, site, page_item(looms), url_item("/below", "Below"))
        api.delete(looms.path, caller=site.owner)
        menu = api.get(f"{site.path}/navigation/main", caller=site.owner).json
        assert menu["items"][0]["dangling"]
        body = {"name": "Main", "items": menu["items"]}
        assert api.put(f"{site.path}/navigation/main", caller=site.owner, json=body).json["items"] == menu["items"]

    def test_items_of_deleted_pages_are_dangling(self, api, site, looms, mary, workers):
        jacquard = create_published_page(api, site, "Jacquard", parent=looms)
        put_menu(api, site, page_item(looms), page_item(jacquard), url_item("/"))
        assert api.delete(looms.path, caller=site.owner, query={"strategy": "cascade"}).status == 204
        for _ in range(2):
            assert get_menu_targets(api, site, caller=mary) == {"Looms": "gone", "Jacquard": "gone", "Elsewhere": "/"}
            assert get_menu_targets(api, site) == {"Elsewhere": "/"}
            workers.run_until_idle()

    def test_menus_of_a_draft_site_are_hidden_from_the_public(self, api, site, mary, stranger):
        put_menu(api, site)
        api.patch(site.path, caller=site.owner, json={"status": "draft"})
        for path in ("", "/main"):
            assert api.get(f"{site.path}/navigation{path}").status_and_code == "404 not_found"
            assert api.get(f"{site.path}/navigation{path}", caller=stranger).status_and_code == "404 not_found"
            assert api.get(f"{site.path}/navigation{path}", caller=mary).status == 200

    @pytest.mark.parametrize("number", [2, 30])
    def test_the_number_of_reads_does_not_depend_on_the_number_of_items(self, api, site, number):
        sections = [create_published_page(api, site, f"Section {n}") for n in range(2)]
        pages = [create_published_page(api, site, f"Page {n}", parent=sections[n % 2]) for n in range(number)]
        response = send_menu(api, site, *map(page_item, pages))
        assert len(response.calls.read_names) == 2
        for caller in (None, site.owner):
            assert len(api.get(f"{site.path}/navigation/main", caller=caller).calls.read_names) == 2
        for page in pages:
            update_page(api, page, parentId=sections[0].id)
            publish_page(api, page)
        publish_at(api, sections[0], "part")
        answer = api.get(f"{site.path}/navigation/main")
        assert {item["path"] for item in answer.json["items"]} == {f"/part/page-{n}" for n in range(number)}
        assert len(answer.calls.read_names) <= 3

    def test_a_menu_is_resolved_for_rendering(self, api, site, looms):
        put_menu(
            api,
            site,
            page_item(looms, "All", page_item(create_draft_page(api, site, "Draft"))),
            group_item("More", url_item("/", "Home")),
        )
        key = Menu.make_item_key(site_id=site.id, id="main")
        prefetched: dict[Any, Any] = table.get_all([key])
        assert load_public_menu_entries(Menu.from_item(prefetched[key]), prefetched) == [
            MenuEntry("All", "/looms", []),
            MenuEntry("More", None, [MenuEntry("Home", "/", [])]),
        ]


class TestListMenus:
    def test_menus_are_listed_in_order_of_creation_without_items(self, api, site, mary):
        for name in ("main", "footer", "a-third"):
            put_menu(api, site, url_item("/"), navigation_id=name, name=name.title())
        put_menu(api, site, navigation_id="main", name="Main again")
        for caller in (None, mary):
            listed = api.get_items(f"{site.path}/navigation", caller=caller, query={"limit": 2})
            assert [(menu["id"], menu["name"]) for menu in listed] == [
                ("main", "Main again"),
                ("footer", "Footer"),
                ("a-third", "A-Third"),
            ]
            assert all("items" not in menu for menu in listed)

    def test_menus_of_other_sites_are_not_listed(self, api, site, organization):
        put_menu(api, create_site(api, organization, name="Other"))
        assert api.get_items(f"{site.path}/navigation") == []
