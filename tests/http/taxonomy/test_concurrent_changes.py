"""Test concurrent changes of a taxonomy: the result is that of a serial execution."""

from collections.abc import Callable

import pytest

from chalicelib.features.taxonomy.attachments import operations
from chalicelib.kernel.storage import table
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.invitations import run_before_next_transaction
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

LEVELS = [f"level-{n}" for n in range(1, 11)]
Interleave = Callable[[Callable[[], object]], None]


@pytest.fixture
def interleave(monkeypatch: pytest.MonkeyPatch) -> Interleave:
    """Return a function that executes a request before the next write."""

    def interleave_request(send_request: Callable[[], object]) -> None:
        run_before_next_transaction(monkeypatch, lambda: expect_success(send_request()))

    return interleave_request


def expect_success(answer: object) -> ApiResponse:
    assert isinstance(answer, ApiResponse)
    assert answer.status < 300, answer.text
    return answer


def rename(api: ApiClient, node: CreatedNode, slug: str) -> ApiResponse:
    return api.patch(node.path, caller=node.platform.owner, json={"slug": slug})


class TestMoves:
    def test_that_cross_create_no_cycle(self, api, platform, interleave):
        one, below_one = create_node_chain(api, platform, "One", "Below")
        other, below_other = create_node_chain(api, platform, "Other", "Below")
        interleave(lambda: move_node(api, other, below_one))
        assert move_node(api, one, below_other).status_and_code == "409 cycle"
        assert sorted(list_node_paths(api, platform)) == [
            "one",
            "one/below",
            "one/below/other",
            "one/below/other/below",
        ]

    def test_respect_the_depth_of_a_parent_that_moves(self, api, platform, interleave):
        chain = create_node_chain(api, platform, *LEVELS[:8])
        branch = create_node_chain(api, platform, "Branch", "Twig")
        leaf = create_node(api, platform, "Leaf")
        interleave(lambda: move_node(api, branch[0], chain[7]))
        assert move_node(api, leaf, branch[1]).errors == {"/parentId": "too_deep"}

    def test_respect_the_height_of_a_branch_that_grows(self, api, platform, interleave):
        chain = create_node_chain(api, platform, *LEVELS[:8])
        branch = create_node_chain(api, platform, "Branch", "Twig")
        interleave(lambda: post_node(api, platform, "Leaf", branch[1]))
        assert move_node(api, branch[0], chain[7]).errors == {"/parentId": "too_deep"}

    def test_fail_if_the_slug_is_taken_or_the_parent_deleted(self, api, platform, interleave):
        root, looms, other = (create_node(api, platform, name) for name in ("Machines", "Looms", "Other"))
        interleave(lambda: post_node(api, platform, "Looms", root, slug="looms"))
        assert move_node(api, looms, root).status_and_code == "409 slug_taken"
        interleave(lambda: delete_node(api, root, "cascade"))
        assert move_node(api, other, root).errors == {"/parentId": "unknown"}

    @pytest.mark.parametrize("second_change", ["a new node", "a move"])
    def test_respect_the_depth_despite_an_outdated_height(self, api, platform, interleave, second_change):
        chain = create_node_chain(api, platform, *LEVELS[:8])
        branch, twig, leaf = create_node_chain(api, platform, "Branch", "Twig", "Leaf")
        other = create_node(api, platform, "Other")
        expect_success(delete_node(api, leaf))  # The stored height of its ancestors is now too large.
        interleave(lambda: move_node(api, branch, chain[7]))
        answer = (
            move_node(api, other, twig) if second_change == "a move" else post_node(api, platform, "New leaf", twig)
        )
        assert answer.errors == {"/parentId": "too_deep"}


class TestNewNodes:
    def test_respect_the_maximum_depth(self, api, platform, interleave):
        chain = create_node_chain(api, platform, *LEVELS[:9])
        twig = create_node(api, platform, "Twig")
        interleave(lambda: move_node(api, twig, chain[8]))
        assert post_node(api, platform, "Leaf", twig).errors == {"/parentId": "too_deep"}

    @pytest.mark.parametrize("strategy", [None, "cascade", "reparent"])
    def test_fail_below_a_deleted_parent(self, api, platform, interleave, workers, strategy):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        if strategy:
            create_attachment(api, looms)
        interleave(lambda: delete_node(api, looms, strategy))
        assert post_node(api, platform, "Jacquard", looms).errors == {"/parentId": "unknown"}
        workers.run_until_idle()
        assert list_node_paths(api, platform) == ["machines"]
        assert delete_node(api, machines).status == 204

    def test_prevent_the_deletion_of_their_parent(self, api, platform, interleave):
        _, looms = create_node_chain(api, platform, "Machines", "Looms")
        interleave(lambda: post_node(api, platform, "Jacquard", looms))
        assert delete_node(api, looms).status_and_code == "409 not_empty"
        interleave(lambda: post_node(api, platform, "Cards", looms))
        assert delete_node(api, looms, "reparent").status == 204
        assert sorted(list_node_paths(api, platform)) == ["machines", "machines/cards", "machines/jacquard"]

    def test_are_counted_when_created_concurrently(self, api, platform, interleave):
        machines = create_node(api, platform, "Machines")
        interleave(lambda: post_node(api, platform, "Looms", machines))
        create_node(api, platform, "Mills", machines)
        assert "2 children" in delete_node(api, machines).json["detail"]

    def test_only_one_gets_a_slug(self, api, platform, interleave):
        interleave(lambda: post_node(api, platform, "Looms", slug="looms"))
        assert post_node(api, platform, "Looms", slug="looms").status_and_code == "409 slug_taken"
        interleave(lambda: post_node(api, platform, "Mills"))
        assert create_node(api, platform, "Mills").record["slug"].startswith("mills-")


class TestAttachments:
    def test_prevent_the_deletion_of_their_node(self, api, platform, interleave):
        looms = create_node(api, platform, "Looms")
        interleave(lambda: post_attachment(api, looms))
        assert delete_node(api, looms).status_and_code == "409 not_empty"

    def test_to_a_deleted_node_fail_or_are_removed(self, api, platform, interleave, workers):
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        interleave(lambda: delete_node(api, looms))
        assert post_attachment(api, looms).status_and_code == "404 not_found"
        twin, below = create_node_chain(api, platform, "Twin", "Below")
        interleave(lambda: delete_node(api, twin, "cascade"))
        assert post_attachment(api, below).status == 201  # As if it came before the deletion.
        workers.run_until_idle()
        attachments = api.get_items(f"{platform.path}/taxonomy-attachments", caller=platform.owner)
        assert (attachments, list_node_paths(api, platform)) == ([], ["machines"])
        assert machines.record["depth"] == 1

    def test_of_the_same_entity_are_created_once(self, api, platform, interleave):
        looms, entity = create_node(api, platform, "Looms"), "01939d3c-0000-7000-8000-0000000000aa"
        interleave(lambda: post_attachment(api, looms, "lesson", entity))
        assert post_attachment(api, looms, "lesson", entity).status == 200
        assert len(api.get_items(f"{looms.path}/attachments", caller=platform.owner)) == 1

    def test_are_limited_per_entity(self, api, platform, interleave, monkeypatch):
        monkeypatch.setattr(operations, "MAX_ATTACHMENTS_PER_ENTITY", 2)
        entity = "01939d3c-0000-7000-8000-0000000000aa"
        nodes = [create_node(api, platform, f"Node {n}") for n in range(3)]
        create_attachment(api, nodes[0], "lesson", entity)
        interleave(lambda: post_attachment(api, nodes[1], "lesson", entity))
        assert post_attachment(api, nodes[2], "lesson", entity).status_and_code == "409 limit_exceeded"


class TestSystemTags:
    def test_of_the_same_slug_are_created_once(self, api, platform, interleave):
        path, owner = f"{platform.path}/taxonomy-system-tags", platform.owner
        interleave(lambda: api.post(path, caller=owner, json={"tags": ["hot", "pinned"]}))
        answer = api.post(path, caller=owner, json={"tags": ["pinned", "featured"]})
        assert (answer.status, answer.json["created"]) == (200, 1)
        assert sorted(list_node_paths(api, platform, kind="system")) == ["featured", "hot", "pinned"]

    def test_fail_if_a_term_gets_the_slug_first(self, api, platform, interleave):
        create_node(api, platform, "Term")
        interleave(lambda: post_node(api, platform, slug="pinned"))
        answer = api.post(f"{platform.path}/taxonomy-system-tags", caller=platform.owner, json={})
        assert (answer.status_and_code, answer.errors) == ("409 slug_taken", {"/tags/1": "slug_taken"})


class TestReads:
    def test_resolve_a_path_that_becomes_a_former_one(self, api, platform, monkeypatch):
        machines, looms, jacquard = create_node_chain(api, platform, "Machines", "Looms", "Jacquard")
        reads, get_all = [0], table.get_all

        def change_before_second_read(keys: object) -> object:
            reads[0] += 1
            if reads[0] == 2:
                expect_success(rename(api, looms, "weavers"))
                expect_success(move_node(api, machines, create_node(api, platform, "Things")))
            return get_all(keys)  # type: ignore[arg-type]

        monkeypatch.setattr(table, "get_all", change_before_second_read)
        answer = resolve_node(api, platform, "machines/looms/jacquard")
        assert (answer.json["node"]["id"], answer.json["matchedBy"]) == (jacquard.id, "formerPath")
        assert answer.json["node"]["path"] == "things/machines/weavers/jacquard"
