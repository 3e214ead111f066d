"""Leads for operators: creating, listing and changing them."""

import pytest

from tests.catalogue.examples.leads import put_leads
from tests.harness import snapshots
from tests.harness.api import ApiClient, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.leads import CreatedLead, create_lead, get_lead, patch_lead_status, post_lead

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
        assert lead == {
            "id": lead["id"],
            "createdAt": timestamp,
            "updatedAt": timestamp,
            "version": 1,
            "contactName": "Mary Shelley",
            "contactEmail": "mary@example.org",
            "companyName": None,
            "message": "By phone.",
            "source": "fair",
            "consent": None,
            "status": "new",
            "notes": [],
            "history": [{"status": "new", "at": timestamp, "by": operator.id}],
            "submissions": [
                {
                    "id": lead["id"],
                    "submittedAt": timestamp,
                    "contactName": "Mary Shelley",
                    "companyName": None,
                    "message": "By phone.",
                    "source": "fair",
                    "consent": None,
                    "status": "new",
                }
            ],
        }
        assert api.get(f"{LEADS}/{lead['id']}", caller=operator).json == lead

    def test_a_second_lead_of_the_same_address_is_not_merged(self, api, operator):
        first, second = create_operator_lead(api, operator), create_operator_lead(api, operator)
        assert first["id"] != second["id"]
        assert len(second["submissions"]) == 1

    def test_an_operators_lead_has_no_honeypot_field(self, api, operator):
        assert api.post(LEADS, caller=operator, json={**CONTACT, "website": ""}).errors == {"/website": "unknown_field"}

    def test_an_operators_lead_cannot_be_read_with_a_token(self, api, operator):
        lead, other = create_operator_lead(api, operator), create_lead(api)
        assert api.get(f"/public/leads/{lead['id']}", headers=other.headers).status_and_code == "404 not_found"


class TestListMarketingLeads:
    @pytest.fixture
    def leads(self, api: ApiClient, operator: Person) -> list[CreatedLead]:
        """Twelve leads of three email addresses, a day apart. One lead of each address was contacted."""
        return cached_scenario("some leads", lambda: _create_leads(api, operator))

    def test_the_newest_leads_are_listed_first(self, api, operator, leads):
        for limit in (1, 5, 100):
            listed = api.get_items(LEADS, caller=operator, query={"limit": limit})
            assert [lead["id"] for lead in listed] == [lead.id for lead in reversed(leads)]
        assert listed[0] == get_lead(api, leads[-1], operator)

    def test_leads_are_filtered_by_status_and_address(self, api, operator, leads):
        def list_indexes(**query: str) -> list[int]:
            ids = [lead.id for lead in leads]
            return [
                ids.index(lead["id"]) for lead in api.get_items(LEADS, caller=operator, query={"limit": 2, **query})
            ]

        assert list_indexes(status="contacted") == [2, 1, 0]
        assert list_indexes(email=" P1@example.ORG") == [10, 7, 4, 1]
        assert list_indexes(email="p1@example.org", status="new") == [10, 7, 4]
        assert list_indexes(email="p1@example.org", status="spam") == []
        assert list_indexes(email="nobody@example.org") == []

    def test_every_status_and_no_other_is_accepted_as_a_filter(self, api, operator):
        assert api.get(LEADS, caller=operator, query={"status": "lost"}).errors == {"query/status": "not_one_of"}
        for item in api.get_items(f"{LEADS}/statuses", caller=operator):
            assert api.get(LEADS, caller=operator, query={"status": item["status"]}).status == 200

    def test_a_cursor_is_valid_only_for_its_filters(self, api, operator, leads):
        assert leads
        cursor = api.get(LEADS, caller=operator, query={"limit": 1}).json["nextCursor"]
        response = api.get(LEADS, caller=operator, query={"limit": 1, "cursor": cursor, "status": "new"})
        assert response.status_and_code == "400 invalid_cursor"

    def test_the_number_of_reads_does_not_depend_on_the_number_of_leads(self, api, operator, leads):
        assert leads
        put_leads(400)
        for query, partitions in (({}, 8), ({"status": "new"}, 1), ({"email": "p1@example.org"}, 1)):
            answer = api.get(LEADS, caller=operator, query={"limit": 3, **query})
            assert len(answer.json["items"]) == 3
            assert answer.calls.call_names == ["dynamodb:Query"] * partitions
            assert {call.parameters["Limit"] for call in answer.calls.call_list} == {3}
            assert not any("FilterExpression" in call.parameters for call in answer.calls.call_list)

    def test_new_leads_are_spread_evenly_across_partitions(self, operator, api):
        put_leads(400)
        assert api.get(LEADS, caller=operator).status == 200
        shards = [item["index1pk"] for item in snapshots.items_by_key().values() if item.get("kind") == "lead"]
        counts = [shards.count(shard) for shard in sorted(set(shards))]
        assert len(counts) == 8
        assert max(counts) < 2 * min(counts) + 20


def _create_leads(api: ApiClient, operator: Person) -> list[CreatedLead]:
    leads = []
    for number in range(12):
        with pytest.MonkeyPatch.context() as monkeypatch:
            Clock(monkeypatch).shift(days=number - 20)
            leads.append(create_lead(api, f"p{number % 3}@example.org", message=f"Number {number}"))
    for lead in leads[:3]:
        assert patch_lead_status(api, lead, operator, "contacted").status == 200
    return leads


class TestGetMarketingLead:
    def test_only_operators_read_a_lead(self, api, operator, ada):
        lead = create_lead(api)
        assert api.get(lead.operator_path, caller=ada).status_and_code == "403 forbidden"
        assert api.get(lead.operator_path, headers=lead.headers).status_and_code == "401 unauthenticated"
        assert api.get(f"{LEADS}/{operator.id}", caller=operator).status_and_code == "404 not_found"

    def test_reading_a_lead_takes_one_read(self, api, operator):
        assert api.get(create_lead(api).operator_path, caller=operator).calls.call_names == ["dynamodb:BatchGetItem"]


class TestChangeMarketingLeadStatus:
    def test_a_change_names_the_operator_and_stores_the_note(self, api, operator, clock):
        clock.freeze("2027-03-21T09:00:00.000Z")
        lead = create_lead(api)
        clock.shift(minutes=5)
        response = patch_lead_status(api, lead, operator, "contacted", note=" Wants an offer. ")
        timestamp = "2027-03-21T09:05:00.000Z"
        assert (response.json["status"], response.json["updatedAt"], response.json["version"]) == (
            "contacted",
            timestamp,
            2,
        )
        assert response.json["history"][-1] == {"status": "contacted", "at": timestamp, "by": operator.id}
        assert response.json["notes"] == [{"text": "Wants an offer.", "at": timestamp, "by": operator.id}]
        (entry, *_) = api.get_items("/system/audit-log", caller=operator)
        assert (entry["type"], entry["actor"]["type"]) == ("lead.status_changed", "operator")
        assert entry["data"] == response.json

    def test_an_invalid_transition_is_rejected_with_the_valid_ones(self, api, operator):
        lead = create_lead(api)
        response = patch_lead_status(api, lead, operator, "converted", note="Too soon.")
        assert response.status_and_code == "409 invalid_transition"
        for status in ("contacted", "unqualified", "spam", "withdrawn"):
            assert f"'{status}'" in response.json["detail"]
        assert get_lead(api, lead, operator)["notes"] == []

    def test_a_converted_lead_has_no_next_status(self, api, operator):
        lead = create_lead(api)
        for status in ("contacted", "qualified", "converted"):
            assert patch_lead_status(api, lead, operator, status).status == 200
        response = patch_lead_status(api, lead, operator, "new")
        assert response.json["detail"].startswith("The status is 'converted' and can't become 'new'.")
        assert response.json["detail"].endswith("Possible next statuses: none.")

    def test_the_current_status_is_no_change_but_a_note_is(self, api, operator):
        lead = create_lead(api)
        before = snapshots.items_by_key()
        for body in ({"status": "new"}, {}, {"note": None}, {"note": "  "}):
            answer = api.patch(f"{lead.operator_path}/status", caller=operator, json=body)
            assert (answer.status, answer.json["version"]) == (200, 1)
        assert snapshots.items_by_key() == before
        response = patch_lead_status(api, lead, operator, "new", note="Called twice.").json
        assert [note["text"] for note in response["notes"]] == ["Called twice."]
        assert len(response["history"]) == 1
        (entry, *_) = api.get_items("/system/audit-log", caller=operator)
        assert [change["field"] for change in entry["changes"]] == ["notes"]

    def test_if_match_rejects_a_changed_lead(self, api, operator):
        lead = create_lead(api)
        etag = api.get(lead.operator_path, caller=operator).etag
        patch_lead_status(api, lead, operator, "contacted")
        body, headers = {"status": "qualified"}, {"If-Match": etag}
        response = api.patch(f"{lead.operator_path}/status", caller=operator, json=body, headers=headers)
        assert response.status_and_code == "412 precondition_failed"

    def test_an_unknown_status_is_rejected(self, api, operator):
        lead = create_lead(api)
        assert patch_lead_status(api, lead, operator, "lost").errors == {"/status": "not_one_of"}
        assert api.patch(f"{lead.operator_path}/status", caller=operator, json={"status": None}).errors == {
            "/status": "required"
        }

    def test_notes_are_limited_by_the_size_of_the_record(self, api, operator):
        lead = create_lead(api)
        answers = [patch_lead_status(api, lead, operator, "new", note="x" * 4000) for _ in range(36)]
        stored_count = [answer.status for answer in answers].count(200)
        assert 28 < stored_count < 36
        assert {answer.status_and_code for answer in answers if answer.status != 200} == {"409 limit_exceeded"}
        assert len(get_lead(api, lead, operator)["notes"]) == stored_count
        assert patch_lead_status(api, lead, operator, "contacted").status == 200


def test_a_submitted_lead_is_in_the_operators_log(api, operator):
    answer = post_lead(api, message="How many columns?")
    (entry,) = api.get_items("/system/audit-log", caller=operator)
    assert (entry["type"], entry["organizationId"]) == ("lead.created", None)
    assert entry["actor"] == {"type": "anonymous", "id": None, "name": None}
    assert entry["context"]["operationId"] == "create_public_lead"
    assert entry["data"] == get_lead(api, CreatedLead(answer.json), operator)
    assert entry["changes"] == []
    assert answer.json["leadToken"] not in str(entry)
