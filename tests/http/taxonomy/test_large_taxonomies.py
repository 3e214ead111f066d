"""Test that AWS calls for a taxonomy of 10,000 nodes equal those for one of ten."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, TaxonomyNode
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.taxonomy import CreatedNode, create_node_chain, delete_node, move_node, post_node, resolve_node

MAX_NODES = 10_000


@dataclass(frozen=True)
class LargeTaxonomy:
    """A taxonomy with two chains of nodes, and many children of the second node of the first."""

    platform: CreatedPlatform
    branch: list[CreatedNode]
    other: list[CreatedNode]


@pytest.fixture(params=[10, MAX_NODES])
def large_taxonomy(request: pytest.FixtureRequest, api: ApiClient, organization: CreatedOrganization) -> LargeTaxonomy:
    """Return a taxonomy of the given number of nodes."""
    number: int = request.param
    memory_aws.reset()
    return cached_scenario(
        f"a taxonomy of {number} nodes",
        lambda: _create_large_taxonomy(api, create_organization(api, organization.owner), number),
    )


def _create_large_taxonomy(api: ApiClient, organization: CreatedOrganization, number: int) -> LargeTaxonomy:
    platform = create_platform(api, organization)
    branch = create_node_chain(api, platform, "Branch", "Twig", "Bud", "Leaf")
    other = create_node_chain(api, platform, "Other", "Below")
    twig, timestamp = branch[1], now()
    position_fields: dict[str, Any] = {
        "ancestor_ids": [branch[0].id, twig.id],
        "parent_id": twig.id,
        "sibling_list": twig.id,
    }
    container_fields: dict[str, Any] = {"organization_id": organization.id, "platform_id": platform.id}
    for n in range(number - 6):
        name = f"Leaf number {n}"
        node = TaxonomyNode(
            **new_id_and_time_fields(timestamp),
            **container_fields,
            **position_fields,
            name=name,
            slug=f"leaf-{n}",
            position=n + 1,
            listed=ALL_NODES_LIST,
        )
        memory_aws.put_item(node.item())
    (count,) = (item for item in memory_aws.all_items() if item["sk"] == "COUNT#taxonomy nodes")
    memory_aws.put_item({**count, "n": number})
    return LargeTaxonomy(platform, branch, other)


def _list_nodes(api: ApiClient, large_taxonomy: LargeTaxonomy, **query: Any) -> ApiResponse:
    return api.get(
        f"{large_taxonomy.platform.path}/taxonomy-nodes",
        caller=large_taxonomy.platform.owner,
        query={**query, "limit": 4},
    )


def _rename_parent(api: ApiClient, large_taxonomy: LargeTaxonomy) -> ApiResponse:
    return api.patch(large_taxonomy.branch[1].path, caller=large_taxonomy.platform.owner, json={"slug": "renamed"})


SCENARIOS: dict[str, tuple[Callable[[ApiClient, LargeTaxonomy], ApiResponse], int, int]] = {
    "get": (
        lambda api, large_taxonomy: api.get(large_taxonomy.branch[3].path, caller=large_taxonomy.platform.owner),
        2,
        0,
    ),
    "resolve a path": (
        lambda api, large_taxonomy: resolve_node(api, large_taxonomy.platform, "branch/twig/bud/leaf"),
        2,
        0,
    ),
    "resolve a slug": (lambda api, large_taxonomy: resolve_node(api, large_taxonomy.platform, slug="leaf"), 3, 0),
    "list": (_list_nodes, 2, 0),
    "list some": (
        lambda api, large_taxonomy: _list_nodes(api, large_taxonomy, parentId=large_taxonomy.branch[1].id),
        3,
        0,
    ),
    "list by name": (lambda api, large_taxonomy: _list_nodes(api, large_taxonomy, q="leaf"), 3, 0),
    "move a node with many descendants": (
        lambda api, large_taxonomy: move_node(api, large_taxonomy.branch[1], large_taxonomy.other[1]),
        2,
        13,
    ),
    "rename a node with many descendants": (_rename_parent, 2, 12),
    "delete a node with many descendants": (
        lambda api, large_taxonomy: delete_node(api, large_taxonomy.branch[1], "cascade"),
        2,
        8,
    ),
}
"""The request, its number of reads, and the number of writes in its transaction, by name."""


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_aws_calls_do_not_depend_on_the_number_of_nodes(api, large_taxonomy, name):
    send_request, reads, writes = SCENARIOS[name]
    # Fill the ancestor cache of this process.
    for record in (large_taxonomy.platform, large_taxonomy.branch[1], large_taxonomy.branch[3]):
        api.get(record.path, caller=large_taxonomy.platform.owner)
    answer = send_request(api, large_taxonomy)
    assert answer.status < 300, answer.text
    transactions = [call for call in answer.calls.call_list if call.name == "dynamodb:TransactWriteItems"]
    write_counts = [len(call.parameters["TransactItems"]) for call in transactions]
    assert (len(answer.calls.names_of_service("dynamodb")) - len(write_counts), write_counts) == (
        reads,
        [writes] if writes else [],
    )


class TestFullTaxonomy:
    @pytest.fixture
    def full_taxonomy(self, api: ApiClient, organization: CreatedOrganization) -> LargeTaxonomy:
        """Return a taxonomy with the maximum number of nodes."""
        memory_aws.reset()
        return cached_scenario(
            f"a taxonomy of {MAX_NODES} nodes",
            lambda: _create_large_taxonomy(api, create_organization(api, organization.owner), MAX_NODES),
        )

    def test_is_returned_as_a_tree(self, api, full_taxonomy):
        answer = api.get(f"{full_taxonomy.platform.path}/taxonomy-tree", caller=full_taxonomy.platform.owner)
        branch, other = answer.json["items"]
        assert [branch["slug"], other["slug"]] == ["branch", "other"]
        leaves = branch["children"][0]["children"]
        assert [leaf["path"] for leaf in leaves[:3]] == [
            "branch/twig/bud",
            "branch/twig/leaf-0",
            "branch/twig/leaf-1",
        ]
        assert len(leaves) == MAX_NODES - 5
        assert len(answer.text) < 5_000_000
        queries = [call for call in answer.calls.call_list if call.name == "dynamodb:Query"]
        assert 5 < len(queries) < 15

    def test_rejects_another_node(self, api, full_taxonomy):
        answer = post_node(api, full_taxonomy.platform, "One more")
        assert answer.status_and_code == "409 limit_exceeded"
        assert delete_node(api, full_taxonomy.branch[3]).status == 204
        assert post_node(api, full_taxonomy.platform, "One more").status == 201
