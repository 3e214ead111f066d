"""What is read for a list: what it shows, however much its records hold."""

from time import process_time
from typing import Any

import pytest

from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel.core.clock import after, now
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded
from tests.harness.platforms import Running, run_platform
from tests.harness.stored_records import beginning

BLOCK = {"id": "welcome", "type": "hero", "settings": {f"n{n}": [n, n, n, {"deep": True}] for n in range(1300)}}
FULL: dict[str, Any] = {"layout": None, "blocks": [BLOCK], "space_id": None, "site_id": None}
EMPTY: dict[str, Any] = {"layout": None, "blocks": [], "space_id": None, "site_id": None}


def crowd(organization: Founded, home: dict[str, Any]) -> list[Platform]:
    """Put 25 platforms with a home into the table."""
    moments = [after(now(), seconds=n - 100) for n in range(25)]
    platforms = [
        Platform(**beginning(at), organization_id=organization.id, name=f"P{n}", slug=f"p-{n}", home=home)
        for n, at in enumerate(moments)
    ]
    for platform in platforms:
        cloud.put(platform.item())
    return platforms


def timed(api: Api, person: Person) -> tuple[Answer, float]:
    """The list of platforms, and the least CPU that it took of three times."""
    took = []
    for _ in range(3):
        began = process_time()
        answer = api.get("/platforms", as_=person)
        took.append(process_time() - began)
    return answer, min(took)


@pytest.fixture
def stored_before(api: Api, organization: Founded) -> Running:
    """A platform whose home is stored as it was before there were documents."""
    platform = run_platform(api, organization)
    stored = cloud.stored_at(f"P#{platform.id}", "#") or {}
    former = {name: value for name, value in stored.items() if name != "shape"}
    theme: dict[str, Any] = {
        "mode": None,
        "colors": {},
        "fonts": {},
        "logo_url": None,
        "favicon_url": None,
        "tokens": {},
    }
    cloud.put({**former, "home": FULL, "theme": theme, "navigation": {"items": []}})
    return platform


class TestTheListOfPlatforms:
    def test_reads_and_decodes_nothing_of_their_homes(self, api: Api, organization: Founded, mary: Person) -> None:
        crowd(organization, EMPTY)
        few, least = timed(api, mary)
        crowd(organization, FULL)
        for item in [item for item in cloud.stored() if item.get("name", "").startswith("P")]:
            cloud.remove(item) if len(item.get("home", "")) < 200 else None
        many, took = timed(api, mary)
        assert len(few.json["items"]) == len(many.json["items"]) == 25
        assert many.calls.bytes_read <= few.calls.bytes_read + 2000
        assert took <= 4 * least

    def test_shows_what_was_stored_before_too(self, api: Api, stored_before: Running, mary: Person) -> None:
        assert [item["id"] for item in api.items("/platforms", as_=mary)] == [stored_before.id]


class TestAPlatform:
    def test_with_a_full_home_costs_a_stranger_little(self, api: Api, organization: Founded, stranger: Person) -> None:
        (platform, *_) = crowd(organization, FULL)
        refused = api.get(f"/platforms/{platform.id}", as_=stranger)
        assert refused.code == "404 not_found"
        assert refused.calls.bytes_read < 40_000

    def test_that_was_stored_before_is_read_and_stored_as_one_of_today_by_its_next_change(
        self, api: Api, stored_before: Running
    ) -> None:
        path, owner = stored_before.path, stored_before.owner
        shown = api.get(path, as_=owner).json
        assert shown["home"]["blocks"] == FULL["blocks"]
        assert api.patch(path, as_=owner, json={"name": "Looms"}).status == 200
        stored = cloud.stored_at(f"P#{stored_before.id}", "#") or {}
        assert (stored["shape"], type(stored["home"])) == (2, bytes)
        assert api.get(path, as_=owner).json["home"] == shown["home"]
