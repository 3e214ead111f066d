"""Test concurrent changes of a taxonomy: the result is that of a serial execution."""

from collections.abc import Callable

import pytest

from chalicelib.features.taxonomy.attachments import operations
from chalicelib.kernel.storage import table
from tests.harness.api import Answer, Api
from tests.harness.invitations import before_the_next_write
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

LEVELS = [f"level-{n}" for n in range(1, 11)]
Interleave = Callable[[Callable[[], object]], None]


@pytest.fixture
def interleave(monkeypatch: pytest.MonkeyPatch) -> Interleave:
    """Return a function that executes a request before the next write."""

    def interleave_request(send_request: Callable[[], object]) -> None:
        before_the_next_write(monkeypatch, lambda: expect_success(send_request()))

    return interleave_request


def expect_success(answer: object) -> Answer:
    assert isinstance(answer, Answer)
    assert answer.status < 300, answer.text
    return answer


def rename(api: Api, node: Node, slug: str) -> Answer:
    return api.patch(node.path, as_=node.platform.owner, json={"slug": slug})


class TestMoves:
    def test_that_cross_create_no_cycle(self, api: Api, platform: Running, interleave: Interleave) -> None:
        one, below_one = plant_line(api, platform, "One", "Below")
        other, below_other = plant_line(api, platform, "Other", "Below")
        interleave(lambda: move(api, other, below_one))
        assert move(api, one, below_other).code == "409 cycle"
        assert sorted(paths(api, platform)) == ["one", "one/below", "one/below/other", "one/below/other/below"]

    def test_respect_the_depth_of_a_parent_that_moves(
        self, api: Api, platform: Running, interleave: Interleave
    ) -> None:
        chain = plant_line(api, platform, *LEVELS[:8])
        branch = plant_line(api, platform, "Branch", "Twig")
        leaf = plant(api, platform, "Leaf")
        interleave(lambda: move(api, branch[0], chain[7]))
        assert move(api, leaf, branch[1]).faults == {"/parentId": "too_deep"}

    def test_respect_the_height_of_a_branch_that_grows(
        self, api: Api, platform: Running, interleave: Interleave
    ) -> None:
        chain = plant_line(api, platform, *LEVELS[:8])
        branch = plant_line(api, platform, "Branch", "Twig")
        interleave(lambda: asked_to_plant(api, platform, "Leaf", branch[1]))
        assert move(api, branch[0], chain[7]).faults == {"/parentId": "too_deep"}

    def test_fail_if_the_slug_is_taken_or_the_parent_deleted(
        self, api: Api, platform: Running, interleave: Interleave
    ) -> None:
        root, looms, other = (plant(api, platform, name) for name in ("Machines", "Looms", "Other"))
        interleave(lambda: asked_to_plant(api, platform, "Looms", root, slug="looms"))
        assert move(api, looms, root).code == "409 slug_taken"
        interleave(lambda: fell(api, root, "cascade"))
        assert move(api, other, root).faults == {"/parentId": "unknown"}

    @pytest.mark.parametrize("second_change", ["a new node", "a move"])
    def test_respect_the_depth_despite_an_outdated_height(
        self, api: Api, platform: Running, interleave: Interleave, second_change: str
    ) -> None:
        chain = plant_line(api, platform, *LEVELS[:8])
        branch, twig, leaf = plant_line(api, platform, "Branch", "Twig", "Leaf")
        other = plant(api, platform, "Other")
        expect_success(fell(api, leaf))  # The stored height of its ancestors is now too large.
        interleave(lambda: move(api, branch, chain[7]))
        answer = (
            move(api, other, twig) if second_change == "a move" else asked_to_plant(api, platform, "New leaf", twig)
        )
        assert answer.faults == {"/parentId": "too_deep"}


class TestNewNodes:
    def test_respect_the_maximum_depth(self, api: Api, platform: Running, interleave: Interleave) -> None:
        chain = plant_line(api, platform, *LEVELS[:9])
        twig = plant(api, platform, "Twig")
        interleave(lambda: move(api, twig, chain[8]))
        assert asked_to_plant(api, platform, "Leaf", twig).faults == {"/parentId": "too_deep"}

    @pytest.mark.parametrize("strategy", [None, "cascade", "reparent"])
    def test_fail_below_a_deleted_parent(
        self, api: Api, platform: Running, interleave: Interleave, workers: Workers, strategy: str | None
    ) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        if strategy:
            attach(api, looms)
        interleave(lambda: fell(api, looms, strategy))
        assert asked_to_plant(api, platform, "Jacquard", looms).faults == {"/parentId": "unknown"}
        workers.settle()
        assert paths(api, platform) == ["machines"]
        assert fell(api, machines).status == 204

    def test_prevent_the_deletion_of_their_parent(self, api: Api, platform: Running, interleave: Interleave) -> None:
        _, looms = plant_line(api, platform, "Machines", "Looms")
        interleave(lambda: asked_to_plant(api, platform, "Jacquard", looms))
        assert fell(api, looms).code == "409 not_empty"
        interleave(lambda: asked_to_plant(api, platform, "Cards", looms))
        assert fell(api, looms, "reparent").status == 204
        assert sorted(paths(api, platform)) == ["machines", "machines/cards", "machines/jacquard"]

    def test_are_counted_when_created_concurrently(self, api: Api, platform: Running, interleave: Interleave) -> None:
        machines = plant(api, platform, "Machines")
        interleave(lambda: asked_to_plant(api, platform, "Looms", machines))
        plant(api, platform, "Mills", machines)
        assert "2 children" in fell(api, machines).json["detail"]

    def test_only_one_gets_a_slug(self, api: Api, platform: Running, interleave: Interleave) -> None:
        interleave(lambda: asked_to_plant(api, platform, "Looms", slug="looms"))
        assert asked_to_plant(api, platform, "Looms", slug="looms").code == "409 slug_taken"
        interleave(lambda: asked_to_plant(api, platform, "Mills"))
        assert plant(api, platform, "Mills").record["slug"].startswith("mills-")


class TestAttachments:
    def test_prevent_the_deletion_of_their_node(self, api: Api, platform: Running, interleave: Interleave) -> None:
        looms = plant(api, platform, "Looms")
        interleave(lambda: put_on(api, looms))
        assert fell(api, looms).code == "409 not_empty"

    def test_to_a_deleted_node_fail_or_are_removed(
        self, api: Api, platform: Running, interleave: Interleave, workers: Workers
    ) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        interleave(lambda: fell(api, looms))
        assert put_on(api, looms).code == "404 not_found"
        twin, below = plant_line(api, platform, "Twin", "Below")
        interleave(lambda: fell(api, twin, "cascade"))
        assert put_on(api, below).status == 201  # As if it came before the deletion.
        workers.settle()
        attachments = api.items(f"{platform.path}/taxonomy-attachments", as_=platform.owner)
        assert (attachments, paths(api, platform)) == ([], ["machines"])
        assert machines.record["depth"] == 1

    def test_of_the_same_entity_are_created_once(self, api: Api, platform: Running, interleave: Interleave) -> None:
        looms, entity = plant(api, platform, "Looms"), "01939d3c-0000-7000-8000-0000000000aa"
        interleave(lambda: put_on(api, looms, "lesson", entity))
        assert put_on(api, looms, "lesson", entity).status == 200
        assert len(api.items(f"{looms.path}/attachments", as_=platform.owner)) == 1

    def test_are_limited_per_entity(
        self, api: Api, platform: Running, interleave: Interleave, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(operations, "MAX_ATTACHMENTS_PER_ENTITY", 2)
        entity = "01939d3c-0000-7000-8000-0000000000aa"
        nodes = [plant(api, platform, f"Node {n}") for n in range(3)]
        attach(api, nodes[0], "lesson", entity)
        interleave(lambda: put_on(api, nodes[1], "lesson", entity))
        assert put_on(api, nodes[2], "lesson", entity).code == "409 limit_exceeded"


class TestSystemTags:
    def test_of_the_same_slug_are_created_once(self, api: Api, platform: Running, interleave: Interleave) -> None:
        path, owner = f"{platform.path}/taxonomy-system-tags", platform.owner
        interleave(lambda: api.post(path, as_=owner, json={"tags": ["hot", "pinned"]}))
        answer = api.post(path, as_=owner, json={"tags": ["pinned", "featured"]})
        assert (answer.status, answer.json["created"]) == (200, 1)
        assert sorted(paths(api, platform, kind="system")) == ["featured", "hot", "pinned"]

    def test_fail_if_a_term_gets_the_slug_first(self, api: Api, platform: Running, interleave: Interleave) -> None:
        plant(api, platform, "Term")
        interleave(lambda: asked_to_plant(api, platform, slug="pinned"))
        answer = api.post(f"{platform.path}/taxonomy-system-tags", as_=platform.owner, json={})
        assert (answer.code, answer.faults) == ("409 slug_taken", {"/tags/1": "slug_taken"})


class TestReads:
    def test_resolve_a_path_that_becomes_a_former_one(
        self, api: Api, platform: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        reads, get_all = [0], table.get_all

        def change_before_second_read(keys: object) -> object:
            reads[0] += 1
            if reads[0] == 2:
                expect_success(rename(api, looms, "weavers"))
                expect_success(move(api, machines, plant(api, platform, "Things")))
            return get_all(keys)  # type: ignore[arg-type]

        monkeypatch.setattr(table, "get_all", change_before_second_read)
        answer = resolve(api, platform, "machines/looms/jacquard")
        assert (answer.json["node"]["id"], answer.json["matchedBy"]) == (jacquard.id, "formerPath")
        assert answer.json["node"]["path"] == "things/machines/weavers/jacquard"
