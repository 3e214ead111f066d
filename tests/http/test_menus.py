"""Menus of sites: their items, the destinations of the items, and the public view."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.menus.logic.menu_entries import MenuEntry, resolve_menu
from chalicelib.kernel.storage import table
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.invitations import before_the_next_write
from tests.harness.logs import log_of
from tests.harness.menus import asked_to_put, group, put_menu, seen, to_page, to_url
from tests.harness.organizations import Founded
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, write_page
from tests.harness.workers import Workers


@pytest.fixture
def site(api: Api, organization: Founded) -> Published:
    """A site with a home page."""
    site = make_site(api, organization)
    page_of(api, site, "Welcome")
    return site


@pytest.fixture
def looms(api: Api, site: Published) -> Leaf:
    """A published page of the site."""
    return page_of(api, site, "Looms")


def publish_at(api: Api, page: Leaf, slug: str) -> None:
    """Publish a page at another path."""
    edit(api, page, slug=slug)
    publish_page(api, page)


class TestReplaceMenu:
    def test_a_menu_is_created_and_then_replaced(self, api: Api, site: Published, looms: Leaf) -> None:
        menu = put_menu(api, site, to_page(looms), name="Main")
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
        assert api.get(f"{site.path}/navigation/main", as_=site.owner).json == menu
        replaced = put_menu(api, site, name="All")
        assert (replaced["name"], replaced["items"], replaced["version"]) == ("All", [], 2)
        assert replaced["createdAt"] == menu["createdAt"]

    def test_replacing_a_menu_with_itself_changes_nothing(
        self, api: Api, site: Published, looms: Leaf, organization: Founded
    ) -> None:
        menu = put_menu(api, site, to_page(looms))
        assert put_menu(api, site, to_page(looms)) == menu
        parent = page_of(api, site, "Mills")
        edit(api, looms, parentId=parent.id)
        publish_page(api, looms)
        repeated = put_menu(api, site, to_page(looms))
        assert (repeated["items"][0]["path"], repeated["version"]) == ("/mills/looms", 1)
        event_types = [entry["type"] for entry in log_of(api, organization, type="site.navigation.*")]
        assert event_types == ["site.navigation.updated"]

    def test_an_entry_shows_what_changed(self, api: Api, site: Published, organization: Founded) -> None:
        put_menu(api, site, to_url("https://example.com/", "Shop"))
        put_menu(api, site, to_url("https://example.com/", "Shop"), name="Footer")
        last, first = log_of(api, organization, type="site.navigation.updated")
        assert (first["target"]["name"], first["changes"]) == ("Main menu", [])
        assert last["changes"] == [{"field": "name", "from": "Main menu", "to": "Footer"}]
        assert last["data"]["items"][0]["url"] == "https://example.com/"

    def test_if_match_is_checked(self, api: Api, site: Published) -> None:
        response = asked_to_put(api, site, headers={"If-Match": "*"})
        assert response.code == "412 precondition_failed"
        first = asked_to_put(api, site)
        assert first.status == 200
        put_menu(api, site, name="Changed")
        response = asked_to_put(api, site, name="Late", headers={"If-Match": first.etag})
        assert response.code == "412 precondition_failed"
        current = api.get(f"{site.path}/navigation/main", as_=site.owner)
        assert asked_to_put(api, site, name="Sooner", headers={"If-Match": current.etag}).status == 200

    @pytest.mark.parametrize("name", ["Main", "-main", "main_menu", "é", "m" * 65])
    def test_a_malformed_id_is_not_found(self, api: Api, site: Published, name: str) -> None:
        assert asked_to_put(api, site, menu=name).code == "404 not_found"
        assert api.get(f"{site.path}/navigation/{name}", as_=site.owner).code == "404 not_found"

    @pytest.mark.parametrize("name", ["m", "0", "main-menu-2", "m" * 64])
    def test_the_caller_chooses_the_id(self, api: Api, site: Published, name: str) -> None:
        assert put_menu(api, site, menu=name)["id"] == name

    def test_only_editors_replace_a_menu(
        self, api: Api, site: Published, mary: Person, edith: Person, stranger: Person
    ) -> None:
        assert asked_to_put(api, site, as_=mary).code == "403 insufficient_role"
        assert asked_to_put(api, site, as_=stranger).code == "404 not_found"
        assert asked_to_put(api, site, as_=edith).status == 200

    def test_a_concurrent_replacement_is_retried(
        self, api: Api, site: Published, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_the_next_write(monkeypatch, lambda: put_menu(api, site, name="First"))
        assert put_menu(api, site, name="Second")["version"] == 2

    def test_the_number_of_menus_is_limited(self, api: Api, site: Published, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Menu, "quota", replace(Menu.quota, limit=2))
        for name in ("one", "two", "one"):
            put_menu(api, site, menu=name, name=f"{name} of two")
        assert asked_to_put(api, site, menu="three").code == "409 limit_exceeded"


class TestMenuItems:
    def test_the_type_of_an_item_determines_its_fields(self, api: Api, site: Published, looms: Leaf) -> None:
        page, url = to_page(looms), to_url("/looms")
        invalid_items: list[tuple[Json, dict[str, str]]] = [
            ({**page, "pageId": None}, {"/items/0/pageId": "required"}),
            ({**page, "url": "/looms"}, {"/items/0/url": "malformed"}),
            ({**url, "url": None}, {"/items/0/url": "required"}),
            ({**url, "pageId": looms.id}, {"/items/0/pageId": "malformed"}),
            (
                {**group("All"), "url": "/", "pageId": looms.id},
                {
                    "/items/0/url": "malformed",
                    "/items/0/pageId": "malformed",
                },
            ),
            ({**page, "type": "space"}, {"/items/0/type": "not_one_of"}),
            ({**page, "label": " "}, {"/items/0/label": "too_short"}),
        ]
        for item, faults in invalid_items:
            assert asked_to_put(api, site, item).faults == faults

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
    def test_dangerous_urls_are_rejected(self, api: Api, site: Published, url: str) -> None:
        assert asked_to_put(api, site, to_url(url)).faults == {"/items/0/url": "malformed"}

    def test_pages_of_other_sites_are_rejected(
        self, api: Api, site: Published, looms: Leaf, organization: Founded
    ) -> None:
        other = page_of(api, make_site(api, organization, name="Other"), "Mills")
        items = [to_page(looms), group("More", to_page(other), {**to_page(looms), "id": "x", "pageId": str(uuid4())})]
        assert asked_to_put(api, site, *items).faults == {
            "/items/1/children/0/pageId": "unknown",
            "/items/1/children/1/pageId": "unknown",
        }

    def test_ids_are_unique_across_all_levels(self, api: Api, site: Published) -> None:
        item = group("All", group("Some", to_url("/", "all")), {**group("More"), "id": "some"})
        assert asked_to_put(api, site, {**item, "id": "to-all"}).faults == {
            "/items/0/children/0/children/0/id": "repeated",
            "/items/0/children/1/id": "repeated",
        }

    def test_items_have_at_most_three_levels(self, api: Api, site: Published) -> None:
        put_menu(api, site, group("One", group("Two", group("Three"))))
        too_deep = group("One", group("Two", group("Three", group("Four"))))
        assert asked_to_put(api, site, too_deep).faults == {"/items/0/children/0/children/0/children": "out_of_range"}

    def test_items_are_limited_in_number_and_size(self, api: Api, site: Published) -> None:
        branches = [group(f"b{n}", *(group(f"b{n}-{m}") for m in range(9))) for n in range(20)]
        put_menu(api, site, *branches)
        assert asked_to_put(api, site, *branches, group("more")).faults == {"/items": "too_many"}
        assert asked_to_put(api, site, *(group(f"g{n}") for n in range(201))).faults == {"/items": "too_many"}
        long_items = [{**to_url(f"https://example.com/{'x' * 400}"), "id": f"u{n}"} for n in range(150)]
        assert asked_to_put(api, site, *long_items).faults == {"": "too_large"}


class TestDestinations:
    def test_items_lead_to_the_current_paths_of_their_pages(self, api: Api, site: Published, looms: Leaf) -> None:
        jacquard = page_of(api, site, "Jacquard", below=looms)
        put_menu(api, site, to_page(looms, "All looms", to_page(jacquard)), group("More", to_url("/mills", "Mills")))
        assert seen(api, site) == {
            "All looms": ("/looms", {"Jacquard": "/looms/jacquard"}),
            "More": (None, {"Mills": "/mills"}),
        }
        publish_at(api, looms, "weavers")
        assert seen(api, site)["All looms"] == ("/weavers", {"Jacquard": "/weavers/jacquard"})

    def test_only_members_see_items_of_drafts(self, api: Api, site: Published, looms: Leaf, mary: Person) -> None:
        draft = write_page(api, site, "Secret")
        put_menu(api, site, to_page(draft, None, to_url("/below", "Below")), to_page(looms))
        assert seen(api, site) == {"Looms": "/looms"}
        assert seen(api, site, as_=mary) == {"Secret": (None, {"Below": "/below"}), "Looms": "/looms"}
        assert "Secret" not in api.get(f"{site.path}/navigation/main").text
        publish_page(api, draft)
        assert seen(api, site) == {"Secret": ("/secret", {"Below": "/below"}), "Looms": "/looms"}
        edit(api, draft, unpublishAt="2020-01-01T00:00:00Z")
        assert seen(api, site) == {"Looms": "/looms"}

    def test_the_public_sees_no_empty_groups(self, api: Api, site: Published, mary: Person) -> None:
        draft = write_page(api, site, "Secret")
        put_menu(api, site, group("More", to_page(draft)), to_url("/below", "Below"))
        assert seen(api, site) == {"Below": "/below"}
        assert "More" in seen(api, site, as_=mary)

    def test_a_menu_with_a_dangling_item_can_be_replaced_with_itself(
        self, api: Api, site: Published, looms: Leaf
    ) -> None:
        put_menu(api, site, to_page(looms), to_url("/below", "Below"))
        api.delete(looms.path, as_=site.owner)
        menu = api.get(f"{site.path}/navigation/main", as_=site.owner).json
        assert menu["items"][0]["dangling"]
        body = {"name": "Main", "items": menu["items"]}
        assert api.put(f"{site.path}/navigation/main", as_=site.owner, json=body).json["items"] == menu["items"]

    def test_items_of_deleted_pages_are_dangling(
        self, api: Api, site: Published, looms: Leaf, mary: Person, workers: Workers
    ) -> None:
        jacquard = page_of(api, site, "Jacquard", below=looms)
        put_menu(api, site, to_page(looms), to_page(jacquard), to_url("/"))
        assert api.delete(looms.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        for _ in range(2):
            assert seen(api, site, as_=mary) == {"Looms": "gone", "Jacquard": "gone", "Elsewhere": "/"}
            assert seen(api, site) == {"Elsewhere": "/"}
            workers.settle()

    def test_menus_of_a_draft_site_are_hidden_from_the_public(
        self, api: Api, site: Published, mary: Person, stranger: Person
    ) -> None:
        put_menu(api, site)
        api.patch(site.path, as_=site.owner, json={"status": "draft"})
        for path in ("", "/main"):
            assert api.get(f"{site.path}/navigation{path}").code == "404 not_found"
            assert api.get(f"{site.path}/navigation{path}", as_=stranger).code == "404 not_found"
            assert api.get(f"{site.path}/navigation{path}", as_=mary).status == 200

    @pytest.mark.parametrize("number", [2, 30])
    def test_the_number_of_reads_does_not_depend_on_the_number_of_items(
        self, api: Api, site: Published, number: int
    ) -> None:
        sections = [page_of(api, site, f"Section {n}") for n in range(2)]
        pages = [page_of(api, site, f"Page {n}", below=sections[n % 2]) for n in range(number)]
        response = asked_to_put(api, site, *map(to_page, pages))
        assert len(response.calls.reads) == 2
        for caller in (None, site.owner):
            assert len(api.get(f"{site.path}/navigation/main", as_=caller).calls.reads) == 2
        for page in pages:
            edit(api, page, parentId=sections[0].id)
            publish_page(api, page)
        publish_at(api, sections[0], "part")
        answer = api.get(f"{site.path}/navigation/main")
        assert {item["path"] for item in answer.json["items"]} == {f"/part/page-{n}" for n in range(number)}
        assert len(answer.calls.reads) <= 3

    def test_a_menu_is_resolved_for_rendering(self, api: Api, site: Published, looms: Leaf) -> None:
        put_menu(
            api,
            site,
            to_page(looms, "All", to_page(write_page(api, site, "Draft"))),
            group("More", to_url("/", "Home")),
        )
        key = Menu.make_item_key(site_id=site.id, id="main")
        prefetched: dict[Any, Any] = table.get_all([key])
        assert resolve_menu(Menu.from_item(prefetched[key]), prefetched) == [
            MenuEntry("All", "/looms", []),
            MenuEntry("More", None, [MenuEntry("Home", "/", [])]),
        ]


class TestListMenus:
    def test_menus_are_listed_in_order_of_creation_without_items(self, api: Api, site: Published, mary: Person) -> None:
        for name in ("main", "footer", "a-third"):
            put_menu(api, site, to_url("/"), menu=name, name=name.title())
        put_menu(api, site, menu="main", name="Main again")
        for caller in (None, mary):
            listed = api.items(f"{site.path}/navigation", as_=caller, query={"limit": 2})
            assert [(menu["id"], menu["name"]) for menu in listed] == [
                ("main", "Main again"),
                ("footer", "Footer"),
                ("a-third", "A-Third"),
            ]
            assert all("items" not in menu for menu in listed)

    def test_menus_of_other_sites_are_not_listed(self, api: Api, site: Published, organization: Founded) -> None:
        put_menu(api, make_site(api, organization, name="Other"))
        assert api.items(f"{site.path}/navigation") == []
