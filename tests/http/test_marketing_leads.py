"""Leads for operators: creating, listing and changing them."""

import pytest

from tests.catalogue.examples.leads import put_leads
from tests.harness import snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.leads import Inquiry, asked_to_send, judge, lead_of, send
from tests.harness.scenes import scene

LEADS = "/marketing-leads"
CONTACT = {"contactName": "Mary Shelley", "contactEmail": "Mary@Example.org"}


def create_lead(api: Api, operator: Person, **fields: object) -> Json:
    answer = api.post(LEADS, as_=operator, json={**CONTACT, **fields})
    assert answer.status == 201, answer.text
    return answer.json


class TestCreateMarketingLead:
    def test_a_lead_is_complete_and_names_the_operator(self, api: Api, operator: Person, clock: Clock) -> None:
        timestamp = clock.freeze("2027-03-21T09:00:00.000Z")
        lead = create_lead(api, operator, message="By phone.", source="fair")
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
        assert api.get(f"{LEADS}/{lead['id']}", as_=operator).json == lead

    def test_a_second_lead_of_the_same_address_is_not_merged(self, api: Api, operator: Person) -> None:
        first, second = create_lead(api, operator), create_lead(api, operator)
        assert first["id"] != second["id"]
        assert len(second["submissions"]) == 1

    def test_an_operators_lead_has_no_honeypot_field(self, api: Api, operator: Person) -> None:
        assert api.post(LEADS, as_=operator, json={**CONTACT, "website": ""}).faults == {"/website": "unknown_field"}

    def test_an_operators_lead_cannot_be_read_with_a_token(self, api: Api, operator: Person) -> None:
        lead, other = create_lead(api, operator), send(api)
        assert api.get(f"/public/leads/{lead['id']}", headers=other.headers).code == "404 not_found"


class TestListMarketingLeads:
    @pytest.fixture
    def leads(self, api: Api, operator: Person) -> list[Inquiry]:
        """Twelve leads of three email addresses, a day apart. One lead of each address was contacted."""
        return scene("some leads", lambda: _create_leads(api, operator))

    def test_the_newest_leads_are_listed_first(self, api: Api, operator: Person, leads: list[Inquiry]) -> None:
        for limit in (1, 5, 100):
            listed = api.items(LEADS, as_=operator, query={"limit": limit})
            assert [lead["id"] for lead in listed] == [lead.id for lead in reversed(leads)]
        assert listed[0] == lead_of(api, leads[-1], operator)

    def test_leads_are_filtered_by_status_and_address(self, api: Api, operator: Person, leads: list[Inquiry]) -> None:
        def list_indexes(**query: str) -> list[int]:
            ids = [lead.id for lead in leads]
            return [ids.index(lead["id"]) for lead in api.items(LEADS, as_=operator, query={"limit": 2, **query})]

        assert list_indexes(status="contacted") == [2, 1, 0]
        assert list_indexes(email=" P1@example.ORG") == [10, 7, 4, 1]
        assert list_indexes(email="p1@example.org", status="new") == [10, 7, 4]
        assert list_indexes(email="p1@example.org", status="spam") == []
        assert list_indexes(email="nobody@example.org") == []

    def test_every_status_and_no_other_is_accepted_as_a_filter(self, api: Api, operator: Person) -> None:
        assert api.get(LEADS, as_=operator, query={"status": "lost"}).faults == {"query/status": "not_one_of"}
        for item in api.items(f"{LEADS}/statuses", as_=operator):
            assert api.get(LEADS, as_=operator, query={"status": item["status"]}).status == 200

    def test_a_cursor_is_valid_only_for_its_filters(self, api: Api, operator: Person, leads: list[Inquiry]) -> None:
        assert leads
        cursor = api.get(LEADS, as_=operator, query={"limit": 1}).json["nextCursor"]
        response = api.get(LEADS, as_=operator, query={"limit": 1, "cursor": cursor, "status": "new"})
        assert response.code == "400 invalid_cursor"

    def test_the_number_of_reads_does_not_depend_on_the_number_of_leads(
        self, api: Api, operator: Person, leads: list[Inquiry]
    ) -> None:
        assert leads
        put_leads(400)
        for query, partitions in (({}, 8), ({"status": "new"}, 1), ({"email": "p1@example.org"}, 1)):
            answer = api.get(LEADS, as_=operator, query={"limit": 3, **query})
            assert len(answer.json["items"]) == 3
            assert answer.calls.names == ["dynamodb:Query"] * partitions
            assert {call.parameters["Limit"] for call in answer.calls.made} == {3}
            assert not any("FilterExpression" in call.parameters for call in answer.calls.made)

    def test_new_leads_are_spread_evenly_across_partitions(self, operator: Person, api: Api) -> None:
        put_leads(400)
        assert api.get(LEADS, as_=operator).status == 200
        shards = [item["index1pk"] for item in snapshots.stored().values() if item.get("kind") == "lead"]
        counts = [shards.count(shard) for shard in sorted(set(shards))]
        assert len(counts) == 8
        assert max(counts) < 2 * min(counts) + 20


def _create_leads(api: Api, operator: Person) -> list[Inquiry]:
    leads = []
    for number in range(12):
        with pytest.MonkeyPatch.context() as monkeypatch:
            Clock(monkeypatch).shift(days=number - 20)
            leads.append(send(api, f"p{number % 3}@example.org", message=f"Number {number}"))
    for lead in leads[:3]:
        assert judge(api, lead, operator, "contacted").status == 200
    return leads


class TestGetMarketingLead:
    def test_only_operators_read_a_lead(self, api: Api, operator: Person, ada: Person) -> None:
        lead = send(api)
        assert api.get(lead.lead_path, as_=ada).code == "403 forbidden"
        assert api.get(lead.lead_path, headers=lead.headers).code == "401 unauthenticated"
        assert api.get(f"{LEADS}/{operator.id}", as_=operator).code == "404 not_found"

    def test_reading_a_lead_takes_one_read(self, api: Api, operator: Person) -> None:
        assert api.get(send(api).lead_path, as_=operator).calls.names == ["dynamodb:BatchGetItem"]


class TestChangeMarketingLeadStatus:
    def test_a_change_names_the_operator_and_stores_the_note(self, api: Api, operator: Person, clock: Clock) -> None:
        clock.freeze("2027-03-21T09:00:00.000Z")
        lead = send(api)
        clock.shift(minutes=5)
        response = judge(api, lead, operator, "contacted", note=" Wants an offer. ")
        timestamp = "2027-03-21T09:05:00.000Z"
        assert (response.json["status"], response.json["updatedAt"], response.json["version"]) == (
            "contacted",
            timestamp,
            2,
        )
        assert response.json["history"][-1] == {"status": "contacted", "at": timestamp, "by": operator.id}
        assert response.json["notes"] == [{"text": "Wants an offer.", "at": timestamp, "by": operator.id}]
        (entry, *_) = api.items("/system/audit-log", as_=operator)
        assert (entry["type"], entry["actor"]["type"]) == ("lead.status_changed", "operator")
        assert entry["data"] == response.json

    def test_an_invalid_transition_is_rejected_with_the_valid_ones(self, api: Api, operator: Person) -> None:
        lead = send(api)
        response = judge(api, lead, operator, "converted", note="Too soon.")
        assert response.code == "409 invalid_transition"
        for status in ("contacted", "unqualified", "spam", "withdrawn"):
            assert f"'{status}'" in response.json["detail"]
        assert lead_of(api, lead, operator)["notes"] == []

    def test_a_converted_lead_has_no_next_status(self, api: Api, operator: Person) -> None:
        lead = send(api)
        for status in ("contacted", "qualified", "converted"):
            assert judge(api, lead, operator, status).status == 200
        response = judge(api, lead, operator, "new")
        assert response.json["detail"].startswith("The status is 'converted' and can't become 'new'.")
        assert response.json["detail"].endswith("Possible next statuses: none.")

    def test_the_current_status_is_no_change_but_a_note_is(self, api: Api, operator: Person) -> None:
        lead = send(api)
        before = snapshots.stored()
        for body in ({"status": "new"}, {}, {"note": None}, {"note": "  "}):
            answer = api.patch(f"{lead.lead_path}/status", as_=operator, json=body)
            assert (answer.status, answer.json["version"]) == (200, 1)
        assert snapshots.stored() == before
        response = judge(api, lead, operator, "new", note="Called twice.").json
        assert [note["text"] for note in response["notes"]] == ["Called twice."]
        assert len(response["history"]) == 1
        (entry, *_) = api.items("/system/audit-log", as_=operator)
        assert [change["field"] for change in entry["changes"]] == ["notes"]

    def test_if_match_rejects_a_changed_lead(self, api: Api, operator: Person) -> None:
        lead = send(api)
        etag = api.get(lead.lead_path, as_=operator).etag
        judge(api, lead, operator, "contacted")
        body, headers = {"status": "qualified"}, {"If-Match": etag}
        response = api.patch(f"{lead.lead_path}/status", as_=operator, json=body, headers=headers)
        assert response.code == "412 precondition_failed"

    def test_an_unknown_status_is_rejected(self, api: Api, operator: Person) -> None:
        lead = send(api)
        assert judge(api, lead, operator, "lost").faults == {"/status": "not_one_of"}
        assert api.patch(f"{lead.lead_path}/status", as_=operator, json={"status": None}).faults == {
            "/status": "required"
        }

    def test_notes_are_limited_by_the_size_of_the_record(self, api: Api, operator: Person) -> None:
        lead = send(api)
        answers = [judge(api, lead, operator, "new", note="x" * 4000) for _ in range(36)]
        stored_count = [answer.status for answer in answers].count(200)
        assert 28 < stored_count < 36
        assert {answer.code for answer in answers if answer.status != 200} == {"409 limit_exceeded"}
        assert len(lead_of(api, lead, operator)["notes"]) == stored_count
        assert judge(api, lead, operator, "contacted").status == 200


def test_a_submitted_lead_is_in_the_operators_log(api: Api, operator: Person) -> None:
    answer = asked_to_send(api, message="How many columns?")
    (entry,) = api.items("/system/audit-log", as_=operator)
    assert (entry["type"], entry["organizationId"]) == ("lead.created", None)
    assert entry["actor"] == {"type": "anonymous", "id": None, "name": None}
    assert entry["context"]["operationId"] == "create_public_lead"
    assert entry["data"] == lead_of(api, Inquiry(answer.json), operator)
    assert entry["changes"] == []
    assert answer.json["leadToken"] not in str(entry)
