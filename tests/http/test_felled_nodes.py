"""Deletion of taxonomy nodes: what happens to their subtrees and attachments."""

import pytest

from chalicelib.kernel.work import jobs
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.index_lag import LAGS, lagging
from tests.harness.platforms import Running
from tests.harness.taxonomy import (
    Node,
    asked_to_plant,
    attach,
    fell,
    move,
    paths,
    plant,
    plant_line,
    put_on,
    resolve,
)
from tests.harness.workers import Workers


def remaining_key_prefixes(platform: Running) -> set[str]:
    """Return the key prefixes of the stored items of a platform's taxonomy."""
    items = [item for item in cloud.stored() if platform.id in item["pk"] or item.get("platform_id") == platform.id]
    taxonomy_items = [item for item in items if item["pk"].startswith((f"P#{platform.id}#T", "H#", "U#taxonomy"))]
    return {item["pk"][:1] + item["sk"].partition("#")[0] for item in taxonomy_items if len(item) > 2}


def stored_node_count(platform: Running) -> int:
    """Return how many nodes count against the quota."""
    (count,) = [item["n"] for item in cloud.stored() if item["sk"] == "COUNT#taxonomy nodes"]
    assert platform.id
    return int(count)


def assert_not_visible(api: Api, *nodes: Node) -> None:
    """Assert that no operation shows any of some nodes."""
    platform, ids = nodes[0].platform, {node.id for node in nodes}
    for node in nodes:
        assert api.get(node.path, as_=platform.owner).code == "404 not_found"
        assert api.get(f"{node.path}/attachments", as_=platform.owner).code == "404 not_found"
        assert put_on(api, node).code == "404 not_found"
        assert asked_to_plant(api, platform, "New", node).faults == {"/parentId": "unknown"}
        assert resolve(api, platform, node.record["path"]).status == 404
        assert resolve(api, platform, slug=node.record["slug"]).status == 404
    for query in ({}, {"q": nodes[0].record["name"]}, *({"parentId": node_id} for node_id in ids)):
        listed = api.items(f"{platform.path}/taxonomy-nodes", as_=platform.owner, query=query)
        assert not ids & {node["id"] for node in listed}
    for query in ({}, {"entityType": "lesson"}, *({"nodeId": node_id} for node_id in ids)):
        attached = api.items(f"{platform.path}/taxonomy-attachments", as_=platform.owner, query=query)
        assert not ids & {attachment["nodeId"] for attachment in attached}
    tree = api.get(f"{platform.path}/taxonomy-tree", as_=platform.owner).text
    assert not any(node_id in tree for node_id in ids)


class TestCascade:
    def test_cascade_hides_the_subtree_at_once_and_removes_it_later(
        self, api: Api, platform: Running, workers: Workers
    ) -> None:
        remaining = plant(api, platform, "Stays")
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        entity_id = attach(api, jacquard).record["entityId"]
        attach(api, remaining, "lesson", entity_id)
        assert fell(api, machines, "cascade").status == 204
        assert_not_visible(api, machines, looms, jacquard)
        assert paths(api, platform) == ["stays"]
        workers.settle()
        assert_not_visible(api, machines, looms, jacquard)
        assert remaining_key_prefixes(platform) == {"PA", "PCOUNT", "PE", "PN", "PN~", "PQ", "PS", "PW", "H", "U"}
        assert stored_node_count(platform) == 1

    def test_cascade_frees_the_slug_at_once(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, _ = plant_line(api, platform, "Machines", "Looms")
        assert fell(api, machines, "cascade").status == 204
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        assert machines.record["slug"] == "machines"
        workers.settle()
        assert resolve(api, platform, "machines/looms").json["node"] == looms.record
        assert stored_node_count(platform) == 2

    def test_a_parent_can_be_deleted_once_its_subtree_is_deleted(
        self, api: Api, platform: Running, workers: Workers
    ) -> None:
        machines, looms, _ = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        assert fell(api, looms, "cascade").status == 204
        assert fell(api, machines).status == 204  # It has no children any more.
        workers.settle()
        assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}

    def test_a_large_subtree_is_removed_in_slices(
        self, api: Api, platform: Running, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = plant(api, platform, "Root")
        for n in range(4):
            attach(api, plant(api, platform, f"Child {n}", root))
        assert fell(api, root, "cascade").status == 204
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        workers.settle()
        assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}

    @pytest.mark.parametrize("seconds", LAGS)
    def test_cascade_does_not_depend_on_index_lag(
        self, api: Api, platform: Running, workers: Workers, seconds: float
    ) -> None:
        with lagging(seconds):
            machines, looms = plant_line(api, platform, "Machines", "Looms")
            attach(api, looms)
            assert fell(api, machines, "cascade").status == 204
            workers.settle()
            assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}

    def test_cascade_deletes_a_node_without_children(self, api: Api, platform: Running) -> None:
        looms = plant(api, platform)
        assert fell(api, looms, "cascade").status == 204
        assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}


class TestReparent:
    def test_children_move_up_and_their_former_paths_redirect(
        self, api: Api, platform: Running, workers: Workers
    ) -> None:
        machines, looms, jacquard, cards = plant_line(api, platform, "Machines", "Looms", "Jacquard", "Cards")
        attached = attach(api, looms)
        assert fell(api, looms, "reparent").status == 204
        for _ in range(2):
            former_path = resolve(api, platform, "machines/looms")
            assert (former_path.json["node"]["id"], former_path.json["matchedBy"]) == (machines.id, "formerPath")
            assert paths(api, platform) == ["machines", "machines/jacquard", "machines/jacquard/cards"]
            assert api.get(cards.path, as_=platform.owner).json["depth"] == 3
            for path, node in (("machines/looms/jacquard", jacquard), ("machines/looms/jacquard/cards", cards)):
                resolved = resolve(api, platform, path).json
                assert (resolved["node"]["id"], resolved["matchedBy"]) == (node.id, "formerPath")
            assert api.get(attached.path, as_=platform.owner).code == "404 not_found"
            workers.settle()
        assert fell(api, machines).code == "409 not_empty"
        assert "1 child and 0 attachments" in fell(api, machines).json["detail"]
        assert stored_node_count(platform) == 3

    def test_children_of_a_root_become_roots(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        assert fell(api, machines, "reparent").status == 204
        workers.settle()
        assert paths(api, platform) == ["looms", "looms/jacquard"]
        assert resolve(api, platform, "machines/looms/jacquard").json["node"]["id"] == jacquard.id
        assert resolve(api, platform, "machines").status == 404
        assert fell(api, looms).code == "409 not_empty"

    def test_a_former_path_of_a_child_still_resolves(self, api: Api, platform: Running) -> None:
        _, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        assert api.patch(jacquard.path, as_=platform.owner, json={"slug": "cards"}).status == 200
        assert fell(api, looms, "reparent").status == 204
        assert resolve(api, platform, "machines/looms/jacquard").json["node"]["path"] == "machines/cards"

    def test_a_child_may_take_the_slug_of_the_deleted_parent(self, api: Api, platform: Running) -> None:
        looms, inner = plant_line(api, platform, "Looms", "Looms")
        assert fell(api, looms, "reparent").status == 204
        assert resolve(api, platform, "looms").json["node"]["id"] == inner.id
        assert asked_to_plant(api, platform, slug="looms").code == "409 slug_taken"

    def test_a_child_whose_slug_is_taken_prevents_the_deletion(self, api: Api, platform: Running) -> None:
        machines, looms, _ = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        plant(api, platform, "Jacquard", machines, slug="jacquard")
        rejected = fell(api, looms, "reparent")
        assert rejected.code == "409 slug_taken"
        assert "'jacquard'" in rejected.json["detail"]

    def test_at_most_25_children_are_reparented(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        children = [plant(api, platform, f"Child {n}", looms, description="x" * 4000) for n in range(26)]
        attach(api, looms)
        description = {"description": "y" * 4000}
        assert api.patch(looms.path, as_=platform.owner, json=description).status == 200
        rejected = fell(api, looms, "reparent")
        assert (rejected.code, rejected.faults) == ("409 limit_exceeded", {"query/strategy": "limit_exceeded"})
        assert move(api, children[0], None).status == 200
        assert fell(api, looms, "reparent").status == 204
        workers.settle()
        assert len(paths(api, platform, parentId=machines.id)) == 25
        assert stored_node_count(platform) == 27

    def test_reparent_removes_the_attachments_of_the_node(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        attach(api, looms)
        assert fell(api, looms, "reparent").status == 204
        assert api.get(looms.path, as_=platform.owner).code == "404 not_found"
        assert api.items(f"{platform.path}/taxonomy-attachments", as_=platform.owner) == []
        workers.settle()
        assert (fell(api, machines).status, remaining_key_prefixes(platform)) == (204, {"PCOUNT", "PF", "PN~"})
