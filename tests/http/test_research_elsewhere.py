"""Test research records in other features: taxonomy attachments and purges of an organization."""

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
def organization_library(api: Api, workers: Workers, world: World, organization: Founded) -> Library:
    """Return the library of Ada's organization, with one output."""
    world.knows(works(1))
    organization_library = Library(api, workers, organization.owner, organization.id)
    organization_library.imported()
    organization_library.reconciled()
    return organization_library


@pytest.fixture
def node(api: Api, platform: Running) -> Node:
    (node,) = plant_line(api, platform, "Kilns")
    return node


def attach_node(node: Node, entity_type: str, entity_id: str, library: Library, *, as_: Person | None = None) -> Answer:
    body = {"entityType": entity_type, "entityId": entity_id}
    return library.api.post(f"{node.path}/attachments", as_=as_ or library.caller, json=body)


class TestTaxonomyAttachments:
    def test_attach_nodes_to_research_of_the_organization(self, organization_library: Library, node: Node) -> None:
        for record_type in ("output", "artefact"):
            (record, *_) = organization_library.items(f"{record_type}s")
            assert attach_node(node, f"research-{record_type}", record["id"], organization_library).status == 201
        attachments = organization_library.api.items(f"{node.path}/attachments", as_=organization_library.caller)
        assert {attachment["entityType"] for attachment in attachments} == {"research-output", "research-artefact"}

    def test_reject_research_of_other_libraries(
        self, api: Api, workers: Workers, organization_library: Library, world: World, stranger: Person, node: Node
    ) -> None:
        world.knows(works(1))
        user_library = Library(api, workers, stranger)
        user_library.imported()
        foreign_library = Library(api, workers, stranger, found(api, stranger).id)
        foreign_library.imported()
        for library in (user_library, foreign_library):
            for artefact in library.items("artefacts"):
                answer = attach_node(node, "research-artefact", artefact["id"], organization_library)
                assert answer.faults == {"/entityId": "unknown"}
        (artefact, *_) = organization_library.items("artefacts")
        assert attach_node(node, "research-output", artefact["id"], organization_library).faults == {
            "/entityId": "unknown"
        }

    def test_are_purged_with_the_organization(
        self, organization_library: Library, node: Node, clock: Clock, organization: Founded
    ) -> None:
        (output,) = organization_library.items("outputs")
        attach_node(node, "research-output", output["id"], organization_library)
        organization_library.api.delete(organization.path, as_=organization.owner)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        organization_library.workers.settle()
        kinds = {item.get("kind") for item in cloud.stored()}
        assert not kinds & {"research-output", "research-artefact", "taxonomy.attachment"}


class TestOrganizationPurge:
    def test_removes_all_research_of_the_organization_and_none_of_others(
        self, organization_library: Library, organization: Founded, clock: Clock, grace: Person
    ) -> None:
        user_library = Library(organization_library.api, organization_library.workers, grace)
        user_library.imported()
        organization_library.api.delete(organization.path, as_=organization.owner)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        organization_library.workers.settle()
        remaining = [item for item in cloud.stored() if item["pk"].startswith(f"RL#{organization.id}")]
        assert remaining == []
        assert {item["library_id"] for item in cloud.stored() if item.get("kind") == "research-artefact"} == {grace.id}
        assert not [item for item in cloud.stored() if item.get("kind") == ResearchOutput.kind]
