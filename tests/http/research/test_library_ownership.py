"""Test who may import works, whose library they go to, who may read and attach them, and when they are purged."""

import pytest

from chalicelib.features.research.entities import ResearchOutput
from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.research_sources import ResearchClient, build_works
from tests.harness.taxonomy import create_node, post_attachment


@pytest.fixture(autouse=True)
def one_work(research_sources):
    research_sources.set_works(build_works(1))


@pytest.fixture
def organization_library(api, workers, organization):
    library = ResearchClient(api, workers, organization.owner, organization.id)
    library.import_works()
    library.reconcile()
    return library


@pytest.fixture
def purge_organization(api, organization, run_tasks_after):
    def purge_organization() -> None:
        assert api.delete(organization.path, caller=organization.owner).status == 204
        run_tasks_after(days=RESTORABLE_DAYS, minutes=3)

    return purge_organization


class TestOwnership:
    def test_a_users_library_is_invisible_to_others(self, api, research_client, grace):
        job_answer = research_client.post_import()
        research_client.complete_job(job_answer)
        (first, _) = research_client.list_records("artefacts")
        for path in (f"/research/artefacts/{first['id']}", job_answer.location):
            assert research_client.get(path).status == 200
            assert api.get(path, caller=grace).status_and_code == "404 not_found"
        assert api.get("/research/artefacts", caller=grace).json["items"] == []

    def test_an_organizations_library_is_visible_to_its_members_and_keys(
        self, api, workers, organization, edith, mary, stranger
    ):
        ResearchClient(api, workers, edith, organization.id).import_works()
        artefacts, *others = (
            ResearchClient(api, workers, caller).list_records("artefacts")
            for caller in (edith, mary, create_api_key(api, organization))
        )
        assert (len(artefacts), others) == (2, [artefacts, artefacts])
        path = f"/research/artefacts/{artefacts[0]['id']}"
        foreign_key = create_api_key(api, create_organization(api, stranger))
        assert [api.get(path, caller=caller).status for caller in (mary, stranger, foreign_key)] == [200, 404, 404]
        assert ResearchClient(api, workers, stranger).list_records("artefacts") == []
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert api.get(path, caller=mary).status == 404
        assert ResearchClient(api, workers, mary).list_records("artefacts") == []

    def test_an_import_by_a_key_goes_to_its_organizations_library_and_log(self, api, workers, organization):
        job = ResearchClient(api, workers, create_api_key(api, organization, "research:write")).import_works()
        assert job["organizationId"] == organization.id
        event_types = [entry["type"] for entry in list_entries(api, organization, targetId=job["id"])]
        assert event_types == ["research.import.completed", "research.import.requested"]
        assert len(ResearchClient(api, workers, organization.owner).list_records("artefacts")) == 2

    def test_a_former_member_gets_no_idempotent_replay(self, api, organization, edith):
        body, headers = {"researcherId": "nobody", "organizationId": organization.id}, {"Idempotency-Key": "once"}
        first, second = (api.post("/research/import", caller=edith, json=body, headers=headers) for _ in range(2))
        assert first.status == 202
        assert second.headers["Idempotency-Replayed"]
        assert api.delete(f"{organization.path}/members/{edith.id}", caller=organization.owner).status == 204
        assert api.post("/research/import", caller=edith, json=body, headers=headers).status_and_code == "404 not_found"
        assert api.get(first.location, caller=edith).status_and_code == "404 not_found"

    def test_a_user_starts_at_most_ten_an_hour(self, api, workers, research_client, grace, clock):
        assert [research_client.post_import("nobody").status for _ in range(11)] == [202] * 10 + [429]
        assert ResearchClient(api, workers, grace).post_import("nobody").status == 202
        clock.shift(hours=1, seconds=1)
        assert research_client.post_import("nobody").status == 202


class TestTaxonomyAttachments:
    def test_nodes_are_attached_to_research_of_the_organization_and_purged_with_it(
        self, api, platform, organization_library, purge_organization
    ):
        node = create_node(api, platform)
        for kind in ("output", "artefact"):
            (record, *_) = organization_library.list_records(f"{kind}s")
            assert post_attachment(api, node, f"research-{kind}", record["id"]).status == 201
        attachments = organization_library.get(f"{node.path}/attachments").json["items"]
        assert {each["entityType"] for each in attachments} == {"research-output", "research-artefact"}
        purge_organization()
        kinds = {item.get("kind") for item in memory_aws.all_items()}
        assert not kinds & {"research-output", "research-artefact", "taxonomy.attachment"}

    def test_research_of_other_libraries_or_another_type_is_rejected(
        self, api, workers, platform, organization_library, stranger
    ):
        node = create_node(api, platform)
        ids = {"research-artefact": [], "research-output": [organization_library.list_records("artefacts")[0]["id"]]}
        for organization_id in (None, create_organization(api, stranger).id):
            library = ResearchClient(api, workers, stranger, organization_id)
            library.import_works()
            ids["research-artefact"] += [artefact["id"] for artefact in library.list_records("artefacts")]
        assert len(ids["research-artefact"]) == 6
        for entity_type, entity_ids in ids.items():
            for entity_id in entity_ids:
                assert post_attachment(api, node, entity_type, entity_id).errors == {"/entityId": "unknown"}


@pytest.mark.usefixtures("organization_library")
def test_a_purge_removes_all_research_of_the_organization_and_none_of_others(
    api, workers, organization, grace, purge_organization
):
    ResearchClient(api, workers, grace).import_works()
    purge_organization()
    items = memory_aws.all_items()
    assert not [item for item in items if item["pk"].startswith(f"RL#{organization.id}")]
    assert {item["library_id"] for item in items if item.get("kind") == "research-artefact"} == {grace.id}
    assert not [item for item in items if item.get("kind") == ResearchOutput.kind]
