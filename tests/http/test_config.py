"""The config of a platform: what its members get, and what the public does."""

import pytest

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.conftest import Configure
from tests.harness.api import Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.domains import came_to, shown
from tests.harness.organizations import Founded, found, make_key
from tests.harness.platforms import Running, make_space, publish, run_platform, takes_part


@pytest.fixture
def platform(api: Api, organization: Founded) -> Running:
    """A published platform of Ada's organization, with something of everything."""
    platform = run_platform(api, organization, published=True)
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
        assert api.patch(f"{platform.path}/{part}", as_=organization.owner, json=body).status == 200
    return platform


def config(api: Api, platform: Running, as_: Caller | None = None) -> Json:
    answer = api.get(f"{platform.path}/config", as_=as_)
    assert answer.status == 200, answer.text
    return answer.json


class TestGetPlatformConfig:
    def test_is_all_of_a_platform_in_one_document(self, api: Api, platform: Running, mary: Person) -> None:
        came_to(platform, "verified")
        told, record = config(api, platform, mary), api.get(platform.path, as_=mary).json
        assert list(told) == [
            "platform",
            "theme",
            "navigation",
            "home",
            "modules",
            "customDomain",
            "projectBlocks",
            "version",
        ]
        assert {name: record[name] for name in told["platform"]} == told["platform"]
        assert "theme" not in told["platform"]
        assert [told[part] for part in ("theme", "navigation", "home")] == [
            record[part] for part in ("theme", "navigation", "home")
        ]
        assert [module["moduleId"] for module in told["modules"]] == list(MODULE_CATALOGUE)
        assert told["modules"][3] == {
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
        assert told["projectBlocks"] == api.get(f"{platform.path}/project-blocks", as_=mary).json["items"]
        records = [
            {name: record[name] for name in ("purpose", "type", "name", "expected")}
            for record in shown(api, platform)["records"]
        ]
        assert [record["purpose"] for record in records] == ["ownership", "routing"]
        assert told["customDomain"] == {
            "domain": "shop.example.com",
            "status": "verified",
            "verifiedAt": None,
            "records": records,
        }

    def test_takes_two_round_trips(self, api: Api, platform: Running, mary: Person) -> None:
        api.get(platform.path, as_=mary)
        answer = api.get(f"{platform.path}/config", as_=mary)
        assert answer.calls.names == ["dynamodb:BatchGetItem", "dynamodb:Query"]

    def test_its_version_grows_with_every_change_of_what_it_tells(
        self, api: Api, platform: Running, organization: Founded
    ) -> None:
        ada, versions, tags = organization.owner, [0], [""]
        changes: list[tuple[str, Json]] = [
            ("", {"name": "Mills"}),
            ("/theme", {"mode": "light"}),
            ("/modules", {"modules": [{"moduleId": "jobs", "enabled": False}]}),
            ("/modules", {"modules": [{"moduleId": "jobs", "enabled": None}]}),
            ("/project-blocks", {"projectBlocks": []}),
        ]
        for path, body in changes:
            assert api.patch(f"{platform.path}{path}", as_=ada, json=body).status == 200
            answer = api.get(f"{platform.path}/config", as_=ada)
            versions.append(answer.json["version"])
            tags.append(answer.etag)
        came_to(platform, "pending")
        versions.append(config(api, platform, ada)["version"])
        assert versions == sorted(set(versions))
        assert len(set(tags)) == len(tags)


class TestThePublic:
    def test_sees_a_published_platform_without_what_is_not_for_it(
        self, api: Api, platform: Running, mary: Person
    ) -> None:
        came_to(platform, "verified")
        inside, outside = config(api, platform, mary), config(api, platform)
        assert outside["customDomain"] == {"domain": "shop.example.com", "status": "verified"}
        settings = {module["moduleId"]: module["settings"] for module in outside["modules"]}
        assert (settings["events"], settings["feed"]) == ({}, {"key": "of feed"})
        assert [block["projectBlockId"] for block in outside["projectBlocks"]] == ["on"]
        same = [name for name in inside if name not in ("customDomain", "modules", "projectBlocks")]
        assert {name: inside[name] for name in same} == {name: outside[name] for name in same}
        assert "of off" not in str(outside)

    @pytest.mark.parametrize("status", ["pending", "failed", "lapsed"])
    def test_sees_no_domain_that_is_not_verified(self, api: Api, platform: Running, status: str) -> None:
        came_to(platform, status)
        assert config(api, platform)["customDomain"] is None

    def test_is_everybody_who_has_no_part_in_it(
        self, api: Api, platform: Running, stranger: Person, operator: Person
    ) -> None:
        key = make_key(api, found(api, stranger, name="Rivals"), "admin")
        public = config(api, platform)
        assert [config(api, platform, caller) for caller in (stranger, operator, key)] == [public] * 3
        takes_part(platform, stranger)
        assert config(api, platform, stranger) != public

    def test_sees_nothing_of_a_draft(self, api: Api, platform: Running, stranger: Person, mary: Person) -> None:
        api.patch(f"{platform.path}/publish", as_=platform.owner, json={"published": False})
        refused = [api.get(f"{platform.path}/config", as_=caller) for caller in (None, stranger)]
        missing = api.get("/platforms/01939d3c-0000-7000-8000-0000000000ff/config")
        assert [answer.refusal for answer in refused] == [missing.refusal] * 2
        assert missing.code == "404 not_found"
        assert config(api, platform, mary)["platform"]["status"] == "draft"

    def test_is_not_told_of_a_private_space_that_is_the_home(
        self, api: Api, platform: Running, organization: Founded, mary: Person
    ) -> None:
        space = make_space(api, platform)
        api.patch(f"{platform.path}/home", as_=organization.owner, json={"spaceId": space.id})
        assert config(api, platform)["home"]["spaceId"] == space.id
        api.patch(space.path, as_=organization.owner, json={"visibility": "private"})
        assert config(api, platform)["home"] == {**config(api, platform, mary)["home"], "spaceId": None}
        api.delete(space.path, as_=organization.owner)
        assert config(api, platform)["home"]["spaceId"] is None


class TestCaching:
    def test_caches_may_keep_what_the_public_sees(self, api: Api, platform: Running, stranger: Person) -> None:
        answer = api.get(f"{platform.path}/config")
        assert answer.headers["Cache-Control"] == "public, max-age=60"
        assert answer.headers["Vary"] == "Authorization"
        again = api.get(f"{platform.path}/config", headers={"If-None-Match": answer.etag})
        assert (again.status, again.text, again.etag) == (304, "", answer.etag)
        assert again.headers["Cache-Control"] == "public, max-age=60"
        known = api.get(f"{platform.path}/config", as_=stranger)
        assert known.headers["Cache-Control"] == "private, no-cache"
        assert known.headers["Vary"] == "Authorization"

    def test_what_it_varies_by_stands_beside_the_origin(
        self, api: Api, platform: Running, configure: Configure
    ) -> None:
        configure(cors_origins="https://app.example")
        answer = api.get(f"{platform.path}/config", headers={"Origin": "https://app.example"})
        assert answer.headers["Vary"] == "Authorization, Origin"

    def test_another_caller_with_another_document_gets_it(self, api: Api, platform: Running, mary: Person) -> None:
        publish(api, platform)
        seen = api.get(f"{platform.path}/config").etag
        assert api.get(f"{platform.path}/config", as_=mary, headers={"If-None-Match": seen}).status == 200
