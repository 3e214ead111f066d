"""Ids that callers choose. Any UUID is accepted, whatever its first digit."""

from typing import Final
from urllib.parse import quote

import pytest

from tests.harness.api import ApiResponse, Json
from tests.harness.taxonomy import create_node

UUIDS: Final = [f"{digit}1939d3c-0000-4000-8000-000000000001" for digit in "0123456789abcdef"]
MAX_LENGTH_ID: Final = "7" + "a._:-" * 25 + "zz"
VALID_IDS: Final = [*UUIDS, "9", MAX_LENGTH_ID]
INVALID_IDS: Final = [f"{MAX_LENGTH_ID}z", "", "-a", ".a", "a b", "é", "a/b"]


@pytest.fixture
def send_requests(api, platform, space):
    """A function that sends each request that takes a chosen id, and returns the responses by collection."""
    node = create_node(api, platform)

    def send_requests(chosen_id: str) -> dict[str, ApiResponse]:
        item = {"id": chosen_id, "label": "All", "type": "group"}
        requests: list[tuple[str, str, Json]] = [
            ("PATCH", f"{platform.path}/modules", {"modules": [{"moduleId": chosen_id}]}),
            ("POST", f"{space.path}/capabilities", {"capabilityKey": chosen_id}),
            ("POST", f"{space.path}/module-overrides", {"moduleId": chosen_id}),
            ("PATCH", f"{platform.path}/project-blocks", {"projectBlocks": [{"projectBlockId": chosen_id}]}),
            ("PATCH", f"{platform.path}/navigation", {"items": [item]}),
            ("PATCH", f"{platform.path}/home", {"blocks": [{"id": chosen_id, "type": chosen_id}]}),
            ("POST", f"{node.path}/attachments", {"entityType": chosen_id, "entityId": UUIDS[0]}),
        ]
        return {path: api.request(method, path, caller=platform.owner, json=body) for method, path, body in requests}

    return send_requests


def test_a_well_formed_id_is_accepted(api, platform, space, send_requests):
    for chosen_id in (*UUIDS[::5], "9", MAX_LENGTH_ID):
        responses = send_requests(chosen_id)
        assert {response.status for response in responses.values()} <= {200, 201}
        for collection in (f"{space.path}/capabilities", f"{space.path}/module-overrides"):
            shown = api.get(f"{collection}/{quote(chosen_id)}", caller=platform.owner).json
            assert shown == responses[collection].json
        used = api.get(f"/project-blocks/{quote(chosen_id)}/platforms", caller=platform.owner)
        assert [each["id"] for each in used.json["items"]] == [platform.id]


@pytest.mark.parametrize("chosen_id", INVALID_IDS)
def test_a_malformed_id_is_rejected(send_requests, chosen_id):
    for response in send_requests(chosen_id).values():
        assert (response.status, {*response.errors.values()}) == (422, {"malformed"})


def test_menu_items_have_chosen_ids(api, site):
    items = [{"id": chosen_id, "label": "All", "type": "group"} for chosen_id in VALID_IDS]
    response = api.put(f"{site.path}/navigation/main", caller=site.owner, json={"name": "Main", "items": items})
    assert [item["id"] for item in response.json["items"]] == VALID_IDS
