"""The config of a platform at a host, in a space, in a language."""

from typing import Any

import pytest

from tests.conftest import Configure
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.domains import came_to
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Room, Running, comes_in, make_space, publish, run_platform, takes_part

NOTHING = "01939d3c-0000-7000-8000-0000000000ff"


@pytest.fixture
def space(api: Api, organization: Founded) -> Room:
    """An open space of a published platform, with an override and a capability."""
    return furnished(api, make_space(api, run_platform(api, organization, published=True)))


@pytest.fixture
def attic(api: Api, space: Room) -> Room:
    """A private space of the same platform, with the same."""
    return furnished(api, make_space(api, space.platform, name="Attic", visibility="private"))


@pytest.fixture
def platform(space: Room) -> Running:
    """The platform of both."""
    return space.platform


def furnished(api: Api, space: Room) -> Room:
    ada, slug = space.platform.owner, space.record["slug"]
    override = {"moduleId": "feed", "enabled": False, "settings": {"of": slug}}
    capability = {"capabilityKey": f"{slug}-chat", "settings": {"most": 3}}
    assert api.post(f"{space.path}/module-overrides", as_=ada, json=override).status == 201
    assert api.post(f"{space.path}/capabilities", as_=ada, json=capability).status == 201
    return space


def ask(api: Api, platform: Running, as_: Caller | None = None, **body: Any) -> Answer:
    return api.post(f"{platform.path}/resolve-config", as_=as_, json=body)


def resolved(api: Api, platform: Running, as_: Caller | None = None, **body: Any) -> Json:
    answer = ask(api, platform, as_, **body)
    assert answer.status == 200, answer.text
    return answer.json


def of_platform(document: Json) -> Json:
    """What the document has of the config itself."""
    return {name: value for name, value in document.items() if name not in ("capabilities", "matched")}


class TestResolvePlatformConfig:
    def test_of_nothing_it_is_the_config_itself(self, api: Api, platform: Running, mary: Person) -> None:
        for caller in (mary, None):
            document = resolved(api, platform, caller)
            assert of_platform(document) == api.get(f"{platform.path}/config", as_=caller).json
            assert document["capabilities"] == []
            assert document["matched"] == {"host": None, "space": None, "locale": "en"}

    @pytest.mark.parametrize("by", ["spaceId", "path"])
    def test_in_a_space_its_overrides_and_capabilities_are_applied(
        self, api: Api, space: Room, mary: Person, by: str
    ) -> None:
        body = {"spaceId": space.id} if by == "spaceId" else {"path": "/looms"}
        document, plain = resolved(api, space.platform, mary, **body), resolved(api, space.platform, mary)
        assert document["matched"]["space"] == {"id": space.id, "slug": "looms", "name": "Looms", "by": by}
        assert document["capabilities"] == [{"capabilityKey": "looms-chat", "settings": {"most": 3}}]
        listed = api.get(f"{space.path}/effective-modules", as_=mary).json["items"]
        assert [{name: m[name] for name in listed[0]} for m in document["modules"]] == listed
        (feed,) = (module for module in document["modules"] if module["moduleId"] == "feed")
        assert (feed["enabled"], feed["source"], feed["settings"]) == (False, "space", {"of": "looms"})
        changed = ("modules", "version", "capabilities", "matched")
        assert {n: v for n, v in document.items() if n not in changed} == {
            n: v for n, v in plain.items() if n not in changed
        }
        assert document["version"] > plain["version"]

    def test_the_public_is_shown_no_settings_of_what_the_space_has_switched_off(self, api: Api, space: Room) -> None:
        (feed,) = (m for m in resolved(api, space.platform, path="/looms")["modules"] if m["moduleId"] == "feed")
        assert (feed["enabled"], feed["settings"]) == (False, {})

    def test_it_takes_two_round_trips_and_changes_nothing(
        self, api: Api, organization: Founded, space: Room, mary: Person
    ) -> None:
        log = log_of(api, organization)
        resolved(api, space.platform, mary)
        answer = ask(api, space.platform, mary, path="/looms")
        assert answer.calls.names[0] == "dynamodb:BatchGetItem"
        assert sorted(answer.calls.names[1:]) == ["dynamodb:BatchGetItem", *["dynamodb:Query"] * 3]
        assert log_of(api, organization) == log

    def test_a_draft_is_there_for_its_members_only(
        self, api: Api, platform: Running, mary: Person, stranger: Person
    ) -> None:
        api.patch(f"{platform.path}/publish", as_=platform.owner, json={"published": False})
        assert [ask(api, platform, caller).code for caller in (None, stranger)] == ["404 not_found"] * 2
        assert ask(api, platform, mary).status == 200

    def test_what_is_wrong_is_told(self, api: Api, platform: Running) -> None:
        answer = ask(api, platform, spaceId="looms", locale="en_GB", host=7, path=["looms"])
        assert answer.faults == {
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
    def test_it_names_the_space_whose_slug_it_begins_with(self, api: Api, platform: Running, path: str) -> None:
        assert resolved(api, platform, path=path)["matched"]["space"]["slug"] == "looms"

    @pytest.mark.parametrize("path", ["", "/", "/spaces", "/spaces/", "/other/looms", "/looms-2", "/lo oms", "/#looms"])
    def test_one_that_names_none_is_no_fault(self, api: Api, platform: Running, path: str) -> None:
        assert resolved(api, platform, path=path) == resolved(api, platform)

    def test_a_space_of_another_platform_is_none(self, api: Api, organization: Founded, platform: Running) -> None:
        make_space(api, run_platform(api, organization, name="Other"), name="Mills")
        assert resolved(api, platform, path="/mills")["matched"]["space"] is None

    def test_the_space_that_is_named_by_its_id_comes_first(self, api: Api, space: Room) -> None:
        make_space(api, space.platform, name="Mills")
        matched = resolved(api, space.platform, spaceId=space.id, path="/mills")["matched"]
        assert (matched["space"]["id"], matched["space"]["by"]) == (space.id, "spaceId")


class TestAPrivateSpace:
    def test_is_as_if_it_were_not_there_for_whoever_does_not_see_it(
        self, api: Api, attic: Room, mary: Person, stranger: Person
    ) -> None:
        platform = attic.platform
        foreign_key = make_key(api, found(api, stranger, name="Rivals"), "admin")
        for caller in (None, mary, stranger, foreign_key):
            assert resolved(api, platform, caller, path="/attic") == resolved(api, platform, caller, path="/nothing")
            refused = ask(api, platform, caller, spaceId=attic.id)
            assert refused.refusal == ask(api, platform, caller, spaceId=NOTHING).refusal
            assert refused.code == "404 not_found"

    def test_is_there_for_its_members_for_admins_and_for_keys_that_see_it(
        self, api: Api, organization: Founded, attic: Room, ada: Person, grace: Person, mary: Person
    ) -> None:
        platform = attic.platform
        keys = [make_key(api, organization, *scopes) for scopes in (["admin"], ["platforms:read", "spaces:read"])]
        comes_in(attic, mary)
        for caller in (ada, grace, mary, *keys):
            for body in ({"spaceId": attic.id}, {"path": "/attic"}):
                document = resolved(api, platform, caller, **body)
                assert document["matched"]["space"]["id"] == attic.id
                assert document["capabilities"][0]["capabilityKey"] == "attic-chat"
        blind = make_key(api, organization, "platforms:read")
        assert ask(api, platform, blind, spaceId=attic.id).code == "404 not_found"
        assert resolved(api, platform, blind, path="/attic")["matched"]["space"] is None

    def test_is_there_for_a_member_of_it_alone_as_long_as_they_belong_to_the_organization(
        self, api: Api, organization: Founded, attic: Room, mary: Person
    ) -> None:
        comes_in(attic, mary)
        assert api.post(f"{organization.path}/leave", as_=mary).status == 204
        assert ask(api, attic.platform, mary, spaceId=attic.id).code == "404 not_found"
        assert resolved(api, attic.platform, mary, path="/attic")["capabilities"] == []

    def test_of_another_platform_is_not_found_even_for_its_admin(
        self, api: Api, organization: Founded, platform: Running, ada: Person
    ) -> None:
        other = make_space(api, run_platform(api, organization, name="Other"), name="Mills")
        assert ask(api, platform, ada, spaceId=other.id).code == "404 not_found"


class TestByHost:
    @pytest.fixture
    def named(self, platform: Running, configure: Configure) -> Running:
        """The platform, with its names."""
        configure(platforms_domain="atrium.example")
        came_to(platform, "verified", "xn--bcher-kva.example")
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
    def test_it_is_matched_whatever_its_form(self, api: Api, named: Running, host: str, match: str | None) -> None:
        assert resolved(api, named, host=host)["matched"]["host"] == match

    def test_a_domain_that_is_not_verified_is_none(self, api: Api, platform: Running, mary: Person) -> None:
        came_to(platform, "pending")
        assert resolved(api, platform, mary, host="shop.example.com")["matched"]["host"] is None


class TestByLocale:
    @pytest.mark.parametrize(
        "locale", ["de", "en-GB", "zh-Hant-TW", "es-419", "sl-rozaj-biske-1994", "de-DE-u-co-phonebk", "en-x-engine"]
    )
    def test_one_that_is_well_formed_is_taken(self, api: Api, platform: Running, locale: str) -> None:
        assert resolved(api, platform, locale=locale)["matched"]["locale"] == locale

    @pytest.mark.parametrize("locale", ["", "e", "en_GB", "en-", "english-language-of-all", "12", "de-DE-u", "en GB"])
    def test_one_that_is_not_is_refused(self, api: Api, platform: Running, locale: str) -> None:
        assert ask(api, platform, locale=locale).faults == {"/locale": "malformed"}

    def test_without_one_it_is_the_platforms(self, api: Api, organization: Founded) -> None:
        platform = publish(api, run_platform(api, organization, defaultLocale="pt-BR"))
        for body in ({}, {"locale": None}):
            assert resolved(api, platform, **body)["matched"]["locale"] == "pt-BR"

    def test_members_of_the_platform_alone_are_asked_nothing_else(
        self, api: Api, platform: Running, stranger: Person
    ) -> None:
        takes_part(platform, stranger)
        assert resolved(api, platform, stranger, locale="de")["matched"]["locale"] == "de"
