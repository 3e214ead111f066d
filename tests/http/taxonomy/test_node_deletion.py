"""Deletion of taxonomy nodes: what happens to their subtrees and attachments."""

import pytest

from chalicelib.kernel.work import jobs
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.index_lag import LAGS, lag_indexes
from tests.harness.platforms import CreatedPlatform
from tests.harness.taxonomy import (
    CreatedNode,
    create_attachment,
    create_node,
    create_node_chain,
    delete_node,
    list_node_paths,
    move_node,
    post_attachment,
    post_node,
    resolve_node,
)


def remaining_key_prefixes(platform: CreatedPlatform) -> set[str]:
    """Return the key prefixes of the stored items of a platform's taxonomy."""
    items = [
        item for item in memory_aws.all_items() if platform.id in item["pk"] or item.get("platform_id") == platform.id
    ]
    taxonomy_items = [item for item in items if item["pk"].startswith((f"P#{platform.id}#T", "H#", "U#taxonomy"))]
    return {item["pk"][:1] + item["sk"].partition("#")[0] for item in taxonomy_items if len(item) > 2}


def stored_node_count(platform: CreatedPlatform) -> int:
    """Return how many nodes count against the quota."""
    (count,) = [item["n"] for item in memory_aws.all_items() if item["sk"] == "COUNT#taxonomy nodes"]
    assert platform.id
    return int(count)


def assert_not_visible(api: ApiClient, *nodes: CreatedNode) -> None:
    """Assert that no operation shows any of some nodes."""
    platform, ids = nodes[0].platform, {node.id for node in nodes}
    for node in nodes:
        assert api.get(node.path, caller=platform.owner).status_and_code == "404 not_found"
        assert api.get(f"{node.path}/attachments", caller=platform.owner).status_and_code == "404 not_found"
        assert post_attachment(api, node).status_and_code == "404 not_found"
        assert post_node(api, platform, "New", node).errors == {"/parentId": "unknown"}
        assert resolve_node(api, platform, node.record["path"]).status == 404
        assert resolve_node(api, platform, slug=node.record["slug"]).status == 404
    for query in ({}, {"q": nodes[0].record["name"]}, *({"parentId": node_id} for node_id in ids)):
        listed = api.get_items(f"{platform.path}/taxonomy-nodes", caller=platform.owner, query=query)
        assert not ids & {node["id"] for node in listed}
    for query in ({}, {"entityType": "lesson"}, *({"nodeId": node_id} for node_id in ids)):
        attached = api.get_items(f"{platform.path}/taxonomy-attachments", caller=platform.owner, query=query)
        assert not ids & {attachment["nodeId"] for attachment in attached}
    tree = api.get(f"{platform.path}/taxonomy-tree", caller=platform.owner).text
    assert not any(node_id in tree for node_id in ids)


class TestCascade:
    def test_cascade_hides_the_subtree_at_once_and_removes_it_later(self, api, platform, workers):
        remaining = create_node(api, platform, "Stays")
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        entity_id = create_attachment(api, jacquard).record["entityId"]
        create_attachment(api, remaining, "lesson", entity_id)
        assert delete_node(api, machines, "cascade").status == 204
        assert_not_visible(api, machines, looms, jacquard)
        assert list_node_paths(api, platform) == ["stays"]
        workers.run_until_idle()
        assert_not_visible(api, machines, looms, jacquard)
        assert remaining_key_prefixes(platform) == {"PA", "PCOUNT", "PE", "PN", "PN~", "PQ", "PS", "PW", "H", "U"}
        assert stored_node_count(platform) == 1

    def test_cascade_frees_the_slug_at_once(self, api, platform, workers):
        machines, _ = create_node_chain(api, platform, "Machines", "Looms")
        assert delete_node(api, machines, "cascade").status == 204
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        assert machines.record["slug"] == "machines"
        workers.run_until_idle()
        assert resolve_node(api, platform, "machines/looms").json["node"] == looms.record
        assert stored_node_count(platform) == 2

    def test_a_parent_can_be_deleted_once_its_subtree_is_deleted(self, api, platform, workers):
        machines, looms, _ = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        assert delete_node(api, looms, "cascade").status == 204
        assert delete_node(api, machines).status == 204  # It has no children any more.
        workers.run_until_idle()
        assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}

    def test_a_large_subtree_is_removed_in_slices(self, api, platform, workers, monkeypatch):
        root = create_node(api, platform, "Root")
        for n in range(4):
            create_attachment(api, create_node(api, platform, f"Child {n}", root))
        assert delete_node(api, root, "cascade").status == 204
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        workers.run_until_idle()
        assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}

    @pytest.mark.parametrize("seconds", LAGS)
    def test_cascade_does_not_depend_on_index_lag(self, api, platform, workers, seconds):
        with lag_indexes(seconds):
            machines, looms = create_node_chain(api, platform, "Machines", "Looms")
            create_attachment(api, looms)
            assert delete_node(api, machines, "cascade").status == 204
            workers.run_until_idle()
            assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}

    def test_cascade_deletes_a_node_without_children(self, api, platform):
        looms = create_node(api, platform)
        assert delete_node(api, looms, "cascade").status == 204
        assert remaining_key_prefixes(platform) == {"PCOUNT", "PN~"}


class TestReparent:
    def test_children_move_up_and_their_former_paths_redirect(self, api, platform, workers):
        machines, looms, jacquard, cards = create_node_chain(api, platform, "Machines", "Looms", "Jacquard", "Cards")
        attached = create_attachment(api, looms)
        assert delete_node(api, looms, "reparent").status == 204
        for _ in range(2):
            former_path = resolve_node(api, platform, "machines/looms")
            assert (former_path.json["node"]["id"], former_path.json["matchedBy"]) == (machines.id, "formerPath")
            assert list_node_paths(api, platform) == ["machines", "machines/jacquard", "machines/jacquard/cards"]
            assert api.get(cards.path, caller=platform.owner).json["depth"] == 3
            for path, node in (("machines/looms/jacquard", jacquard), ("machines/looms/jacquard/cards", cards)):
                resolved = resolve_node(api, platform, path).json
                assert (resolved["node"]["id"], resolved["matchedBy"]) == (node.id, "formerPath")
            assert api.get(attached.path, caller=platform.owner).status_and_code == "404 not_found"
            workers.run_until_idle()
        assert delete_node(api, machines).status_and_code == "409 not_empty"
        assert "1 child and 0 attachments" in delete_node(api, machines).json["detail"]
        assert stored_node_count(platform) == 3

    def test_children_of_a_root_become_roots(self, api, platform, workers):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        assert delete_node(api, machines, "reparent").status == 204
        workers.run_until_idle()
        assert list_node_paths(api, platform) == ["looms", "looms/jacquard"]
        assert resolve_node(api, platform, "machines/looms/jacquard").json["node"]["id"] == jacquard.id
        assert resolve_node(api, platform, "machines").status == 404
        assert delete_node(api, looms).status_and_code == "409 not_empty"

    def test_a_former_path_of_a_child_still_resolves(self, api, platform):
        _, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        assert api.patch(jacquard.path, caller=platform.owner, json={"slug": "cards"}).status == 200
        assert delete_node(api, looms, "reparent").status == 204
        assert resolve_node(api, platform, "machines/looms/jacquard").json["node"]["path"] == "machines/cards"

    def test_a_child_may_take_the_slug_of_the_deleted_parent(self, api, platform):
        looms, inner = create_node_chain(api, platform, "Looms", "Looms")
        assert delete_node(api, looms, "reparent").status == 204
        assert resolve_node(api, platform, "looms").json["node"]["id"] == inner.id
        assert post_node(api, platform, slug="looms").status_and_code == "409 slug_taken"

    def test_a_child_whose_slug_is_taken_prevents_the_deletion(self, api, platform):
        machines, looms, _ = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        create_node(api, platform, "Jacquard", machines, slug="jacquard")
        rejected = delete_node(api, looms, "reparent")
        assert rejected.status_and_code == "409 slug_taken"
        assert "'jacquard'" in rejected.json["detail"]

    def test_at_most_25_children_are_reparented(self, api, platform, workers):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        children = [create_node(api, platform, f"Child {n}", looms, description="x" * 4000) for n in range(26)]
        create_attachment(api, looms)
        description = {"description": "y" * 4000}
        assert api.patch(looms.path, caller=platform.owner, json=description).status == 200
        rejected = delete_node(api, looms, "reparent")
        assert (rejected.status_and_code, rejected.errors) == (
            "409 limit_exceeded",
            {"query/strategy": "limit_exceeded"},
        )
        assert move_node(api, children[0], None).status == 200
        assert delete_node(api, looms, "reparent").status == 204
        workers.run_until_idle()
        assert len(list_node_paths(api, platform, parentId=machines.id)) == 25
        assert stored_node_count(platform) == 27

    def test_reparent_removes_the_attachments_of_the_node(self, api, platform, workers):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        create_attachment(api, looms)
        assert delete_node(api, looms, "reparent").status == 204
        assert api.get(looms.path, caller=platform.owner).status_and_code == "404 not_found"
        assert api.get_items(f"{platform.path}/taxonomy-attachments", caller=platform.owner) == []
        workers.run_until_idle()
        assert (delete_node(api, machines).status, remaining_key_prefixes(platform)) == (204, {"PCOUNT", "PF", "PN~"})
