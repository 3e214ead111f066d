"""Test the resolved configuration of a platform for a host, a space and a locale."""

from typing import Any

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.domains import set_domain_state
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import PlatformClient, SpaceClient, add_platform_member, add_space_member

UNKNOWN_ID = "01939d3c-0000-7000-8000-0000000000ff"


@pytest.fixture
def platform(new_platform):
    """A published platform."""
    return new_platform(publish=True)


@pytest.fixture
def space(platform, new_space):
    """An open space of the platform, with a module override and a capability."""
    return add_override_and_capability(new_space(platform))


@pytest.fixture
def private_space(platform, new_space):
    """A private space of the same platform, with a module override and a capability."""
    return add_override_and_capability(new_space(platform, name="Attic", visibility="private"))


def add_override_and_capability(space: SpaceClient) -> SpaceClient:
    slug = space.record["slug"]
    override = {"moduleId": "feed", "enabled": False, "settings": {"of": slug}}
    assert space.post("/module-overrides", override).status == 201
    assert space.post("/capabilities", {"capabilityKey": f"{slug}-chat", "settings": {"most": 3}}).status == 201
    return space


def request_config(platform: PlatformClient, caller: Caller | None = None, **body: Any) -> ApiResponse:
    return platform.post("/resolve-config", body, caller=caller)


def resolve(platform: PlatformClient, caller: Caller | None = None, **body: Any) -> Json:
    answer = request_config(platform, caller, **body)
    assert answer.status == 200, answer.text
    return answer.json


def without(document: Json, *names: str) -> Json:
    return {key: value for key, value in document.items() if key not in names}


class TestResolvePlatformConfig:
    def test_an_empty_request_returns_the_plain_configuration(self, platform, mary):
        for caller in (mary, None):
            document = resolve(platform, caller)
            assert without(document, "capabilities", "matched") == platform.get("/config", caller=caller).json
            assert document["capabilities"] == []
            assert document["matched"] == {"host": None, "space": None, "locale": "en"}

    @pytest.mark.parametrize("matched_by", ["spaceId", "path"])
    def test_applies_overrides_and_capabilities_of_the_space(self, platform, space, mary, matched_by):
        body = {"spaceId": space.id} if matched_by == "spaceId" else {"path": "/looms"}
        document, platform_document = resolve(platform, mary, **body), resolve(platform, mary)
        assert document["matched"]["space"] == {"id": space.id, "slug": "looms", "name": "Looms", "by": matched_by}
        assert document["capabilities"] == [{"capabilityKey": "looms-chat", "settings": {"most": 3}}]
        effective_modules = space.get("/effective-modules", caller=mary).json["items"]
        fields = effective_modules[0]
        assert [{name: module[name] for name in fields} for module in document["modules"]] == effective_modules
        (feed,) = (module for module in document["modules"] if module["moduleId"] == "feed")
        assert (feed["enabled"], feed["source"], feed["settings"]) == (False, "space", {"of": "looms"})
        differing = ("modules", "version", "capabilities", "matched")
        assert without(document, *differing) == without(platform_document, *differing)
        assert document["version"] > platform_document["version"]
        anonymous_modules = resolve(platform, **body)["modules"]
        (feed,) = (module for module in anonymous_modules if module["moduleId"] == "feed")
        assert (feed["enabled"], feed["settings"]) == (False, {}), "anonymous callers see no settings if it is disabled"

    @pytest.mark.usefixtures("space")
    def test_makes_two_round_trips_and_changes_nothing(self, api, organization, platform, mary):
        log_before = list_entries(api, organization)
        resolve(platform, mary)
        first_call, *others = request_config(platform, mary, path="/looms").calls.call_names
        assert first_call == "dynamodb:BatchGetItem"
        assert sorted(others) == ["dynamodb:BatchGetItem", *["dynamodb:Query"] * 3]
        assert list_entries(api, organization) == log_before

    def test_only_members_see_an_unpublished_platform(self, platform, mary, stranger):
        platform.patch("/publish", {"published": False})
        for caller in (None, stranger):
            assert request_config(platform, caller).status_and_code == "404 not_found"
        assert request_config(platform, mary).status == 200

    def test_rejects_invalid_fields(self, platform):
        answer = request_config(platform, spaceId="looms", locale="en_GB", host=7, path=["looms"])
        errors = {"/spaceId": "malformed", "/locale": "malformed", "/host": "wrong_type", "/path": "wrong_type"}
        assert answer.errors == errors


class TestByPath:
    @pytest.mark.usefixtures("space")
    def test_matches_the_space_whose_slug_is_the_first_segment(self, platform):
        plain_paths = ("/looms", "looms", "/looms/", "/looms/events/7", "/spaces/looms", "/spaces/looms/events")
        for path in (*plain_paths, "//looms//x", "/LOOMS", "/%6Cooms?x=1", "/looms#top"):
            assert resolve(platform, path=path)["matched"]["space"]["slug"] == "looms", path
        document = resolve(platform)
        for path in ("", "/", "/spaces", "/spaces/", "/other/looms", "/looms-2", "/lo oms", "/#looms"):
            assert resolve(platform, path=path) == document, path

    def test_does_not_match_a_space_of_another_platform(self, platform, other_platform, new_space):
        other = new_space(other_platform, name="Mills")
        assert resolve(platform, path="/mills")["matched"]["space"] is None
        assert request_config(platform, platform.owner, spaceId=other.id).status_and_code == "404 not_found"

    def test_the_space_id_takes_precedence(self, platform, space, new_space):
        new_space(platform, name="Mills")
        matched = resolve(platform, spaceId=space.id, path="/mills")["matched"]
        assert (matched["space"]["id"], matched["space"]["by"]) == (space.id, "spaceId")


class TestPrivateSpace:
    def test_is_indistinguishable_from_a_missing_one_without_access(self, api, platform, private_space, mary, stranger):
        foreign_key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
        for caller in (None, mary, stranger, foreign_key):
            assert resolve(platform, caller, path="/attic") == resolve(platform, caller, path="/nothing")
            hidden, missing = (
                request_config(platform, caller, spaceId=each) for each in (private_space.id, UNKNOWN_ID)
            )
            assert hidden.comparable_problem == missing.comparable_problem
            assert hidden.status_and_code == "404 not_found"

    def test_is_visible_to_its_members_to_admins_and_to_keys_with_its_scope(
        self, api, organization, platform, private_space, ada, grace, mary
    ):
        keys = [create_api_key(api, organization, *scopes) for scopes in (["admin"], ["platforms:read", "spaces:read"])]
        add_space_member(private_space, mary)
        for caller in (ada, grace, mary, *keys):
            for body in ({"spaceId": private_space.id}, {"path": "/attic"}):
                document = resolve(platform, caller, **body)
                assert document["matched"]["space"]["id"] == private_space.id
                assert document["capabilities"][0]["capabilityKey"] == "attic-chat"
        assert api.post(f"{organization.path}/leave", caller=mary).status == 204
        for caller in (mary, create_api_key(api, organization, "platforms:read")):
            assert request_config(platform, caller, spaceId=private_space.id).status_and_code == "404 not_found"
            document = resolve(platform, caller, path="/attic")
            assert (document["matched"]["space"], document["capabilities"]) == (None, [])


class TestByHost:
    @pytest.mark.parametrize(
        ("match", "hosts"),
        [
            ("customDomain", ["xn--bcher-kva.example", "XN--BCHER-KVA.Example:443", "bücher.example."]),
            ("customDomain", ["BÜCHER.example:8443"]),
            ("subdomain", ["engines.atrium.example", "Engines.Atrium.Example.:80", " engines.atrium.example "]),
            (None, ["atrium.example", "x.engines.atrium.example", "engines.example", "engines", "[::1]:3000", ""]),
            (None, [":443", "a:b:c", "engines.atrium.example/x", "⒈.example"]),
        ],
    )
    def test_matches_the_host_in_any_notation(self, platform, configure, match, hosts):
        configure(platforms_domain="atrium.example")
        set_domain_state(platform, "verified", "xn--bcher-kva.example")
        for host in hosts:
            assert resolve(platform, host=host)["matched"]["host"] == match, host

    def test_does_not_match_an_unverified_domain(self, platform, mary):
        set_domain_state(platform, "pending")
        assert resolve(platform, mary, host="shop.example.com")["matched"]["host"] is None


class TestByLocale:
    def test_accepts_only_well_formed_locales(self, platform):
        tags = ("de", "en-GB", "zh-Hant-TW", "es-419", "sl-rozaj-biske-1994", "de-DE-u-co-phonebk", "en-x-engine")
        for locale in tags:
            assert resolve(platform, locale=locale)["matched"]["locale"] == locale
        for locale in ("", "e", "en_GB", "en-", "english-language-of-all", "12", "de-DE-u", "en GB"):
            assert request_config(platform, locale=locale).errors == {"/locale": "malformed"}, locale

    def test_defaults_to_the_locale_of_the_platform(self, new_platform):
        platform = new_platform(publish=True, defaultLocale="pt-BR")
        for body in ({}, {"locale": None}):
            assert resolve(platform, **body)["matched"]["locale"] == "pt-BR"

    def test_works_for_members_of_only_the_platform(self, platform, stranger):
        add_platform_member(platform, stranger)
        assert resolve(platform, stranger, locale="de")["matched"]["locale"] == "de"
