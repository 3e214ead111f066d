"""What becomes of research where an organization puts nodes on it, is purged, or forgets a person."""

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, found
from tests.harness.platforms import Running
from tests.harness.sources import Library, World, works
from tests.harness.taxonomy import Node, plant_line
from tests.harness.workers import Workers


@pytest.fixture
def shared(api: Api, workers: Workers, world: World, organization: Founded) -> Library:
    """The library of Ada's organization, with a work."""
    world.knows(works(1))
    shared = Library(api, workers, organization.owner, organization.id)
    shared.imported()
    shared.reconciled()
    return shared


@pytest.fixture
def node(api: Api, platform: Running) -> Node:
    (node,) = plant_line(api, platform, "Kilns")
    return node


def put_on(node: Node, kind: str, entity_id: str, library: Library, *, as_: Person | None = None) -> Answer:
    body = {"entityType": kind, "entityId": entity_id}
    return library.api.post(f"{node.path}/attachments", as_=as_ or library.caller, json=body)


class TestNodesOnResearch:
    def test_are_put_on_what_is_the_organizations(self, shared: Library, node: Node) -> None:
        for kind in ("output", "artefact"):
            (found_, *_) = shared.items(f"{kind}s")
            assert put_on(node, f"research-{kind}", found_["id"], shared).status == 201
        listed = shared.api.items(f"{node.path}/attachments", as_=shared.caller)
        assert {each["entityType"] for each in listed} == {"research-output", "research-artefact"}

    def test_are_put_on_nothing_else(
        self, api: Api, workers: Workers, shared: Library, world: World, stranger: Person, node: Node
    ) -> None:
        world.knows(works(1))
        private = Library(api, workers, stranger)
        private.imported()
        foreign = Library(api, workers, stranger, found(api, stranger).id)
        foreign.imported()
        for library in (private, foreign):
            for artefact in library.items("artefacts"):
                refused = put_on(node, "research-artefact", artefact["id"], shared)
                assert refused.faults == {"/entityId": "unknown"}
        (artefact, *_) = shared.items("artefacts")
        assert put_on(node, "research-output", artefact["id"], shared).faults == {"/entityId": "unknown"}

    def test_go_with_it(self, shared: Library, node: Node, clock: Clock, organization: Founded) -> None:
        (output,) = shared.items("outputs")
        put_on(node, "research-output", output["id"], shared)
        shared.api.delete(organization.path, as_=organization.owner)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        shared.workers.settle()
        kinds = {item.get("kind") for item in cloud.stored()}
        assert not kinds & {"research-output", "research-artefact", "taxonomy.attachment"}


class TestAPurge:
    def test_leaves_nothing_of_an_organizations_research_and_all_of_others(
        self, shared: Library, organization: Founded, clock: Clock, grace: Person
    ) -> None:
        other = Library(shared.api, shared.workers, grace)
        other.imported()
        shared.api.delete(organization.path, as_=organization.owner)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        shared.workers.settle()
        left = [item for item in cloud.stored() if item["pk"].startswith(f"RL#{organization.id}")]
        assert left == []
        assert {item["library_id"] for item in cloud.stored() if item.get("kind") == "research-artefact"} == {grace.id}
        assert not [item for item in cloud.stored() if item.get("kind") == ResearchOutput.kind]
