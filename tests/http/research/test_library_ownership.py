"""Test who may import works, whose library they go to, and who may read it."""

from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.research_sources import CARBERRY, ResearchClient, build_works


class TestOwnership:
    def test_a_users_library_is_invisible_to_others(self, research_client, research_sources, grace):
        research_sources.set_works(build_works(1))
        job_answer = research_client.post_job("/research/import", {"researcherId": CARBERRY.orcid})
        research_client.complete_job(job_answer)
        (first, _) = research_client.list_records("artefacts")
        for path in (f"/research/artefacts/{first['id']}", job_answer.location):
            assert research_client.api.get(path, caller=research_client.caller).status == 200
            assert research_client.api.get(path, caller=grace).status_and_code == "404 not_found"
        assert research_client.api.get("/research/artefacts", caller=grace).json["items"] == []

    def test_an_organizations_library_is_visible_to_its_members_and_keys(
        self, api, workers, research_sources, organization, edith, mary, stranger
    ):
        research_sources.set_works(build_works(1))
        ResearchClient(api, workers, edith, organization.id).import_works()
        artefact_lists = [
            ResearchClient(api, workers, caller).list_records("artefacts")
            for caller in (edith, mary, create_api_key(api, organization))
        ]
        assert artefact_lists[0] == artefact_lists[1] == artefact_lists[2]
        assert len(artefact_lists[0]) == 2
        path = f"/research/artefacts/{artefact_lists[0][0]['id']}"
        foreign_key = create_api_key(api, create_organization(api, stranger))
        assert [api.get(path, caller=caller).status for caller in (mary, stranger, foreign_key)] == [200, 404, 404]
        assert ResearchClient(api, workers, stranger).list_records("artefacts") == []
        assert api.delete(organization.path, caller=organization.owner).status == 204
        assert api.get(path, caller=mary).status == 404
        assert ResearchClient(api, workers, mary).list_records("artefacts") == []

    def test_an_import_by_a_key_goes_to_its_organizations_library_and_log(
        self, api, workers, research_sources, organization
    ):
        research_sources.set_works(build_works(1))
        job = ResearchClient(api, workers, create_api_key(api, organization, "research:write")).import_works()
        assert job["organizationId"] == organization.id
        event_types = [entry["type"] for entry in list_entries(api, organization, targetId=job["id"])]
        assert event_types == ["research.import.completed", "research.import.requested"]
        assert len(ResearchClient(api, workers, organization.owner).list_records("artefacts")) == 2

    def test_members_below_editor_import_nothing(self, api, organization, mary, stranger):
        body = {"researcherId": CARBERRY.orcid, "organizationId": organization.id}
        assert api.post("/research/import", caller=mary, json=body).status_and_code == "403 insufficient_role"
        forbidden_organization = api.post("/research/import", caller=stranger, json=body)
        missing = api.post("/research/import", caller=stranger, json={**body, "organizationId": stranger.id})
        assert forbidden_organization.status_and_code == "404 not_found"
        assert forbidden_organization.comparable_problem == missing.comparable_problem
        assert (
            api.post("/research/import", caller=mary, json={**body, "colour": "red"}).status_and_code
            == "403 insufficient_role"
        )

    def test_a_former_member_gets_no_idempotent_replay(self, api, organization, edith):
        body, headers = {"researcherId": "nobody", "organizationId": organization.id}, {"Idempotency-Key": "once"}
        first_answer = api.post("/research/import", caller=edith, json=body, headers=headers)
        assert first_answer.status == 202
        assert api.post("/research/import", caller=edith, json=body, headers=headers).headers["Idempotency-Replayed"]
        assert api.delete(f"{organization.path}/members/{edith.id}", caller=organization.owner).status == 204
        assert api.post("/research/import", caller=edith, json=body, headers=headers).status_and_code == "404 not_found"
        assert api.get(first_answer.location, caller=edith).status_and_code == "404 not_found"

    def test_a_user_starts_at_most_ten_an_hour(self, api, ada, grace, clock):
        body = {"researcherId": "nobody"}
        answers = [api.post("/research/import", caller=ada, json=body) for _ in range(11)]
        assert [answer.status for answer in answers] == [202] * 10 + [429]
        assert answers[-1].json["code"] == "rate_limited"
        assert api.post("/research/import", caller=grace, json=body).status == 202
        clock.shift(hours=1, seconds=1)
        assert api.post("/research/import", caller=ada, json=body).status == 202
