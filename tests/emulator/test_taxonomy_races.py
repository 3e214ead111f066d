"""Concurrent changes of a taxonomy, over HTTP, against the running service."""

from collections import Counter
from functools import partial
from uuid import uuid4

import pytest

from tests.emulator.api_clients import outcome_code, run_concurrently
from tests.emulator.log_reader import list_items, read_verified_log

pytestmark = [pytest.mark.emulator, pytest.mark.exhaustive, pytest.mark.xdist_group("emulator")]


@pytest.fixture
def ada(create_client):
    return create_client("ada")


@pytest.fixture
def organization(ada):
    return ada.create_organization()


@pytest.fixture
def platform(ada, organization):
    return ada.post("/platforms", json={"organizationId": organization, "name": "Engines"}).json()["id"]


def create_node(ada, platform, name, parent=None):
    return ada.post("/taxonomy-nodes", json={"platformId": platform, "name": name, "parentId": parent})


def list_consistent_nodes(ada, platform):
    """Return all nodes by id, and assert that their paths match their parents and the tree."""
    listed = {node["id"]: node for node in list_items(ada, f"/platforms/{platform}/taxonomy-nodes")}
    for node in listed.values():
        above = listed[node["parentId"]]["path"] + "/" if node["parentId"] else ""
        assert node["path"] == above + node["slug"]
        assert node["depth"] == node["path"].count("/") + 1 <= 10
    branches = ada.get(f"/platforms/{platform}/taxonomy-tree").json()["items"]
    for branch in branches:  # the loop extends the list
        branches.extend(branch["children"])
    assert {branch["id"]: branch["path"] for branch in branches} == {n: node["path"] for n, node in listed.items()}
    return listed


def test_concurrent_moves_never_form_a_cycle(ada, organization, platform):
    roots = [create_node(ada, platform, f"Root {n}").json()["id"] for n in range(8)]
    children = [create_node(ada, platform, "Below", root).json()["id"] for root in roots]
    targets = [*children[1:], children[0]]
    moves = [
        partial(ada.patch, f"/taxonomy-nodes/{root}", json={"parentId": target})
        for root, target in zip(roots, targets, strict=True)
    ]
    outcomes = Counter(map(outcome_code, run_concurrently(*moves)))
    assert outcomes.keys() <= {"200", "cycle", "validation_failed"}  # the last moves may exceed the maximum depth
    assert len(list_consistent_nodes(ada, platform)) == 16
    types = Counter(entry["type"] for entry in read_verified_log(ada, organization))
    assert types["taxonomy.node.updated"] == outcomes["200"]


def test_child_created_while_its_parent_is_deleted_exists_or_is_rejected(ada, platform):
    for strategy in ({}, {"strategy": "cascade"}, {"strategy": "reparent"}):
        root = create_node(ada, platform, f"Root {len(strategy)} {strategy}").json()["id"]
        parent = create_node(ada, platform, "Parent", root).json()["id"]
        creations = [partial(create_node, ada, platform, f"Child {n}", parent) for n in range(6)]
        *created, deletion = run_concurrently(
            *creations, partial(ada.delete, f"/taxonomy-nodes/{parent}", params=strategy)
        )
        nodes_by_id = list_consistent_nodes(ada, platform)
        is_deleted = deletion.is_success
        assert outcome_code(deletion) in {"204", "not_empty", "conflict"}
        assert (parent in nodes_by_id) is not is_deleted
        for response in created:
            assert outcome_code(response) in {"201", "validation_failed"}
            if response.is_success and not (is_deleted and strategy == {"strategy": "cascade"}):
                assert nodes_by_id[response.json()["id"]]["parentId"] == (root if is_deleted else parent)


def test_concurrently_created_siblings_are_counted_and_ordered(ada, platform):
    root = create_node(ada, platform, "Roots").json()["id"]
    responses = run_concurrently(*[partial(create_node, ada, platform, "Twin", root) for _ in range(8)])
    assert Counter(map(outcome_code, responses)) == {"201": 8}
    assert len({response.json()["slug"] for response in responses}) == 8
    assert {response.json()["position"] for response in responses} == set(range(8))
    rejected = ada.delete(f"/taxonomy-nodes/{root}")
    assert "8 children" in rejected.json()["detail"]


def test_concurrent_identical_attachments_create_one(ada, platform):
    node = create_node(ada, platform, "Looms").json()["id"]
    path, body = f"/taxonomy-nodes/{node}/attachments", {"entityType": "lesson", "entityId": str(uuid4())}
    responses = run_concurrently(*[partial(ada.post, path, json=body) for _ in range(6)])
    assert Counter(map(outcome_code, responses)) == {"201": 1, "200": 5}
    assert len({response.json()["id"] for response in responses}) == len(list_items(ada, path)) == 1


def test_system_tags_are_created_once(ada, platform):
    path = f"/platforms/{platform}/taxonomy-system-tags"
    responses = run_concurrently(*[partial(ada.post, path, json={}) for _ in range(4)])
    assert {outcome_code(response) for response in responses} <= {"200", "slug_taken"}
    assert sum(response.json()["created"] for response in responses if response.is_success) == 4
    assert len(list_consistent_nodes(ada, platform)) == 4
