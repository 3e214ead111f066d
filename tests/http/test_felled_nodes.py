"""What becomes of what is below a node that is deleted, and of what it was put on."""

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


def left(platform: Running) -> set[str]:
    """What the taxonomy of a platform has left in the table, by the kinds of its keys."""
    own = [item for item in cloud.stored() if platform.id in item["pk"] or item.get("platform_id") == platform.id]
    taxonomic = [item for item in own if item["pk"].startswith((f"P#{platform.id}#T", "H#", "U#taxonomy"))]
    return {item["pk"][:1] + item["sk"].partition("#")[0] for item in taxonomic if len(item) > 2}


def counted(platform: Running) -> int:
    """How many nodes count towards what a platform may have."""
    (count,) = [item["n"] for item in cloud.stored() if item["sk"] == "COUNT#taxonomy nodes"]
    assert platform.id
    return int(count)


def unseen(api: Api, *nodes: Node) -> None:
    """Assert that some nodes are nowhere to be seen."""
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
    def test_all_below_is_gone_at_once_and_removed_after(self, api: Api, platform: Running, workers: Workers) -> None:
        stays = plant(api, platform, "Stays")
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        entity = attach(api, jacquard).record["entityId"]
        attach(api, stays, "lesson", entity)
        assert fell(api, machines, "cascade").status == 204
        unseen(api, machines, looms, jacquard)
        assert paths(api, platform) == ["stays"]
        workers.settle()
        unseen(api, machines, looms, jacquard)
        assert left(platform) == {"PA", "PCOUNT", "PE", "PN", "PN~", "PQ", "PS", "PW", "H", "U"}
        assert counted(platform) == 1

    def test_its_slug_is_free_at_once(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, _ = plant_line(api, platform, "Machines", "Looms")
        assert fell(api, machines, "cascade").status == 204
        again, looms = plant_line(api, platform, "Machines", "Looms")
        assert again.record["slug"] == "machines"
        workers.settle()
        assert resolve(api, platform, "machines/looms").json["node"] == looms.record
        assert counted(platform) == 2

    def test_what_was_felled_before_goes_by_itself(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms, _ = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        assert fell(api, looms, "cascade").status == 204
        assert fell(api, machines).status == 204  # nothing is below it any more
        workers.settle()
        assert left(platform) == {"PCOUNT", "PN~"}

    def test_so_much_takes_several_turns(
        self, api: Api, platform: Running, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = plant(api, platform, "Root")
        for n in range(4):
            attach(api, plant(api, platform, f"Child {n}", root))
        assert fell(api, root, "cascade").status == 204
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        workers.settle()
        assert left(platform) == {"PCOUNT", "PN~"}

    @pytest.mark.parametrize("seconds", LAGS)
    def test_does_not_wait_for_indexes_that_lag(
        self, api: Api, platform: Running, workers: Workers, seconds: float
    ) -> None:
        with lagging(seconds):
            machines, looms = plant_line(api, platform, "Machines", "Looms")
            attach(api, looms)
            assert fell(api, machines, "cascade").status == 204
            workers.settle()
            assert left(platform) == {"PCOUNT", "PN~"}

    def test_of_what_has_nothing_below_is_as_without(self, api: Api, platform: Running) -> None:
        looms = plant(api, platform)
        assert fell(api, looms, "cascade").status == 204
        assert left(platform) == {"PCOUNT", "PN~"}


class TestReparent:
    def test_the_children_move_up_and_are_found_where_they_were(
        self, api: Api, platform: Running, workers: Workers
    ) -> None:
        machines, looms, jacquard, cards = plant_line(api, platform, "Machines", "Looms", "Jacquard", "Cards")
        attached = attach(api, looms)
        assert fell(api, looms, "reparent").status == 204
        for _ in range(2):
            unseen_path = resolve(api, platform, "machines/looms")
            assert (unseen_path.json["node"]["id"], unseen_path.json["matchedBy"]) == (machines.id, "formerPath")
            assert paths(api, platform) == ["machines", "machines/jacquard", "machines/jacquard/cards"]
            assert api.get(cards.path, as_=platform.owner).json["depth"] == 3
            for path, node in (("machines/looms/jacquard", jacquard), ("machines/looms/jacquard/cards", cards)):
                found = resolve(api, platform, path).json
                assert (found["node"]["id"], found["matchedBy"]) == (node.id, "formerPath")
            assert api.get(attached.path, as_=platform.owner).code == "404 not_found"
            workers.settle()
        assert fell(api, machines).code == "409 not_empty"
        assert "1 child and 0 attachments" in fell(api, machines).json["detail"]
        assert counted(platform) == 3

    def test_those_of_a_root_are_roots_then(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        assert fell(api, machines, "reparent").status == 204
        workers.settle()
        assert paths(api, platform) == ["looms", "looms/jacquard"]
        assert resolve(api, platform, "machines/looms/jacquard").json["node"]["id"] == jacquard.id
        assert resolve(api, platform, "machines").status == 404
        assert fell(api, looms).code == "409 not_empty"

    def test_what_had_been_below_it_before_is_found_still(self, api: Api, platform: Running) -> None:
        _, looms, jacquard = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        assert api.patch(jacquard.path, as_=platform.owner, json={"slug": "cards"}).status == 200
        assert fell(api, looms, "reparent").status == 204
        assert resolve(api, platform, "machines/looms/jacquard").json["node"]["path"] == "machines/cards"

    def test_a_child_may_take_the_slug_of_the_parent_that_goes(self, api: Api, platform: Running) -> None:
        looms, inner = plant_line(api, platform, "Looms", "Looms")
        assert fell(api, looms, "reparent").status == 204
        assert resolve(api, platform, "looms").json["node"]["id"] == inner.id
        assert asked_to_plant(api, platform, slug="looms").code == "409 slug_taken"

    def test_a_child_whose_slug_another_has_is_in_the_way(self, api: Api, platform: Running) -> None:
        machines, looms, _ = plant_line(api, platform, "Machines", "Looms", "Jacquard")
        plant(api, platform, "Jacquard", machines, slug="jacquard")
        refused = fell(api, looms, "reparent")
        assert refused.code == "409 slug_taken"
        assert "'jacquard'" in refused.json["detail"]

    def test_twenty_five_children_move_and_more_do_not(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        children = [plant(api, platform, f"Child {n}", looms, description="x" * 4000) for n in range(26)]
        attach(api, looms)
        description = {"description": "y" * 4000}
        assert api.patch(looms.path, as_=platform.owner, json=description).status == 200
        refused = fell(api, looms, "reparent")
        assert (refused.code, refused.faults) == ("409 limit_exceeded", {"query/strategy": "limit_exceeded"})
        assert move(api, children[0], None).status == 200
        assert fell(api, looms, "reparent").status == 204
        workers.settle()
        assert len(paths(api, platform, parentId=machines.id)) == 25
        assert counted(platform) == 27

    def test_what_has_no_children_loses_what_it_is_put_on(self, api: Api, platform: Running, workers: Workers) -> None:
        machines, looms = plant_line(api, platform, "Machines", "Looms")
        attach(api, looms)
        assert fell(api, looms, "reparent").status == 204
        assert api.get(looms.path, as_=platform.owner).code == "404 not_found"
        assert api.items(f"{platform.path}/taxonomy-attachments", as_=platform.owner) == []
        workers.settle()
        assert (fell(api, machines).status, left(platform)) == (204, {"PCOUNT", "PF", "PN~"})
