"""Repeated submissions of one email address within a day: one lead for operators, a separate record for each sender."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import before_the_next_write
from tests.harness.leads import ADDRESS, Inquiry, asked_to_send, judge, lead_of, seen, send, turn

RunBeforeWrite = Callable[[Callable[[], object]], None]


@pytest.fixture
def run_before_write(monkeypatch: pytest.MonkeyPatch) -> RunBeforeWrite:
    """Run a function before the next write."""
    return lambda function: before_the_next_write(monkeypatch, function)


def list_leads(api: Api, operator: Person, **query: object) -> list[Json]:
    return api.items("/marketing-leads", as_=operator, query=query)


def statuses_of(record: Json) -> list[str]:
    return [change["status"] for change in record["history"]]


class TestRepeatedSubmissions:
    def test_submissions_of_one_address_are_one_lead_with_the_fields_of_the_first(
        self, api: Api, operator: Person, clock: Clock
    ) -> None:
        clock.freeze()
        first = send(api, message="How many columns?", companyName="Engines Ltd", consent={"textVersion": "1"})
        clock.shift(hours=23)
        second = send(api, ADDRESS.upper(), contactName="C. Babbage", message="How many wheels?", source="fair")
        (lead,) = list_leads(api, operator)
        assert lead == lead_of(api, first, operator)
        assert {name: lead[name] for name in ("contactName", "companyName", "message", "source")} == {
            "contactName": first.record["contactName"],
            "companyName": "Engines Ltd",
            "message": "How many columns?",
            "source": None,
        }
        assert lead["consent"]["textVersion"] == "1"
        assert [submission["consent"] for submission in lead["submissions"]] == [lead["consent"], None]
        assert (lead["status"], lead["version"]) == ("new", 2)
        assert [(submission["id"], submission["message"]) for submission in lead["submissions"]] == [
            (first.id, "How many columns?"),
            (second.id, "How many wheels?"),
        ]

    def test_each_sender_sees_only_their_own_submission(self, api: Api, operator: Person) -> None:
        first = send(api, message="My secret.", companyName="Engines Ltd")
        judge(api, first, operator, "contacted", note="A secret of ours.")
        second = send(api, contactName="Somebody Else")
        lead = seen(api, second)
        assert lead == {**second.record, "leadToken": None}
        assert (lead["companyName"], lead["message"], lead["version"]) == (None, None, 1)
        assert statuses_of(lead) == ["new"]
        assert statuses_of(seen(api, first)) == ["new", "contacted"]
        assert first.id not in str(second.record)
        assert api.get(first.path, headers=second.headers).code == "404 not_found"
        assert [submission["id"] for submission in api.items("/public/leads", headers=second.headers)] == [second.id]

    def test_both_senders_see_later_status_changes(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        judge(api, first, operator, "contacted")
        judge(api, first, operator, "qualified")
        for sender in (first, second):
            assert statuses_of(seen(api, sender)) == ["new", "contacted", "qualified"]
            assert all(set(entry) == {"status", "at"} for entry in seen(api, sender)["history"])

    def test_operators_find_the_lead_by_the_id_of_a_merged_submission(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        lead = lead_of(api, first, operator)
        assert lead_of(api, second, operator) == lead
        etag = api.get(second.lead_path, as_=operator).etag
        body, headers = {"status": "contacted"}, {"If-Match": etag}
        response = api.patch(f"{second.lead_path}/status", as_=operator, json=body, headers=headers)
        assert (response.json["id"], response.json["status"]) == (first.id, "contacted")
        assert len(response.calls.reads) == 3  # The submission, its lead, and the chains of the log.

    def test_a_merged_submission_is_logged_as_a_change_of_the_lead(self, api: Api, operator: Person) -> None:
        first = send(api, message="How many columns?")
        send(api, message="How many wheels?")
        newest, oldest = api.items("/system/audit-log", as_=operator)
        assert (newest["type"], oldest["type"]) == ("lead.created", "lead.created")
        assert newest["target"]["id"] == oldest["target"]["id"] == first.id
        assert newest["data"] == lead_of(api, first, operator)
        assert [change["field"] for change in newest["changes"]] == ["submissions"]

    def test_merging_takes_two_reads_and_a_transaction(self, api: Api) -> None:
        send(api)
        assert asked_to_send(api).calls.names == [
            "dynamodb:BatchGetItem",
            "dynamodb:BatchGetItem",
            "dynamodb:TransactWriteItems",
            "sqs:SendMessage",
        ]

    def test_a_new_submission_does_not_end_a_withdrawal(self, api: Api, operator: Person) -> None:
        first = send(api, message="Call me.", consent={"textVersion": "1"})
        turn(api, first, "withdrawn")
        second = send(api, contactName="Somebody Else", message="Call me all the same.")
        for status in ("withdrawn", "new"):
            turn(api, second, status)
        (lead,) = list_leads(api, operator)
        assert (lead["contactName"], lead["message"]) == (first.record["contactName"], "Call me.")
        assert [(submission["id"], submission["status"]) for submission in lead["submissions"]] == [
            (first.id, "withdrawn"),
            (second.id, "new"),
        ]
        assert statuses_of(lead) == ["new", "withdrawn"]
        assert statuses_of(seen(api, first)) == ["new", "withdrawn"]
        assert statuses_of(turn(api, first, "new").json) == ["new", "withdrawn", "new"]
        assert statuses_of(lead_of(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_withdrawn_submissions_stay_withdrawn_when_an_operator_reopens_the_lead(
        self, api: Api, operator: Person
    ) -> None:
        first = send(api)
        turn(api, first, "withdrawn")
        second = send(api)
        judge(api, first, operator, "new")
        lead = lead_of(api, first, operator)
        assert (lead["status"], [submission["status"] for submission in lead["submissions"]]) == (
            "new",
            ["withdrawn", "new"],
        )
        assert seen(api, second)["status"] == "new"


class TestSeparateLeads:
    def test_a_new_lead_begins_after_a_day_without_submissions(self, api: Api, operator: Person, clock: Clock) -> None:
        clock.freeze()
        first = send(api)
        clock.shift(hours=23, minutes=59)
        second = send(api)
        clock.shift(hours=23, minutes=59)
        third = send(api)
        clock.shift(hours=24)
        fourth = send(api)
        newest, oldest = list_leads(api, operator)
        assert [submission["id"] for submission in oldest["submissions"]] == [first.id, second.id, third.id]
        assert newest["id"] == fourth.id

    def test_a_new_lead_begins_after_the_maximum_number_of_submissions(self, api: Api, operator: Person) -> None:
        leads = [send(api, message=f"Number {number}") for number in range(21)]
        newest, oldest = list_leads(api, operator)
        assert [submission["id"] for submission in oldest["submissions"]] == [lead.id for lead in leads[:20]]
        assert [submission["id"] for submission in newest["submissions"]] == [leads[20].id]

    def test_a_new_lead_begins_where_the_messages_are_too_long(self, api: Api, operator: Person) -> None:
        for _ in range(9):
            send(api, message="x" * 4000)
        assert [len(lead["submissions"]) for lead in list_leads(api, operator)] == [2, 7]

    def test_submissions_are_merged_into_an_operators_newer_lead(self, api: Api, operator: Person) -> None:
        first = send(api)
        body = {"contactName": "Charles", "contactEmail": ADDRESS, "companyName": "By phone"}
        operator_lead = api.post("/marketing-leads", as_=operator, json=body).json
        assert lead_of(api, first, operator)["companyName"] is None
        second = send(api)
        lead = lead_of(api, second, operator)
        assert (lead["id"], lead["companyName"]) == (operator_lead["id"], "By phone")
        assert statuses_of(turn(api, second, "withdrawn").json) == ["new", "withdrawn"]
        assert lead_of(api, second, operator)["status"] == "new"  # The operator's own submission is not withdrawn.

    def test_a_new_lead_leaves_an_older_one_unchanged(self, api: Api, operator: Person, clock: Clock) -> None:
        first = send(api)
        turn(api, first, "withdrawn")
        clock.shift(hours=25)
        before = lead_of(api, first, operator)
        send(api)
        assert lead_of(api, first, operator) == before


class TestWithdrawals:
    def test_withdrawing_one_of_two_submissions_keeps_the_status_of_the_lead(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        assert turn(api, second, "withdrawn").json["status"] == "withdrawn"
        lead = lead_of(api, first, operator)
        assert (lead["status"], statuses_of(lead)) == ("new", ["new"])
        assert [submission["status"] for submission in lead["submissions"]] == ["new", "withdrawn"]
        assert seen(api, first)["status"] == "new"
        (entry, *_) = api.items("/system/audit-log", as_=operator)
        assert (entry["type"], [change["field"] for change in entry["changes"]]) == (
            "lead.status_changed",
            ["submissions"],
        )

    def test_withdrawing_all_submissions_withdraws_the_lead_until_all_are_reopened(
        self, api: Api, operator: Person
    ) -> None:
        first, second = send(api), send(api)
        for sender in (second, first):
            turn(api, sender, "withdrawn")
        assert statuses_of(lead_of(api, first, operator)) == ["new", "withdrawn"]
        assert statuses_of(turn(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert statuses_of(lead_of(api, first, operator)) == ["new", "withdrawn"]
        assert seen(api, first)["status"] == "withdrawn"
        turn(api, first, "new")
        assert statuses_of(lead_of(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_a_withdrawn_submission_stays_withdrawn_when_the_lead_changes(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        turn(api, second, "withdrawn")
        judge(api, first, operator, "contacted")
        assert statuses_of(seen(api, second)) == ["new", "withdrawn"]
        assert statuses_of(turn(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert lead_of(api, first, operator)["status"] == "contacted"

    def test_an_operators_withdrawal_applies_to_every_submission(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        judge(api, first, operator, "withdrawn")
        assert {seen(api, sender)["status"] for sender in (first, second)} == {"withdrawn"}
        judge(api, first, operator, "new")
        assert {seen(api, sender)["status"] for sender in (first, second)} == {"new"}

    def test_another_sender_with_the_same_address_cannot_withdraw_the_owners_submission(
        self, api: Api, operator: Person
    ) -> None:
        owner = send(api, message="Call me.")
        judge(api, owner, operator, "contacted")
        before = seen(api, owner)
        impostor = send(api, contactName="Nobody", message="Forget it.")
        for status in ("withdrawn", "new", "withdrawn"):
            assert turn(api, impostor, status).status == 200
        assert seen(api, owner) == before
        lead = lead_of(api, owner, operator)
        assert (lead["status"], lead["submissions"][0]["message"]) == ("contacted", "Call me.")


class TestConcurrency:
    def test_two_concurrent_submissions_are_one_lead(
        self, api: Api, operator: Person, run_before_write: RunBeforeWrite
    ) -> None:
        leads: list[Inquiry] = []
        run_before_write(lambda: leads.append(send(api, message="First.")))
        leads.append(send(api, message="Second."))
        (lead,) = list_leads(api, operator)
        assert [submission["id"] for submission in lead["submissions"]] == [lead.id for lead in leads]

    def test_many_concurrent_submissions_are_one_lead(self, api: Api, operator: Person) -> None:
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: asked_to_send(api, message=f"Number {n}"), range(12)))
        ids = {answer.json["id"] for answer in answers if answer.status == 201}
        assert {answer.code for answer in answers if answer.status != 201} <= {"409 conflict"}
        assert len(ids) >= 6
        (lead,) = list_leads(api, operator)
        assert {submission["id"] for submission in lead["submissions"]} == ids
        assert len(api.items("/system/audit-log", as_=operator)) == len(ids)

    def test_a_withdrawal_during_a_submission_is_retained(
        self, api: Api, operator: Person, run_before_write: RunBeforeWrite
    ) -> None:
        first = send(api)
        run_before_write(lambda: turn(api, first, "withdrawn"))
        second = send(api)
        (lead,) = list_leads(api, operator)
        assert [(submission["id"], submission["status"]) for submission in lead["submissions"]] == [
            (first.id, "withdrawn"),
            (second.id, "new"),
        ]
        assert statuses_of(lead) == ["new", "withdrawn"]

    def test_a_submission_during_a_withdrawal_is_not_withdrawn(
        self, api: Api, operator: Person, run_before_write: RunBeforeWrite
    ) -> None:
        first = send(api)
        run_before_write(lambda: send(api))
        assert turn(api, first, "withdrawn").json["status"] == "withdrawn"
        (lead,) = list_leads(api, operator)
        assert (lead["status"], [submission["status"] for submission in lead["submissions"]]) == (
            "new",
            ["withdrawn", "new"],
        )

    def test_concurrent_changes_by_an_operator_and_a_sender_are_serialized(
        self, api: Api, operator: Person, run_before_write: RunBeforeWrite
    ) -> None:
        first = send(api)
        run_before_write(lambda: judge(api, first, operator, "spam"))
        assert turn(api, first, "withdrawn").code == "409 invalid_transition"
        second = send(api, "grace@example.com")
        run_before_write(lambda: turn(api, second, "withdrawn"))
        assert judge(api, second, operator, "contacted").code == "409 invalid_transition"

    def test_reopening_during_a_submission_creates_one_guard(
        self, api: Api, operator: Person, run_before_write: RunBeforeWrite
    ) -> None:
        first = send(api)
        turn(api, first, "withdrawn")
        run_before_write(lambda: turn(api, first, "new"))
        second = send(api)
        (lead,) = list_leads(api, operator)
        assert [submission["id"] for submission in lead["submissions"]] == [first.id, second.id]
        guards = [item for item in snapshots.stored().values() if item["pk"].startswith("U#lead-email#")]
        assert [guard["ref"] for guard in guards] == [first.id]
