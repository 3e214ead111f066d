"""Many who change a taxonomy at the same moment, over HTTP, through the running service."""

from collections import Counter
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.emulator.conftest import Calling
from tests.emulator.outside import items_of, whole_log
from tests.emulator.people import Caller, at_once

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

Json = dict[str, Any]


@pytest.fixture
def ada(calling: Calling) -> Caller:
    return calling("ada")


@pytest.fixture
def organization(ada: Caller) -> str:
    return ada.makes_organization()


@pytest.fixture
def platform(ada: Caller, organization: str) -> str:
    """The id of a platform."""
    made = ada.post("/platforms", json={"organizationId": organization, "name": "Engines"})
    return str(made.json()["id"])


def plant(ada: Caller, platform: str, name: str, parent: str | None = None) -> httpx.Response:
    return ada.post("/taxonomy-nodes", json={"platformId": platform, "name": name, "parentId": parent})


def code(answer: httpx.Response) -> str:
    return str(answer.status_code if answer.is_success else answer.json()["code"])


def nodes(ada: Caller, platform: str) -> dict[str, Json]:
    """All nodes by their ids, each of them where its pointers say; the tree has the same."""
    listed = {node["id"]: node for node in items_of(ada, f"/platforms/{platform}/taxonomy-nodes")}
    for node in listed.values():
        above = listed[node["parentId"]]["path"] + "/" if node["parentId"] else ""
        assert node["path"] == above + node["slug"]
        assert node["depth"] == node["path"].count("/") + 1 <= 10
    branches = ada.get(f"/platforms/{platform}/taxonomy-tree").json()["items"]
    for branch in branches:  # which grows meanwhile
        branches.extend(branch["children"])
    assert {branch["id"]: branch["path"] for branch in branches} == {n: node["path"] for n, node in listed.items()}
    return listed


def test_moves_that_would_make_a_ring_leave_a_tree(ada: Caller, organization: str, platform: str) -> None:
    roots = [plant(ada, platform, f"Root {n}").json()["id"] for n in range(8)]
    below = [plant(ada, platform, "Below", root).json()["id"] for root in roots]
    targets = [*below[1:], below[0]]
    moves = [
        partial(ada.patch, f"/taxonomy-nodes/{root}", json={"parentId": target})
        for root, target in zip(roots, targets, strict=True)
    ]
    told = Counter(map(code, at_once(*moves)))
    assert told.keys() <= {"200", "cycle", "validation_failed"}  # too deep, for the last of them
    assert len(nodes(ada, platform)) == 16
    types = Counter(entry["type"] for entry in whole_log(ada, organization))
    assert types["taxonomy.node.updated"] == told["200"]


def test_what_is_planted_while_its_parent_goes_is_there_or_is_refused(ada: Caller, platform: str) -> None:
    for strategy in ({}, {"strategy": "cascade"}, {"strategy": "reparent"}):
        root = plant(ada, platform, f"Root {len(strategy)} {strategy}").json()["id"]
        parent = plant(ada, platform, "Parent", root).json()["id"]
        planting = [partial(plant, ada, platform, f"Child {n}", parent) for n in range(6)]
        *planted, felled = at_once(*planting, partial(ada.delete, f"/taxonomy-nodes/{parent}", params=strategy))
        there = nodes(ada, platform)
        gone = felled.is_success
        assert code(felled) in {"204", "not_empty", "conflict"}
        assert (parent in there) is not gone
        for answer in planted:
            assert code(answer) in {"201", "validation_failed"}
            if answer.is_success and not (gone and strategy == {"strategy": "cascade"}):
                assert there[answer.json()["id"]]["parentId"] == (root if gone else parent)


def test_siblings_planted_at_once_are_counted_and_ordered(ada: Caller, platform: str) -> None:
    root = plant(ada, platform, "Roots").json()["id"]
    answers = at_once(*[partial(plant, ada, platform, "Twin", root) for _ in range(8)])
    assert Counter(map(code, answers)) == {"201": 8}
    assert len({answer.json()["slug"] for answer in answers}) == 8
    assert {answer.json()["position"] for answer in answers} == set(range(8))
    refused = ada.delete(f"/taxonomy-nodes/{root}")
    assert "8 children" in refused.json()["detail"]


def test_one_attachment_comes_of_many_that_are_the_same(ada: Caller, platform: str) -> None:
    node = plant(ada, platform, "Looms").json()["id"]
    path, body = f"/taxonomy-nodes/{node}/attachments", {"entityType": "lesson", "entityId": str(uuid4())}
    answers = at_once(*[partial(ada.post, path, json=body) for _ in range(6)])
    assert Counter(map(code, answers)) == {"201": 1, "200": 5}
    assert len({answer.json()["id"] for answer in answers}) == len(items_of(ada, path)) == 1


def test_system_tags_are_created_once(ada: Caller, platform: str) -> None:
    path = f"/platforms/{platform}/taxonomy-system-tags"
    answers = at_once(*[partial(ada.post, path, json={}) for _ in range(4)])
    assert {code(answer) for answer in answers} <= {"200", "slug_taken"}
    assert sum(answer.json()["created"] for answer in answers if answer.is_success) == 4
    assert len(nodes(ada, platform)) == 4
