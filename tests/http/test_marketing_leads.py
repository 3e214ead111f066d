"""Leads as operators see them: what they note, how they list, what they make of them."""

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


def note_down(api: Api, operator: Person, **fields: object) -> Json:
    answer = api.post(LEADS, as_=operator, json={**CONTACT, **fields})
    assert answer.status == 201, answer.text
    return answer.json


class TestCreateMarketingLead:
    def test_is_whole_and_says_who_noted_it(self, api: Api, operator: Person, clock: Clock) -> None:
        moment = clock.freeze("2027-03-21T09:00:00.000Z")
        lead = note_down(api, operator, message="By phone.", source="fair")
        assert lead == {
            "id": lead["id"],
            "createdAt": moment,
            "updatedAt": moment,
            "version": 1,
            "contactName": "Mary Shelley",
            "contactEmail": "mary@example.org",
            "companyName": None,
            "message": "By phone.",
            "source": "fair",
            "consent": None,
            "status": "new",
            "notes": [],
            "history": [{"status": "new", "at": moment, "by": operator.id}],
            "submissions": [
                {
                    "id": lead["id"],
                    "submittedAt": moment,
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

    def test_is_one_of_its_own_though_the_address_has_one(self, api: Api, operator: Person) -> None:
        first, second = note_down(api, operator), note_down(api, operator)
        assert first["id"] != second["id"]
        assert len(second["submissions"]) == 1

    def test_has_no_trap(self, api: Api, operator: Person) -> None:
        assert api.post(LEADS, as_=operator, json={**CONTACT, "website": ""}).faults == {"/website": "unknown_field"}

    def test_nobody_comes_back_to_it_by_a_token(self, api: Api, operator: Person) -> None:
        lead, other = note_down(api, operator), send(api)
        assert api.get(f"/public/leads/{lead['id']}", headers=other.headers).code == "404 not_found"


class TestListMarketingLeads:
    @pytest.fixture
    def some(self, api: Api, operator: Person) -> list[Inquiry]:
        """Twelve leads of three addresses, a day apart; of each address one was contacted."""
        return scene("some leads", lambda: _some(api, operator))

    def test_shows_the_newest_first(self, api: Api, operator: Person, some: list[Inquiry]) -> None:
        for limit in (1, 5, 100):
            listed = api.items(LEADS, as_=operator, query={"limit": limit})
            assert [lead["id"] for lead in listed] == [each.id for each in reversed(some)]
        assert listed[0] == lead_of(api, some[-1], operator)

    def test_filters_by_status_by_address_and_by_both(self, api: Api, operator: Person, some: list[Inquiry]) -> None:
        def found(**query: str) -> list[int]:
            ids = [each.id for each in some]
            return [ids.index(lead["id"]) for lead in api.items(LEADS, as_=operator, query={"limit": 2, **query})]

        assert found(status="contacted") == [2, 1, 0]
        assert found(email=" P1@example.ORG") == [10, 7, 4, 1]
        assert found(email="p1@example.org", status="new") == [10, 7, 4]
        assert found(email="p1@example.org", status="spam") == []
        assert found(email="nobody@example.org") == []

    def test_knows_each_status_and_no_other(self, api: Api, operator: Person) -> None:
        assert api.get(LEADS, as_=operator, query={"status": "lost"}).faults == {"query/status": "not_one_of"}
        for each in api.items(f"{LEADS}/statuses", as_=operator):
            assert api.get(LEADS, as_=operator, query={"status": each["status"]}).status == 200

    def test_a_cursor_is_good_for_its_filters_only(self, api: Api, operator: Person, some: list[Inquiry]) -> None:
        assert some
        cursor = api.get(LEADS, as_=operator, query={"limit": 1}).json["nextCursor"]
        other = api.get(LEADS, as_=operator, query={"limit": 1, "cursor": cursor, "status": "new"})
        assert other.code == "400 invalid_cursor"

    def test_reads_as_much_of_many_as_of_few(self, api: Api, operator: Person, some: list[Inquiry]) -> None:
        assert some
        put_leads(400)
        for query, partitions in (({}, 8), ({"status": "new"}, 1), ({"email": "p1@example.org"}, 1)):
            answer = api.get(LEADS, as_=operator, query={"limit": 3, **query})
            assert len(answer.json["items"]) == 3
            assert answer.calls.names == ["dynamodb:Query"] * partitions
            assert {call.parameters["Limit"] for call in answer.calls.made} == {3}
            assert not any("FilterExpression" in call.parameters for call in answer.calls.made)

    def test_is_spread_so_that_no_partition_takes_all_that_is_new(self, operator: Person, api: Api) -> None:
        put_leads(400)
        assert api.get(LEADS, as_=operator).status == 200
        shards = [item["index1pk"] for item in snapshots.stored().values() if item.get("kind") == "lead"]
        counts = [shards.count(shard) for shard in sorted(set(shards))]
        assert len(counts) == 8
        assert max(counts) < 2 * min(counts) + 20


def _some(api: Api, operator: Person) -> list[Inquiry]:
    sent = []
    for number in range(12):
        with pytest.MonkeyPatch.context() as patched:
            Clock(patched).shift(days=number - 20)
            sent.append(send(api, f"p{number % 3}@example.org", message=f"Number {number}"))
    for each in sent[:3]:
        assert judge(api, each, operator, "contacted").status == 200
    return sent


class TestGetMarketingLead:
    def test_is_not_there_for_others(self, api: Api, operator: Person, ada: Person) -> None:
        mine = send(api)
        assert api.get(mine.lead_path, as_=ada).code == "403 forbidden"
        assert api.get(mine.lead_path, headers=mine.headers).code == "401 unauthenticated"
        assert api.get(f"{LEADS}/{operator.id}", as_=operator).code == "404 not_found"

    def test_takes_one_read(self, api: Api, operator: Person) -> None:
        assert api.get(send(api).lead_path, as_=operator).calls.names == ["dynamodb:BatchGetItem"]


class TestChangeMarketingLeadStatus:
    def test_says_who_did_it_and_keeps_what_they_noted(self, api: Api, operator: Person, clock: Clock) -> None:
        clock.freeze("2027-03-21T09:00:00.000Z")
        mine = send(api)
        clock.shift(minutes=5)
        changed = judge(api, mine, operator, "contacted", note=" Wants an offer. ")
        at = "2027-03-21T09:05:00.000Z"
        assert (changed.json["status"], changed.json["updatedAt"], changed.json["version"]) == ("contacted", at, 2)
        assert changed.json["history"][-1] == {"status": "contacted", "at": at, "by": operator.id}
        assert changed.json["notes"] == [{"text": "Wants an offer.", "at": at, "by": operator.id}]
        (entry, *_) = api.items("/system/audit-log", as_=operator)
        assert (entry["type"], entry["actor"]["type"]) == ("lead.status_changed", "operator")
        assert entry["data"] == changed.json

    def test_what_can_not_follow_is_refused_with_what_can(self, api: Api, operator: Person) -> None:
        mine = send(api)
        refused = judge(api, mine, operator, "converted", note="Too soon.")
        assert refused.code == "409 invalid_transition"
        for status in ("contacted", "unqualified", "spam", "withdrawn"):
            assert f"'{status}'" in refused.json["detail"]
        assert lead_of(api, mine, operator)["notes"] == []

    def test_nothing_follows_what_is_converted(self, api: Api, operator: Person) -> None:
        mine = send(api)
        for status in ("contacted", "qualified", "converted"):
            assert judge(api, mine, operator, status).status == 200
        refused = judge(api, mine, operator, "new")
        assert refused.json["detail"].startswith("The status is 'converted' and can't become 'new'.")
        assert refused.json["detail"].endswith("Possible next statuses: none.")

    def test_the_present_status_is_no_change_but_a_note_is(self, api: Api, operator: Person) -> None:
        mine = send(api)
        before = snapshots.stored()
        for body in ({"status": "new"}, {}, {"note": None}, {"note": "  "}):
            answer = api.patch(f"{mine.lead_path}/status", as_=operator, json=body)
            assert (answer.status, answer.json["version"]) == (200, 1)
        assert snapshots.stored() == before
        noted = judge(api, mine, operator, "new", note="Called twice.").json
        assert [note["text"] for note in noted["notes"]] == ["Called twice."]
        assert len(noted["history"]) == 1
        (entry, *_) = api.items("/system/audit-log", as_=operator)
        assert [change["field"] for change in entry["changes"]] == ["notes"]

    def test_what_one_read_last_is_what_one_changes(self, api: Api, operator: Person) -> None:
        mine = send(api)
        tag = api.get(mine.lead_path, as_=operator).etag
        judge(api, mine, operator, "contacted")
        body, headers = {"status": "qualified"}, {"If-Match": tag}
        stale = api.patch(f"{mine.lead_path}/status", as_=operator, json=body, headers=headers)
        assert stale.code == "412 precondition_failed"

    def test_an_unknown_status_is_a_fault(self, api: Api, operator: Person) -> None:
        mine = send(api)
        assert judge(api, mine, operator, "lost").faults == {"/status": "not_one_of"}
        assert api.patch(f"{mine.lead_path}/status", as_=operator, json={"status": None}).faults == {
            "/status": "required"
        }

    def test_notes_end_where_a_record_does(self, api: Api, operator: Person) -> None:
        mine = send(api)
        answers = [judge(api, mine, operator, "new", note="x" * 4000) for _ in range(36)]
        kept = [answer.status for answer in answers].count(200)
        assert 28 < kept < 36
        assert {answer.code for answer in answers if answer.status != 200} == {"409 limit_exceeded"}
        assert len(lead_of(api, mine, operator)["notes"]) == kept
        assert judge(api, mine, operator, "contacted").status == 200


def test_what_is_sent_is_in_the_log_of_operators(api: Api, operator: Person) -> None:
    answer = asked_to_send(api, message="How many columns?")
    (entry,) = api.items("/system/audit-log", as_=operator)
    assert (entry["type"], entry["organizationId"]) == ("lead.created", None)
    assert entry["actor"] == {"type": "anonymous", "id": None, "name": None}
    assert entry["context"]["operationId"] == "create_public_lead"
    assert entry["data"] == lead_of(api, Inquiry(answer.json), operator)
    assert entry["changes"] == []
    assert answer.json["leadToken"] not in str(entry)
