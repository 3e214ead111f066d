"""The largest changes fit into one transaction; responses with many large records are shorter or rejected."""

import json
from typing import Any

import pytest

from chalicelib.features.leads.entities import Lead
from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, ROOT_TERMS_LIST, Taxonomy, TaxonomyNode
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.api import MAX_ENVELOPE_BYTES, Json
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.platforms import create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.taxonomy import create_attachment, create_node, create_node_chain, delete_node


class TestTree:
    @pytest.fixture
    def get_tree(self, api, organization, mary):
        """A function that requests the tree of a taxonomy of 4.65 MB, whose quotes double in size when escaped."""
        platform = extended_scenario("a large tree", lambda: self.create_large_tree(api, organization))
        return lambda **query: api.get(f"{platform.path}/taxonomy-tree", caller=mary, query=query)

    def create_large_tree(self, api, organization):
        platform, timestamp = create_platform(api, organization), now()
        container_ids = {"organization_id": organization.id, "platform_id": platform.id}

        def store_node(name: str, position: int, **fields: Any) -> str:
            fields |= {"name": name, "slug": name.lower(), "position": position, "listed": ALL_NODES_LIST}
            node = TaxonomyNode(**new_id_and_time_fields(timestamp), **container_ids, **fields)
            memory_aws.put_item(node.item())
            return str(node.id)

        memory_aws.put_item(Taxonomy(**new_id_and_time_fields(timestamp), **container_ids).item())
        for n in range(5):
            root_id = store_node(f"R{n}", n, sibling_list=ROOT_TERMS_LIST, child_count=110)
            position = {"parent_id": root_id, "sibling_list": root_id, "ancestor_ids": [root_id]}
            for m in range(110):
                store_node(f"L{m}", m, description='"' * 3900, **position)
        return platform

    def test_a_tree_that_is_too_large_suggests_smaller_requests(self, get_tree):
        get_tree().expect_problem("409 limit_exceeded", "`depth`", "`rootId`")
        roots = get_tree(depth=1)
        assert [root["name"] for root in roots.json["items"]] == [f"R{n}" for n in range(5)]
        branch = get_tree(rootId=roots.json["items"][0]["id"])
        assert len(branch.json["items"][0]["children"]) == 110
        leaf = get_tree(rootId=branch.json["items"][0]["children"][3]["id"])
        assert leaf.json["items"][0]["path"] == "r0/l3"
        for answer in (roots, branch, leaf):  # They read only their parts of the tree.
            assert answer.calls.bytes_read <= 24_000 + 2 * len(answer.text)
            assert len(answer.calls.read_names) <= 6

    def test_a_part_of_a_tree_is_complete_while_the_index_lags(self, get_tree):
        root_id = get_tree(depth=1).json["items"][0]["id"]
        leaves = [item for item in memory_aws.all_items() if item.get("parent_id") == root_id and item.get("shelf")]
        unindexed = {name: value for name, value in leaves[0].items() if not name.startswith("index2")}
        memory_aws.put_item(unindexed)
        (branch,) = get_tree(rootId=root_id).json["items"]
        assert len(branch["children"]) == 110
        assert unindexed["id"] in {child["id"] for child in branch["children"]}


def test_large_leads_are_listed_in_shorter_pages(api, operator):
    ids: list[str] = []
    for n in range(90):
        timestamp = after(now(), seconds=n - 1000)
        fields = new_id_and_time_fields(timestamp)
        empty = dict.fromkeys(("company_name", "source", "consent"))
        texts = {"contact_name": "Somebody", "message": "\N{STEAM LOCOMOTIVE}" * 4000, "submitted_at": timestamp}
        submission = {**empty, **texts, "status": "new", "history": [{"status": "new", "at": timestamp}]}
        submissions = [{"id": f"{fields['id'][:-2]}{m:02}", **submission} for m in range(2)]
        history = [{"status": "new", "at": timestamp, "by": None}]
        lead = Lead(**fields, contact_email=f"person-{n}@example.org", submissions=submissions, history=history)
        memory_aws.put_item(lead.item())
        ids.insert(0, lead.id)
    pages = api.get_pages("/marketing-leads", caller=operator, query={"limit": 100})
    assert [item["id"] for page in pages for item in page["items"]] == ids
    sizes = [len(json.dumps(json.dumps(page, ensure_ascii=False))) for page in pages]
    assert sum(sizes) > MAX_ENVELOPE_BYTES
    assert sizes[0] > MAX_ENVELOPE_BYTES * 0.9  # The first page uses most of the available size.


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
@pytest.mark.usefixtures("mailbox")  # The transaction also writes the notice to the member.
def test_a_member_is_removed_with_all_their_invitations_and_keys(api, organization, grace, keys):
    invitations = [(f"{organization.path}/invite", {"email": f"person-{n}@example.org"}) for n in range(45)]
    for path, body in invitations + [(organization.api_keys_path, {"name": "K", "scopes": ["admin"]})] * keys:
        assert api.post(path, caller=grace, json=body).status == 201
    path = f"{organization.path}/members/{grace.id}"
    assert_fits(api.delete(path, caller=organization.owner, headers=IDEMPOTENCY), 80)


def test_a_key_with_many_secrets_is_rotated(api, organization):
    key = api.post(organization.api_keys_path, caller=organization.owner, json={"name": "Often rotated"}).location
    for _ in range(4):
        assert api.post(f"{key}/rotate", caller=organization.owner).status == 200
    rotation = api.post(f"{key}/rotate", caller=organization.owner, json={"graceHours": 0}, headers=IDEMPOTENCY)
    assert_fits(rotation, 8)
