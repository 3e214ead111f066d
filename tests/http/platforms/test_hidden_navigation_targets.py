"""Test that the navigation and home of a platform hide private spaces and draft pages and sites."""

from typing import Any

import pytest

from tests.harness.api import Json
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key
from tests.harness.platforms import PlatformClient, add_platform_member, add_space_member
from tests.harness.sites import create_draft_page, create_published_page, create_site


@pytest.fixture
def platform(new_platform):
    return new_platform(publish=True)


@pytest.fixture
def secret_space(platform, new_space):
    return new_space(platform, name="Secret", slug="secret", visibility="private")


def set_navigation(platform: PlatformClient, *items: Json, caller: Caller | None = None) -> Json:
    """Replace the items of the navigation, and return the platform as the caller sees it."""
    body = {"items": [{"id": f"i{n}", "label": f"Label {n}", **item} for n, item in enumerate(items)]}
    return platform.patch("/navigation", body, caller=caller or platform.owner).expect(200).json


def get_documents(platform: PlatformClient, caller: Caller | None) -> list[Json]:
    """Return the documents with the navigation that a caller can read."""
    config = platform.get("/config", caller=caller)
    resolved = platform.post("/resolve-config", {"path": "/secret", "spaceId": None}, caller=caller)
    record = platform.get(caller=caller)
    return [answer.json for answer in (config, resolved, record) if answer.status == 200]


def get_labels(document: Json) -> list[str]:
    return [item["label"] for item in document["navigation"]["items"]]


def list_labels(platform: PlatformClient, caller: Any = None) -> list[str]:
    return get_labels(platform.get("/config", caller=caller).json)


def to_space(target: str) -> Json:
    return {"type": "space", "target": target}


class TestPrivateSpace:
    def test_is_hidden_from_non_members_however_it_is_referenced(self, platform, secret_space, mary, stranger):
        add_platform_member(platform, stranger)
        set_navigation(
            platform,
            *(to_space(target) for target in (secret_space.id, "secret", "/spaces/secret/events")),
            *({"type": "page", "target": target} for target in ("/Secret", secret_space.id)),
            *({"type": "url", "target": f"{host}/spaces/secret?x=1"} for host in ("", "https://a.example")),
            {"type": "group", "target": "secret"},
            {"type": "group", "children": [{"id": "c", "label": "Below", **to_space("secret")}]},
        )
        for caller in (None, stranger, mary):
            for document in get_documents(platform, caller):
                assert get_labels(document) == ["Label 8"]
                assert document["navigation"]["items"][0]["children"] == []
                assert secret_space.id not in str(document)

    def test_is_visible_to_its_members_admins_and_editors_of_the_navigation(
        self, platform, secret_space, stranger, operator, grace
    ):
        add_platform_member(platform, operator, "editor")
        add_platform_member(platform, stranger)
        add_space_member(secret_space, stranger)
        set_navigation(platform, to_space("secret"))
        for caller in (platform.owner, grace, stranger):
            assert [get_labels(document) for document in get_documents(platform, caller)] == [["Label 0"]] * 3
        config, resolved, record = get_documents(platform, operator)
        assert (get_labels(config), get_labels(resolved), get_labels(record)) == ([], [], ["Label 0"])
        assert get_labels(set_navigation(platform, to_space(secret_space.id), caller=operator)) == ["Label 0"]

    def test_is_visible_to_keys_that_see_it_or_change_the_navigation(self, api, organization, platform, secret_space):
        set_navigation(platform, to_space(secret_space.id))
        labels = {("read",): [], ("platforms:read",): [], ("read", "spaces:read"): ["Label 0"], ("admin",): ["Label 0"]}
        keys = {scopes: create_api_key(api, organization, *scopes) for scopes in labels}
        assert {scopes: list_labels(platform, key) for scopes, key in keys.items()} == labels
        for scope in ("write", "platforms:write"):
            key = create_api_key(api, organization, scope)
            assert get_labels(platform.get(caller=key).json) == ["Label 0"]

    def test_is_hidden_at_once_when_it_becomes_private_or_is_renamed(self, platform, secret_space):
        set_navigation(platform, {"type": "url", "target": "/secret"}, {"type": "url", "target": "/open"})
        assert list_labels(platform) == ["Label 1"]
        secret_space.update(slug="open")
        assert list_labels(platform) == []  # Its former slug still refers to it.
        secret_space.update(visibility="open")
        assert list_labels(platform) == ["Label 0", "Label 1"]
        secret_space.update(visibility="private", slug="secret")
        assert list_labels(platform) == []

    def test_deleted_or_unknown_spaces_are_omitted_and_other_targets_are_not(
        self, platform, other_platform, secret_space, new_space
    ):
        others_space = new_space(other_platform, name="Rooms", visibility="private")
        set_navigation(
            platform,
            *(to_space(target) for target in ("secret", "nowhere", others_space.id)),
            {"type": "space"},
            {"type": "page", "target": "/about"},
            {"type": "module", "target": "secret"},
            *({"type": "url", "target": url} for url in ("https://a.example/secret", "mailto:secret@example.com")),
        )
        secret_space.delete()
        assert list_labels(platform) == ["Label 3", "Label 4", "Label 5", "Label 6", "Label 7"]

    @pytest.mark.usefixtures("secret_space")
    def test_takes_one_parallel_read_once_it_is_cached(self, platform):
        set_navigation(platform, to_space("secret"), {"type": "page", "target": "/about"})
        first, second = (platform.get("/config", caller=None).calls.call_names for _ in range(2))
        assert sorted(second) == ["dynamodb:BatchGetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
        assert len(first) == 1 + len(second)


class TestDrafts:
    @pytest.mark.parametrize("is_published", [False, True])
    def test_a_draft_site_is_the_home_only_for_its_organization(
        self, api, organization, platform, stranger, mary, *, is_published
    ):
        add_platform_member(platform, stranger)
        site = create_site(api, organization, publish=is_published)
        assert platform.patch("/home", {"siteId": site.id}).status == 200
        for caller in (platform.owner, mary, create_api_key(api, organization, "read")):
            assert [document["home"]["siteId"] for document in get_documents(platform, caller)] == [site.id] * 3
        public_documents = [*get_documents(platform, None), *get_documents(platform, stranger)]
        assert {document["home"]["siteId"] for document in public_documents} == {site.id if is_published else None}

    def test_draft_pages_are_listed_only_for_the_organization(self, api, organization, platform, stranger, mary):
        add_platform_member(platform, stranger)
        site, draft_site = create_site(api, organization), create_site(api, organization, publish=False, name="Hidden")
        published, draft = create_published_page(api, site, "News"), create_draft_page(api, site, "Draft")
        pages = [published, draft, create_published_page(api, draft_site, "Hidden")]
        set_navigation(platform, *({"type": "page", "target": page.id} for page in pages))
        labels = ["Label 0", "Label 1", "Label 2"]
        assert [get_labels(document) for document in get_documents(platform, mary)] == [labels] * 3
        for document in [*get_documents(platform, None), *get_documents(platform, stranger)]:
            assert get_labels(document) == labels[:1]
        assert api.patch(site.path, caller=organization.owner, json={"status": "draft"}).status == 200
        assert list_labels(platform) == []


def test_a_disabled_project_block_is_visible_only_to_members(platform, mary):
    blocks = [{"projectBlockId": "off", "title": "Secret", "enabled": False}, {"projectBlockId": "on", "title": "Open"}]
    assert platform.patch("/project-blocks", {"projectBlocks": blocks}).status == 200
    for caller, titles in ((None, ["Open"]), (mary, ["Secret", "Open"])):
        documents = get_documents(platform, caller)[:2]
        assert [[block["title"] for block in document["projectBlocks"]] for document in documents] == [titles] * 2
