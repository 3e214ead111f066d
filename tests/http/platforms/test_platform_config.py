"""The config of a platform, as its members and as anonymous callers see it."""

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Caller
from tests.harness.domains import get_custom_domain, set_domain_state
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import (
    CreatedPlatform,
    add_platform_member,
    create_platform,
    create_space,
    publish_platform,
)


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """A published platform of Ada's organization, in which every part of the config has content."""
    platform = create_platform(api, organization, publish=True)
    bodies: Json = {
        "theme": {"mode": "dark"},
        "navigation": {"items": [{"id": "start", "label": "Start", "type": "url", "target": "/"}]},
        "home": {"layout": "wide"},
        "modules": {
            "modules": [
                {"moduleId": "events", "enabled": False, "settings": {"key": "of events"}},
                {"moduleId": "feed", "settings": {"key": "of feed"}},
            ]
        },
        "project-blocks": {
            "projectBlocks": [
                {"projectBlockId": "off", "title": "Title of off", "enabled": False, "settings": {"key": "of off"}},
                {"projectBlockId": "on"},
            ]
        },
    }
    for part, body in bodies.items():
        assert api.patch(f"{platform.path}/{part}", caller=organization.owner, json=body).status == 200
    return platform


def get_config(api: ApiClient, platform: CreatedPlatform, caller: Caller | None = None) -> Json:
    response = api.get(f"{platform.path}/config", caller=caller)
    assert response.status == 200, response.text
    return response.json


class TestGetPlatformConfig:
    def test_the_config_has_all_parts_of_the_platform(self, api, platform, mary):
        set_domain_state(platform, "verified")
        document, record = get_config(api, platform, mary), api.get(platform.path, caller=mary).json
        assert list(document) == [
            "platform",
            "theme",
            "navigation",
            "home",
            "modules",
            "customDomain",
            "projectBlocks",
            "version",
        ]
        assert {name: record[name] for name in document["platform"]} == document["platform"]
        assert "theme" not in document["platform"]
        assert [document[part] for part in ("theme", "navigation", "home")] == [
            record[part] for part in ("theme", "navigation", "home")
        ]
        assert [module["moduleId"] for module in document["modules"]] == list(MODULE_CATALOGUE)
        assert document["modules"][3] == {
            "moduleId": "events",
            "enabled": False,
            "source": "platform",
            "inherited": True,
            "locked": False,
            "settings": {"key": "of events"},
            "blockedBy": [],
            "name": "Events",
            "dependsOn": [],
        }
        assert document["projectBlocks"] == api.get(f"{platform.path}/project-blocks", caller=mary).json["items"]
        records = [
            {name: record[name] for name in ("purpose", "type", "name", "expected")}
            for record in get_custom_domain(api, platform)["records"]
        ]
        assert [record["purpose"] for record in records] == ["ownership", "routing"]
        assert document["customDomain"] == {
            "domain": "shop.example.com",
            "status": "verified",
            "verifiedAt": None,
            "records": records,
        }

    def test_the_config_takes_two_round_trips(self, api, platform, mary):
        api.get(platform.path, caller=mary)
        response = api.get(f"{platform.path}/config", caller=mary)
        assert response.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"]

    def test_the_version_grows_with_every_change_of_the_config(self, api, platform, organization):
        ada, versions, etags = organization.owner, [0], [""]
        changes: list[tuple[str, Json]] = [
            ("", {"name": "Mills"}),
            ("/theme", {"mode": "light"}),
            ("/modules", {"modules": [{"moduleId": "jobs", "enabled": False}]}),
            ("/modules", {"modules": [{"moduleId": "jobs", "enabled": None}]}),
            ("/project-blocks", {"projectBlocks": []}),
        ]
        for path, body in changes:
            assert api.patch(f"{platform.path}{path}", caller=ada, json=body).status == 200
            response = api.get(f"{platform.path}/config", caller=ada)
            versions.append(response.json["version"])
            etags.append(response.etag)
        set_domain_state(platform, "pending")
        versions.append(get_config(api, platform, ada)["version"])
        assert versions == sorted(set(versions))
        assert len(set(etags)) == len(etags)


class TestPublicConfig:
    def test_the_public_config_omits_internal_fields(self, api, platform, mary):
        set_domain_state(platform, "verified")
        member_config, public_config = get_config(api, platform, mary), get_config(api, platform)
        assert public_config["customDomain"] == {"domain": "shop.example.com", "status": "verified"}
        settings = {module["moduleId"]: module["settings"] for module in public_config["modules"]}
        assert (settings["events"], settings["feed"]) == ({}, {"key": "of feed"})
        assert [block["projectBlockId"] for block in public_config["projectBlocks"]] == ["on"]
        unfiltered = [name for name in member_config if name not in ("customDomain", "modules", "projectBlocks")]
        assert {name: member_config[name] for name in unfiltered} == {name: public_config[name] for name in unfiltered}
        assert "of off" not in str(public_config)

    @pytest.mark.parametrize("status", ["pending", "failed", "lapsed"])
    def test_the_public_config_omits_an_unverified_domain(self, api, platform, status):
        set_domain_state(platform, status)
        assert get_config(api, platform)["customDomain"] is None

    def test_callers_without_a_membership_get_the_public_config(self, api, platform, stranger, operator):
        key = create_api_key(api, create_organization(api, stranger, name="Rivals"), "admin")
        public = get_config(api, platform)
        assert [get_config(api, platform, caller) for caller in (stranger, operator, key)] == [public] * 3
        add_platform_member(platform, stranger)
        assert get_config(api, platform, stranger) != public

    def test_the_config_of_a_draft_is_not_found(self, api, platform, stranger, mary):
        api.patch(f"{platform.path}/publish", caller=platform.owner, json={"published": False})
        rejected = [api.get(f"{platform.path}/config", caller=caller) for caller in (None, stranger)]
        missing = api.get("/platforms/01939d3c-0000-7000-8000-0000000000ff/config")
        assert [response.comparable_problem for response in rejected] == [missing.comparable_problem] * 2
        assert missing.status_and_code == "404 not_found"
        assert get_config(api, platform, mary)["platform"]["status"] == "draft"

    def test_the_public_config_omits_a_private_home_space(self, api, platform, organization, mary):
        space = create_space(api, platform)
        api.patch(f"{platform.path}/home", caller=organization.owner, json={"spaceId": space.id})
        assert get_config(api, platform)["home"]["spaceId"] == space.id
        api.patch(space.path, caller=organization.owner, json={"visibility": "private"})
        assert get_config(api, platform)["home"] == {**get_config(api, platform, mary)["home"], "spaceId": None}
        api.delete(space.path, caller=organization.owner)
        assert get_config(api, platform)["home"]["spaceId"] is None


class TestCaching:
    def test_caches_may_store_the_public_config(self, api, platform, stranger):
        response = api.get(f"{platform.path}/config")
        assert response.headers["Cache-Control"] == "public, max-age=60"
        assert response.headers["Vary"] == "Authorization"
        not_modified = api.get(f"{platform.path}/config", headers={"If-None-Match": response.etag})
        assert (not_modified.status, not_modified.text, not_modified.etag) == (304, "", response.etag)
        assert not_modified.headers["Cache-Control"] == "public, max-age=60"
        authenticated = api.get(f"{platform.path}/config", caller=stranger)
        assert authenticated.headers["Cache-Control"] == "private, no-cache"
        assert authenticated.headers["Vary"] == "Authorization"

    def test_vary_lists_authorization_and_origin(self, api, platform, configure):
        configure(cors_origins="https://app.example")
        response = api.get(f"{platform.path}/config", headers={"Origin": "https://app.example"})
        assert response.headers["Vary"] == "Authorization, Origin"

    def test_the_etag_of_the_public_config_does_not_match_the_members_config(self, api, platform, mary):
        publish_platform(api, platform)
        public_etag = api.get(f"{platform.path}/config").etag
        assert api.get(f"{platform.path}/config", caller=mary, headers={"If-None-Match": public_etag}).status == 200
