"""Test that the list of platforms reads only what it shows, whatever the size of its records."""

from time import process_time
from typing import Any

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.stored_records import new_id_and_time_fields

BLOCK = {"id": "welcome", "type": "hero", "settings": {f"n{n}": [n, n, n, {"deep": True}] for n in range(1300)}}
LARGE_HOME: dict[str, Any] = {"layout": None, "blocks": [BLOCK], "space_id": None, "site_id": None}
EMPTY_HOME: dict[str, Any] = {"layout": None, "blocks": [], "space_id": None, "site_id": None}


def store_platforms(organization: CreatedOrganization, home: dict[str, Any]) -> list[Platform]:
    """Store 25 platforms with the given home."""
    timestamps = [after(now(), seconds=n - 100) for n in range(25)]
    platforms = [
        Platform(
            **new_id_and_time_fields(timestamp), organization_id=organization.id, name=f"P{n}", slug=f"p-{n}", home=home
        )
        for n, timestamp in enumerate(timestamps)
    ]
    for platform in platforms:
        memory_aws.put_item(platform.item())
    return platforms


def list_platforms_timed(api: ApiClient, person: Person) -> tuple[ApiResponse, float]:
    """Return the list of platforms, and the shortest CPU time of three requests in seconds."""
    durations_seconds = []
    for _ in range(3):
        started_at = process_time()
        answer = api.get("/platforms", caller=person)
        durations_seconds.append(process_time() - started_at)
    return answer, min(durations_seconds)


@pytest.fixture
def platform_in_former_schema(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """Return a platform in the stored form of the former schema version."""
    platform = create_platform(api, organization)
    item = memory_aws.get_item(f"P#{platform.id}", "#") or {}
    former_item = {name: value for name, value in item.items() if name != "shape"}
    theme: dict[str, Any] = {
        "mode": None,
        "colors": {},
        "fonts": {},
        "logo_url": None,
        "favicon_url": None,
        "tokens": {},
    }
    memory_aws.put_item({**former_item, "home": LARGE_HOME, "theme": theme, "navigation": {"items": []}})
    return platform


class TestPlatformList:
    def test_neither_reads_nor_decodes_home_pages(self, api, organization, mary):
        store_platforms(organization, EMPTY_HOME)
        small_answer, shortest_seconds = list_platforms_timed(api, mary)
        store_platforms(organization, LARGE_HOME)
        for item in [item for item in memory_aws.all_items() if item.get("name", "").startswith("P")]:
            memory_aws.delete_item(item) if len(item.get("home", "")) < 200 else None
        large_answer, large_seconds = list_platforms_timed(api, mary)
        assert len(small_answer.json["items"]) == len(large_answer.json["items"]) == 25
        assert large_answer.calls.bytes_read <= small_answer.calls.bytes_read + 2000
        assert large_seconds <= 4 * shortest_seconds

    def test_contains_platforms_of_the_former_schema(self, api, platform_in_former_schema, mary):
        assert [item["id"] for item in api.get_items("/platforms", caller=mary)] == [platform_in_former_schema.id]


class TestPlatform:
    def test_rejects_an_unauthorized_caller_without_reading_the_home(self, api, organization, stranger):
        (platform, *_) = store_platforms(organization, LARGE_HOME)
        answer = api.get(f"/platforms/{platform.id}", caller=stranger)
        assert answer.status_and_code == "404 not_found"
        assert answer.calls.bytes_read < 40_000

    def test_of_the_former_schema_is_readable_and_converted_by_its_next_change(self, api, platform_in_former_schema):
        path, owner = platform_in_former_schema.path, platform_in_former_schema.owner
        record = api.get(path, caller=owner).json
        assert record["home"]["blocks"] == LARGE_HOME["blocks"]
        assert api.patch(path, caller=owner, json={"name": "Looms"}).status == 200
        item = memory_aws.get_item(f"P#{platform_in_former_schema.id}", "#") or {}
        assert (item["shape"], type(item["home"])) == (2, bytes)
        assert api.get(path, caller=owner).json["home"] == record["home"]
