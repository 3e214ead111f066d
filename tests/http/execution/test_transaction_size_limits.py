"""The largest changes of one request: each fits into one transaction of 100 actions."""

import pytest

from chalicelib.kernel.storage import table
from tests.harness.api import Json
from tests.harness.taxonomy import create_attachment, create_node, create_node_chain, delete_node

IDEMPOTENCY = {"Idempotency-Key": "once"}
RESERVED_ACTIONS = 2
"""Actions left free for writes that the kernel may add to every change."""

LONG_TEXT = "y" * 4000
"""Makes an entry so long that its body is stored as an item of its own."""


def assert_fits(answer, minimum):
    """Assert that the largest transaction of a request has at least some actions, and not too many."""
    assert answer.status < 300, answer.text
    calls = [call for call in answer.calls.call_list if call.name == "dynamodb:TransactWriteItems"]
    sizes = [len(call.parameters["TransactItems"]) for call in calls]
    assert minimum <= max(sizes) <= table.MAX_TRANSACT_ITEMS - RESERVED_ACTIONS


def test_all_children_of_a_node_move_up(api, platform):
    _, looms = create_node_chain(api, platform, "Machines", "Looms")
    for n in range(25):
        create_node(api, platform, f"Child {n}", looms)
    create_attachment(api, looms)
    assert api.patch(looms.path, caller=platform.owner, json={"description": LONG_TEXT}).status == 200
    assert_fits(delete_node(api, looms, "reparent"), 80)


def test_a_full_record_set_is_replaced(api, platform, space):
    record_sets: list[tuple[str, str, str, str, Json]] = [
        ("PUT", f"{space.path}/capabilities", "capabilities", "capabilityKey", {}),
        ("PUT", f"{space.path}/module-overrides", "overrides", "moduleId", {"enabled": True}),
        ("PATCH", f"{platform.path}/project-blocks", "projectBlocks", "projectBlockId", {"title": LONG_TEXT[:200]}),
    ]
    for method, path, field, name, other_fields in record_sets:
        old, new = ([{name: f"{age}-{n}", **other_fields} for n in range(40)] for age in ("old", "new"))
        assert api.request(method, path, caller=platform.owner, json={field: old}).status == 200
        assert_fits(api.request(method, path, caller=platform.owner, json={field: new}), 80)


def test_the_maximum_number_of_modules_is_changed(api, platform):
    modules = [{"moduleId": f"own-{n}", "enabled": True, "settings": {"text": LONG_TEXT[:500]}} for n in range(40)]
    assert_fits(api.patch(f"{platform.path}/modules", caller=platform.owner, json={"modules": modules}), 40)


def test_the_maximum_number_of_system_tags_is_created(api, platform):
    path, body = f"{platform.path}/taxonomy-system-tags", {"tags": [f"tag-{n}" for n in range(15)]}
    assert_fits(api.post(path, caller=platform.owner, json=body, headers=IDEMPOTENCY), 45)


@pytest.mark.parametrize("keys", [pytest.param(0, marks=pytest.mark.exhaustive), 35])
def test_a_member_is_removed_with_all_their_invitations_and_keys(api, organization, grace, keys):
    invitations = [(f"{organization.path}/invite", {"email": f"person-{n}@example.org"}) for n in range(45)]
    for path, body in invitations + [(organization.api_keys_path, {"name": "K", "scopes": ["admin"]})] * keys:
        assert api.post(path, caller=grace, json=body).status == 201
    assert_fits(api.delete(f"{organization.path}/members/{grace.id}", caller=organization.owner), 80)


def test_a_key_with_many_secrets_is_rotated(api, organization):
    key = api.post(organization.api_keys_path, caller=organization.owner, json={"name": "Often rotated"}).location
    for _ in range(4):
        assert api.post(f"{key}/rotate", caller=organization.owner).status == 200
    rotation = api.post(f"{key}/rotate", caller=organization.owner, json={"graceHours": 0}, headers=IDEMPOTENCY)
    assert_fits(rotation, 8)
