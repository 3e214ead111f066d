"""Leads for operators: creating, listing and changing them."""

import pytest

from tests.catalogue.examples.leads import put_leads
from tests.harness import snapshots
from tests.harness.api import ApiClient, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.leads import create_lead, get_lead, patch_lead_status

LEADS = "/marketing-leads"
CONTACT = {"contactName": "Mary Shelley", "contactEmail": "Mary@Example.org"}


def create_operator_lead(api: ApiClient, operator: Person, **fields: object) -> Json:
    answer = api.post(LEADS, caller=operator, json={**CONTACT, **fields})
    assert answer.status == 201, answer.text
    return answer.json


class TestCreateMarketingLead:
    def test_a_lead_is_complete_and_names_the_operator(self, api, operator, clock):
        timestamp = clock.freeze("2027-03-21T09:00:00.000Z")
        lead = create_operator_lead(api, operator, message="By phone.", source="fair")
        contact = {"contactName": "Mary Shelley", "companyName": None, "message": "By phone."}
        common = {**contact, "id": lead["id"], "source": "fair", "consent": None, "status": "new"}
        times = dict.fromkeys(("createdAt", "updatedAt"), timestamp)
        history = [{"status": "new", "at": timestamp, "by": operator.id}]
        lists = {"notes": [], "history": history, "submissions": [{**common, "submittedAt": timestamp}]}
        assert lead == {**common, **times, **lists, "version": 1, "contactEmail": "mary@example.org"}
        second = create_operator_lead(api, operator)  # A second lead of the same address is not merged.
        assert (second["id"] != lead["id"], len(second["submissions"])) == (True, 1)

    def test_an_operators_lead_has_no_honeypot_field_and_no_token(self, api, operator):
        assert api.post(LEADS, caller=operator, json={**CONTACT, "website": ""}).errors == {"/website": "unknown_field"}
        lead, other = create_operator_lead(api, operator), create_lead(api)
        assert api.get(f"/public/leads/{lead['id']}", headers=other.headers).status_and_code == "404 not_found"


class TestListMarketingLeads:
    @pytest.fixture
    def leads(self, api, operator):
        """Twelve leads of three email addresses, a day apart. One lead of each address was contacted."""
        return cached_scenario("some leads", lambda: create_leads(api, operator))

    def test_the_newest_leads_are_listed_first_and_filtered_by_status_and_address(self, api, operator, leads):
        ids = [lead.id for lead in leads]
        for query, numbers in [
            ({}, [*reversed(range(12))]),
            ({"status": "contacted"}, [2, 1, 0]),
            ({"email": " P1@example.ORG"}, [10, 7, 4, 1]),
            ({"email": "p1@example.org", "status": "new"}, [10, 7, 4]),
            ({"email": "p1@example.org", "status": "spam"}, []),
            ({"email": "nobody@example.org"}, []),
        ]:
            for limit in (2, 5, 100):
                listed = api.get_items(LEADS, caller=operator, query={"limit": limit, **query})
                assert [ids.index(lead["id"]) for lead in listed] == numbers, query
        assert api.get(LEADS, caller=operator).json["items"][0] == get_lead(api, leads[-1], operator)

    def test_every_status_and_no_other_is_accepted_as_a_filter(self, api, operator):
        assert api.get(LEADS, caller=operator, query={"status": "lost"}).errors == {"query/status": "not_one_of"}
        for item in api.get_items(f"{LEADS}/statuses", caller=operator):
            assert api.get(LEADS, caller=operator, query={"status": item["status"]}).status == 200

    def test_a_cursor_is_valid_only_for_its_filters(self, api, operator, leads):
        cursor = api.get(LEADS, caller=operator, query={"limit": 1}).json["nextCursor"]
        response = api.get(LEADS, caller=operator, query={"limit": 1, "cursor": cursor, "status": "new"})
        assert response.status_and_code == "400 invalid_cursor"

    def test_leads_are_spread_evenly_and_the_number_of_reads_does_not_depend_on_their_number(
        self, api, operator, leads
    ):
        put_leads(400)
        for query, partitions in (({}, 8), ({"status": "new"}, 1), ({"email": "p1@example.org"}, 1)):
            answer = api.get(LEADS, caller=operator, query={"limit": 3, **query})
            assert len(answer.json["items"]) == 3
            assert answer.calls.call_names == ["dynamodb:Query"] * partitions
            assert {call.parameters["Limit"] for call in answer.calls.call_list} == {3}
            assert not any("FilterExpression" in call.parameters for call in answer.calls.call_list)
        shards = [item["index1pk"] for item in snapshots.items_by_key().values() if item.get("kind") == "lead"]
        counts = [shards.count(shard) for shard in sorted(set(shards))]
        assert len(counts) == 8
        assert max(counts) < 2 * min(counts) + 20


def create_leads(api, operator):
    leads = []
    for number in range(12):
        with pytest.MonkeyPatch.context() as monkeypatch:
            Clock(monkeypatch).shift(days=number - 20)
            leads.append(create_lead(api, f"p{number % 3}@example.org", message=f"Number {number}"))
    for lead in leads[:3]:
        assert patch_lead_status(api, lead, operator, "contacted").status == 200
    return leads


class TestChangeMarketingLeadStatus:
    @pytest.fixture
    def lead(self, api):
        return create_lead(api)

    def test_a_change_names_the_operator_and_stores_the_note(self, api, operator, clock):
        clock.freeze("2027-03-21T09:00:00.000Z")
        lead = create_lead(api)
        clock.shift(minutes=5)
        record = patch_lead_status(api, lead, operator, "contacted", note=" Wants an offer. ").json
        change = {"at": "2027-03-21T09:05:00.000Z", "by": operator.id}
        assert (record["status"], record["updatedAt"], record["version"]) == ("contacted", change["at"], 2)
        assert record["history"][-1] == {"status": "contacted", **change}
        assert record["notes"] == [{"text": "Wants an offer.", **change}]
        (entry, *_) = api.get_items("/system/audit-log", caller=operator)
        assert (entry["type"], entry["actor"]["type"]) == ("lead.status_changed", "operator")
        assert entry["data"] == record

    def test_an_invalid_transition_is_rejected_with_the_valid_ones(self, api, operator, lead):
        response = patch_lead_status(api, lead, operator, "converted", note="Too soon.")
        assert response.status_and_code == "409 invalid_transition"
        for status in ("contacted", "unqualified", "spam", "withdrawn"):
            assert f"'{status}'" in response.json["detail"]
        assert get_lead(api, lead, operator)["notes"] == []

    def test_a_converted_lead_has_no_next_status(self, api, operator, lead):
        for status in ("contacted", "qualified", "converted"):
            assert patch_lead_status(api, lead, operator, status).status == 200
        detail = patch_lead_status(api, lead, operator, "new").json["detail"]
        assert detail.startswith("The status is 'converted' and can't become 'new'.")
        assert detail.endswith("Possible next statuses: none.")

    def test_the_current_status_is_no_change_but_a_note_is(self, api, operator, lead):
        before = snapshots.items_by_key()
        for body in ({"status": "new"}, {}, {"note": None}, {"note": "  "}):
            answer = api.patch(f"{lead.operator_path}/status", caller=operator, json=body)
            assert (answer.status, answer.json["version"]) == (200, 1)
        assert snapshots.items_by_key() == before
        record = patch_lead_status(api, lead, operator, "new", note="Called twice.").json
        assert [note["text"] for note in record["notes"]] == ["Called twice."]
        assert len(record["history"]) == 1
        (entry, *_) = api.get_items("/system/audit-log", caller=operator)
        assert [change["field"] for change in entry["changes"]] == ["notes"]

    def test_notes_are_limited_by_the_size_of_the_record(self, api, operator, lead):
        answers = [patch_lead_status(api, lead, operator, "new", note="x" * 4000) for _ in range(36)]
        stored_count = [answer.status for answer in answers].count(200)
        assert 28 < stored_count < 36
        assert {answer.status_and_code for answer in answers if answer.status != 200} == {"409 limit_exceeded"}
        assert len(get_lead(api, lead, operator)["notes"]) == stored_count
        assert patch_lead_status(api, lead, operator, "contacted").status == 200
