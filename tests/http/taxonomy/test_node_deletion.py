"""Deletion of taxonomy nodes: what happens to their subtrees and attachments."""

import pytest

from chalicelib.kernel.work import jobs
from tests.harness import memory_aws
from tests.harness.index_lag import LAGS, lag_indexes
from tests.harness.taxonomy import post_attachment, resolve_node

EMPTY = {"PCOUNT", "PN~"}
CHAIN = ("Machines", "Looms", "Jacquard")


def remaining_key_prefixes(platform):
    """Return the key prefixes of the stored items of a platform's taxonomy."""
    items = [item for item in memory_aws.all_items() if platform.id in (item["pk"] + item.get("platform_id", ""))]
    taxonomy_items = [item for item in items if item["pk"].startswith((f"P#{platform.id}#T", "H#", "U#taxonomy"))]
    return {item["pk"][:1] + item["sk"].partition("#")[0] for item in taxonomy_items if len(item) > 2}


def stored_node_count():
    """Return how many nodes count against the quota."""
    (count,) = [item["n"] for item in memory_aws.all_items() if item["sk"] == "COUNT#taxonomy nodes"]
    return count


def assert_not_visible(api, nodes, names):
    """Assert that no operation shows any of some nodes."""
    platform, owner, ids = nodes.platform, nodes.platform.owner, {nodes[name].id for name in names}
    for name in names:
        node = nodes[name]
        for path in (node.path, f"{node.path}/attachments"):
            assert api.get(path, caller=owner).status_and_code == "404 not_found"
        assert post_attachment(api, node).status_and_code == "404 not_found"
        assert nodes.post("New", name).errors == {"/parentId": "unknown"}
        assert nodes.resolve(node.record["path"]) is nodes.resolve(slug=node.record["slug"]) is None
    for query in ({}, {"q": names[0]}, *({"parentId": node_id} for node_id in ids)):
        listed = api.get_items(f"{platform.path}/taxonomy-nodes", caller=owner, query=query)
        assert not ids & {node["id"] for node in listed}
    for query in ({}, {"entityType": "lesson"}, *({"nodeId": node_id} for node_id in ids)):
        attached = api.get_items(f"{platform.path}/taxonomy-attachments", caller=owner, query=query)
        assert not ids & {attachment["nodeId"] for attachment in attached}
    tree = api.get(f"{platform.path}/taxonomy-tree", caller=owner).text
    assert not any(node_id in tree for node_id in ids)


class TestCascade:
    def test_cascade_hides_the_subtree_at_once_and_removes_it_later(self, api, platform, nodes, workers):
        nodes.create("Stays")
        nodes.create_chain(*CHAIN)
        nodes.attach("Stays", "lesson", nodes.attach("Jacquard").record["entityId"])
        assert nodes.delete("Machines", "cascade").status == 204
        for _ in range(2):
            assert_not_visible(api, nodes, CHAIN)
            assert nodes.list_paths() == ["stays"]
            workers.run_until_idle()
        assert remaining_key_prefixes(platform) == {"PA", "PCOUNT", "PE", "PN", "PN~", "PQ", "PS", "PW", "H", "U"}
        assert stored_node_count() == 1

    def test_cascade_frees_the_slug_at_once(self, api, platform, nodes, workers):
        nodes.create_chain("Machines", "Looms")
        assert nodes.delete("Machines", "cascade").status == 204
        machines, looms = nodes.create_chain("Machines", "Looms")
        assert machines.record["slug"] == "machines"
        workers.run_until_idle()
        assert resolve_node(api, platform, "machines/looms").json["node"] == looms.record
        assert stored_node_count() == 2

    def test_a_parent_can_be_deleted_once_its_subtree_is_deleted(self, platform, nodes, workers):
        nodes.create_chain(*CHAIN)
        assert nodes.delete("Looms", "cascade").status == 204
        assert nodes.delete("Machines").status == 204  # It has no children any more.
        workers.run_until_idle()
        assert remaining_key_prefixes(platform) == EMPTY

    def test_a_large_subtree_is_removed_in_slices(self, platform, nodes, workers, monkeypatch):
        nodes.create("Root")
        for n in range(4):
            nodes.create(f"Root/Child {n}")
            nodes.attach(f"Child {n}")
        assert nodes.delete("Root", "cascade").status == 204
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        workers.run_until_idle()
        assert remaining_key_prefixes(platform) == EMPTY

    @pytest.mark.parametrize("seconds", LAGS)
    def test_cascade_does_not_depend_on_index_lag(self, platform, nodes, workers, seconds):
        with lag_indexes(seconds):
            nodes.create_chain("Machines", "Looms")
            nodes.attach("Looms")
            assert nodes.delete("Machines", "cascade").status == 204
            workers.run_until_idle()
            assert remaining_key_prefixes(platform) == EMPTY

    def test_cascade_deletes_a_node_without_children(self, platform, nodes):
        nodes.create("Looms")
        assert nodes.delete("Looms", "cascade").status == 204
        assert remaining_key_prefixes(platform) == EMPTY


class TestReparent:
    def test_children_move_up_and_their_former_paths_redirect(self, api, platform, nodes, workers):
        nodes.create_chain(*CHAIN, "Cards")
        attachment = nodes.attach("Looms")
        assert nodes.delete("Looms", "reparent").status == 204
        for _ in range(2):
            assert nodes.list_paths() == ["machines", "machines/jacquard", "machines/jacquard/cards"]
            assert nodes.read("Cards")["depth"] == 3
            for path, name in {"": "Machines", "/jacquard": "Jacquard", "/jacquard/cards": "Cards"}.items():
                assert nodes.resolve(f"machines/looms{path}") == (name, "formerPath")
            assert api.get(attachment.path, caller=platform.owner).status_and_code == "404 not_found"
            assert api.get(nodes["Looms"].path, caller=platform.owner).status_and_code == "404 not_found"
            assert api.get_items(f"{platform.path}/taxonomy-attachments", caller=platform.owner) == []
            workers.run_until_idle()
        answer = nodes.delete("Machines")
        assert answer.status_and_code == "409 not_empty"
        assert "1 child and 0 attachments" in answer.json["detail"]
        assert stored_node_count() == 3

    def test_children_of_a_root_become_roots(self, nodes, workers):
        nodes.create_chain(*CHAIN)
        assert nodes.delete("Machines", "reparent").status == 204
        workers.run_until_idle()
        assert nodes.list_paths() == ["looms", "looms/jacquard"]
        assert nodes.resolve("machines/looms/jacquard") == ("Jacquard", "formerPath")
        assert nodes.resolve("machines") is None
        assert nodes.delete("Looms").status_and_code == "409 not_empty"

    def test_a_former_path_of_a_child_still_resolves(self, nodes):
        nodes.create_chain(*CHAIN)
        nodes.rename(Jacquard="cards")
        assert nodes.delete("Looms", "reparent").status == 204
        assert nodes.resolve("machines/looms/jacquard") == ("Jacquard", "formerPath")
        assert nodes.resolve("machines/cards") == ("Jacquard", "path")

    def test_a_child_may_take_the_slug_of_the_deleted_parent(self, nodes):
        nodes.create("Looms")
        nodes.create("Looms/Inner looms", slug="looms")
        assert nodes.delete("Looms", "reparent").status == 204
        assert nodes.resolve("looms") == ("Inner looms", "path")
        assert nodes.post("Looms", slug="looms").status_and_code == "409 slug_taken"

    def test_a_child_whose_slug_is_taken_prevents_the_deletion(self, nodes):
        nodes.create_chain(*CHAIN)
        nodes.create("Machines/Other", slug="jacquard")
        rejected = nodes.delete("Looms", "reparent")
        assert rejected.status_and_code == "409 slug_taken"
        assert "'jacquard'" in rejected.json["detail"]

    def test_at_most_25_children_are_reparented(self, nodes, workers):
        machines, _ = nodes.create_chain("Machines", "Looms")
        nodes.create(*(f"Looms/Child {n}" for n in range(26)), description="x" * 4000)
        nodes.attach("Looms")
        assert nodes.patch("Looms", description="y" * 4000).status == 200
        answer = nodes.delete("Looms", "reparent")
        assert (answer.status_and_code, answer.errors) == ("409 limit_exceeded", {"query/strategy": "limit_exceeded"})
        assert nodes.move("Child 0", None).status == 200
        assert nodes.delete("Looms", "reparent").status == 204
        workers.run_until_idle()
        assert len(nodes.list_paths(parentId=machines.id)) == 25
        assert stored_node_count() == 27

    def test_reparent_leaves_only_the_former_path_of_a_node_without_children(self, platform, nodes, workers):
        nodes.create_chain("Machines", "Looms")
        nodes.attach("Looms")
        assert nodes.delete("Looms", "reparent").status == 204
        workers.run_until_idle()
        assert nodes.delete("Machines").status == 204
        assert remaining_key_prefixes(platform) == {*EMPTY, "PF"}
