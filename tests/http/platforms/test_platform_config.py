"""The config of a platform, as members and as anonymous callers see it, also for a host, a space and a locale."""

from typing import Any

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.domains import set_domain_state
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import PlatformClient, SpaceClient, add_platform_member, add_space_member

UNKNOWN_ID = "01939d3c-0000-7000-8000-0000000000ff"
HOSTS = {
    "customDomain": ["XN--BCHER-KVA.Example:443", "bücher.example.", "BÜCHER.example:8443"],
    "subdomain": ["engines.atrium.example", "Engines.Atrium.Example.:80", " engines.atrium.example "],
    None: [
        *("atrium.example", "x.engines.atrium.example", "engines.atrium.example/x", "engines", "engines.example"),
        *("[::1]:3000", "", ":443", "a:b:c", "⒈.example"),
    ],
}
BLOCKS: list[Json] = [
    {"projectBlockId": "off", "title": "Title of off", "enabled": False, "settings": {"key": "of off"}},
    {"projectBlockId": "on"},
]
MODULES: list[Json] = [
    {"moduleId": "events", "enabled": False, "settings": {"key": "of events"}},
    {"moduleId": "feed", "settings": {"key": "of feed"}},
]


@pytest.fixture
def platform(new_platform):
    """A published platform of Ada's organization, in which every part of the config has content."""
    platform = new_platform(publish=True)
    for part, body in (
        ("theme", {"mode": "dark"}),
        ("navigation", {"items": [{"id": "start", "label": "Start", "type": "url", "target": "/"}]}),
        ("home", {"layout": "wide"}),
        ("modules", {"modules": MODULES}),
        ("project-blocks", {"projectBlocks": BLOCKS}),
    ):
        assert platform.patch(f"/{part}", body).status == 200
    return platform


def get_config(platform: PlatformClient, caller: Caller | None = None) -> Json:
    return platform.get("/config", caller=caller).expect(200).json


class TestGetPlatformConfig:
    def test_the_config_has_all_parts_of_the_platform(self, platform, mary):
        document, record = get_config(platform, mary), platform.get(caller=mary).json
        parts = {part: record[part] for part in ("theme", "navigation", "home")}
        assert document | parts == document
        source = {"source": "platform", "inherited": True, "locked": False, "blockedBy": []}
        assert document["modules"][3] == {**MODULES[0], "name": "Events", "dependsOn": [], **source}
        assert document["projectBlocks"] == platform.get("/project-blocks", caller=mary).json["items"]

    def test_the_version_grows_with_every_change_of_the_config(self, platform):
        versions, etags = [0], [""]
        for path, body in (
            ("", {"name": "Mills"}),
            ("/theme", {"mode": "light"}),
            ("/modules", {"modules": [{"moduleId": "jobs", "enabled": False}]}),
            ("/modules", {"modules": [{"moduleId": "jobs", "enabled": None}]}),
            ("/project-blocks", {"projectBlocks": []}),
        ):
            assert platform.patch(path, body).status == 200
            response = platform.get("/config")
            versions.append(response.json["version"])
            etags.append(response.etag)
        set_domain_state(platform, "pending")
        versions.append(get_config(platform, platform.owner)["version"])
        assert versions == sorted(set(versions))
        assert len(set(etags)) == len(etags)


class TestPublicConfig:
    def test_the_public_config_omits_internal_fields(self, platform, mary):
        set_domain_state(platform, "verified")
        member_config, public_config = get_config(platform, mary), get_config(platform)
        assert public_config["customDomain"] == {"domain": "shop.example.com", "status": "verified"}
        settings = {module["moduleId"]: module["settings"] for module in public_config["modules"]}
        assert (settings["events"], settings["feed"]) == ({}, {"key": "of feed"})
        assert [block["projectBlockId"] for block in public_config["projectBlocks"]] == ["on"]
        unfiltered = [name for name in member_config if name not in ("customDomain", "modules", "projectBlocks")]
        assert {name: member_config[name] for name in unfiltered} == {name: public_config[name] for name in unfiltered}
        assert "of off" not in str(public_config)
        for status in ("pending", "failed", "lapsed"):
            set_domain_state(platform, status)
            assert get_config(platform)["customDomain"] is None

    def test_callers_without_a_membership_get_the_public_config(self, api, platform, stranger, operator):
        key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
        public = get_config(platform)
        assert [get_config(platform, caller) for caller in (stranger, operator, key)] == [public] * 3
        add_platform_member(platform, stranger)
        assert get_config(platform, stranger) != public

    def test_the_config_of_a_draft_is_not_found(self, api, platform, stranger, mary):
        platform.patch("/publish", {"published": False})
        missing = api.get(f"/platforms/{UNKNOWN_ID}/config").expect_problem("404 not_found")
        for caller in (None, stranger):
            assert platform.get("/config", caller=caller).comparable_problem == missing.comparable_problem
        assert get_config(platform, mary)["platform"]["status"] == "draft"

    def test_the_public_config_omits_a_private_home_space(self, platform, new_space, mary):
        space = new_space(platform)
        platform.patch("/home", {"spaceId": space.id})
        assert get_config(platform)["home"]["spaceId"] == space.id
        space.update(visibility="private")
        assert get_config(platform)["home"] == {**get_config(platform, mary)["home"], "spaceId": None}
        space.delete()
        assert get_config(platform)["home"]["spaceId"] is None


class TestCaching:
    def test_caches_may_store_the_public_config(self, platform, stranger, configure):
        response = platform.get("/config", caller=None)
        not_modified = platform.get("/config", caller=None, headers={"If-None-Match": response.etag})
        assert (not_modified.status, not_modified.text, not_modified.etag) == (304, "", response.etag)
        authenticated = platform.get("/config", caller=stranger)
        assert response.headers["Cache-Control"] == not_modified.headers["Cache-Control"] == "public, max-age=60"
        assert authenticated.headers["Cache-Control"] == "private, no-cache"
        assert response.headers["Vary"] == authenticated.headers["Vary"] == "Authorization, Prefer, Accept-Encoding"
        configure(cors_origins="https://app.example")
        response = platform.get("/config", caller=None, headers={"Origin": "https://app.example"})
        assert response.headers["Vary"] == "Authorization, Prefer, Accept-Encoding, Origin"

    def test_the_etag_of_the_public_config_does_not_match_the_members_config(self, platform, mary):
        public_etag = platform.get("/config", caller=None).etag
        assert platform.get("/config", caller=mary, headers={"If-None-Match": public_etag}).status == 200


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
    return request_config(platform, caller, **body).expect(200).json


def without(document: Json, *names: str) -> Json:
    return {key: value for key, value in document.items() if key not in names}


def get_feed(document: Json) -> Json:
    (feed,) = (module for module in document["modules"] if module["moduleId"] == "feed")
    return feed


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
        feed = get_feed(document)
        assert (feed["enabled"], feed["source"]) == (False, "space")
        assert feed["settings"] == {"key": "of feed", "of": "looms"}
        differing = ("modules", "version", "capabilities", "matched")
        assert without(document, *differing) == without(platform_document, *differing)
        assert document["version"] > platform_document["version"]
        feed = get_feed(resolve(platform, **body))
        assert (feed["enabled"], feed["settings"]) == (False, {}), "anonymous callers see no settings if it is disabled"

    def test_rejects_invalid_fields(self, platform):
        answer = request_config(platform, spaceId="looms", locale="en_GB", host=7, path=["looms"])
        errors = {"/spaceId": "malformed", "/locale": "malformed", "/host": "wrong_type", "/path": "wrong_type"}
        assert answer.errors == errors


class TestByPath:
    @pytest.mark.usefixtures("space")
    def test_matches_the_space_whose_slug_is_the_first_segment(self, platform):
        for path in ("/looms", "looms", "/looms/events/7", "/spaces/looms/events", "//looms//x", "/%6Cooms?x=1"):
            assert resolve(platform, path=path)["matched"]["space"]["slug"] == "looms", path
        document = resolve(platform)
        for path in ("", "/", "/spaces", "/spaces/", "/other/looms", "/looms-2", "/lo oms", "/#looms"):
            assert resolve(platform, path=path) == document, path

    def test_the_space_id_of_this_platform_takes_precedence(self, platform, other_platform, space, new_space):
        other = new_space(other_platform, name="Mills")
        assert resolve(platform, path="/mills")["matched"]["space"] is None
        assert request_config(platform, platform.owner, spaceId=other.id).status_and_code == "404 not_found"
        new_space(platform, name="Mills")
        matched = resolve(platform, spaceId=space.id, path="/mills")["matched"]
        assert (matched["space"]["id"], matched["space"]["by"]) == (space.id, "spaceId")


class TestByPrivateSpace:
    def test_is_indistinguishable_from_a_missing_one_without_access(self, api, platform, private_space, mary, stranger):
        foreign_key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
        for caller in (None, mary, stranger, foreign_key):
            assert resolve(platform, caller, path="/attic") == resolve(platform, caller, path="/nothing")
            hidden, missing = (request_config(platform, caller, spaceId=i) for i in (private_space.id, UNKNOWN_ID))
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
    @pytest.mark.parametrize(("match", "hosts"), HOSTS.items())
    def test_matches_the_host_in_any_notation_unless_it_is_an_unverified_domain(
        self, platform, configure, match, hosts
    ):
        configure(platforms_domain="atrium.example")
        set_domain_state(platform, "verified", "xn--bcher-kva.example")
        for host in hosts:
            assert resolve(platform, host=host)["matched"]["host"] == match, host
        set_domain_state(platform, "pending", "xn--bcher-kva.example")
        assert resolve(platform, host="xn--bcher-kva.example")["matched"]["host"] is None


class TestByLocale:
    def test_well_formed_locales_are_accepted_and_others_rejected(self, platform):
        tags = ("de", "en-GB", "zh-Hant-TW", "es-419", "sl-rozaj-biske-1994", "de-DE-u-co-phonebk", "en-x-engine")
        assert [resolve(platform, locale=tag)["matched"]["locale"] for tag in tags] == [*tags]
        for locale in ("", "e", "en_GB", "en-", "english-language-of-all", "12", "de-DE-u", "en GB"):
            assert request_config(platform, locale=locale).errors == {"/locale": "malformed"}, locale

    def test_the_default_is_the_locale_of_the_platform(self, new_platform, stranger):
        platform = new_platform(publish=True, defaultLocale="pt-BR")
        add_platform_member(platform, stranger)
        for body, locale in (({}, "pt-BR"), ({"locale": None}, "pt-BR"), ({"locale": "de"}, "de")):
            assert resolve(platform, stranger, **body)["matched"]["locale"] == locale
