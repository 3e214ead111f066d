"""A taxonomy of 10,000 nodes: what is asked of AWS is what it is with ten."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, TaxonomyNode
from chalicelib.kernel.core.clock import now
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.organizations import Founded, found
from tests.harness.platforms import Running, run_platform
from tests.harness.scenes import scene
from tests.harness.stored_records import beginning
from tests.harness.taxonomy import Node, asked_to_plant, fell, move, plant_line, resolve

MOST = 10_000


@dataclass(frozen=True)
class Wood:
    """A taxonomy with two lines of nodes, and very many below the second of the first."""

    platform: Running
    branch: list[Node]
    other: list[Node]


@pytest.fixture(params=[10, MOST])
def wood(request: pytest.FixtureRequest, api: Api, organization: Founded) -> Wood:
    """A taxonomy of so many nodes."""
    number: int = request.param
    cloud.clear()
    return scene(f"a wood of {number}", lambda: _grown(api, found(api, organization.owner), number))


def _grown(api: Api, organization: Founded, number: int) -> Wood:
    platform = run_platform(api, organization)
    branch = plant_line(api, platform, "Branch", "Twig", "Bud", "Leaf")
    other = plant_line(api, platform, "Other", "Below")
    twig, moment = branch[1], now()
    below: dict[str, Any] = {
        "ancestor_ids": [branch[0].id, twig.id],
        "parent_id": twig.id,
        "sibling_list": twig.id,
    }
    place: dict[str, Any] = {"organization_id": organization.id, "platform_id": platform.id}
    for n in range(number - 6):
        name = f"Leaf number {n}"
        node = TaxonomyNode(
            **beginning(moment), **place, **below, name=name, slug=f"leaf-{n}", position=n + 1, listed=ALL_NODES_LIST
        )
        cloud.put(node.item())
    (count,) = (item for item in cloud.stored() if item["sk"] == "COUNT#taxonomy nodes")
    cloud.put({**count, "n": number})
    return Wood(platform, branch, other)


def _listed(api: Api, wood: Wood, **query: Any) -> Answer:
    return api.get(f"{wood.platform.path}/taxonomy-nodes", as_=wood.platform.owner, query={**query, "limit": 4})


def _renamed(api: Api, wood: Wood) -> Answer:
    return api.patch(wood.branch[1].path, as_=wood.platform.owner, json={"slug": "renamed"})


ASKS: dict[str, tuple[Callable[[Api, Wood], Answer], int, int]] = {
    "get": (lambda api, wood: api.get(wood.branch[3].path, as_=wood.platform.owner), 2, 0),
    "resolve a path": (lambda api, wood: resolve(api, wood.platform, "branch/twig/bud/leaf"), 2, 0),
    "resolve a slug": (lambda api, wood: resolve(api, wood.platform, slug="leaf"), 3, 0),
    "list": (_listed, 2, 0),
    "list some": (lambda api, wood: _listed(api, wood, parentId=wood.branch[1].id), 3, 0),
    "list by name": (lambda api, wood: _listed(api, wood, q="leaf"), 3, 0),
    "move what has all below it": (lambda api, wood: move(api, wood.branch[1], wood.other[1]), 2, 13),
    "rename what has all below it": (_renamed, 2, 12),
    "fell what has all below it": (lambda api, wood: fell(api, wood.branch[1], "cascade"), 2, 8),
}
"""What is asked, how many reads it takes, and how many writes its transaction has."""


@pytest.mark.parametrize("what", list(ASKS))
def test_it_takes_the_same_however_many_nodes_there_are(api: Api, wood: Wood, what: str) -> None:
    ask, reads, writes = ASKS[what]
    for met in (wood.platform, wood.branch[1], wood.branch[3]):  # by this process
        api.get(met.path, as_=wood.platform.owner)
    answer = ask(api, wood)
    assert answer.status < 300, answer.text
    transactions = [call for call in answer.calls.made if call.name == "dynamodb:TransactWriteItems"]
    written = [len(call.parameters["TransactItems"]) for call in transactions]
    assert (len(answer.calls.of("dynamodb")) - len(written), written) == (reads, [writes] if writes else [])


class TestTheMost:
    @pytest.fixture
    def full(self, api: Api, organization: Founded) -> Wood:
        """As many nodes as a platform may have."""
        cloud.clear()
        return scene(f"a wood of {MOST}", lambda: _grown(api, found(api, organization.owner), MOST))

    def test_are_answered_as_a_tree(self, api: Api, full: Wood) -> None:
        answer = api.get(f"{full.platform.path}/taxonomy-tree", as_=full.platform.owner)
        branch, other = answer.json["items"]
        assert [branch["slug"], other["slug"]] == ["branch", "other"]
        leaves = branch["children"][0]["children"]
        assert [leaf["path"] for leaf in leaves[:3]] == [
            "branch/twig/bud",
            "branch/twig/leaf-0",
            "branch/twig/leaf-1",
        ]
        assert len(leaves) == MOST - 5
        assert len(answer.text) < 5_000_000
        queries = [call for call in answer.calls.made if call.name == "dynamodb:Query"]
        assert 5 < len(queries) < 15

    def test_leave_no_room_for_another(self, api: Api, full: Wood) -> None:
        refused = asked_to_plant(api, full.platform, "One more")
        assert refused.code == "409 limit_exceeded"
        assert fell(api, full.branch[3]).status == 204
        assert asked_to_plant(api, full.platform, "One more").status == 201
