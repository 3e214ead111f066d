"""Test that the list of platforms reads only what it shows, whatever the size of its records."""

from time import process_time
from typing import Any

from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import ApiResponse, Json
from tests.harness.organizations import CreatedOrganization
from tests.harness.stored_records import new_id_and_time_fields

BLOCK = {"id": "welcome", "type": "hero", "settings": {f"n{n}": [n, n, n, {"deep": True}] for n in range(1300)}}
LARGE_HOME: dict[str, Any] = {"layout": None, "blocks": [BLOCK], "space_id": None, "site_id": None}
EMPTY_HOME: dict[str, Any] = {**LARGE_HOME, "blocks": []}


def store_platforms(organization: CreatedOrganization, home: dict[str, Any]) -> list[Platform]:
    """Store 25 platforms with the given home."""
    ids_and_times = [new_id_and_time_fields(after(now(), seconds=n - 100)) for n in range(25)]
    platforms = [
        Platform(**fields, organization_id=organization.id, name=f"P{n}", slug=f"p-{n}", home=home)
        for n, fields in enumerate(ids_and_times)
    ]
    for platform in platforms:
        memory_aws.put_item(platform.item())
    return platforms


def test_the_list_neither_reads_nor_decodes_home_pages(api, organization, mary):
    def list_timed() -> tuple[ApiResponse, float]:
        """Return the list of platforms, and the shortest CPU time of three requests in seconds."""
        durations_seconds = []
        for _ in range(3):
            started_at = process_time()
            answer = api.get("/platforms", caller=mary)
            durations_seconds.append(process_time() - started_at)
        return answer, min(durations_seconds)

    small_platforms = store_platforms(organization, EMPTY_HOME)
    small_answer, shortest_seconds = list_timed()
    store_platforms(organization, LARGE_HOME)
    for platform in small_platforms:
        memory_aws.delete_item(platform.item())
    large_answer, large_seconds = list_timed()
    assert len(small_answer.json["items"]) == len(large_answer.json["items"]) == 25
    assert large_answer.calls.bytes_read <= small_answer.calls.bytes_read + 2000
    assert large_seconds <= 4 * shortest_seconds


def test_an_unauthorized_caller_is_rejected_without_reading_the_home(api, organization, stranger):
    (platform, *_) = store_platforms(organization, LARGE_HOME)
    answer = api.get(f"/platforms/{platform.id}", caller=stranger)
    assert answer.status_and_code == "404 not_found"
    assert answer.calls.bytes_read < 40_000


def test_a_platform_of_the_former_schema_is_listed_readable_and_converted_by_its_next_change(api, platform, mary):
    home = {**LARGE_HOME, "blocks": [{**BLOCK, "settings": {"n": [{"deep": "x" * 2000}]}}]}
    theme: Json = {"mode": None, "colors": {}, "fonts": {}, "logo_url": None, "favicon_url": None, "tokens": {}}
    item = memory_aws.get_item(f"P#{platform.id}", "#") or {}
    former_item = {name: value for name, value in item.items() if name != "shape"}
    memory_aws.put_item({**former_item, "home": home, "theme": theme, "navigation": {"items": []}})
    assert [item["id"] for item in api.get_items("/platforms", caller=mary)] == [platform.id]
    record = platform.read()
    assert record["home"]["blocks"] == home["blocks"]
    platform.update(name="Looms")
    item = memory_aws.get_item(f"P#{platform.id}", "#") or {}
    assert (item["shape"], type(item["home"])) == (2, bytes)
    assert platform.read()["home"] == record["home"]
