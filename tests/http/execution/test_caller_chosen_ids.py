"""Ids that callers choose. Any UUID is accepted, whatever its first digit."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.platforms import CreatedPlatform, CreatedSpace
from tests.harness.taxonomy import create_node

UUIDS: Final = [f"{digit}1939d3c-0000-4000-8000-000000000001" for digit in "0123456789abcdef"]
MAX_LENGTH_ID: Final = "7" + "a._:-" * 25 + "zz"
VALID_IDS: Final = [*UUIDS, "9", MAX_LENGTH_ID]
INVALID_IDS: Final = [f"{MAX_LENGTH_ID}z", "", "-a", ".a", "a b", "é", "a/b"]


def requests_with_id(
    api: ApiClient, platform: CreatedPlatform, looms: CreatedSpace, chosen_id: str
) -> Iterator[tuple[str, str, Json, str]]:
    """Yield method, path and body of each request that takes a chosen id, and the collection that shows it, if any."""
    node = create_node(api, platform, f"Node {len(chosen_id)} {chosen_id[:40] or 'none'}")
    yield "POST", f"{looms.path}/capabilities", {"capabilityKey": chosen_id}, f"{looms.path}/capabilities/"
    yield "POST", f"{looms.path}/module-overrides", {"moduleId": chosen_id}, f"{looms.path}/module-overrides/"
    yield "PATCH", f"{platform.path}/modules", {"modules": [{"moduleId": chosen_id}]}, ""
    yield "PATCH", f"{platform.path}/project-blocks", {"projectBlocks": [{"projectBlockId": chosen_id}]}, ""
    yield "PATCH", f"{platform.path}/navigation", {"items": [{"id": chosen_id, "label": "All", "type": "group"}]}, ""
    yield "PATCH", f"{platform.path}/home", {"blocks": [{"id": chosen_id, "type": chosen_id}]}, ""
    body = {"entityType": chosen_id, "entityId": UUIDS[0]}
    yield "POST", f"{node.path}/attachments", body, ""


@pytest.mark.parametrize("chosen_id", VALID_IDS)
def test_a_well_formed_id_is_accepted(api, platform, space, chosen_id):
    for method, path, body, collection_path in requests_with_id(api, platform, space, chosen_id):
        response = api.request(method, path, caller=platform.owner, json=body)
        assert response.status in (200, 201), response.text
        if collection_path:
            assert api.get(collection_path + quote(chosen_id), caller=platform.owner).json == response.json
    used = api.get(f"/project-blocks/{quote(chosen_id)}/platforms", caller=platform.owner)
    assert [each["id"] for each in used.json["items"]] == [platform.id]


@pytest.mark.parametrize("chosen_id", INVALID_IDS)
def test_a_malformed_id_is_rejected(api, platform, space, chosen_id):
    for method, path, body, _ in requests_with_id(api, platform, space, chosen_id):
        response = api.request(method, path, caller=platform.owner, json=body)
        assert (response.status, {*response.errors.values()}) == (422, {"malformed"})


def test_menu_items_have_chosen_ids(api, site):
    items = [{"id": chosen_id, "label": "All", "type": "group"} for chosen_id in VALID_IDS]
    response = api.put(f"{site.path}/navigation/main", caller=site.owner, json={"name": "Main", "items": items})
    assert [item["id"] for item in response.json["items"]] == VALID_IDS
