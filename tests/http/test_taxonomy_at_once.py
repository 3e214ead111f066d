"""Two who change a taxonomy at the same moment: it ends as if one had come after the other."""

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
Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let something be done before the next write."""

    def before(what: Callable[[], object]) -> None:
        before_the_next_write(monkeypatch, lambda: succeeded(what()))

    return before


def succeeded(answer: object) -> Answer:
    assert isinstance(answer, Answer)
    assert answer.status < 300, answer.text
    return answer


def rename(api: Api, node: Node, slug: str) -> Answer:
    return api.patch(node.path, as_=node.platform.owner, json={"slug": slug})


class TestMoves:
    def test_that_cross_make_no_cycle(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        one, below_one = plant_line(api, platform, "One", "Below")
        other, below_other = plant_line(api, platform, "Other", "Below")
        meanwhile(lambda: move(api, other, below_one))
        assert move(api, one, below_other).code == "409 cycle"
        assert sorted(paths(api, platform)) == ["one", "one/below", "one/below/other", "one/below/other/below"]

    def test_below_what_moves_away_are_as_deep_as_they_may_be(
        self, api: Api, platform: Running, meanwhile: Meanwhile
    ) -> None:
        line = plant_line(api, platform, *LEVELS[:8])
        branch = plant_line(api, platform, "Branch", "Twig")
        leaf = plant(api, platform, "Leaf")
        meanwhile(lambda: move(api, branch[0], line[7]))
        assert move(api, leaf, branch[1]).faults == {"/parentId": "too_deep"}

    def test_of_what_grows_meanwhile_too(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        line = plant_line(api, platform, *LEVELS[:8])
        branch = plant_line(api, platform, "Branch", "Twig")
        meanwhile(lambda: asked_to_plant(api, platform, "Leaf", branch[1]))
        assert move(api, branch[0], line[7]).faults == {"/parentId": "too_deep"}

    def test_to_a_place_that_is_taken_meanwhile(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        root, looms, other = (plant(api, platform, name) for name in ("Machines", "Looms", "Other"))
        meanwhile(lambda: asked_to_plant(api, platform, "Looms", root, slug="looms"))
        assert move(api, looms, root).code == "409 slug_taken"
        meanwhile(lambda: fell(api, root, "cascade"))
        assert move(api, other, root).faults == {"/parentId": "unknown"}

    @pytest.mark.parametrize("late", ["a new node", "a move"])
    def test_of_what_was_deeper_once_leave_no_room_for_more(
        self, api: Api, platform: Running, meanwhile: Meanwhile, late: str
    ) -> None:
        line = plant_line(api, platform, *LEVELS[:8])
        branch, twig, leaf = plant_line(api, platform, "Branch", "Twig", "Leaf")
        other = plant(api, platform, "Other")
        succeeded(fell(api, leaf))  # What it says of its height is too much by now.
        meanwhile(lambda: move(api, branch, line[7]))
        answer = move(api, other, twig) if late == "a move" else asked_to_plant(api, platform, "New leaf", twig)
        assert answer.faults == {"/parentId": "too_deep"}


class TestNewNodes:
    def test_are_not_deeper_than_they_may_be(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        line = plant_line(api, platform, *LEVELS[:9])
        twig = plant(api, platform, "Twig")
        meanwhile(lambda: move(api, twig, line[8]))
        assert asked_to_plant(api, platform, "Leaf", twig).faults == {"/parentId": "too_deep"}

    @pytest.mark.parametrize("strategy", [None, "cascade", "reparent"])
    def test_are_not_below_what_goes(
        self, api: Api, platform: Running, meanwhile: Meanwhile, workers: Workers, strategy: str | None
    ) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        if strategy:
            attach(api, looms)
        meanwhile(lambda: fell(api, looms, strategy))
        assert asked_to_plant(api, platform, "Jacquard", looms).faults == {"/parentId": "unknown"}
        workers.settle()
        assert paths(api, platform) == ["machines"]
        assert fell(api, machines).status == 204

    def test_keep_what_is_above_them(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        _, looms = plant_line(api, platform, "Machines", "Looms")
        meanwhile(lambda: asked_to_plant(api, platform, "Jacquard", looms))
        assert fell(api, looms).code == "409 not_empty"
        meanwhile(lambda: asked_to_plant(api, platform, "Cards", looms))
        assert fell(api, looms, "reparent").status == 204
        assert sorted(paths(api, platform)) == ["machines", "machines/cards", "machines/jacquard"]

    def test_count_though_they_come_together(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        machines = plant(api, platform, "Machines")
        meanwhile(lambda: asked_to_plant(api, platform, "Looms", machines))
        plant(api, platform, "Mills", machines)
        assert "2 children" in fell(api, machines).json["detail"]

    def test_of_one_slug_one_is_created(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        meanwhile(lambda: asked_to_plant(api, platform, "Looms", slug="looms"))
        assert asked_to_plant(api, platform, "Looms", slug="looms").code == "409 slug_taken"
        meanwhile(lambda: asked_to_plant(api, platform, "Mills"))
        assert plant(api, platform, "Mills").record["slug"].startswith("mills-")


class TestAttachments:
    def test_keep_their_node(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        looms = plant(api, platform, "Looms")
        meanwhile(lambda: put_on(api, looms))
        assert fell(api, looms).code == "409 not_empty"

    def test_are_not_on_what_goes(self, api: Api, platform: Running, meanwhile: Meanwhile, workers: Workers) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        meanwhile(lambda: fell(api, looms))
        assert put_on(api, looms).code == "404 not_found"
        twin, below = plant_line(api, platform, "Twin", "Below")
        meanwhile(lambda: fell(api, twin, "cascade"))
        assert put_on(api, below).status == 201  # as if it had been before
        workers.settle()
        listed = api.items(f"{platform.path}/taxonomy-attachments", as_=platform.owner)
        assert (listed, paths(api, platform)) == ([], ["machines"])
        assert machines.record["depth"] == 1

    def test_that_are_the_same_are_one(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        looms, entity = plant(api, platform, "Looms"), "01939d3c-0000-7000-8000-0000000000aa"
        meanwhile(lambda: put_on(api, looms, "lesson", entity))
        assert put_on(api, looms, "lesson", entity).status == 200
        assert len(api.items(f"{looms.path}/attachments", as_=platform.owner)) == 1

    def test_of_one_entity_are_as_many_as_there_may_be(
        self, api: Api, platform: Running, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(operations, "MAX_ATTACHMENTS_PER_ENTITY", 2)
        entity = "01939d3c-0000-7000-8000-0000000000aa"
        nodes = [plant(api, platform, f"Node {n}") for n in range(3)]
        attach(api, nodes[0], "lesson", entity)
        meanwhile(lambda: put_on(api, nodes[1], "lesson", entity))
        assert put_on(api, nodes[2], "lesson", entity).code == "409 limit_exceeded"


class TestSystemTags:
    def test_of_the_same_slug_are_created_once(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        path, owner = f"{platform.path}/taxonomy-system-tags", platform.owner
        meanwhile(lambda: api.post(path, as_=owner, json={"tags": ["hot", "pinned"]}))
        late = api.post(path, as_=owner, json={"tags": ["pinned", "featured"]})
        assert (late.status, late.json["created"]) == (200, 1)
        assert sorted(paths(api, platform, kind="system")) == ["featured", "hot", "pinned"]

    def test_a_term_that_was_there_sooner_is_named(self, api: Api, platform: Running, meanwhile: Meanwhile) -> None:
        plant(api, platform, "Term")
        meanwhile(lambda: asked_to_plant(api, platform, slug="pinned"))
        late = api.post(f"{platform.path}/taxonomy-system-tags", as_=platform.owner, json={})
        assert (late.code, late.faults) == ("409 slug_taken", {"/tags/1": "slug_taken"})


class TestReads:
    def test_of_a_path_that_is_left_meanwhile(
        self, api: Api, platform: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        reads, get_all = [0], table.get_all

        def interrupted(keys: object) -> object:
            reads[0] += 1
            if reads[0] == 2:
                succeeded(rename(api, looms, "weavers"))
                succeeded(move(api, machines, plant(api, platform, "Things")))
            return get_all(keys)  # type: ignore[arg-type]

        monkeypatch.setattr(table, "get_all", interrupted)
        found = resolve(api, platform, "machines/looms/jacquard")
        assert (found.json["node"]["id"], found.json["matchedBy"]) == (jacquard.id, "formerPath")
        assert found.json["node"]["path"] == "things/machines/weavers/jacquard"
