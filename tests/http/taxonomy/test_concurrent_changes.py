"""Test concurrent changes of a taxonomy: the result is that of a serial execution."""

import pytest

from chalicelib.features.taxonomy.attachments import operations
from chalicelib.kernel.storage import table
from tests.harness.taxonomy import post_attachment, resolve_node

LEVELS = [f"level-{n}" for n in range(1, 11)]
ENTITY_ID = "01939d3c-0000-7000-8000-0000000000aa"


class TestMoves:
    def test_that_cross_create_no_cycle(self, nodes, run_before_write):
        nodes.create("One", "One/Below one", "Other", "Other/Below other")
        run_before_write(lambda: nodes.move("Other", "Below one"))
        assert nodes.move("One", "Below other").status_and_code == "409 cycle"
        paths = ["one", "one/below-one", "one/below-one/other", "one/below-one/other/below-other"]
        assert sorted(nodes.list_paths()) == paths

    def test_respect_the_depth_and_height_of_branches_that_change(self, nodes, run_before_write):
        nodes.create_chain(*LEVELS[:8])
        nodes.create("Branch", "Branch/Twig", "Leaf", "Other", "Other/Short")
        run_before_write(lambda: nodes.move("Branch", LEVELS[7]))
        assert nodes.move("Leaf", "Twig").errors == {"/parentId": "too_deep"}
        run_before_write(lambda: nodes.post("New leaf", "Short"))
        assert nodes.move("Other", LEVELS[7]).errors == {"/parentId": "too_deep"}

    def test_fail_if_the_slug_is_taken_or_the_parent_deleted(self, nodes, run_before_write):
        nodes.create("Machines", "Looms", "Other")
        run_before_write(lambda: nodes.post("Looms", "Machines", slug="looms"))
        assert nodes.move("Looms", "Machines").status_and_code == "409 slug_taken"
        run_before_write(lambda: nodes.delete("Machines", "cascade"))
        assert nodes.move("Other", "Machines").errors == {"/parentId": "unknown"}

    @pytest.mark.parametrize("second_change", ["a new node", "a move"])
    def test_respect_the_depth_despite_an_outdated_height(self, nodes, run_before_write, second_change):
        nodes.create_chain(*LEVELS[:8])
        nodes.create_chain("Branch", "Twig", "Leaf")
        nodes.create("Other")
        nodes.delete("Leaf").expect(204)  # The stored height of its ancestors is now too large.
        run_before_write(lambda: nodes.move("Branch", LEVELS[7]))
        answer = nodes.move("Other", "Twig") if second_change == "a move" else nodes.post("New leaf", "Twig")
        assert answer.errors == {"/parentId": "too_deep"}


class TestNewNodes:
    def test_respect_the_maximum_depth(self, nodes, run_before_write):
        nodes.create_chain(*LEVELS[:9])
        nodes.create("Twig")
        run_before_write(lambda: nodes.move("Twig", LEVELS[8]))
        assert nodes.post("Leaf", "Twig").errors == {"/parentId": "too_deep"}

    @pytest.mark.parametrize("strategy", [None, "cascade", "reparent"])
    def test_fail_below_a_deleted_parent(self, nodes, run_before_write, workers, strategy):
        nodes.create_chain("Machines", "Looms")
        if strategy:
            nodes.attach("Looms")
        run_before_write(lambda: nodes.delete("Looms", strategy))
        assert nodes.post("Jacquard", "Looms").errors == {"/parentId": "unknown"}
        workers.run_until_idle()
        assert nodes.list_paths() == ["machines"]
        assert nodes.delete("Machines").status == 204

    def test_prevent_the_deletion_of_their_parent(self, nodes, run_before_write):
        nodes.create_chain("Machines", "Looms")
        run_before_write(lambda: nodes.post("Jacquard", "Looms"))
        assert nodes.delete("Looms").status_and_code == "409 not_empty"
        run_before_write(lambda: nodes.post("Cards", "Looms"))
        assert nodes.delete("Looms", "reparent").status == 204
        assert sorted(nodes.list_paths()) == ["machines", "machines/cards", "machines/jacquard"]

    def test_are_counted_when_created_concurrently(self, nodes, run_before_write):
        nodes.create("Machines")
        run_before_write(lambda: nodes.post("Looms", "Machines"))
        nodes.create("Machines/Mills")
        assert "2 children" in nodes.delete("Machines").json["detail"]

    def test_only_one_gets_a_slug(self, nodes, run_before_write):
        run_before_write(lambda: nodes.post("Looms", slug="looms"))
        assert nodes.post("Looms", slug="looms").status_and_code == "409 slug_taken"
        run_before_write(lambda: nodes.post("Mills"))
        assert nodes.create("Mills").record["slug"].startswith("mills-")


class TestAttachments:
    def test_to_a_deleted_node_fail_or_are_removed(self, api, platform, nodes, run_before_write, workers):
        nodes.create("Machines", "Machines/Looms", "Twin", "Twin/Below")
        run_before_write(lambda: nodes.delete("Looms"))
        assert post_attachment(api, nodes["Looms"]).status_and_code == "404 not_found"
        run_before_write(lambda: nodes.delete("Twin", "cascade"))
        assert post_attachment(api, nodes["Below"]).status == 201  # As if it came before the deletion.
        workers.run_until_idle()
        attachments = api.get_items(f"{platform.path}/taxonomy-attachments", caller=platform.owner)
        assert (attachments, nodes.list_paths()) == ([], ["machines"])

    def test_of_the_same_entity_are_created_once_and_prevent_the_deletion_of_their_node(
        self, api, platform, nodes, run_before_write
    ):
        looms = nodes.create("Looms")
        run_before_write(lambda: post_attachment(api, looms, "lesson", ENTITY_ID))
        assert post_attachment(api, looms, "lesson", ENTITY_ID).status == 200
        assert len(api.get_items(f"{looms.path}/attachments", caller=platform.owner)) == 1
        mills = nodes.create("Mills")
        run_before_write(lambda: post_attachment(api, mills))
        assert nodes.delete("Mills").status_and_code == "409 not_empty"

    def test_are_limited_per_entity(self, api, nodes, run_before_write, monkeypatch):
        monkeypatch.setattr(operations, "MAX_ATTACHMENTS_PER_ENTITY", 2)
        nodes.create(*(f"Node {n}" for n in range(3)))
        nodes.attach("Node 0", "lesson", ENTITY_ID)
        run_before_write(lambda: post_attachment(api, nodes["Node 1"], "lesson", ENTITY_ID))
        assert post_attachment(api, nodes["Node 2"], "lesson", ENTITY_ID).status_and_code == "409 limit_exceeded"


def test_system_tags_of_the_same_slug_are_created_once_and_fail_if_a_term_gets_the_slug_first(
    api, platform, nodes, run_before_write
):
    path, owner = f"{platform.path}/taxonomy-system-tags", platform.owner
    run_before_write(lambda: api.post(path, caller=owner, json={"tags": ["hot", "pinned"]}))
    answer = api.post(path, caller=owner, json={"tags": ["pinned", "featured"]})
    assert (answer.status, answer.json["created"]) == (200, 1)
    assert sorted(nodes.list_paths(kind="system")) == ["featured", "hot", "pinned"]
    run_before_write(lambda: nodes.post("Term", slug="archived"))
    assert api.post(path, caller=owner, json={}).problem_and_errors == ("409 slug_taken", {"/tags/3": "slug_taken"})


def test_a_path_that_becomes_a_former_one_during_its_resolution_is_resolved(api, platform, nodes, monkeypatch):
    *_, jacquard = nodes.create_chain("Machines", "Looms", "Jacquard")
    reads, get_all = [0], table.get_all

    def change_before_second_read(keys: object) -> object:
        reads[0] += 1
        if reads[0] == 2:
            nodes.rename(Looms="weavers")
            nodes.create("Things")
            nodes.move("Machines", "Things").expect(200)
        return get_all(keys)  # type: ignore[arg-type]

    monkeypatch.setattr(table, "get_all", change_before_second_read)
    answer = resolve_node(api, platform, "machines/looms/jacquard")
    assert (answer.json["node"]["id"], answer.json["matchedBy"]) == (jacquard.id, "formerPath")
    assert answer.json["node"]["path"] == "things/machines/weavers/jacquard"
