"""Leads for operators: created, listed and changed, and merged from submissions of one email address within a day."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.catalogue.examples.leads import put_leads
from tests.harness import snapshots
from tests.harness.api import ApiClient, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.leads import (
    EMAIL_ADDRESS,
    create_lead,
    get_lead,
    get_public_lead,
    patch_lead_status,
    patch_public_lead_status,
    post_lead,
)

LEADS = "/marketing-leads"
CONTACT = {"contactName": "Mary Shelley", "contactEmail": "Mary@Example.org"}


def create_operator_lead(api: ApiClient, operator: Person, **fields: object) -> Json:
    return api.post(LEADS, caller=operator, json={**CONTACT, **fields}).expect(201).json


@pytest.fixture
def first(api):
    """The first submission of its address."""
    return create_lead(api, message="Call me.", companyName="Engines Ltd", consent={"textVersion": "1"})


@pytest.fixture
def second(api, first):
    return create_lead(api)


def list_leads(api, operator):
    return api.get_items(LEADS, caller=operator)


def list_entries(api, operator):
    return api.get_items("/system/audit-log", caller=operator)


def statuses_of(record):
    return [change["status"] for change in record["history"]]


def submissions_of(lead):
    """Return the status of each submission of a lead by id."""
    return {submission["id"]: submission["status"] for submission in lead["submissions"]}


class TestCreateMarketingLead:
    def test_a_second_lead_of_the_same_address_is_not_merged(self, api, operator):
        leads = [create_operator_lead(api, operator, source="fair") for _ in range(2)]
        assert leads[0]["id"] != leads[1]["id"]
        assert {(lead["contactEmail"], lead["source"]) for lead in leads} == {("mary@example.org", "fair")}
        assert [[each["source"] for each in lead["submissions"]] for lead in leads] == [["fair"]] * 2

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
        assert list_leads(api, operator)[0] == get_lead(api, leads[-1], operator)

    def test_every_status_and_no_other_is_accepted_as_a_filter(self, api, operator):
        assert api.get(LEADS, caller=operator, query={"status": "lost"}).errors == {"query/status": "not_one_of"}
        statuses = [item["status"] for item in api.get_items(f"{LEADS}/statuses", caller=operator)]
        assert {api.get(LEADS, caller=operator, query={"status": status}).status for status in statuses} == {200}

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
    def test_a_change_names_the_operator_and_stores_the_note(self, api, operator, first, clock):
        change = {"at": clock.freeze(), "by": operator.id}
        record = patch_lead_status(api, first, operator, "contacted", note=" Wants an offer. ").json
        assert (record["status"], record["updatedAt"], record["version"]) == ("contacted", change["at"], 2)
        assert record["history"][-1] == {"status": "contacted", **change}
        assert record["notes"] == [{"text": "Wants an offer.", **change}]

    def test_an_invalid_transition_is_rejected_with_its_note_and_the_problem_names_the_valid_ones(
        self, api, operator, first
    ):
        response = patch_lead_status(api, first, operator, "converted", note="Too soon.")
        assert response.status_and_code == "409 invalid_transition"
        assert response.json["detail"].endswith(": 'contacted', 'unqualified', 'spam', 'withdrawn'.")
        assert get_lead(api, first, operator)["notes"] == []
        for status in ("contacted", "qualified", "converted"):
            assert patch_lead_status(api, first, operator, status).status == 200
        detail = patch_lead_status(api, first, operator, "new").json["detail"]
        assert detail.startswith("The status is 'converted' and can't become 'new'.")
        assert detail.endswith("Possible next statuses: none.")

    def test_the_current_status_is_no_change_but_a_note_is(self, api, operator, first):
        before = snapshots.items_by_key()
        for body in ({"status": "new"}, {}, {"note": None}, {"note": "  "}):
            answer = api.patch(f"{first.operator_path}/status", caller=operator, json=body)
            assert (answer.status, answer.json["version"]) == (200, 1)
        assert snapshots.items_by_key() == before
        record = patch_lead_status(api, first, operator, "new", note="Called twice.").json
        assert ([note["text"] for note in record["notes"]], statuses_of(record)) == (["Called twice."], ["new"])
        assert [change["field"] for change in list_entries(api, operator)[0]["changes"]] == ["notes"]

    def test_notes_are_limited_by_the_size_of_the_record(self, api, operator, first):
        answers = [patch_lead_status(api, first, operator, "new", note="x" * 4000) for _ in range(36)]
        stored_count = [answer.status for answer in answers].count(200)
        assert 28 < stored_count < 36
        assert {answer.status_and_code for answer in answers if answer.status != 200} == {"409 limit_exceeded"}
        assert len(get_lead(api, first, operator)["notes"]) == stored_count
        assert patch_lead_status(api, first, operator, "contacted").status == 200


class TestRepeatedSubmissions:
    def test_submissions_of_one_address_are_one_lead_with_the_fields_of_the_first(self, api, operator, first, clock):
        clock.shift(hours=23)
        fields = {"contactName": "C. Babbage", "message": "How many wheels?", "source": "fair"}
        second = create_lead(api, EMAIL_ADDRESS.upper(), **fields)
        (lead,) = list_leads(api, operator)
        assert lead == get_lead(api, first, operator)
        of_first = {"contactName": first.record["contactName"], "companyName": "Engines Ltd", "message": "Call me."}
        assert lead | of_first | {"source": None, "status": "new", "version": 2} == lead
        assert lead["consent"]["textVersion"] == "1"
        assert [(each["id"], each["message"], each["consent"]) for each in lead["submissions"]] == [
            (first.id, "Call me.", lead["consent"]),
            (second.id, "How many wheels?", None),
        ]

    def test_each_sender_sees_only_their_own_submission_and_later_status_changes(self, api, operator, first):
        patch_lead_status(api, first, operator, "contacted", note="A secret of ours.")
        second = create_lead(api, contactName="Somebody Else")
        lead = get_public_lead(api, second)
        assert lead == {**second.record, "leadToken": None}
        assert (lead["companyName"], lead["message"], lead["version"]) == (None, None, 1)
        assert first.id not in str(second.record)
        assert api.get(first.path, headers=second.headers).status_and_code == "404 not_found"
        assert [each["id"] for each in api.get_items("/public/leads", headers=second.headers)] == [second.id]
        patch_lead_status(api, first, operator, "qualified")
        views = [get_public_lead(api, sender) for sender in (first, second)]
        assert [statuses_of(view) for view in views] == [["new", "contacted", "qualified"], ["new", "qualified"]]
        assert all({*entry} == {"status", "at"} for view in views for entry in view["history"])

    def test_operators_find_the_lead_by_the_id_of_a_merged_submission(self, api, operator, first, second):
        assert get_lead(api, second, operator) == get_lead(api, first, operator)
        headers = {"If-Match": api.get(second.operator_path, caller=operator).etag}
        path = f"{second.operator_path}/status"
        response = api.patch(path, caller=operator, json={"status": "contacted"}, headers=headers)
        assert (response.json["id"], response.json["status"]) == (first.id, "contacted")
        assert len(response.calls.read_names) == 3  # The submission, its lead, and the chains of the log.

    def test_a_merged_submission_is_logged_as_a_change_of_the_lead_and_takes_two_reads_and_a_transaction(
        self, api, operator, first
    ):
        calls = post_lead(api, message="How many wheels?").calls.call_names
        assert calls == ["dynamodb:BatchGetItem"] * 2 + ["dynamodb:TransactWriteItems", "sqs:SendMessage"]
        entries = list_entries(api, operator)
        assert [(entry["type"], entry["target"]["id"]) for entry in entries] == [("lead.created", first.id)] * 2
        assert entries[0]["data"] == get_lead(api, first, operator)
        assert [change["field"] for change in entries[0]["changes"]] == ["submissions"]


class TestSeparateLeads:
    def test_a_new_lead_begins_after_a_day_without_submissions(self, api, operator, clock):
        clock.freeze()
        leads = [create_lead(api)]
        for minutes in (1439, 1439, 1440):
            clock.shift(minutes=minutes)
            leads.append(create_lead(api))
        newest, oldest = list_leads(api, operator)
        assert [*submissions_of(oldest)] == [lead.id for lead in leads[:3]]
        assert newest["id"] == leads[3].id

    def test_a_new_lead_begins_after_the_maximum_number_of_submissions_or_long_messages(self, api, operator):
        ids = [create_lead(api, message=f"Number {number}").id for number in range(21)]
        newest, oldest = list_leads(api, operator)
        assert ([*submissions_of(oldest)], [*submissions_of(newest)]) == (ids[:20], ids[20:])
        for _ in range(9):
            create_lead(api, "grace@example.com", message="x" * 4000)
        assert [len(lead["submissions"]) for lead in list_leads(api, operator)[:2]] == [2, 7]

    def test_submissions_are_merged_into_an_operators_newer_lead(self, api, operator, first):
        operator_lead = create_operator_lead(api, operator, contactEmail=EMAIL_ADDRESS, companyName="By phone")
        assert get_lead(api, first, operator)["companyName"] == "Engines Ltd"
        second = create_lead(api)
        lead = get_lead(api, second, operator)
        assert (lead["id"], lead["companyName"]) == (operator_lead["id"], "By phone")
        assert statuses_of(patch_public_lead_status(api, second, "withdrawn").json) == ["new", "withdrawn"]
        assert get_lead(api, second, operator)["status"] == "new"  # The operator's own submission is not withdrawn.

    def test_a_new_lead_leaves_an_older_one_unchanged(self, api, operator, first, clock):
        patch_public_lead_status(api, first, "withdrawn")
        clock.shift(hours=25)
        before = get_lead(api, first, operator)
        create_lead(api)
        assert get_lead(api, first, operator) == before


class TestWithdrawals:
    def test_a_lead_is_withdrawn_only_after_all_its_submissions_and_until_all_are_reopened(
        self, api, operator, first, second
    ):
        assert patch_public_lead_status(api, second, "withdrawn").json["status"] == "withdrawn"
        lead, entry = get_lead(api, first, operator), list_entries(api, operator)[0]
        assert (statuses_of(lead), submissions_of(lead)) == (["new"], {first.id: "new", second.id: "withdrawn"})
        assert get_public_lead(api, first)["status"] == "new"
        changed_fields = [change["field"] for change in entry["changes"]]
        assert (entry["type"], changed_fields) == ("lead.status_changed", ["submissions"])
        patch_public_lead_status(api, first, "withdrawn")
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn"]
        assert statuses_of(patch_public_lead_status(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn"]
        assert get_public_lead(api, first)["status"] == "withdrawn"
        patch_public_lead_status(api, first, "new")
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_a_new_submission_does_not_end_a_withdrawal(self, api, operator, first):
        patch_public_lead_status(api, first, "withdrawn")
        second = create_lead(api, contactName="Somebody Else", message="Call me all the same.")
        for status in ("withdrawn", "new"):
            patch_public_lead_status(api, second, status)
        (lead,) = list_leads(api, operator)
        assert (lead["contactName"], lead["message"]) == (first.record["contactName"], "Call me.")
        assert submissions_of(lead) == {first.id: "withdrawn", second.id: "new"}
        assert statuses_of(lead) == statuses_of(get_public_lead(api, first)) == ["new", "withdrawn"]
        assert statuses_of(patch_public_lead_status(api, first, "new").json) == ["new", "withdrawn", "new"]
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_a_withdrawn_submission_stays_withdrawn_when_an_operator_changes_or_reopens_the_lead(
        self, api, operator, first, second
    ):
        patch_public_lead_status(api, second, "withdrawn")
        patch_lead_status(api, first, operator, "contacted")
        assert statuses_of(get_public_lead(api, second)) == ["new", "withdrawn"]
        assert statuses_of(patch_public_lead_status(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert get_lead(api, first, operator)["status"] == "contacted"
        withdrawn = create_lead(api, "grace@example.com")
        patch_public_lead_status(api, withdrawn, "withdrawn")
        later = create_lead(api, "grace@example.com")
        patch_lead_status(api, withdrawn, operator, "new")
        lead = get_lead(api, withdrawn, operator)
        assert (lead["status"], submissions_of(lead)) == ("new", {withdrawn.id: "withdrawn", later.id: "new"})

    def test_an_operators_withdrawal_applies_to_every_submission(self, api, operator, first, second):
        for status in ("withdrawn", "new"):
            patch_lead_status(api, first, operator, status)
            assert {get_public_lead(api, sender)["status"] for sender in (first, second)} == {status}

    def test_another_sender_with_the_same_address_cannot_withdraw_the_owners_submission(
        self, api, operator, first, second
    ):
        patch_lead_status(api, first, operator, "contacted")
        before = get_public_lead(api, first)
        impostor = create_lead(api, contactName="Nobody", message="Forget it.")
        for sender in (second, impostor):
            for status in ("withdrawn", "new", "withdrawn"):
                assert patch_public_lead_status(api, sender, status).status == 200
        assert get_public_lead(api, first) == before
        lead = get_lead(api, first, operator)
        assert (lead["status"], lead["submissions"][0]["message"]) == ("contacted", "Call me.")


class TestConcurrency:
    def test_two_concurrent_submissions_are_one_lead(self, api, operator, run_before_write):
        run_before_write(lambda: post_lead(api, message="First."))
        create_lead(api, message="Second.")
        (lead,) = list_leads(api, operator)
        assert [submission["message"] for submission in lead["submissions"]] == ["First.", "Second."]

    def test_many_concurrent_submissions_are_one_lead(self, api, operator):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: post_lead(api, message=f"Number {n}"), range(12)))
        ids = {answer.json["id"] for answer in answers if answer.status == 201}
        assert {answer.status_and_code for answer in answers if answer.status != 201} <= {"409 conflict"}
        assert len(ids) >= 6
        (lead,) = list_leads(api, operator)
        assert {*submissions_of(lead)} == ids
        assert len(list_entries(api, operator)) == len(ids)

    def test_a_withdrawal_during_a_submission_is_retained(self, api, operator, first, run_before_write):
        run_before_write(lambda: patch_public_lead_status(api, first, "withdrawn"))
        second = create_lead(api)
        (lead,) = list_leads(api, operator)
        assert submissions_of(lead) == {first.id: "withdrawn", second.id: "new"}
        assert statuses_of(lead) == ["new", "withdrawn"]

    def test_a_submission_during_a_withdrawal_is_not_withdrawn(self, api, operator, first, run_before_write):
        run_before_write(lambda: post_lead(api))
        assert patch_public_lead_status(api, first, "withdrawn").json["status"] == "withdrawn"
        (lead,) = list_leads(api, operator)
        assert (lead["status"], [*submissions_of(lead).values()]) == ("new", ["withdrawn", "new"])

    def test_concurrent_changes_by_an_operator_and_a_sender_are_serialized(
        self, api, operator, first, run_before_write
    ):
        run_before_write(lambda: patch_lead_status(api, first, operator, "spam"))
        assert patch_public_lead_status(api, first, "withdrawn").status_and_code == "409 invalid_transition"
        second = create_lead(api, "grace@example.com")
        run_before_write(lambda: patch_public_lead_status(api, second, "withdrawn"))
        assert patch_lead_status(api, second, operator, "contacted").status_and_code == "409 invalid_transition"

    def test_reopening_during_a_submission_creates_one_guard(self, api, operator, first, run_before_write):
        patch_public_lead_status(api, first, "withdrawn")
        run_before_write(lambda: patch_public_lead_status(api, first, "new"))
        second = create_lead(api)
        (lead,) = list_leads(api, operator)
        assert [*submissions_of(lead)] == [first.id, second.id]
        guards = [item for item in snapshots.items_by_key().values() if item["pk"].startswith("U#lead-email#")]
        assert [guard["ref"] for guard in guards] == [first.id]
