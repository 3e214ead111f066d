"""The config of a platform, as its members and as anonymous callers see it."""

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import Json
from tests.harness.callers import Caller
from tests.harness.domains import get_custom_domain, set_domain_state
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.platforms import PlatformClient, add_platform_member

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
    response = platform.get("/config", caller=caller)
    assert response.status == 200, response.text
    return response.json


class TestGetPlatformConfig:
    def test_the_config_has_all_parts_of_the_platform(self, api, platform, mary):
        set_domain_state(platform, "verified")
        response, record = platform.get("/config", caller=mary), platform.get(caller=mary).json
        document, parts = response.json, ["theme", "navigation", "home"]
        assert list(document) == ["platform", *parts, "modules", "customDomain", "projectBlocks", "version"]
        assert {name: record[name] for name in document["platform"]} == document["platform"]
        assert "theme" not in document["platform"]
        assert [document[part] for part in parts] == [record[part] for part in parts]
        assert [module["moduleId"] for module in document["modules"]] == list(MODULE_CATALOGUE)
        source = {"source": "platform", "inherited": True, "locked": False, "blockedBy": []}
        assert document["modules"][3] == {**MODULES[0], "name": "Events", "dependsOn": [], **source}
        assert document["projectBlocks"] == platform.get("/project-blocks", caller=mary).json["items"]
        records = [
            {name: record[name] for name in ("purpose", "type", "name", "expected")}
            for record in get_custom_domain(api, platform)["records"]
        ]
        assert [record["purpose"] for record in records] == ["ownership", "routing"]
        expected = {"domain": "shop.example.com", "status": "verified", "verifiedAt": None, "records": records}
        assert document["customDomain"] == expected
        repeated = platform.get("/config", caller=mary)
        assert repeated.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"], "two round trips"

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
        missing = api.get("/platforms/01939d3c-0000-7000-8000-0000000000ff/config")
        assert missing.status_and_code == "404 not_found"
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
        assert response.headers["Vary"] == authenticated.headers["Vary"] == "Authorization"
        configure(cors_origins="https://app.example")
        response = platform.get("/config", caller=None, headers={"Origin": "https://app.example"})
        assert response.headers["Vary"] == "Authorization, Origin"

    def test_the_etag_of_the_public_config_does_not_match_the_members_config(self, platform, mary):
        public_etag = platform.get("/config", caller=None).etag
        assert platform.get("/config", caller=mary, headers={"If-None-Match": public_etag}).status == 200
