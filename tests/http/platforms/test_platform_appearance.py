"""Publishing, theme, navigation and home of a platform."""

from typing import Any

import pytest

from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.platforms import (
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
    publish_platform,
)


class TestPublishPlatform:
    def test_an_empty_body_publishes_the_platform(self, api, platform, clock):
        timestamp = clock.freeze()
        answer = api.patch(f"{platform.path}/publish", caller=platform.owner, json={})
        assert (answer.json["status"], answer.json["publishedAt"]) == ("published", timestamp)

    def test_publishing_twice_changes_nothing(self, api, organization, platform):
        first = api.patch(f"{platform.path}/publish", caller=platform.owner, json={})
        repeated = api.patch(f"{platform.path}/publish", caller=platform.owner, json={"published": True})
        assert repeated.json == first.json
        types = [entry["type"] for entry in list_entries(api, organization)]
        assert types.count("platform.published") == 1

    def test_a_published_platform_can_become_a_draft_again(self, api, organization, platform):
        api.patch(f"{platform.path}/publish", caller=platform.owner, json={})
        answer = api.patch(f"{platform.path}/publish", caller=platform.owner, json={"published": False})
        assert (answer.json["status"], answer.json["publishedAt"]) == ("draft", None)
        assert list_entries(api, organization)[0]["type"] == "platform.unpublished"

    def test_editors_cannot_publish_a_platform(self, api, platform, edith):
        add_platform_member(platform, edith, "editor")
        answer = api.patch(f"{platform.path}/publish", caller=edith, json={})
        assert answer.status_and_code == "403 insufficient_role"


class TestUpdatePlatformTheme:
    def test_the_theme_is_merged_and_the_platform_is_returned(self, api, platform, edith):
        add_platform_member(platform, edith, "editor")
        path = f"{platform.path}/theme"
        first = {"mode": "dark", "colors": {"text": "#FFF", "brand": "#1a1a1a"}, "logoUrl": "https://example.com/l.svg"}
        api.patch(path, caller=edith, json=first)
        answer = api.patch(path, caller=edith, json={"colors": {"brand": None, "ink": "#00000080"}, "mode": None})
        assert answer.json["theme"] == {
            "mode": None,
            "colors": {"text": "#fff", "ink": "#00000080"},
            "fonts": {},
            "logoUrl": "https://example.com/l.svg",
            "faviconUrl": None,
            "tokens": {},
        }
        assert api.get(platform.path, caller=edith).json == answer.json

    def test_colours_with_low_contrast_are_stored_with_a_warning(self, api, platform):
        body = {"colors": {"text": "#999999", "background": "#ffffff", "onPrimary": "#ffffff", "primary": "#0000aa"}}
        answer = api.patch(f"{platform.path}/theme", caller=platform.owner, json=body)
        (warning,) = answer.json["warnings"]
        assert answer.json["theme"]["colors"] == body["colors"]
        assert (warning["pointer"], warning["code"]) == ("/colors/text", "low_contrast")
        assert "2.84:1" in warning["detail"]
        improved = api.patch(f"{platform.path}/theme", caller=platform.owner, json={"colors": {"text": "#595959"}})
        assert improved.json["warnings"] == []

    @pytest.mark.parametrize(
        ("body", "faults"),
        [
            ({"colors": {"text": "red"}}, {"/colors/text": "malformed"}),
            ({"mode": "neon"}, {"/mode": "not_one_of"}),
            ({"logoUrl": "javascript:alert(1)"}, {"/logoUrl": "malformed"}),
            ({"faviconUrl": "//example.com/x"}, {"/faviconUrl": "malformed"}),
            ({"tokens": {"radius": "4px;}body{"}}, {"/tokens": "malformed"}),
            ({"fonts": {"body": "x;}body{"}}, {"/fonts/body": "malformed"}),
            ({"colors": {"a b": "#fff"}}, {"/colors/a b": "malformed"}),
            ({"tokens": {"deep": {"list": [1]}}}, {"/tokens": "malformed"}),
            ({"colours": {}}, {"/colours": "unknown_field"}),
        ],
    )
    def test_an_invalid_theme_is_rejected(self, api, platform, body, faults):
        answer = api.patch(f"{platform.path}/theme", caller=platform.owner, json=body)
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", faults)


def build_item(item_id: str, *children: Json, **fields: Any) -> Json:
    """Return an item of a navigation as responses contain it."""
    return {"id": item_id, "label": item_id, "type": "group", "target": None, "children": [*children], **fields}


class TestUpdatePlatformNavigation:
    def test_the_items_are_replaced(self, api, platform):
        path = f"{platform.path}/navigation"
        items = [
            build_item("a", build_item("b", build_item("c", type="url", target="/start"))),
            build_item("d", type="page", target="about"),
        ]
        answer = api.patch(path, caller=platform.owner, json={"items": items})
        assert answer.json["navigation"] == {"items": items}
        default_item = {"id": "x", "label": "X", "type": "module", "target": "feed"}
        answer = api.patch(path, caller=platform.owner, json={"items": [default_item]})
        assert answer.json["navigation"] == {"items": [default_item | {"children": []}]}
        assert api.patch(path, caller=platform.owner, json={"items": None}).json["navigation"] == {"items": []}

    @pytest.mark.parametrize(
        ("items", "faults"),
        [
            ([build_item("a"), build_item("b", build_item("a"))], {"/items/1/children/0/id": "repeated"}),
            (
                [build_item("a", build_item("b", build_item("c", build_item("d"))))],
                {"/items/0/children/0/children/0/children": "out_of_range"},
            ),
            ([build_item("a", type="link")], {"/items/0/type": "not_one_of"}),
            ([{"id": "a"}], {"/items/0/label": "required", "/items/0/type": "required"}),
            ([build_item("a", type="url", target="javascript:alert(1)")], {"/items/0/target": "malformed"}),
            ([build_item("a", type="page", target="javascript:alert(1)")], {"/items/0/target": "malformed"}),
            ([build_item("a", type="module", target="/feed")], {"/items/0/target": "malformed"}),
            ([build_item("a", type="url")], {"/items/0/target": "required"}),
            ([build_item("a", type="url", target="https://u:p@example.com")], {"/items/0/target": "malformed"}),
            ([build_item("a", type="url", target="//evil.example")], {"/items/0/target": "malformed"}),
            ([build_item("a", type="url", target="/\\evil.example")], {"/items/0/target": "malformed"}),
        ],
    )
    def test_invalid_items_are_rejected(self, api, platform, items, faults):
        answer = api.patch(f"{platform.path}/navigation", caller=platform.owner, json={"items": items})
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", faults)

    @pytest.mark.parametrize("target", ["/", "/a/b?c#d", "https://example.com", "mailto:a@example.com", "#top"])
    def test_a_valid_url_is_accepted(self, api, platform, target):
        items = [build_item("a", type="url", target=target)]
        assert api.patch(f"{platform.path}/navigation", caller=platform.owner, json={"items": items}).status == 200


class TestUpdatePlatformHome:
    def test_the_home_is_merged_and_its_blocks_are_replaced(self, api, platform):
        path, block = f"{platform.path}/home", {"id": "hello", "type": "hero", "settings": {"title": "Hi"}}
        api.patch(path, caller=platform.owner, json={"layout": "wide", "blocks": [block]})
        space = create_space(api, platform)
        answer = api.patch(path, caller=platform.owner, json={"spaceId": space.id})
        assert answer.json["home"] == {"layout": "wide", "blocks": [block], "spaceId": space.id, "siteId": None}
        blocks = [{"id": "b", "type": "list"}]
        answer = api.patch(path, caller=platform.owner, json={"blocks": blocks, "layout": None})
        assert answer.json["home"]["blocks"] == [{**blocks[0], "settings": {}}]
        assert answer.json["home"]["layout"] is None

    def test_a_repeated_block_id_is_rejected(self, api, platform):
        blocks = [{"id": "a", "type": "hero"}, {"id": "a", "type": "list"}]
        answer = api.patch(f"{platform.path}/home", caller=platform.owner, json={"blocks": blocks})
        assert answer.errors == {"/blocks/1/id": "repeated"}

    def test_a_home_has_at_most_64_kib(self, api, platform):
        blocks = [{"id": str(n), "type": "text", "settings": {"text": "x" * 20_000}} for n in range(4)]
        answer = api.patch(f"{platform.path}/home", caller=platform.owner, json={"blocks": blocks})
        assert (answer.status_and_code, answer.errors) == ("422 validation_failed", {"": "too_large"})
        answer = api.patch(f"{platform.path}/home", caller=platform.owner, json={"blocks": blocks[:3]})
        assert answer.status == 200

    def test_the_home_space_is_one_of_the_platform_and_only_visible_to_those_who_see_it(
        self, api, organization, platform, edith, mary
    ):
        add_platform_member(platform, edith, "editor")
        private_space = create_space(api, platform, visibility="private")
        foreign_space = create_space(api, create_platform(api, organization))
        home_path = f"{platform.path}/home"
        for caller, space_id in (
            (platform.owner, foreign_space.id),
            (platform.owner, platform.id),
            (edith, private_space.id),
        ):
            assert api.patch(home_path, caller=caller, json={"spaceId": space_id}).errors == {"/spaceId": "unknown"}
        assert (
            api.patch(home_path, caller=platform.owner, json={"spaceId": private_space.id}).json["home"]["spaceId"]
            == private_space.id
        )
        publish_platform(api, platform)
        for path in (platform.path, f"{platform.path}/config"):
            for caller in (edith, mary):
                assert api.get(path, caller=caller).json["home"]["spaceId"] is None
            assert api.get(path, caller=platform.owner).json["home"]["spaceId"] == private_space.id
        home = api.patch(home_path, caller=edith, json={"layout": "wide"}).json["home"]
        assert (home["layout"], home["spaceId"]) == ("wide", None)
        add_space_member(private_space, mary)
        assert api.get(platform.path, caller=mary).json["home"]["spaceId"] == private_space.id


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("theme", {}),
        ("theme", {"mode": None}),
        ("navigation", {}),
        ("navigation", {"items": []}),
        ("home", {}),
        ("home", {"layout": None}),
    ],
)
def test_setting_the_defaults_of_a_new_platform_changes_nothing(api, platform, part, body):
    answer = api.patch(f"{platform.path}/{part}", caller=platform.owner, json=body)
    assert (answer.status, answer.json) == (200, platform.record)
