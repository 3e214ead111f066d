"""The largest changes of one request: each fits into one transaction of 100 actions."""

import pytest

from chalicelib.kernel.storage import table
from tests.harness.api import ApiResponse
from tests.harness.taxonomy import create_attachment, create_node, create_node_chain, delete_node

RESERVED_ACTIONS = 2
"""Actions left free for writes that the kernel may add to every change."""

LONG_TEXT = "y" * 4000
"""Makes an entry so long that its body is stored as an item of its own."""


def largest_transaction(answer: ApiResponse) -> int:
    """Return the number of actions in a request's largest transaction."""
    assert answer.status < 300, answer.text
    sizes = [
        len(c.parameters["TransactItems"]) for c in answer.calls.call_list if c.name == "dynamodb:TransactWriteItems"
    ]
    return max(sizes)


def assert_fits(answer: ApiResponse, minimum: int) -> None:
    assert minimum <= largest_transaction(answer) <= table.MAX_TRANSACT_ITEMS - RESERVED_ACTIONS


def test_all_children_of_a_node_move_up(api, platform):
    _, looms = create_node_chain(api, platform, "Machines", "Looms")
    for n in range(25):
        create_node(api, platform, f"Child {n}", looms)
    create_attachment(api, looms)
    assert api.patch(looms.path, caller=platform.owner, json={"description": LONG_TEXT}).status == 200
    assert_fits(delete_node(api, looms, "reparent"), 80)


@pytest.mark.parametrize(
    ("path", "field", "name"),
    [("capabilities", "capabilities", "capabilityKey"), ("module-overrides", "overrides", "moduleId")],
)
def test_a_full_record_set_is_replaced(api, space, ada, path, field, name):
    def replace_set(prefix: str) -> ApiResponse:
        required_fields = {"enabled": True} if name == "moduleId" else {}
        members = [{name: f"{prefix}-{n}", **required_fields} for n in range(40)]
        return api.put(f"{space.path}/{path}", caller=ada, json={field: members})

    assert replace_set("old").status == 200
    assert_fits(replace_set("new"), 80)


def test_all_project_blocks_are_replaced(api, platform):
    def replace_blocks(prefix: str) -> ApiResponse:
        blocks = [{"projectBlockId": f"{prefix}-{n}", "title": LONG_TEXT[:200]} for n in range(40)]
        return api.patch(f"{platform.path}/project-blocks", caller=platform.owner, json={"projectBlocks": blocks})

    assert replace_blocks("old").status == 200
    assert_fits(replace_blocks("new"), 80)


def test_the_maximum_number_of_modules_is_changed(api, platform):
    modules = [{"moduleId": f"own-{n}", "enabled": True, "settings": {"text": LONG_TEXT[:500]}} for n in range(40)]
    assert_fits(api.patch(f"{platform.path}/modules", caller=platform.owner, json={"modules": modules}), 40)


def test_the_maximum_number_of_system_tags_is_created(api, platform):
    idempotency = {"Idempotency-Key": "once"}
    tags = [f"tag-{n}" for n in range(15)]
    path = f"{platform.path}/taxonomy-system-tags"
    assert_fits(api.post(path, caller=platform.owner, json={"tags": tags}, headers=idempotency), 45)


@pytest.mark.parametrize("keys", [0, 35])
def test_a_member_is_removed_with_all_their_invitations_and_keys(api, organization, grace, keys):
    for n in range(45):
        body = {"email": f"person-{n}@example.org"}
        assert api.post(f"{organization.path}/invite", caller=grace, json=body).status == 201
    for n in range(keys):
        assert (
            api.post(organization.api_keys_path, caller=grace, json={"name": f"Key {n}", "scopes": ["admin"]}).status
            == 201
        )
    assert_fits(api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner), 80)


def test_a_key_with_many_secrets_is_rotated(api, organization):
    key = api.post(organization.api_keys_path, caller=organization.owner, json={"name": "Often rotated"}).location
    for _ in range(4):
        assert api.post(f"{key}/rotate", caller=organization.owner).status == 200
    idempotency = {"Idempotency-Key": "once"}
    assert_fits(api.post(f"{key}/rotate", caller=organization.owner, json={"graceHours": 0}, headers=idempotency), 8)
