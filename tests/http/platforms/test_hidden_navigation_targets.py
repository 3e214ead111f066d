"""Test that the navigation and home of a platform hide private spaces and draft pages and sites."""

from typing import Any

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.callers import Caller
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.platforms import CreatedPlatform, CreatedSpace, add_platform_member, create_platform, create_space
from tests.harness.sites import create_draft_page, create_published_page, create_site


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """Return a published platform of Ada's organization."""
    return create_platform(api, organization, publish=True)


@pytest.fixture
def secret_space(api: ApiClient, platform: CreatedPlatform) -> CreatedSpace:
    """Return a private space of the platform."""
    return create_space(api, platform, name="Secret", slug="secret", visibility="private")


def set_navigation(api: ApiClient, platform: CreatedPlatform, *items: Json, caller: Caller | None = None) -> Json:
    """Replace the items of the navigation, and return the platform as the caller sees it."""
    body = {"items": [{"id": f"i{n}", "label": f"Label {n}", **item} for n, item in enumerate(items)]}
    answer = api.patch(f"{platform.path}/navigation", caller=caller or platform.owner, json=body)
    assert answer.status == 200, answer.text
    return dict(answer.json)


def get_documents(api: ApiClient, platform: CreatedPlatform, caller: Caller | None) -> list[Json]:
    """Return the documents with the navigation that a caller can read."""
    config = api.get(f"{platform.path}/config", caller=caller)
    resolved = api.post(f"{platform.path}/resolve-config", caller=caller, json={"path": "/secret", "spaceId": None})
    record = api.get(platform.path, caller=caller)
    return [answer.json for answer in (config, resolved, record) if answer.status == 200]


def get_labels(document: Any) -> list[str]:
    return [item["label"] for item in document["navigation"]["items"]]


class TestPrivateSpace:
    def test_is_hidden_from_non_members_however_it_is_referenced(self, api, platform, secret_space, mary, stranger):
        add_platform_member(platform, stranger)
        set_navigation(
            api,
            platform,
            {"type": "space", "target": secret_space.id},
            {"type": "space", "target": "secret"},
            {"type": "space", "target": "/spaces/secret/events"},
            {"type": "page", "target": "/Secret"},
            {"type": "url", "target": "/spaces/secret?x=1"},
            {"type": "url", "target": "https://a.example/spaces/secret"},
            {"type": "page", "target": secret_space.id},
            {"type": "group", "target": "secret"},
            {"type": "group", "children": [{"id": "c", "label": "Below", "type": "space", "target": "secret"}]},
        )
        for caller in (None, stranger, mary):
            for document in get_documents(api, platform, caller):
                assert get_labels(document) == ["Label 8"]
                assert document["navigation"]["items"][0]["children"] == []
                assert secret_space.id not in str(document)

    def test_is_visible_to_its_members_admins_and_editors_of_the_navigation(
        self, api, platform, secret_space, stranger, operator, grace
    ):
        add_platform_member(platform, operator, "editor")
        add_platform_member(platform, stranger)
        addition = api.patch(
            f"{secret_space.path}/members/{stranger.id}", caller=platform.owner, json={"role": "member"}
        )
        assert addition.status == 200
        set_navigation(api, platform, {"type": "space", "target": "secret"})
        for caller in (platform.owner, grace, stranger):
            assert [get_labels(document) for document in get_documents(api, platform, caller)] == [["Label 0"]] * 3
        config, resolved, record = get_documents(api, platform, operator)
        assert (get_labels(config), get_labels(resolved), get_labels(record)) == ([], [], ["Label 0"])
        assert get_labels(
            set_navigation(api, platform, {"type": "space", "target": secret_space.id}, caller=operator)
        ) == ["Label 0"]

    def test_is_visible_to_keys_that_see_it_or_change_the_navigation(self, api, organization, platform, secret_space):
        set_navigation(api, platform, {"type": "space", "target": secret_space.id})
        visibility_by_scopes = {
            ("read",): False,
            ("platforms:read",): False,
            ("read", "spaces:read"): True,
            ("admin",): True,
        }
        for scopes, is_visible in visibility_by_scopes.items():
            key = create_api_key(api, organization, *scopes)
            assert get_labels(api.get(f"{platform.path}/config", caller=key).json) == (
                ["Label 0"] if is_visible else []
            )
        for scope in ("write", "platforms:write"):
            key = create_api_key(api, organization, scope)
            assert get_labels(api.get(platform.path, caller=key).json) == ["Label 0"]

    def test_is_hidden_at_once_when_it_becomes_private_or_is_renamed(self, api, platform, secret_space):
        owner = platform.owner
        set_navigation(api, platform, {"type": "url", "target": "/secret"}, {"type": "url", "target": "/open"})

        def list_labels() -> list[str]:
            return get_labels(api.get(f"{platform.path}/config").json)

        assert list_labels() == ["Label 1"]
        assert api.patch(secret_space.path, caller=owner, json={"slug": "open"}).status == 200
        assert list_labels() == []  # Its former slug still refers to it.
        assert api.patch(secret_space.path, caller=owner, json={"visibility": "open"}).status == 200
        assert list_labels() == ["Label 0", "Label 1"]
        assert (
            api.patch(secret_space.path, caller=owner, json={"visibility": "private", "slug": "secret"}).status == 200
        )
        assert list_labels() == []

    def test_deleted_or_unknown_spaces_are_omitted_and_other_targets_are_not(
        self, api, platform, secret_space, organization
    ):
        other_space = create_space(
            api, create_platform(api, organization, name="Mills"), name="Rooms", visibility="private"
        )
        set_navigation(
            api,
            platform,
            {"type": "space", "target": "secret"},
            {"type": "space", "target": "nowhere"},
            {"type": "space", "target": other_space.id},
            {"type": "space"},
            {"type": "page", "target": "/about"},
            {"type": "module", "target": "secret"},
            {"type": "url", "target": "https://a.example/secret"},
            {"type": "url", "target": "mailto:secret@example.com"},
        )
        api.delete(secret_space.path, caller=platform.owner)
        config = api.get(f"{platform.path}/config").json
        assert get_labels(config) == ["Label 3", "Label 4", "Label 5", "Label 6", "Label 7"]

    def test_takes_one_parallel_read_once_it_is_cached(self, api, platform):
        create_space(api, platform, slug="secret", visibility="private")
        set_navigation(api, platform, {"type": "space", "target": "secret"}, {"type": "page", "target": "/about"})
        first, second = (api.get(f"{platform.path}/config").calls.call_names for _ in range(2))
        assert sorted(second) == ["dynamodb:BatchGetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
        assert len(first) == 1 + len(second)


class TestDrafts:
    @pytest.mark.parametrize("is_published", [False, True])
    def test_a_draft_site_is_the_home_only_for_its_organization(
        self, api, organization, platform, stranger, mary, *, is_published
    ):
        add_platform_member(platform, stranger)
        site = create_site(api, organization, publish=is_published)
        body = {"siteId": site.id}
        assert api.patch(f"{platform.path}/home", caller=platform.owner, json=body).status == 200
        organization_callers: list[Caller] = [platform.owner, mary, create_api_key(api, organization, "read")]
        site_ids = [
            document["home"]["siteId"]
            for caller in organization_callers
            for document in get_documents(api, platform, caller)
        ]
        assert site_ids == [site.id] * 9
        public_documents = [*get_documents(api, platform, None), *get_documents(api, platform, stranger)]
        assert {document["home"]["siteId"] for document in public_documents} == {site.id if is_published else None}

    def test_draft_pages_are_in_the_navigation_only_for_the_organization(
        self, api, organization, platform, stranger, mary
    ):
        add_platform_member(platform, stranger)
        site, draft_site = create_site(api, organization), create_site(api, organization, publish=False, name="Hidden")
        pages = [
            create_published_page(api, site, "News"),
            create_draft_page(api, site, "Draft"),
            create_published_page(api, draft_site, "Hidden"),
        ]
        set_navigation(api, platform, *({"type": "page", "target": page.id} for page in pages))
        assert [get_labels(document) for document in get_documents(api, platform, mary)] == [
            ["Label 0", "Label 1", "Label 2"]
        ] * 3
        for document in [*get_documents(api, platform, None), *get_documents(api, platform, stranger)]:
            assert get_labels(document) == ["Label 0"]
        assert api.patch(site.path, caller=organization.owner, json={"status": "draft"}).status == 200
        assert get_labels(api.get(f"{platform.path}/config").json) == []


def test_a_disabled_project_block_is_visible_only_to_members(api, platform, mary):
    blocks = [{"projectBlockId": "off", "title": "Secret", "enabled": False}, {"projectBlockId": "on", "title": "Open"}]
    body = {"projectBlocks": blocks}
    assert api.patch(f"{platform.path}/project-blocks", caller=platform.owner, json=body).status == 200
    public_documents, member_documents = get_documents(api, platform, None), get_documents(api, platform, mary)[:2]
    assert [[block["title"] for block in document["projectBlocks"]] for document in public_documents] == [["Open"]] * 2
    assert [[block["title"] for block in document["projectBlocks"]] for document in member_documents] == [
        ["Secret", "Open"]
    ] * 2
