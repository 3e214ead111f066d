"""Test research records in other features: taxonomy attachments and purges of an organization."""

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.platforms import CreatedPlatform
from tests.harness.research_sources import FakeSources, ResearchClient, build_works
from tests.harness.taxonomy import CreatedNode, create_node_chain
from tests.harness.workers import Workers


@pytest.fixture
def organization_library(
    api: ApiClient, workers: Workers, research_sources: FakeSources, organization: CreatedOrganization
) -> ResearchClient:
    """Return the library of Ada's organization, with one output."""
    research_sources.set_works(build_works(1))
    organization_library = ResearchClient(api, workers, organization.owner, organization.id)
    organization_library.import_works()
    organization_library.reconcile()
    return organization_library


@pytest.fixture
def node(api: ApiClient, platform: CreatedPlatform) -> CreatedNode:
    (node,) = create_node_chain(api, platform, "Kilns")
    return node


def attach_node(
    node: CreatedNode, entity_type: str, entity_id: str, library: ResearchClient, *, caller: Person | None = None
) -> ApiResponse:
    body = {"entityType": entity_type, "entityId": entity_id}
    return library.api.post(f"{node.path}/attachments", caller=caller or library.caller, json=body)


class TestTaxonomyAttachments:
    def test_attach_nodes_to_research_of_the_organization(self, organization_library, node):
        for record_type in ("output", "artefact"):
            (record, *_) = organization_library.list_records(f"{record_type}s")
            assert attach_node(node, f"research-{record_type}", record["id"], organization_library).status == 201
        attachments = organization_library.api.get_items(f"{node.path}/attachments", caller=organization_library.caller)
        assert {attachment["entityType"] for attachment in attachments} == {"research-output", "research-artefact"}

    def test_reject_research_of_other_libraries(
        self, api, workers, organization_library, research_sources, stranger, node
    ):
        research_sources.set_works(build_works(1))
        user_library = ResearchClient(api, workers, stranger)
        user_library.import_works()
        foreign_library = ResearchClient(api, workers, stranger, create_organization(api, stranger).id)
        foreign_library.import_works()
        for library in (user_library, foreign_library):
            for artefact in library.list_records("artefacts"):
                answer = attach_node(node, "research-artefact", artefact["id"], organization_library)
                assert answer.errors == {"/entityId": "unknown"}
        (artefact, *_) = organization_library.list_records("artefacts")
        assert attach_node(node, "research-output", artefact["id"], organization_library).errors == {
            "/entityId": "unknown"
        }

    def test_are_purged_with_the_organization(self, organization_library, node, clock, organization):
        (output,) = organization_library.list_records("outputs")
        attach_node(node, "research-output", output["id"], organization_library)
        organization_library.api.delete(organization.path, caller=organization.owner)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        organization_library.workers.run_until_idle()
        kinds = {item.get("kind") for item in memory_aws.all_items()}
        assert not kinds & {"research-output", "research-artefact", "taxonomy.attachment"}


class TestOrganizationPurge:
    def test_removes_all_research_of_the_organization_and_none_of_others(
        self, organization_library, organization, clock, grace
    ):
        user_library = ResearchClient(organization_library.api, organization_library.workers, grace)
        user_library.import_works()
        organization_library.api.delete(organization.path, caller=organization.owner)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        organization_library.workers.run_until_idle()
        remaining = [item for item in memory_aws.all_items() if item["pk"].startswith(f"RL#{organization.id}")]
        assert remaining == []
        assert {item["library_id"] for item in memory_aws.all_items() if item.get("kind") == "research-artefact"} == {
            grace.id
        }
        assert not [item for item in memory_aws.all_items() if item.get("kind") == ResearchOutput.kind]
