"""Test a taxonomy as a list and as a tree."""

from typing import Any

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.taxonomy import CreatedNode, create_node, list_node_paths, move_node

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"


@pytest.fixture
def nodes(api: ApiClient, platform: CreatedPlatform) -> dict[str, CreatedNode]:
    """Return two root nodes and children of one of them, by slug; the system tags exist too."""
    machines = create_node(api, platform, "Machines", position=1)
    nodes = [
        machines,
        create_node(api, platform, "Motoren", machines, position=2),
        create_node(api, platform, "Móbiles", machines, position=1),
        create_node(api, platform, "Animals", position=0),
    ]
    assert api.post(f"{platform.path}/taxonomy-system-tags", caller=platform.owner, json={}).status == 200
    return {node.record["slug"]: node for node in nodes}


class TestListPlatformTaxonomyNodes:
    @pytest.mark.usefixtures("nodes")
    def test_are_ordered_by_position_on_every_level(self, api, platform):
        tags = ["featured", "pinned", "official", "archived"]
        assert list_node_paths(api, platform) == ["animals", "machines", "machines/mobiles", "machines/motoren", *tags]

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_filters_apply_together_and_on_every_page(self, api, platform, nodes, limit):
        machines = nodes["machines"].id
        mobiles, motoren, tags = "machines/mobiles", "machines/motoren", ["featured", "pinned", "official", "archived"]
        expected: list[tuple[dict[str, Any], list[str]]] = [
            ({"parentId": machines}, [mobiles, motoren]),
            ({"kind": "system"}, tags),
            ({"kind": "term"}, ["animals", "machines", mobiles, motoren]),
            ({"q": "mo"}, [mobiles, motoren]),
            ({"q": "M"}, ["machines", mobiles, motoren]),
            ({"q": " MÖT "}, [motoren]),
            ({"q": "otor"}, []),
            ({"q": "m", "parentId": machines}, [mobiles, motoren]),
            ({"q": "p", "kind": "system"}, ["pinned"]),
            ({"q": "p", "kind": "term"}, []),
            ({"parentId": machines, "kind": "term"}, [mobiles, motoren]),
            ({"parentId": machines, "kind": "system"}, []),
            ({"parentId": machines, "kind": "term", "q": "mot"}, [motoren]),
            ({"parentId": UNKNOWN_ID}, []),
        ]
        for query, expected_paths in expected:
            assert list_node_paths(api, platform, limit=limit, **query) == expected_paths, query

    def test_contain_current_nodes(self, api, platform, nodes, mary):
        move_node(api, nodes["machines"], nodes["animals"])
        nodes_listed = api.get_items(f"{platform.path}/taxonomy-nodes", caller=mary, query={"limit": 2, "kind": "term"})
        assert nodes_listed == [api.get(f"/taxonomy-nodes/{node['id']}", caller=mary).json for node in nodes_listed]
        assert {node["path"] for node in nodes_listed} >= {"animals/machines/motoren"}

    def test_search_finds_the_current_name(self, api, platform, nodes):
        api.patch(nodes["motoren"].path, caller=platform.owner, json={"name": "Engines"})
        assert (list_node_paths(api, platform, q="mot"), list_node_paths(api, platform, q="eng")) == (
            [],
            ["machines/motoren"],
        )

    def test_take_one_query_and_one_read_of_ancestors(self, api, platform, nodes):
        for query in ({}, {"parentId": nodes["machines"].id}, {"q": "mo"}, {"kind": "system"}):
            calls = api.get(
                f"{platform.path}/taxonomy-nodes", caller=platform.owner, query=query
            ).calls.names_of_service("dynamodb")
            assert calls[:2] == ["dynamodb:BatchGetItem", "dynamodb:Query"]
            assert calls[2:] in ([], ["dynamodb:BatchGetItem"])

    def test_of_another_platform_are_empty(self, api, organization, nodes):
        other = create_platform(api, organization)
        for query in ({}, {"parentId": nodes["machines"].id}, {"q": "m"}, {"kind": "system"}):
            assert list_node_paths(api, other, **query) == []


def nested_slugs(branches: list[Json]) -> list[Any]:
    """Return the slugs of a tree, each with those of its descendants."""
    return [[branch["slug"], *nested_slugs(branch["children"])] for branch in branches]


class TestGetTaxonomyTree:
    def get_tree(self, api: ApiClient, platform: CreatedPlatform, **query: Any) -> Json:
        return api.get(f"{platform.path}/taxonomy-tree", caller=platform.owner, query=query).json

    def test_contains_all_nodes_below_their_parents_by_position(self, api, platform, nodes):
        tree = self.get_tree(api, platform)
        assert nested_slugs(tree["items"]) == [
            ["animals"],
            ["machines", ["mobiles"], ["motoren"]],
            ["featured"],
            ["pinned"],
            ["official"],
            ["archived"],
        ]
        assert tree["nextCursor"] is None
        motoren = tree["items"][1]["children"][1]
        assert motoren == {**nodes["motoren"].record, "children": []}

    def test_is_limited_by_depth(self, api, platform, nodes):
        create_node(api, platform, "Diesel", nodes["motoren"])
        assert all(not root["children"] for root in self.get_tree(api, platform, depth=1)["items"])
        assert nested_slugs(self.get_tree(api, platform, depth=2)["items"])[1] == ["machines", ["mobiles"], ["motoren"]]
        assert nested_slugs(self.get_tree(api, platform, depth=10)["items"])[1] == [
            "machines",
            ["mobiles"],
            ["motoren", ["diesel"]],
        ]
        for depth in (0, 11, "x"):
            answer = api.get(f"{platform.path}/taxonomy-tree", caller=platform.owner, query={"depth": depth})
            assert list(answer.errors) == ["query/depth"]

    def test_starts_at_a_given_node(self, api, platform, nodes):
        create_node(api, platform, "Diesel", nodes["motoren"])
        (branch,) = self.get_tree(api, platform, rootId=nodes["motoren"].id)["items"]
        assert (branch["path"], branch["depth"]) == ("machines/motoren", 2)
        assert [child["path"] for child in branch["children"]] == ["machines/motoren/diesel"]
        (branch,) = self.get_tree(api, platform, rootId=nodes["motoren"].id, depth=1)["items"]
        assert branch["children"] == []

    def test_rejects_an_unknown_root(self, api, organization, platform):
        foreign_node = create_node(api, create_platform(api, organization), "Foreign")
        for root_id in (UNKNOWN_ID, foreign_node.id):
            answer = api.get(f"{platform.path}/taxonomy-tree", caller=platform.owner, query={"rootId": root_id})
            assert answer.status_and_code == "404 not_found"

    def test_without_nodes_is_empty(self, api, platform):
        assert self.get_tree(api, platform) == {"items": [], "nextCursor": None}
