"""Ids that callers choose: any UUID is one, whichever digit it begins with."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import pytest

from tests.harness.api import Api, Json
from tests.harness.platforms import Room, Running
from tests.harness.sites import Published
from tests.harness.taxonomy import plant

UUIDS: Final = [f"{digit}1939d3c-0000-4000-8000-000000000001" for digit in "0123456789abcdef"]
LONGEST: Final = "7" + "a._:-" * 25 + "zz"
CHOSEN: Final = [*UUIDS, "9", LONGEST]
REFUSED: Final = [f"{LONGEST}z", "", "-a", ".a", "a b", "é", "a/b"]


def asked(api: Api, platform: Running, looms: Room, chosen: str) -> Iterator[tuple[str, str, Json, str]]:
    """Yield method, path and body of requests in which a caller chooses an id, and where it is shown then."""
    node = plant(api, platform, f"Node {len(chosen)} {chosen[:40] or 'none'}")
    yield "POST", f"{looms.path}/capabilities", {"capabilityKey": chosen}, f"{looms.path}/capabilities/"
    yield "POST", f"{looms.path}/module-overrides", {"moduleId": chosen}, f"{looms.path}/module-overrides/"
    yield "PATCH", f"{platform.path}/modules", {"modules": [{"moduleId": chosen}]}, ""
    yield "PATCH", f"{platform.path}/project-blocks", {"projectBlocks": [{"projectBlockId": chosen}]}, ""
    yield "PATCH", f"{platform.path}/navigation", {"items": [{"id": chosen, "label": "All", "type": "group"}]}, ""
    yield "PATCH", f"{platform.path}/home", {"blocks": [{"id": chosen, "type": chosen}]}, ""
    body = {"entityType": chosen, "entityId": UUIDS[0]}
    yield "POST", f"{node.path}/attachments", body, ""


@pytest.mark.parametrize("chosen", CHOSEN)
def test_a_well_formed_one_is_taken(api: Api, platform: Running, looms: Room, chosen: str) -> None:
    for method, path, body, shown_below in asked(api, platform, looms, chosen):
        answer = api.request(method, path, as_=platform.owner, json=body)
        assert answer.status in (200, 201), answer.text
        if shown_below:
            assert api.get(shown_below + quote(chosen), as_=platform.owner).json == answer.json
    used = api.get(f"/project-blocks/{quote(chosen)}/platforms", as_=platform.owner)
    assert [each["id"] for each in used.json["items"]] == [platform.id]


@pytest.mark.parametrize("chosen", REFUSED)
def test_another_is_a_fault(api: Api, platform: Running, looms: Room, chosen: str) -> None:
    for method, path, body, _ in asked(api, platform, looms, chosen):
        answer = api.request(method, path, as_=platform.owner, json=body)
        assert (answer.status, {*answer.faults.values()}) == (422, {"malformed"})


def test_items_of_menus_have_such_ids(api: Api, site: Published) -> None:
    items = [{"id": chosen, "label": "All", "type": "group"} for chosen in CHOSEN]
    answer = api.put(f"{site.path}/navigation/main", as_=site.owner, json={"name": "Main", "items": items})
    assert [item["id"] for item in answer.json["items"]] == CHOSEN
