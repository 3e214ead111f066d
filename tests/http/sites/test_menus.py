"""Menus of sites: their items, the destinations of the items, and the public view."""

from dataclasses import replace
from uuid import uuid4

import pytest

from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import MenuEntry, load_public_menu_entries
from chalicelib.kernel.storage import table
from tests.harness.audit_logs import list_entries
from tests.harness.menus import get_menu_targets, group_item, page_item, put_menu, send_menu, url_item
from tests.harness.sites import create_published_page, create_site

pytestmark = pytest.mark.usefixtures("home_page")
SHOP_ITEM = url_item("https://example.com/", "Shop")
INVALID_URLS = ("javascript:alert(1)", "//evil.example", "/\\evil.example", "data:text/html,x", "https://a@b.example")


@pytest.fixture
def looms(pages):
    return pages.publish("Looms")


class TestReplaceMenu:
    def test_a_menu_is_created_and_then_replaced_and_the_entry_shows_what_changed(self, api, site, looms, organization):
        menu = put_menu(api, site, page_item(looms), name="Main")
        replaced = put_menu(api, site, name="All")
        assert replaced == {**menu, "name": "All", "items": [], "version": 2, "updatedAt": replaced["updatedAt"]}
        entry = list_entries(api, organization, type="site.navigation.updated")[0]
        changes = [(change["field"], change["from"], change["to"]) for change in entry["changes"]]
        assert changes == [("name", "Main", "All"), ("items", menu["items"], [])]

    def test_replacing_a_menu_with_itself_changes_nothing(self, api, site, looms, pages, organization):
        menu = put_menu(api, site, page_item(looms), SHOP_ITEM)
        assert put_menu(api, site, page_item(looms), SHOP_ITEM) == menu
        pages.republish("Looms", parentId=pages.publish("Mills").id)
        repeated = put_menu(api, site, page_item(looms), SHOP_ITEM)
        assert (repeated["items"][0]["path"], repeated["version"]) == ("/mills/looms", 1)
        pages.delete("Looms")
        items = api.get(f"{site.path}/navigation/main", caller=site.owner).json["items"]
        assert items[0]["dangling"]
        assert put_menu(api, site, *items)["items"] == items
        event_types = [entry["type"] for entry in list_entries(api, organization, type="site.navigation.*")]
        assert event_types == ["site.navigation.updated"]

    def test_if_match_is_checked_for_a_missing_menu_too(self, api, site):
        first = send_menu(api, site, navigation_id="first")
        headers = {"If-Match": first.etag}
        assert send_menu(api, site, name="Changed", navigation_id="first", headers=headers).status == 200
        for name, tag in (("main", "*"), ("first", first.etag)):
            response = send_menu(api, site, name="Late", navigation_id=name, headers={"If-Match": tag})
            assert response.status_and_code == "412 precondition_failed"

    def test_only_one_of_two_requests_that_only_create_a_menu_succeeds(self, api, site, run_before_write):
        run_before_write(lambda: send_menu(api, site, name="First", headers={"If-None-Match": "*"}))
        second = send_menu(api, site, name="Second", headers={"If-None-Match": "*"})
        assert second.status_and_code == "412 precondition_failed"
        assert api.get(f"{site.path}/navigation/main", caller=site.owner).json["name"] == "First"

    def test_the_caller_chooses_a_well_formed_id(self, api, site):
        for name in ("m", "0", "main-menu-2", "m" * 64):
            assert put_menu(api, site, navigation_id=name)["id"] == name
        for name in ("Main", "-main", "main_menu", "é", "m" * 65):
            assert send_menu(api, site, navigation_id=name).status_and_code == "404 not_found"
            assert api.get(f"{site.path}/navigation/{name}", caller=site.owner).status_and_code == "404 not_found"

    def test_a_concurrent_replacement_is_retried(self, api, site, run_before_write):
        run_before_write(lambda: send_menu(api, site, name="First"))
        assert put_menu(api, site, name="Second")["version"] == 2

    def test_the_number_of_menus_is_limited(self, api, site, monkeypatch):
        monkeypatch.setattr(Menu, "quota", replace(Menu.quota, limit=2))
        for name in ("one", "two", "one"):
            put_menu(api, site, navigation_id=name, name=f"{name} of two")
        assert send_menu(api, site, navigation_id="three").status_and_code == "409 limit_exceeded"


class TestMenuItems:
    def test_the_type_of_an_item_determines_its_fields(self, api, site, looms):
        page, url = page_item(looms), url_item("/looms")
        for item, errors in [
            ({**page, "pageId": None}, {"pageId": "required"}),
            ({**page, "url": "/looms"}, {"url": "malformed"}),
            ({**url, "url": None}, {"url": "required"}),
            ({**url, "pageId": looms.id}, {"pageId": "malformed"}),
            ({**group_item("All"), "url": "/", "pageId": looms.id}, {"url": "malformed", "pageId": "malformed"}),
            ({**page, "type": "space"}, {"type": "not_one_of"}),
            ({**page, "label": " "}, {"label": "too_short"}),
            *(({**url, "url": invalid_url}, {"url": "malformed"}) for invalid_url in INVALID_URLS),
        ]:
            assert send_menu(api, site, item).errors == {f"/items/0/{field}": errors[field] for field in errors}, item

    def test_pages_of_other_sites_are_rejected(self, api, site, looms, organization):
        other = create_published_page(api, create_site(api, organization, name="Other"), "Mills")
        missing = {**page_item(looms), "id": "x", "pageId": str(uuid4())}
        errors = {f"/items/1/children/{n}/pageId": "unknown" for n in range(2)}
        assert send_menu(api, site, page_item(looms), group_item("More", page_item(other), missing)).errors == errors

    def test_ids_are_unique_across_all_levels(self, api, site):
        item = group_item("All", group_item("Some", url_item("/", "all")), {**group_item("More"), "id": "some"})
        repeated = ("/items/0/children/0/children/0/id", "/items/0/children/1/id")
        assert send_menu(api, site, {**item, "id": "to-all"}).errors == dict.fromkeys(repeated, "repeated")

    def test_items_are_limited_in_levels_number_and_size(self, api, site):
        put_menu(api, site, group_item("One", group_item("Two", group_item("Three"))))
        too_deep = group_item("One", group_item("Two", group_item("Three", group_item("Four"))))
        assert send_menu(api, site, too_deep).errors == {"/items/0/children/0/children/0/children": "out_of_range"}
        branches = [group_item(f"b{n}", *(group_item(f"b{n}-{m}") for m in range(9))) for n in range(20)]
        put_menu(api, site, *branches)
        assert send_menu(api, site, *branches, group_item("more")).errors == {"/items": "too_many"}
        assert send_menu(api, site, *(group_item(f"g{n}") for n in range(201))).errors == {"/items": "too_many"}
        long_items = [{**url_item(f"https://example.com/{'x' * 400}"), "id": f"u{n}"} for n in range(150)]
        assert send_menu(api, site, *long_items).errors == {"": "too_large"}


class TestDestinations:
    def test_items_lead_to_the_current_paths_of_their_pages(self, api, site, looms, pages):
        jacquard = pages.publish("Looms/Jacquard")
        more_item = group_item("More", url_item("/mills", "Mills"))
        put_menu(api, site, page_item(looms, "All looms", page_item(jacquard)), more_item)
        more = (None, {"Mills": "/mills"})
        assert get_menu_targets(api, site) == {"All looms": ("/looms", {"Jacquard": "/looms/jacquard"}), "More": more}
        pages.move(Looms="weavers")
        assert get_menu_targets(api, site)["All looms"] == ("/weavers", {"Jacquard": "/weavers/jacquard"})

    def test_only_members_see_items_of_drafts_and_empty_groups(self, api, site, looms, pages, mary):
        draft, below = pages.draft("Secret"), url_item("/below", "Below")
        other_draft_item = {**page_item(draft, "Too"), "id": "too"}
        put_menu(api, site, page_item(draft, None, below), page_item(looms), group_item("More", other_draft_item))
        assert get_menu_targets(api, site) == {"Looms": "/looms"}
        secret = {"Secret": (None, {"Below": "/below"}), "Looms": "/looms"}
        assert get_menu_targets(api, site, caller=mary) == {**secret, "More": (None, {"Too": None})}
        assert "Secret" not in api.get(f"{site.path}/navigation/main").text
        pages.republish("Secret")
        public = {"Secret": ("/secret", {"Below": "/below"}), "Looms": "/looms", "More": (None, {"Too": "/secret"})}
        assert get_menu_targets(api, site) == public
        pages.update("Secret", unpublishAt="2020-01-01T00:00:00Z")
        assert get_menu_targets(api, site) == {"Looms": "/looms"}

    def test_items_of_deleted_pages_are_dangling(self, api, site, looms, pages, mary, workers):
        jacquard = pages.publish("Looms/Jacquard")
        put_menu(api, site, page_item(looms), page_item(jacquard), url_item("/"))
        assert pages.delete("Looms", "cascade").status == 204
        for _ in range(2):
            assert get_menu_targets(api, site, caller=mary) == {"Looms": "gone", "Jacquard": "gone", "Elsewhere": "/"}
            assert get_menu_targets(api, site) == {"Elsewhere": "/"}
            workers.run_until_idle()

    def test_members_see_menus_of_a_draft_site(self, api, site, mary):
        put_menu(api, site)
        api.patch(site.path, caller=site.owner, json={"status": "draft"})
        for path in ("", "/main"):
            assert api.get(f"{site.path}/navigation{path}").status_and_code == "404 not_found"
            assert api.get(f"{site.path}/navigation{path}", caller=mary).status == 200

    @pytest.mark.parametrize("number", [2, 12])
    def test_the_number_of_reads_does_not_depend_on_the_number_of_items(self, api, site, pages, number):
        pages.publish("Section 0", "Section 1")
        items = [page_item(pages.publish(f"Section {n % 2}/Page {n}")) for n in range(number)]
        assert len(send_menu(api, site, *items).calls.read_names) == 2
        for caller in (None, site.owner):
            assert len(api.get(f"{site.path}/navigation/main", caller=caller).calls.read_names) == 2
        for n in range(number):
            pages.republish(f"Page {n}", parentId=pages["Section 0"].id)
        pages.republish("Section 0", slug="part")
        answer = api.get(f"{site.path}/navigation/main")
        assert {item["path"] for item in answer.json["items"]} == {f"/part/page-{n}" for n in range(number)}
        assert len(answer.calls.read_names) <= 3

    def test_a_menu_is_resolved_for_rendering(self, api, site, looms, pages):
        more_item = group_item("More", url_item("/", "Home"))
        put_menu(api, site, page_item(looms, "All", page_item(pages.draft("Draft"))), more_item)
        key = Menu.make_item_key(site_id=site.id, id="main")
        prefetched = table.get_all([key])
        assert load_public_menu_entries(Menu.from_item(prefetched[key]), prefetched) == [
            MenuEntry("All", "/looms", []),
            MenuEntry("More", None, [MenuEntry("Home", "/", [])]),
        ]


def test_menus_of_a_site_are_listed_in_order_of_creation(api, site, mary):
    for name in ("main", "footer", "a-third", "main"):
        put_menu(api, site, url_item("/"), navigation_id=name, name=f"The {name}")
    for caller in (None, mary):
        listed = api.get_items(f"{site.path}/navigation", caller=caller, query={"limit": 2})
        assert [menu["id"] for menu in listed] == ["main", "footer", "a-third"]
