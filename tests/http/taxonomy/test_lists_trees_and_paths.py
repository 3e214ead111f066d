"""Paths, slugs and labels of a taxonomy; lists and trees of it, for 3,000 nodes with the AWS calls for ten."""

from typing import Any

import pytest

from chalicelib.features.taxonomy.entities import slug_index
from chalicelib.features.taxonomy.entities.nodes import ALL_NODES_LIST, TaxonomyNode
from chalicelib.kernel.core.clock import now
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.organizations import create_organization
from tests.harness.platforms import create_platform
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.taxonomy import TaxonomyNodes, create_node, list_node_paths, resolve_node

LEVELS = [f"level-{n}" for n in range(1, 11)]


class TestByPath:
    def test_returns_the_node_and_its_ancestors(self, api, platform, nodes):
        machines, looms, jacquard = nodes.create_chain("Machines", "Looms", "Jacquard")
        assert resolve_node(api, platform, "machines/looms/jacquard").json == {
            "node": jacquard.record,
            "ancestors": [machines.record, looms.record],
            "matchedBy": "path",
        }

    def test_ignores_case_and_surrounding_slashes_and_finds_nothing_else(self, nodes):
        nodes.create_chain("Machines", "Looms")
        for path in ("machines/looms", "/machines/looms/", " Machines/LOOMS "):
            assert nodes.resolve(path) == ("Looms", "path")
        unknown_paths = ["looms", "machines/mills", "machines/looms/jacquard", "machines//looms", "machines/Ünder"]
        for path in (*unknown_paths, "a" * 1000, "/".join("a" * 11), "looms/machines"):
            assert nodes.resolve(path) is None, path

    @pytest.mark.parametrize("query", [{}, {"path": ""}, {"path": " ", "slug": ""}])
    def test_requires_a_path_or_a_slug(self, api, platform, query):
        assert [*resolve_node(api, platform, **query).errors] == ["query/path", "query/slug"]

    def test_a_path_of_ten_segments_takes_two_reads(self, api, platform, nodes):
        *_, last = nodes.create_chain(*LEVELS)
        resolve_node(api, platform, "met")
        answer = resolve_node(api, platform, "/".join(LEVELS))
        assert (answer.json["node"], len(answer.json["ancestors"])) == (last.record, 9)
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"] * 2

    def test_a_path_through_a_slug_of_many_nodes_is_resolved(self, nodes, monkeypatch):
        monkeypatch.setattr(slug_index, "MAX_NODES_PER_SLUG", 2)
        for n in range(4):
            nodes.create(f"Root {n}")
            nodes.create(f"Root {n}/Parts {n}", slug="parts")
        for n in range(4):
            nodes.create(f"Parts {n}/Bolts {n}", slug="bolts")
        nodes.create("Bolts 3/Heads")
        for n in range(4):
            assert nodes.resolve(f"root-{n}/parts") == (f"Parts {n}", "path")
            assert nodes.resolve(f"root-{n}/parts/bolts") == (f"Bolts {n}", "path")
        assert nodes.resolve("root-3/parts/bolts/heads") == ("Heads", "path")
        assert nodes.resolve("root-2/parts/bolts/heads") is None
        assert nodes.resolve("parts") is None
        nodes.move("Parts 0", None)
        assert nodes.resolve("parts/bolts") == ("Bolts 0", "path")
        assert nodes.resolve("root-0/parts/bolts") == ("Bolts 0", "formerPath")


class TestByFormerPath:
    def test_a_moved_or_renamed_node_is_found(self, api, platform, nodes):
        nodes.create_chain("Machines", "Looms")
        things = nodes.create("Things")
        nodes.move("Looms", "Things")
        nodes.rename(Looms="weavers")
        assert nodes.resolve("machines/looms") == nodes.resolve("things/looms") == ("Looms", "formerPath")
        assert nodes.resolve("things/weavers") == ("Looms", "path")
        assert resolve_node(api, platform, "machines/looms").json["ancestors"] == [things.record]
        assert nodes.resolve("machines") == ("Machines", "path")

    def test_its_descendants_are_found_even_if_they_moved_too(self, nodes):
        nodes.create_chain("Machines", "Looms", "Jacquard")
        nodes.rename(Machines="engines")
        assert nodes.resolve("machines/looms/jacquard") == ("Jacquard", "formerPath")
        nodes.create("Jacquard/Cards")
        assert nodes.resolve("machines/looms/jacquard/cards") == ("Cards", "formerPath")
        assert nodes.resolve("machines/looms/mills") is None
        nodes.rename(Looms="weavers", Machines="motors")
        nodes.move("Jacquard", "Machines")
        for path in ("machines/looms", "engines/looms", "engines/weavers", "motors/weavers"):
            assert nodes.resolve(f"{path}/jacquard") == ("Jacquard", "formerPath"), path

    def test_the_current_owner_of_a_path_takes_precedence(self, nodes):
        nodes.create("First", slug="looms")
        nodes.rename(First="old-looms")
        nodes.create("Second", slug="looms")
        assert nodes.resolve("looms") == ("Second", "path")
        nodes.rename(Second="newer-looms")
        assert nodes.resolve("looms") == ("Second", "formerPath")
        nodes.delete("Second")
        assert nodes.resolve("looms") is None
        nodes.create("Mills")
        for slug in ("grinders", "mills", "grinders"):  # The second time, the slug is the current one again.
            nodes.rename(Mills=slug)
        assert [nodes.resolve(slug) for slug in ("grinders", "mills")] == [("Mills", "path"), ("Mills", "formerPath")]

    def test_two_nodes_that_exchanged_slugs_are_found(self, nodes):
        nodes.create("One", "Other")
        nodes.create("One/Below one", "Other/Below other", slug="below")
        nodes.rename(One="x", Other="one")
        nodes.rename(One="other")
        assert nodes.resolve("one/below") == ("Below other", "path")
        assert nodes.resolve("other/below") == ("Below one", "path")
        assert nodes.resolve("x/below") == ("Below one", "formerPath")


class TestBySlugOrLabel:
    def test_a_slug_finds_the_oldest_node(self, api, platform, nodes):
        roots = [nodes.create(f"Root {n}") for n in range(3)]
        for n in (2, 1, 0):
            nodes.create(f"Root {n}/Parts {n}", slug="parts")
        assert nodes.resolve(slug="parts") == ("Parts 2", "slug")
        assert resolve_node(api, platform, slug="parts").json["ancestors"] == [roots[2].record]
        nodes.delete("Parts 2")
        assert nodes.resolve(slug="Parts") == ("Parts 1", "slug")

    @pytest.mark.parametrize(
        "label", ["Métiers à tisser", "metiers a tisser", "MÉTIERS  À  TISSER", "\uff4détiers à tisser"]
    )
    def test_a_label_is_found_whatever_its_case_and_accents(self, nodes, label):
        nodes.create_chain("Machines", "Looms")
        assert nodes.patch("Looms", altLabels=["C#", "Métiers à tisser"]).status == 200
        assert nodes.resolve(slug=label) == ("Looms", "altLabel")

    def test_a_slug_takes_precedence_over_a_label_and_labels_match_entirely(self, nodes):
        nodes.create("Alpha", altLabels=["looms", "C#", "C", "C#1"])
        nodes.create("Looms")
        assert nodes.resolve(slug="looms") == ("Looms", "slug")
        for label in ("c", "c#", "C#1"):
            assert nodes.resolve(slug=label) == ("Alpha", "altLabel")
        for word in ("c#2", "loom", "alpha beta", "#"):
            assert nodes.resolve(slug=word) is None

    def test_former_slugs_and_labels_find_nothing_and_a_path_takes_precedence(self, nodes):
        nodes.create("Looms", altLabels=["Weavers"])
        assert nodes.patch("Looms", slug="mills", altLabels=["Grinders"]).status == 200
        assert [bool(nodes.resolve(slug=word)) for word in ("looms", "weavers", "mills", "grinders")] == [0, 0, 1, 1]
        nodes.create("Machines")
        assert nodes.resolve("machines", slug="mills") == ("Machines", "path")
        assert nodes.resolve("engines", slug="mills") is None


UNKNOWN_ID = "01939d3c-0000-7000-8000-00000000000a"
MAX_NODES = 10_000
MANY_NODES = 3_000
"""Their items have more than a megabyte, which one query returns at most."""
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
