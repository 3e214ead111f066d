"""Repeated submissions of one email address within a day: one lead for operators, a separate record for each sender."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import snapshots
from tests.harness.invitations import run_before_next_transaction
from tests.harness.leads import (
    EMAIL_ADDRESS,
    create_lead,
    get_lead,
    get_public_lead,
    patch_lead_status,
    patch_public_lead_status,
    post_lead,
)


@pytest.fixture
def run_before_write(monkeypatch):
    """Run a function before the next write."""
    return lambda function: run_before_next_transaction(monkeypatch, function)


@pytest.fixture
def first(api):
    """The first submission of its address."""
    return create_lead(api, message="Call me.", companyName="Engines Ltd", consent={"textVersion": "1"})


def list_leads(api, operator):
    return api.get_items("/marketing-leads", caller=operator)


def statuses_of(record):
    return [change["status"] for change in record["history"]]


def submissions_of(lead):
    """Return the status of each submission of a lead by id."""
    return {submission["id"]: submission["status"] for submission in lead["submissions"]}


class TestRepeatedSubmissions:
    def test_submissions_of_one_address_are_one_lead_with_the_fields_of_the_first(self, api, operator, first, clock):
        clock.shift(hours=23)
        fields = {"contactName": "C. Babbage", "message": "How many wheels?", "source": "fair"}
        second = create_lead(api, EMAIL_ADDRESS.upper(), **fields)
        (lead,) = list_leads(api, operator)
        assert lead == get_lead(api, first, operator)
        expected = {"contactName": first.record["contactName"], "companyName": "Engines Ltd", "message": "Call me."}
        assert {name: lead[name] for name in (*expected, "source")} == {**expected, "source": None}
        assert lead["consent"]["textVersion"] == "1"
        assert [submission["consent"] for submission in lead["submissions"]] == [lead["consent"], None]
        assert (lead["status"], lead["version"]) == ("new", 2)
        messages = {submission["id"]: submission["message"] for submission in lead["submissions"]}
        assert [*messages.items()] == [(first.id, "Call me."), (second.id, "How many wheels?")]

    def test_each_sender_sees_only_their_own_submission(self, api, operator, first):
        patch_lead_status(api, first, operator, "contacted", note="A secret of ours.")
        second = create_lead(api, contactName="Somebody Else")
        lead = get_public_lead(api, second)
        assert lead == {**second.record, "leadToken": None}
        assert (lead["companyName"], lead["message"], lead["version"]) == (None, None, 1)
        assert statuses_of(lead) == ["new"]
        assert statuses_of(get_public_lead(api, first)) == ["new", "contacted"]
        assert first.id not in str(second.record)
        assert api.get(first.path, headers=second.headers).status_and_code == "404 not_found"
        assert [each["id"] for each in api.get_items("/public/leads", headers=second.headers)] == [second.id]

    def test_both_senders_see_later_status_changes(self, api, operator, first):
        second = create_lead(api)
        for status in ("contacted", "qualified"):
            patch_lead_status(api, first, operator, status)
        for sender in (first, second):
            assert statuses_of(get_public_lead(api, sender)) == ["new", "contacted", "qualified"]
            assert all(set(entry) == {"status", "at"} for entry in get_public_lead(api, sender)["history"])

    def test_operators_find_the_lead_by_the_id_of_a_merged_submission(self, api, operator, first):
        second = create_lead(api)
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
        newest, oldest = api.get_items("/system/audit-log", caller=operator)
        assert (newest["type"], oldest["type"]) == ("lead.created", "lead.created")
        assert newest["target"]["id"] == oldest["target"]["id"] == first.id
        assert newest["data"] == get_lead(api, first, operator)
        assert [change["field"] for change in newest["changes"]] == ["submissions"]

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

    def test_withdrawn_submissions_stay_withdrawn_when_an_operator_reopens_the_lead(self, api, operator, first):
        patch_public_lead_status(api, first, "withdrawn")
        second = create_lead(api)
        patch_lead_status(api, first, operator, "new")
        lead = get_lead(api, first, operator)
        assert (lead["status"], submissions_of(lead)) == ("new", {first.id: "withdrawn", second.id: "new"})
        assert get_public_lead(api, second)["status"] == "new"


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
        body = {"contactName": "Charles", "contactEmail": EMAIL_ADDRESS, "companyName": "By phone"}
        operator_lead = api.post("/marketing-leads", caller=operator, json=body).json
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
    @pytest.fixture
    def second(self, api, first):
        """Another submission of the address."""
        return create_lead(api)

    def test_withdrawing_one_of_two_submissions_keeps_the_status_of_the_lead(self, api, operator, first, second):
        assert patch_public_lead_status(api, second, "withdrawn").json["status"] == "withdrawn"
        lead = get_lead(api, first, operator)
        assert (lead["status"], statuses_of(lead)) == ("new", ["new"])
        assert submissions_of(lead) == {first.id: "new", second.id: "withdrawn"}
        assert get_public_lead(api, first)["status"] == "new"
        (entry, *_) = api.get_items("/system/audit-log", caller=operator)
        assert entry["type"] == "lead.status_changed"
        assert [change["field"] for change in entry["changes"]] == ["submissions"]

    def test_withdrawing_all_submissions_withdraws_the_lead_until_all_are_reopened(self, api, operator, first, second):
        for sender in (second, first):
            patch_public_lead_status(api, sender, "withdrawn")
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn"]
        assert statuses_of(patch_public_lead_status(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn"]
        assert get_public_lead(api, first)["status"] == "withdrawn"
        patch_public_lead_status(api, first, "new")
        assert statuses_of(get_lead(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_a_withdrawn_submission_stays_withdrawn_when_the_lead_changes(self, api, operator, first, second):
        patch_public_lead_status(api, second, "withdrawn")
        patch_lead_status(api, first, operator, "contacted")
        assert statuses_of(get_public_lead(api, second)) == ["new", "withdrawn"]
        assert statuses_of(patch_public_lead_status(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert get_lead(api, first, operator)["status"] == "contacted"

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
        leads = []
        run_before_write(lambda: leads.append(create_lead(api, message="First.")))
        leads.append(create_lead(api, message="Second."))
        (lead,) = list_leads(api, operator)
        assert [*submissions_of(lead)] == [lead.id for lead in leads]

    def test_many_concurrent_submissions_are_one_lead(self, api, operator):
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: post_lead(api, message=f"Number {n}"), range(12)))
        ids = {answer.json["id"] for answer in answers if answer.status == 201}
        assert {answer.status_and_code for answer in answers if answer.status != 201} <= {"409 conflict"}
        assert len(ids) >= 6
        (lead,) = list_leads(api, operator)
        assert {*submissions_of(lead)} == ids
        assert len(api.get_items("/system/audit-log", caller=operator)) == len(ids)

    def test_a_withdrawal_during_a_submission_is_retained(self, api, operator, first, run_before_write):
        run_before_write(lambda: patch_public_lead_status(api, first, "withdrawn"))
        second = create_lead(api)
        (lead,) = list_leads(api, operator)
        assert submissions_of(lead) == {first.id: "withdrawn", second.id: "new"}
        assert statuses_of(lead) == ["new", "withdrawn"]

    def test_a_submission_during_a_withdrawal_is_not_withdrawn(self, api, operator, first, run_before_write):
        run_before_write(lambda: create_lead(api))
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
