"""Test that AWS calls for a taxonomy of 3,000 nodes equal those for one of ten."""

from typing import Any

import pytest

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, TaxonomyNode
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import create_organization
from tests.harness.platforms import create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.taxonomy import TaxonomyNodes, resolve_node

MAX_NODES = 10_000
MANY_NODES = 3_000
"""Their items have more than a megabyte, which one query returns at most."""


def restore_or_create_nodes(api, owner, number):
    """Return two chains of nodes; the second node of the first has many children."""
    return cached_scenario(f"a taxonomy of {number} nodes", lambda: create_nodes(api, owner, number))


def create_nodes(api, owner, number):
    platform = create_platform(api, create_organization(api, owner))
    nodes = TaxonomyNodes(api, platform)
    nodes.create_chain("Branch", "Twig", "Bud", "Leaf")
    nodes.create_chain("Other", "Below")
    twig, timestamp = nodes["Twig"], now()
    fields: dict[str, Any] = {
        "organization_id": platform.organization_id,
        "platform_id": platform.id,
        "ancestor_ids": [nodes["Branch"].id, twig.id],
        "parent_id": twig.id,
        "sibling_list": twig.id,
        "listed": ALL_NODES_LIST,
    }
    for n in range(number - 6):
        names: dict[str, Any] = {"name": f"Leaf number {n}", "slug": f"leaf-{n}", "position": n + 1}
        memory_aws.put_item(TaxonomyNode(**new_id_and_time_fields(timestamp), **fields, **names).item())
    (count,) = (item for item in memory_aws.all_items() if item["sk"] == "COUNT#taxonomy nodes")
    memory_aws.put_item({**count, "n": MAX_NODES if number == MANY_NODES else number})
    return nodes


def list_nodes(api: ApiClient, nodes: TaxonomyNodes, **query: object) -> ApiResponse:
    path = f"{nodes.platform.path}/taxonomy-nodes"
    return api.get(path, caller=nodes.platform.owner, query={**query, "limit": 4})


@pytest.mark.parametrize("number", [10, MANY_NODES])
@pytest.mark.parametrize(
    ("send_request", "reads", "writes"),
    [
        (lambda api, nodes: api.get(nodes["Leaf"].path, caller=nodes.platform.owner), 2, 0),
        (lambda api, nodes: resolve_node(api, nodes.platform, "branch/twig/bud/leaf"), 2, 0),
        (lambda api, nodes: resolve_node(api, nodes.platform, slug="leaf"), 3, 0),
        (list_nodes, 2, 0),
        (lambda api, nodes: list_nodes(api, nodes, parentId=nodes["Twig"].id), 3, 0),
        (lambda api, nodes: list_nodes(api, nodes, q="leaf"), 3, 0),
        (lambda _, nodes: nodes.move("Twig", "Below"), 2, 13),
        (lambda _, nodes: nodes.patch("Twig", slug="renamed"), 2, 12),
        (lambda _, nodes: nodes.delete("Twig", "cascade"), 2, 8),
    ],
    ids=["get", "resolve a path", "resolve a slug", "list", "list some", "search", "move", "rename", "delete"],
)
def test_aws_calls_do_not_depend_on_the_number_of_nodes(api, ada, send_request, reads, writes, number):
    nodes = restore_or_create_nodes(api, ada, number)
    # Fill the ancestor cache of this process.
    for record in (nodes.platform, nodes["Twig"], nodes["Leaf"]):
        api.get(record.path, caller=nodes.platform.owner)
    answer = send_request(api, nodes)
    assert answer.status < 300, answer.text
    transactions = [call for call in answer.calls.call_list if call.name == "dynamodb:TransactWriteItems"]
    write_counts = [len(call.parameters["TransactItems"]) for call in transactions]
    assert len(answer.calls.names_of_service("dynamodb")) - len(write_counts) == reads
    assert write_counts == ([writes] if writes else [])


def test_a_full_taxonomy_is_returned_as_a_tree_and_rejects_another_node(api, ada):
    nodes = restore_or_create_nodes(api, ada, MANY_NODES)
    answer = api.get(f"{nodes.platform.path}/taxonomy-tree", caller=nodes.platform.owner)
    branch, other = answer.json["items"]
    assert [branch["slug"], other["slug"]] == ["branch", "other"]
    leaves = branch["children"][0]["children"]
    assert [leaf["path"] for leaf in leaves[:3]] == [f"branch/twig/{slug}" for slug in ("bud", "leaf-0", "leaf-1")]
    assert len(leaves) == MANY_NODES - 5
    assert len(answer.text) < 5_000_000 * MANY_NODES / MAX_NODES
    assert 1 < answer.calls.call_names.count("dynamodb:Query") < 6
    assert nodes.post("One more").status_and_code == "409 limit_exceeded"
    assert nodes.delete("Leaf").status == 204
    assert nodes.post("One more").status == 201
