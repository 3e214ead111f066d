"""Platforms: creating, listing, changing, deleting and publishing them; their theme, navigation and home."""

import json
from typing import Any

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import ApiResponse, Json
from tests.harness.cpu_time import shortest_cpu_seconds
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import add_platform_member, add_space_member, publish_platform
from tests.harness.stored_records import new_id_and_time_fields

EMPTY_THEME: Json = {"mode": None, "colors": {}, "fonts": {}, "logoUrl": None, "faviconUrl": None, "tokens": {}}
BLOCK = {"id": "welcome", "type": "hero", "settings": {f"n{n}": [n, n, n, {"deep": True}] for n in range(1300)}}
LARGE_HOME: dict[str, Any] = {"layout": None, "blocks": [BLOCK], "space_id": None, "site_id": None}
EMPTY_HOME: dict[str, Any] = {**LARGE_HOME, "blocks": []}
TOO_DEEP = "/items/0/children/0/children/0/children"
INVALID_TARGETS = {
    "url": ["javascript:alert(1)", "https://u:p@example.com", "//evil.example", "/\\evil.example"],
    "page": ["javascript:alert(1)"],
    "module": ["/feed"],
}


@pytest.fixture
def rivals(api, stranger):
    return create_organization(api, stranger, name="Rivals")


@pytest.fixture
def list_ids(api, ada):
    return lambda caller=ada, **query: [item["id"] for item in api.get_items("/platforms", caller=caller, query=query)]


class TestCreatePlatform:
    def test_every_field_is_accepted_and_a_slug_is_unique_in_the_service(self, api, new_platform, rivals):
        fields: Json = {"slug": "engines", "description": "Mills.", "joinPolicy": "open", "defaultLocale": "pt-BR"}
        record = new_platform(**fields).record
        assert record | fields == record
        body = {"organizationId": rivals.id, "name": "Engines", "slug": "engines"}
        conflict = api.post("/platforms", caller=rivals.owner, json=body)
        assert conflict.problem_and_pointers == ("409 slug_taken", ["/slug"])
        assert new_platform(rivals, name="Engines").record["slug"].startswith("engines-")

    def test_invalid_fields_are_rejected_together(self, api, organization):
        body = {"organizationId": organization.id, "name": " ", "slug": "A", "joinPolicy": "all", "defaultLocale": "!"}
        answer = api.post("/platforms", caller=organization.owner, json=body)
        malformed = dict.fromkeys(("/slug", "/defaultLocale"), "malformed")
        assert answer.errors == {**malformed, "/name": "too_short", "/joinPolicy": "not_one_of"}
        for fields in ({}, {"name": "Engines"}, {"organizationId": None, "name": "Engines"}):
            answer = api.post("/platforms", caller=organization.owner, json=fields)
            assert answer.errors["/organizationId"] == "required"


def test_platforms_of_the_callers_organizations_and_memberships_are_listed_once_and_filtered(
    api, organization, rivals, new_platform, list_ids, ada, mary
):
    other = create_organization(api, ada, name="Other")
    draft, others_draft, public = new_platform(), new_platform(other), new_platform(publish=True)
    joined, _ = new_platform(rivals, publish=True), new_platform(rivals)
    for platform, person in ((joined, ada), (joined, mary), (draft, mary)):
        add_platform_member(platform, person)
    for limit in (1, 2, 100):
        assert list_ids(ada, limit=limit) == [draft.id, others_draft.id, public.id, joined.id]
        assert list_ids(mary, limit=limit) == [draft.id, public.id, joined.id]
    assert list_ids(create_api_key(api, organization, "platforms:read")) == [draft.id, public.id]
    assert list_ids(organizationId=organization.id) == [draft.id, public.id]
    assert list_ids(organizationId=rivals.id) == [joined.id]
    assert list_ids(status="published") == [public.id, joined.id]
    assert list_ids(status="draft", organizationId=other.id) == [others_draft.id]
    assert draft.get().status == 200
    api.delete(organization.path, caller=ada)
    assert (list_ids(ada), list_ids(mary)) == ([others_draft.id, joined.id], [joined.id])
    assert draft.get().status_and_code == "404 not_found"


def store_platforms(organization: CreatedOrganization, home: dict[str, Any]) -> list[Platform]:
    """Store 25 platforms with the given home."""
    ids_and_times = [new_id_and_time_fields(after(now(), seconds=n - 100)) for n in range(25)]
    platforms = [
        Platform(**fields, organization_id=organization.id, name=f"P{n}", slug=f"p-{n}", home=home)
        for n, fields in enumerate(ids_and_times)
    ]
    for platform in platforms:
        memory_aws.put_item(platform.item())
    return platforms


class TestReadsOfHomePages:
    def test_the_list_neither_reads_nor_decodes_home_pages(self, api, organization, mary):
        def list_timed() -> tuple[ApiResponse, float]:
            """Return the list of platforms, and the CPU time of a request in seconds."""
            answer = api.get("/platforms", caller=mary)
            return answer, shortest_cpu_seconds(lambda: api.get("/platforms", caller=mary))

        small_platforms = store_platforms(organization, EMPTY_HOME)
        small_answer, shortest_seconds = list_timed()
        store_platforms(organization, LARGE_HOME)
        for platform in small_platforms:
            memory_aws.delete_item(platform.item())
        large_answer, large_seconds = list_timed()
        assert len(small_answer.json["items"]) == len(large_answer.json["items"]) == 25
        assert large_answer.calls.bytes_read <= small_answer.calls.bytes_read + 2000
        assert large_seconds <= 4 * shortest_seconds

    def test_an_unauthorized_caller_is_rejected_without_reading_the_home(self, api, organization, stranger):
        (platform, *_) = store_platforms(organization, LARGE_HOME)
        answer = api.get(f"/platforms/{platform.id}", caller=stranger).expect_problem("404 not_found")
        assert answer.calls.bytes_read < 40_000

    def test_a_platform_of_the_former_schema_is_listed_readable_and_converted_by_its_next_change(
        self, api, platform, mary
    ):
        home = {**LARGE_HOME, "blocks": [{**BLOCK, "settings": {"n": [{"deep": "x" * 2000}]}}]}
        theme: Json = {"mode": None, "colors": {}, "fonts": {}, "logo_url": None, "favicon_url": None, "tokens": {}}
        item = memory_aws.get_item(f"P#{platform.id}", "#") or {}
        del item["shape"]
        memory_aws.put_item({**item, "home": home, "theme": theme, "navigation": {"items": []}})
        assert [item["id"] for item in api.get_items("/platforms", caller=mary)] == [platform.id]
        record = platform.read()
        assert record["home"]["blocks"] == home["blocks"]
        platform.update(name="Looms")
        item = memory_aws.get_item(f"P#{platform.id}", "#") or {}
        assert (item["shape"], type(item["home"])) == (2, bytes)
        assert platform.read()["home"] == record["home"]


def kinds_of_partitions_with(record_id: str) -> set[str]:
    """Return the first letters of the partitions of all items that contain the id of a record."""
    return {item["pk"][0] for item in memory_aws.all_items() if record_id in json.dumps(item, default=repr)}


class TestDeletePlatform:
    def test_a_deleted_platform_is_not_found_at_once_and_its_slug_is_free(
        self, api, organization, rivals, new_platform, new_space, list_ids
    ):
        platform = new_platform(slug="mill")
        space = new_space(platform)
        answer = platform.delete()
        assert (answer.status, answer.text) == (204, "")
        for rejected in (platform.get(), platform.get("/spaces"), space.get(), platform.get("/config", caller=None)):
            assert rejected.status_and_code == "404 not_found"
        body = {"platformId": platform.id, "name": "Looms"}
        assert api.post("/spaces", caller=platform.owner, json=body).status_and_code == "404 not_found"
        assert list_ids() == api.get_items(f"{organization.path}/domains/inventory", caller=platform.owner) == []
        assert new_platform(rivals, slug="mill").record["slug"] == "mill"

    def test_the_contents_of_a_deleted_platform_are_removed(self, platform, new_space, mary, workers, run_tasks_after):
        for n in range(12):
            add_space_member(new_space(platform, name=f"Space {n}"), mary)
        add_platform_member(platform, mary)
        workers.run_until_idle()
        platform.delete()
        workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) == {"Z", "A"}, "the job, the log, and nothing else"
        run_tasks_after(minutes=2)
        assert kinds_of_partitions_with(platform.id) == {"A"}

    def test_a_concurrent_write_into_a_deleted_platform_is_removed(self, platform, space, mary, workers, clock):
        platform.delete()
        workers.run_until_idle()
        add_space_member(space, mary)
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) <= {"A", "S"}

    def test_a_platform_is_purged_with_its_organization(self, api, organization, platform, space, mary, workers, clock):
        add_space_member(space, mary)
        add_platform_member(platform, mary)
        workers.run_until_idle()
        api.delete(organization.path, caller=organization.owner)
        clock.shift(days=30, minutes=5)
        for _ in range(2):
            workers.run_until_idle()
        assert kinds_of_partitions_with(platform.id) == {"A"}


def build_item(item_id: str, *children: Json, **fields: Any) -> Json:
    """Return an item of a navigation as responses contain it."""
    return {"id": item_id, "label": item_id, "type": "group", "target": None, "children": [*children], **fields}


def test_a_platform_is_published_once_and_can_become_a_draft_again(entries, platform, clock):
    timestamp = clock.freeze()
    first = platform.patch("/publish", {}).json
    assert (first["status"], first["publishedAt"]) == ("published", timestamp)
    assert platform.patch("/publish", {"published": True}).json == first
    assert [entry["type"] for entry in entries()].count("platform.published") == 1
    clock.shift(seconds=1)
    draft = platform.patch("/publish", {"published": False}).json
    assert (draft["status"], draft["publishedAt"]) == ("draft", None)
    assert entries()[0]["type"] == "platform.unpublished"


class TestUpdatePlatformTheme:
    def test_the_theme_is_merged_and_the_platform_is_returned(self, platform, edith):
        add_platform_member(platform, edith, "editor")
        first = {"mode": "dark", "colors": {"text": "#FFF", "brand": "#1a1a1a"}, "logoUrl": "https://example.com/l.svg"}
        platform.patch("/theme", first, caller=edith)
        answer = platform.patch("/theme", {"colors": {"brand": None, "ink": "#00000080"}, "mode": None}, caller=edith)
        merged = {"colors": {"text": "#fff", "ink": "#00000080"}, "logoUrl": "https://example.com/l.svg"}
        assert answer.json["theme"] == EMPTY_THEME | merged
        assert platform.get(caller=edith).json == answer.json

    def test_colours_with_low_contrast_are_stored_with_a_warning(self, platform):
        colors = {"text": "#999999", "background": "#ffffff", "onPrimary": "#ffffff", "primary": "#0000aa"}
        answer = platform.patch("/theme", {"colors": colors})
        (warning,) = answer.json["warnings"]
        assert answer.json["theme"]["colors"] == colors
        assert (warning["pointer"], warning["code"]) == ("/colors/text", "low_contrast")
        assert "2.84:1" in warning["detail"]
        assert platform.patch("/theme", {"colors": {"text": "#595959"}}).json["warnings"] == []

    @pytest.mark.parametrize(
        ("body", "errors"),
        [
            ({"colors": {"text": "red"}}, {"/colors/text": "malformed"}),
            ({"mode": "neon"}, {"/mode": "not_one_of"}),
            ({"logoUrl": "javascript:alert(1)"}, {"/logoUrl": "malformed"}),
            ({"faviconUrl": "//example.com/x"}, {"/faviconUrl": "malformed"}),
            ({"tokens": {"radius": "4px;}body{"}}, {"/tokens": "malformed"}),
            ({"fonts": {"body": "x;}body{"}}, {"/fonts/body": "malformed"}),
            ({"colors": {"a b": "#fff"}}, {"/colors/a b": "malformed"}),
            ({"tokens": {"deep": {"list": [1]}}}, {"/tokens": "malformed"}),
        ],
    )
    def test_an_invalid_theme_is_rejected(self, platform, body, errors):
        assert platform.patch("/theme", body).validation_errors == errors


class TestUpdatePlatformNavigation:
    def test_the_items_are_replaced(self, platform):
        items = [
            build_item("a", build_item("b", build_item("c", type="url", target="/start"))),
            build_item("d", type="page", target="about"),
        ]
        assert platform.patch("/navigation", {"items": items}).json["navigation"] == {"items": items}
        item = {"id": "x", "label": "X", "type": "module", "target": "feed"}
        answer = platform.patch("/navigation", {"items": [item]})
        assert answer.json["navigation"] == {"items": [item | {"children": []}]}
        targets = ["/", "/a/b?c#d", "https://example.com", "mailto:a@example.com", "#top"]
        items = [build_item(f"a{n}", type="url", target=target) for n, target in enumerate(targets)]
        assert platform.patch("/navigation", {"items": items}).json["navigation"] == {"items": items}
        assert platform.patch("/navigation", {"items": None}).json["navigation"] == {"items": []}

    @pytest.mark.parametrize(
        ("items", "errors"),
        [
            ([build_item("a"), build_item("b", build_item("a"))], {"/items/1/children/0/id": "repeated"}),
            ([build_item("a", build_item("b", build_item("c", build_item("d"))))], {TOO_DEEP: "out_of_range"}),
            ([build_item("a", type="link")], {"/items/0/type": "not_one_of"}),
            ([{"id": "a"}], {"/items/0/label": "required", "/items/0/type": "required"}),
            ([build_item("a", type="url")], {"/items/0/target": "required"}),
            *[
                ([build_item("a", type=kind, target=target)], {"/items/0/target": "malformed"})
                for kind, targets in INVALID_TARGETS.items()
                for target in targets
            ],
        ],
    )
    def test_invalid_items_are_rejected(self, platform, items, errors):
        assert platform.patch("/navigation", {"items": items}).validation_errors == errors


class TestUpdatePlatformHome:
    def test_the_home_is_merged_and_its_blocks_are_replaced(self, platform, space):
        block = {"id": "hello", "type": "hero", "settings": {"title": "Hi"}}
        platform.patch("/home", {"layout": "wide", "blocks": [block]})
        home = platform.patch("/home", {"spaceId": space.id}).json["home"]
        assert home == {"layout": "wide", "blocks": [block], "spaceId": space.id, "siteId": None}
        blocks = [{"id": "b", "type": "list"}]
        home = platform.patch("/home", {"blocks": blocks, "layout": None}).json["home"]
        assert (home["blocks"], home["layout"]) == ([{**blocks[0], "settings": {}}], None)
        assert platform.patch("/home", {"blocks": blocks * 2}).errors == {"/blocks/1/id": "repeated"}

    def test_a_home_has_at_most_64_kib(self, platform):
        def patch(last_length: int) -> ApiResponse:
            texts = ["x" * length for length in (20_000, 20_000, 20_000, last_length)]
            blocks = [{"id": str(n), "type": "text", "settings": {"text": text}} for n, text in enumerate(texts)]
            return platform.patch("/home", {"blocks": blocks})

        answer = patch(20_000)
        assert answer.validation_errors == {"": "too_large"}
        excess = int(answer.text.partition("this one has ")[2].partition(".")[0]) - 65_536
        assert patch(20_000 - excess + 1).errors == {"": "too_large"}
        assert patch(20_000 - excess).status == 200

    def test_the_home_space_is_one_of_the_platform_and_only_visible_to_those_who_see_it(
        self, api, platform, other_platform, new_space, edith, mary
    ):
        def home_space_id(caller: Any, path: str = "") -> object:
            return platform.get(path, caller=caller).json["home"]["spaceId"]

        add_platform_member(platform, edith, "editor")
        private_space, foreign_space = new_space(platform, visibility="private"), new_space(other_platform)
        owner = platform.owner
        for caller, space_id in ((owner, foreign_space.id), (owner, platform.id), (edith, private_space.id)):
            assert platform.patch("/home", {"spaceId": space_id}, caller=caller).errors == {"/spaceId": "unknown"}
        assert platform.patch("/home", {"spaceId": private_space.id}).json["home"]["spaceId"] == private_space.id
        publish_platform(api, platform)
        for path in ("", "/config"):
            assert home_space_id(edith, path) is home_space_id(mary, path) is None
            assert home_space_id(owner, path) == private_space.id
        home = platform.patch("/home", {"layout": "wide"}, caller=edith).json["home"]
        assert (home["layout"], home["spaceId"]) == ("wide", None)
        add_space_member(private_space, mary)
        assert home_space_id(mary) == private_space.id


@pytest.mark.parametrize("part", ["theme", "navigation", "home"])
def test_setting_the_defaults_of_a_new_platform_changes_nothing(platform, part):
    defaults: Json = {"theme": {"mode": None}, "navigation": {"items": []}, "home": {"layout": None}}
    bodies: list[Json] = [{}, defaults[part]]
    for body in bodies:
        answer = platform.patch(f"/{part}", body)
        assert (answer.status, answer.json) == (200, platform.record)
