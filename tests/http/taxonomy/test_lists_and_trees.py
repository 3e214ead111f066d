"""Test a taxonomy as a list and as a tree."""

import pytest

from tests.harness.platforms import create_platform
from tests.harness.taxonomy import create_node, list_node_paths

UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
TAGS = ["featured", "pinned", "official", "archived"]


@pytest.fixture
def tree(api, platform, nodes):
    """Two root nodes and children of one of them; the system tags exist too."""
    nodes.create("Machines", position=1)
    nodes.create("Machines/Motoren", position=2)
    nodes.create("Machines/Móbiles", position=1)
    nodes.create("Animals", position=0)
    assert api.post(f"{platform.path}/taxonomy-system-tags", caller=platform.owner, json={}).status == 200
    return nodes


class TestListPlatformTaxonomyNodes:
    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_nodes_are_ordered_by_position_and_filters_apply_together_and_on_every_page(self, tree, limit):
        machines = tree["Machines"].id
        mobiles, motoren = "machines/mobiles", "machines/motoren"
        for query, paths in [
            ({}, ["animals", "machines", mobiles, motoren, *TAGS]),
            ({"parentId": machines}, [mobiles, motoren]),
            ({"kind": "system"}, TAGS),
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
        ]:
            assert tree.list_paths(limit=limit, **query) == paths, query

    def test_contain_current_nodes(self, api, platform, tree, mary):
        tree.move("Machines", "Animals")
        tree.patch("Motoren", name="Engines")
        listed = api.get_items(f"{platform.path}/taxonomy-nodes", caller=mary, query={"limit": 2, "kind": "term"})
        assert listed == [api.get(f"/taxonomy-nodes/{node['id']}", caller=mary).json for node in listed]
        assert "animals/machines/motoren" in {node["path"] for node in listed}
        assert (tree.list_paths(q="mot"), tree.list_paths(q="eng")) == ([], ["animals/machines/motoren"])

    def test_take_one_query_and_one_read_of_ancestors_and_contain_no_nodes_of_another_platform(
        self, api, organization, platform, tree
    ):
        other = create_platform(api, organization)
        for query in ({}, {"parentId": tree["Machines"].id}, {"q": "m"}, {"kind": "system"}):
            answer = api.get(f"{platform.path}/taxonomy-nodes", caller=platform.owner, query=query)
            calls = answer.calls.names_of_service("dynamodb")
            assert calls[:2] == ["dynamodb:BatchGetItem", "dynamodb:Query"]
            assert calls[2:] in ([], ["dynamodb:BatchGetItem"])
            assert list_node_paths(api, other, **query) == []


def nested_slugs(branches):
    """Return the slugs of a tree, each with those of its descendants."""
    return [[branch["slug"], *nested_slugs(branch["children"])] for branch in branches]


class TestGetTaxonomyTree:
    @pytest.fixture
    def get_tree(self, api, platform):
        """A function that requests the tree."""
        path, owner = f"{platform.path}/taxonomy-tree", platform.owner
        return lambda **query: api.get(path, caller=owner, query=query)

    def test_contains_all_nodes_below_their_parents_by_position(self, tree, get_tree):
        answer = get_tree().json
        roots = [["animals"], ["machines", ["mobiles"], ["motoren"]], *([tag] for tag in TAGS)]
        assert (nested_slugs(answer["items"]), answer["nextCursor"]) == (roots, None)
        assert answer["items"][1]["children"][1] == {**tree["Motoren"].record, "children": []}

    def test_is_limited_by_depth(self, tree, get_tree):
        tree.create("Motoren/Diesel")
        machines = ["machines", ["mobiles"]]
        branches = {1: ["machines"], 2: [*machines, ["motoren"]], 10: [*machines, ["motoren", ["diesel"]]]}
        for depth, branch in branches.items():
            items = get_tree(depth=depth).json["items"]
            assert nested_slugs(items) == [["animals"], branch, *([tag] for tag in TAGS)]
        for invalid_depth in (0, 11, "x"):
            assert [*get_tree(depth=invalid_depth).errors] == ["query/depth"]

    def test_starts_at_a_given_node(self, api, organization, tree, get_tree):
        tree.create("Motoren/Diesel")
        (branch,) = get_tree(rootId=tree["Motoren"].id).json["items"]
        assert (branch["path"], branch["depth"]) == ("machines/motoren", 2)
        assert [child["path"] for child in branch["children"]] == ["machines/motoren/diesel"]
        (branch,) = get_tree(rootId=tree["Motoren"].id, depth=1).json["items"]
        assert branch["children"] == []
        foreign_node = create_node(api, create_platform(api, organization), "Foreign")
        for root_id in (UNKNOWN_ID, foreign_node.id):
            assert get_tree(rootId=root_id).status_and_code == "404 not_found"

    def test_without_nodes_is_empty(self, get_tree):
        assert get_tree().json == {"items": [], "nextCursor": None}
