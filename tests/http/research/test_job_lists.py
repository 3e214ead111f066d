"""The list of the jobs that a caller has started."""

import pytest

from tests.harness.api import Json
from tests.harness.erasures import complete_erasure
from tests.harness.organizations import add_organization_member, create_api_key, remove_member
from tests.harness.research_sources import ResearchClient, build_works


@pytest.fixture(autouse=True)
def one_work(research_sources):
    research_sources.set_works(build_works(1))


def test_callers_see_only_their_own_jobs_newest_first(api, workers, organization, ada, mary, clock):
    key = create_api_key(api, organization, "research:write")
    clients = [ResearchClient(api, workers, caller) for caller in (ada, key, mary)]
    jobs: list[list[Json]] = [[], [], []]
    for _ in range(3):
        for client, own_jobs in zip(clients, jobs, strict=True):
            clock.shift(seconds=1)
            own_jobs.insert(0, client.import_works())
    for client, own_jobs in zip(clients, jobs, strict=True):
        assert [each["status"] for each in own_jobs] == ["completed"] * 3
        pages = api.get_pages("/research/jobs", caller=client.caller, query={"limit": 2})
        assert [page["items"] for page in pages] == [own_jobs[:2], own_jobs[2:]]


def test_a_former_member_sees_only_the_jobs_in_their_own_library(api, workers, organization, edith, clock):
    own = ResearchClient(api, workers, edith).import_works()
    clock.shift(seconds=1)
    shared = ResearchClient(api, workers, edith, organization.id).import_works()
    client = ResearchClient(api, workers, edith)
    assert client.list_records("jobs") == [shared, own]
    remove_member(api, organization, edith)
    assert client.list_records("jobs") == [own]


def test_jobs_of_a_deleted_organization_are_not_listed(api, workers, organization, ada):
    client = ResearchClient(api, workers, ada, organization.id)
    job = client.import_works()
    assert client.list_records("jobs") == [job]
    api.delete(organization.path, caller=ada).expect(204)
    assert client.list_records("jobs") == []


def test_jobs_no_longer_name_an_erased_person(api, workers, organization, edith, clock):
    client = ResearchClient(api, workers, edith, organization.id)
    assert len([client.import_works() for _ in range(2)]) == len(client.list_records("jobs"))
    complete_erasure(api, workers, clock, organization, email=edith.email)
    add_organization_member(organization, edith, "editor")  # They see the library again.
    assert client.list_records("jobs") == []
