"""What the navigation and the home of a platform show of spaces, pages and sites that are not there for everybody."""

from typing import Any

import pytest

from tests.harness.api import Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.organizations import Founded, make_key
from tests.harness.platforms import Room, Running, make_space, run_platform, takes_part
from tests.harness.sites import make_site, page_of, write_page


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A published platform of Ada's organization."""
    return run_platform(api, organization, published=True)


@pytest.fixture
def secret(api: Api, platform: Running) -> Room:
    """A private space of it."""
    return make_space(api, platform, name="Secret", slug="secret", visibility="private")


def lead(api: Api, platform: Running, *items: Json, as_: Caller | None = None) -> Json:
    """Let the navigation consist of these items, and return the platform as who did that is answered."""
    body = {"items": [{"id": f"i{number}", "label": f"Label {number}", **item} for number, item in enumerate(items)]}
    answer = api.patch(f"{platform.path}/navigation", as_=as_ or platform.owner, json=body)
    assert answer.status == 200, answer.text
    return dict(answer.json)


def documents(api: Api, platform: Running, as_: Caller | None) -> list[Json]:
    """Return what a caller is answered where the navigation is told."""
    config = api.get(f"{platform.path}/config", as_=as_)
    resolved = api.post(f"{platform.path}/resolve-config", as_=as_, json={"path": "/secret", "spaceId": None})
    record = api.get(platform.path, as_=as_)
    return [answer.json for answer in (config, resolved, record) if answer.status == 200]


def labels(document: Any) -> list[str]:
    return [item["label"] for item in document["navigation"]["items"]]


class TestAPrivateSpace:
    def test_is_told_to_nobody_outside_however_it_is_named(
        self, api: Api, platform: Running, secret: Room, mary: Person, stranger: Person
    ) -> None:
        takes_part(platform, stranger)
        lead(
            api,
            platform,
            {"type": "space", "target": secret.id},
            {"type": "space", "target": "secret"},
            {"type": "space", "target": "/spaces/secret/events"},
            {"type": "page", "target": "/Secret"},
            {"type": "url", "target": "/spaces/secret?x=1"},
            {"type": "url", "target": "https://a.example/spaces/secret"},
            {"type": "page", "target": secret.id},
            {"type": "group", "target": "secret"},
            {"type": "group", "children": [{"id": "c", "label": "Below", "type": "space", "target": "secret"}]},
        )
        for caller in (None, stranger, mary):
            for document in documents(api, platform, caller):
                assert labels(document) == ["Label 8"]
                assert document["navigation"]["items"][0]["children"] == []
                assert secret.id not in str(document)

    def test_is_told_to_its_members_to_admins_and_to_those_who_change_the_navigation(
        self, api: Api, platform: Running, secret: Room, stranger: Person, operator: Person, grace: Person
    ) -> None:
        takes_part(platform, operator, "editor")
        takes_part(platform, stranger)
        takes_part_in_space = api.patch(
            f"{secret.path}/members/{stranger.id}", as_=platform.owner, json={"role": "member"}
        )
        assert takes_part_in_space.status == 200
        lead(api, platform, {"type": "space", "target": "secret"})
        for caller in (platform.owner, grace, stranger):
            assert [labels(document) for document in documents(api, platform, caller)] == [["Label 0"]] * 3
        config, resolved, record = documents(api, platform, operator)
        assert (labels(config), labels(resolved), labels(record)) == ([], [], ["Label 0"])
        assert labels(lead(api, platform, {"type": "space", "target": secret.id}, as_=operator)) == ["Label 0"]

    def test_is_told_to_keys_that_see_it_or_change_the_navigation(
        self, api: Api, organization: Founded, platform: Running, secret: Room
    ) -> None:
        lead(api, platform, {"type": "space", "target": secret.id})
        told_to = {("read",): False, ("platforms:read",): False, ("read", "spaces:read"): True, ("admin",): True}
        for scopes, told in told_to.items():
            key = make_key(api, organization, *scopes)
            assert labels(api.get(f"{platform.path}/config", as_=key).json) == (["Label 0"] if told else [])
        for scope in ("write", "platforms:write"):
            key = make_key(api, organization, scope)
            assert labels(api.get(platform.path, as_=key).json) == ["Label 0"]

    def test_is_hidden_from_the_moment_on_that_it_is_private_or_renamed(
        self, api: Api, platform: Running, secret: Room
    ) -> None:
        owner = platform.owner
        lead(api, platform, {"type": "url", "target": "/secret"}, {"type": "url", "target": "/open"})

        def told() -> list[str]:
            return labels(api.get(f"{platform.path}/config").json)

        assert told() == ["Label 1"]
        assert api.patch(secret.path, as_=owner, json={"slug": "open"}).status == 200
        assert told() == []  # Its former slug leads to it still.
        assert api.patch(secret.path, as_=owner, json={"visibility": "open"}).status == 200
        assert told() == ["Label 0", "Label 1"]
        assert api.patch(secret.path, as_=owner, json={"visibility": "private", "slug": "secret"}).status == 200
        assert told() == []

    def test_that_is_gone_or_was_never_there_is_no_target_but_other_paths_are(
        self, api: Api, platform: Running, secret: Room, organization: Founded
    ) -> None:
        other = make_space(api, run_platform(api, organization, name="Mills"), name="Rooms", visibility="private")
        lead(
            api,
            platform,
            {"type": "space", "target": "secret"},
            {"type": "space", "target": "nowhere"},
            {"type": "space", "target": other.id},
            {"type": "space"},
            {"type": "page", "target": "/about"},
            {"type": "module", "target": "secret"},
            {"type": "url", "target": "https://a.example/secret"},
            {"type": "url", "target": "mailto:secret@example.com"},
        )
        api.delete(secret.path, as_=platform.owner)
        config = api.get(f"{platform.path}/config").json
        assert labels(config) == ["Label 3", "Label 4", "Label 5", "Label 6", "Label 7"]

    def test_costs_a_read_beside_the_others_once_it_has_been_met(self, api: Api, platform: Running) -> None:
        make_space(api, platform, slug="secret", visibility="private")
        lead(api, platform, {"type": "space", "target": "secret"}, {"type": "page", "target": "/about"})
        first, again = (api.get(f"{platform.path}/config").calls.names for _ in range(2))
        assert sorted(again) == ["dynamodb:BatchGetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
        assert len(first) == 1 + len(again)


class TestADraft:
    @pytest.mark.parametrize("published", [False, True])
    def test_site_is_the_home_for_its_organization_only(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, mary: Person, *, published: bool
    ) -> None:
        takes_part(platform, stranger)
        site = make_site(api, organization, published=published)
        body = {"siteId": site.id}
        assert api.patch(f"{platform.path}/home", as_=platform.owner, json=body).status == 200
        inside: list[Caller] = [platform.owner, mary, make_key(api, organization, "read")]
        told = [each["home"]["siteId"] for caller in inside for each in documents(api, platform, caller)]
        assert told == [site.id] * 9
        outside = [*documents(api, platform, None), *documents(api, platform, stranger)]
        assert {each["home"]["siteId"] for each in outside} == {site.id if published else None}

    def test_page_is_in_the_navigation_for_its_organization_only(
        self, api: Api, organization: Founded, platform: Running, stranger: Person, mary: Person
    ) -> None:
        takes_part(platform, stranger)
        site, hidden = make_site(api, organization), make_site(api, organization, published=False, name="Hidden")
        pages = [page_of(api, site, "News"), write_page(api, site, "Draft"), page_of(api, hidden, "Hidden")]
        lead(api, platform, *({"type": "page", "target": page.id} for page in pages))
        assert [labels(each) for each in documents(api, platform, mary)] == [["Label 0", "Label 1", "Label 2"]] * 3
        for document in [*documents(api, platform, None), *documents(api, platform, stranger)]:
            assert labels(document) == ["Label 0"]
        assert api.patch(site.path, as_=organization.owner, json={"status": "draft"}).status == 200
        assert labels(api.get(f"{platform.path}/config").json) == []


def test_a_project_block_that_is_off_is_told_to_members_only(api: Api, platform: Running, mary: Person) -> None:
    blocks = [{"projectBlockId": "off", "title": "Secret", "enabled": False}, {"projectBlockId": "on", "title": "Open"}]
    body = {"projectBlocks": blocks}
    assert api.patch(f"{platform.path}/project-blocks", as_=platform.owner, json=body).status == 200
    to_all, to_mary = documents(api, platform, None), documents(api, platform, mary)[:2]
    assert [[block["title"] for block in each["projectBlocks"]] for each in to_all] == [["Open"]] * 2
    assert [[block["title"] for block in each["projectBlocks"]] for each in to_mary] == [["Secret", "Open"]] * 2
