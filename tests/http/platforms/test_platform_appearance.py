"""Publishing, theme, navigation and home of a platform."""

from typing import Any

import pytest

from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import add_platform_member, add_space_member, publish_platform


def build_item(item_id: str, *children: Json, **fields: Any) -> Json:
    """Return an item of a navigation as responses contain it."""
    return {"id": item_id, "label": item_id, "type": "group", "target": None, "children": [*children], **fields}


def test_a_platform_is_published_once_and_can_become_a_draft_again(api, organization, platform, clock):
    timestamp = clock.freeze()
    first = platform.patch("/publish", {}).json
    assert (first["status"], first["publishedAt"]) == ("published", timestamp)
    assert platform.patch("/publish", {"published": True}).json == first
    assert [entry["type"] for entry in list_entries(api, organization)].count("platform.published") == 1
    clock.shift(seconds=1)
    draft = platform.patch("/publish", {"published": False}).json
    assert (draft["status"], draft["publishedAt"]) == ("draft", None)
    assert list_entries(api, organization)[0]["type"] == "platform.unpublished"


class TestUpdatePlatformTheme:
    def test_the_theme_is_merged_and_the_platform_is_returned(self, platform, edith):
        add_platform_member(platform, edith, "editor")
        first = {"mode": "dark", "colors": {"text": "#FFF", "brand": "#1a1a1a"}, "logoUrl": "https://example.com/l.svg"}
        platform.patch("/theme", first, caller=edith)
        answer = platform.patch("/theme", {"colors": {"brand": None, "ink": "#00000080"}, "mode": None}, caller=edith)
        assert answer.json["theme"] == {
            "mode": None,
            "colors": {"text": "#fff", "ink": "#00000080"},
            "fonts": {},
            "logoUrl": "https://example.com/l.svg",
            "faviconUrl": None,
            "tokens": {},
        }
        assert platform.get(caller=edith).json == answer.json

    def test_colours_with_low_contrast_are_stored_with_a_warning(self, platform):
        colors = {"text": "#999999", "background": "#ffffff", "onPrimary": "#ffffff", "primary": "#0000aa"}
        answer = platform.patch("/theme", {"colors": colors})
        (warning,) = answer.json["warnings"]
        assert answer.json["theme"]["colors"] == colors
        assert (warning["pointer"], warning["code"]) == ("/colors/text", "low_contrast")
        assert "2.84:1" in warning["detail"]
        assert platform.patch("/theme", {"colors": {"text": "#595959"}}).json["warnings"] == []

    def test_an_invalid_theme_is_rejected(self, platform):
        for body, errors in (
            ({"colors": {"text": "red"}}, {"/colors/text": "malformed"}),
            ({"mode": "neon"}, {"/mode": "not_one_of"}),
            ({"logoUrl": "javascript:alert(1)"}, {"/logoUrl": "malformed"}),
            ({"faviconUrl": "//example.com/x"}, {"/faviconUrl": "malformed"}),
            ({"tokens": {"radius": "4px;}body{"}}, {"/tokens": "malformed"}),
            ({"fonts": {"body": "x;}body{"}}, {"/fonts/body": "malformed"}),
            ({"colors": {"a b": "#fff"}}, {"/colors/a b": "malformed"}),
            ({"tokens": {"deep": {"list": [1]}}}, {"/tokens": "malformed"}),
            ({"colours": {}}, {"/colours": "unknown_field"}),
        ):
            answer = platform.patch("/theme", body)
            assert (answer.status_and_code, answer.errors) == ("422 validation_failed", errors)


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
        assert platform.patch("/navigation", {"items": None}).json["navigation"] == {"items": []}

    def test_invalid_items_are_rejected(self, platform):
        too_deep = build_item("a", build_item("b", build_item("c", build_item("d"))))
        too_deep_at = "/items/0/children/0/children/0/children"
        for items, errors in (
            ([build_item("a"), build_item("b", build_item("a"))], {"/items/1/children/0/id": "repeated"}),
            ([too_deep], {too_deep_at: "out_of_range"}),
            ([build_item("a", type="link")], {"/items/0/type": "not_one_of"}),
            ([{"id": "a"}], {"/items/0/label": "required", "/items/0/type": "required"}),
            ([build_item("a", type="url")], {"/items/0/target": "required"}),
        ):
            answer = platform.patch("/navigation", {"items": items})
            assert (answer.status_and_code, answer.errors) == ("422 validation_failed", errors)

    def test_targets_are_validated_by_the_type_of_the_item(self, platform):
        for kind, target in (
            ("url", "javascript:alert(1)"),
            ("page", "javascript:alert(1)"),
            ("module", "/feed"),
            ("url", "https://u:p@example.com"),
            ("url", "//evil.example"),
            ("url", "/\\evil.example"),
        ):
            answer = platform.patch("/navigation", {"items": [build_item("a", type=kind, target=target)]})
            assert answer.errors == {"/items/0/target": "malformed"}, target
        targets = ["/", "/a/b?c#d", "https://example.com", "mailto:a@example.com", "#top"]
        items = [build_item(f"a{n}", type="url", target=target) for n, target in enumerate(targets)]
        assert platform.patch("/navigation", {"items": items}).status == 200


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
        blocks = [{"id": str(n), "type": "text", "settings": {"text": "x" * 20_000}} for n in range(4)]
        answer = platform.patch("/home", {"blocks": blocks})
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"": "too_large"})
        assert platform.patch("/home", {"blocks": blocks[:3]}).status == 200

    def test_the_home_space_is_one_of_the_platform_and_only_visible_to_those_who_see_it(
        self, api, platform, other_platform, new_space, edith, mary
    ):
        def home_space_id(caller: Any, path: str = "") -> object:
            return platform.get(path, caller=caller).json["home"]["spaceId"]

        add_platform_member(platform, edith, "editor")
        private_space, foreign_space = new_space(platform, visibility="private"), new_space(other_platform)
        for caller, space_id in (
            (platform.owner, foreign_space.id),
            (platform.owner, platform.id),
            (edith, private_space.id),
        ):
            assert platform.patch("/home", {"spaceId": space_id}, caller=caller).errors == {"/spaceId": "unknown"}
        assert platform.patch("/home", {"spaceId": private_space.id}).json["home"]["spaceId"] == private_space.id
        publish_platform(api, platform)
        for path in ("", "/config"):
            assert home_space_id(edith, path) is home_space_id(mary, path) is None
            assert home_space_id(platform.owner, path) == private_space.id
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
