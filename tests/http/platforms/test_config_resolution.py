"""Test the resolved configuration of a platform for a host, a space and a locale."""

from typing import Any

import pytest

from tests.conftest import SettingsOverride
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Caller
from tests.harness.domains import set_domain_state
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import (
    CreatedPlatform,
    CreatedSpace,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
    publish_platform,
)

UNKNOWN_ID = "01939d3c-0000-7000-8000-0000000000ff"


@pytest.fixture
def space(api: ApiClient, organization: CreatedOrganization) -> CreatedSpace:
    """Return an open space of a published platform, with a module override and a capability."""
    return add_override_and_capability(api, create_space(api, create_platform(api, organization, publish=True)))


@pytest.fixture
def private_space(api: ApiClient, space: CreatedSpace) -> CreatedSpace:
    """Return a private space of the same platform, with a module override and a capability."""
    return add_override_and_capability(api, create_space(api, space.platform, name="Attic", visibility="private"))


@pytest.fixture
def platform(space: CreatedSpace) -> CreatedPlatform:
    """Return the platform of both spaces."""
    return space.platform


def add_override_and_capability(api: ApiClient, space: CreatedSpace) -> CreatedSpace:
    ada, slug = space.platform.owner, space.record["slug"]
    override = {"moduleId": "feed", "enabled": False, "settings": {"of": slug}}
    capability = {"capabilityKey": f"{slug}-chat", "settings": {"most": 3}}
    assert api.post(f"{space.path}/module-overrides", caller=ada, json=override).status == 201
    assert api.post(f"{space.path}/capabilities", caller=ada, json=capability).status == 201
    return space


def request_config(api: ApiClient, platform: CreatedPlatform, caller: Caller | None = None, **body: Any) -> ApiResponse:
    return api.post(f"{platform.path}/resolve-config", caller=caller, json=body)


def resolve(api: ApiClient, platform: CreatedPlatform, caller: Caller | None = None, **body: Any) -> Json:
    answer = request_config(api, platform, caller, **body)
    assert answer.status == 200, answer.text
    return answer.json


def without_matches(document: Json) -> Json:
    """Return a document without the fields that the plain configuration lacks."""
    return {key: value for key, value in document.items() if key not in ("capabilities", "matched")}


class TestResolvePlatformConfig:
    def test_an_empty_request_returns_the_plain_configuration(self, api, platform, mary):
        for caller in (mary, None):
            document = resolve(api, platform, caller)
            assert without_matches(document) == api.get(f"{platform.path}/config", caller=caller).json
            assert document["capabilities"] == []
            assert document["matched"] == {"host": None, "space": None, "locale": "en"}

    @pytest.mark.parametrize("matched_by", ["spaceId", "path"])
    def test_applies_overrides_and_capabilities_of_the_space(self, api, space, mary, matched_by):
        body = {"spaceId": space.id} if matched_by == "spaceId" else {"path": "/looms"}
        document, platform_document = resolve(api, space.platform, mary, **body), resolve(api, space.platform, mary)
        assert document["matched"]["space"] == {"id": space.id, "slug": "looms", "name": "Looms", "by": matched_by}
        assert document["capabilities"] == [{"capabilityKey": "looms-chat", "settings": {"most": 3}}]
        effective_modules = api.get(f"{space.path}/effective-modules", caller=mary).json["items"]
        assert [
            {field: module[field] for field in effective_modules[0]} for module in document["modules"]
        ] == effective_modules
        (feed,) = (module for module in document["modules"] if module["moduleId"] == "feed")
        assert (feed["enabled"], feed["source"], feed["settings"]) == (False, "space", {"of": "looms"})
        differing_fields = ("modules", "version", "capabilities", "matched")
        assert {key: value for key, value in document.items() if key not in differing_fields} == {
            key: value for key, value in platform_document.items() if key not in differing_fields
        }
        assert document["version"] > platform_document["version"]

    def test_hides_settings_of_disabled_modules_from_anonymous_callers(self, api, space):
        (feed,) = (
            module for module in resolve(api, space.platform, path="/looms")["modules"] if module["moduleId"] == "feed"
        )
        assert (feed["enabled"], feed["settings"]) == (False, {})

    def test_makes_two_round_trips_and_changes_nothing(self, api, organization, space, mary):
        log_before = list_entries(api, organization)
        resolve(api, space.platform, mary)
        answer = request_config(api, space.platform, mary, path="/looms")
        assert answer.calls.call_names[0] == "dynamodb:BatchGetItem"
        assert sorted(answer.calls.call_names[1:]) == ["dynamodb:BatchGetItem", *["dynamodb:Query"] * 3]
        assert list_entries(api, organization) == log_before

    def test_only_members_see_an_unpublished_platform(self, api, platform, mary, stranger):
        api.patch(f"{platform.path}/publish", caller=platform.owner, json={"published": False})
        assert [request_config(api, platform, caller).status_and_code for caller in (None, stranger)] == [
            "404 not_found"
        ] * 2
        assert request_config(api, platform, mary).status == 200

    def test_rejects_invalid_fields(self, api, platform):
        answer = request_config(api, platform, spaceId="looms", locale="en_GB", host=7, path=["looms"])
        assert answer.errors == {
            "/spaceId": "malformed",
            "/locale": "malformed",
            "/host": "wrong_type",
            "/path": "wrong_type",
        }


class TestByPath:
    @pytest.mark.parametrize(
        "path",
        [
            "/looms",
            "looms",
            "/looms/",
            "/looms/events/7",
            "/spaces/looms",
            "/spaces/looms/events",
            "//looms//x",
            "/LOOMS",
            "/%6Cooms?x=1",
            "/looms#top",
        ],
    )
    def test_matches_the_space_whose_slug_is_the_first_segment(self, api, platform, path):
        assert resolve(api, platform, path=path)["matched"]["space"]["slug"] == "looms"

    @pytest.mark.parametrize("path", ["", "/", "/spaces", "/spaces/", "/other/looms", "/looms-2", "/lo oms", "/#looms"])
    def test_a_path_without_a_space_is_valid(self, api, platform, path):
        assert resolve(api, platform, path=path) == resolve(api, platform)

    def test_does_not_match_a_space_of_another_platform(self, api, organization, platform):
        create_space(api, create_platform(api, organization, name="Other"), name="Mills")
        assert resolve(api, platform, path="/mills")["matched"]["space"] is None

    def test_the_space_id_takes_precedence(self, api, space):
        create_space(api, space.platform, name="Mills")
        matched = resolve(api, space.platform, spaceId=space.id, path="/mills")["matched"]
        assert (matched["space"]["id"], matched["space"]["by"]) == (space.id, "spaceId")


class TestPrivateSpace:
    def test_is_indistinguishable_from_a_missing_one_without_access(self, api, private_space, mary, stranger):
        platform = private_space.platform
        foreign_key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
        for caller in (None, mary, stranger, foreign_key):
            assert resolve(api, platform, caller, path="/attic") == resolve(api, platform, caller, path="/nothing")
            answer = request_config(api, platform, caller, spaceId=private_space.id)
            assert (
                answer.comparable_problem
                == request_config(api, platform, caller, spaceId=UNKNOWN_ID).comparable_problem
            )
            assert answer.status_and_code == "404 not_found"

    def test_is_visible_to_its_members_to_admins_and_to_keys_with_its_scope(
        self, api, organization, private_space, ada, grace, mary
    ):
        platform = private_space.platform
        keys = [create_api_key(api, organization, *scopes) for scopes in (["admin"], ["platforms:read", "spaces:read"])]
        add_space_member(private_space, mary)
        for caller in (ada, grace, mary, *keys):
            for body in ({"spaceId": private_space.id}, {"path": "/attic"}):
                document = resolve(api, platform, caller, **body)
                assert document["matched"]["space"]["id"] == private_space.id
                assert document["capabilities"][0]["capabilityKey"] == "attic-chat"
        key_without_scope = create_api_key(api, organization, "platforms:read")
        assert (
            request_config(api, platform, key_without_scope, spaceId=private_space.id).status_and_code
            == "404 not_found"
        )
        assert resolve(api, platform, key_without_scope, path="/attic")["matched"]["space"] is None

    def test_is_invisible_to_a_space_member_who_left_the_organization(self, api, organization, private_space, mary):
        add_space_member(private_space, mary)
        assert api.post(f"{organization.path}/leave", caller=mary).status == 204
        assert (
            request_config(api, private_space.platform, mary, spaceId=private_space.id).status_and_code
            == "404 not_found"
        )
        assert resolve(api, private_space.platform, mary, path="/attic")["capabilities"] == []

    def test_a_space_of_another_platform_is_not_found_even_for_an_admin(self, api, organization, platform, ada):
        other = create_space(api, create_platform(api, organization, name="Other"), name="Mills")
        assert request_config(api, platform, ada, spaceId=other.id).status_and_code == "404 not_found"


class TestByHost:
    @pytest.fixture
    def platform_with_domains(self, platform: CreatedPlatform, configure: SettingsOverride) -> CreatedPlatform:
        """Return the platform, reachable by a subdomain and a custom domain."""
        configure(platforms_domain="atrium.example")
        set_domain_state(platform, "verified", "xn--bcher-kva.example")
        return platform

    @pytest.mark.parametrize(
        ("host", "match"),
        [
            ("xn--bcher-kva.example", "customDomain"),
            ("XN--BCHER-KVA.Example:443", "customDomain"),
            ("bücher.example.", "customDomain"),
            ("BÜCHER.example:8443", "customDomain"),
            ("engines.atrium.example", "subdomain"),
            ("Engines.Atrium.Example.:80", "subdomain"),
            (" engines.atrium.example ", "subdomain"),
            ("atrium.example", None),
            ("x.engines.atrium.example", None),
            ("engines.example", None),
            ("engines", None),
            ("[::1]:3000", None),
            ("", None),
            (":443", None),
            ("a:b:c", None),
            ("engines.atrium.example/x", None),
            ("⒈.example", None),
        ],
    )
    def test_matches_the_host_in_any_notation(self, api, platform_with_domains, host, match):
        assert resolve(api, platform_with_domains, host=host)["matched"]["host"] == match

    def test_does_not_match_an_unverified_domain(self, api, platform, mary):
        set_domain_state(platform, "pending")
        assert resolve(api, platform, mary, host="shop.example.com")["matched"]["host"] is None


class TestByLocale:
    @pytest.mark.parametrize(
        "locale", ["de", "en-GB", "zh-Hant-TW", "es-419", "sl-rozaj-biske-1994", "de-DE-u-co-phonebk", "en-x-engine"]
    )
    def test_accepts_a_well_formed_locale(self, api, platform, locale):
        assert resolve(api, platform, locale=locale)["matched"]["locale"] == locale

    @pytest.mark.parametrize("locale", ["", "e", "en_GB", "en-", "english-language-of-all", "12", "de-DE-u", "en GB"])
    def test_rejects_a_malformed_locale(self, api, platform, locale):
        assert request_config(api, platform, locale=locale).errors == {"/locale": "malformed"}

    def test_defaults_to_the_locale_of_the_platform(self, api, organization):
        platform = publish_platform(api, create_platform(api, organization, defaultLocale="pt-BR"))
        for body in ({}, {"locale": None}):
            assert resolve(api, platform, **body)["matched"]["locale"] == "pt-BR"

    def test_works_for_members_of_only_the_platform(self, api, platform, stranger):
        add_platform_member(platform, stranger)
        assert resolve(api, platform, stranger, locale="de")["matched"]["locale"] == "de"
