"""The same address again within a day: one lead for operators, and for whoever sent it each time a thing of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import snapshots
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import before_the_next_write
from tests.harness.leads import ADDRESS, Inquiry, asked_to_send, judge, lead_of, seen, send, turn

Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let something be done before the next write."""
    return lambda what: before_the_next_write(monkeypatch, what)


def leads(api: Api, operator: Person, **query: object) -> list[Json]:
    return api.items("/marketing-leads", as_=operator, query=query)


def statuses(record: Json) -> list[str]:
    return [each["status"] for each in record["history"]]


class TestTheSameAddressWithinADay:
    def test_is_one_lead_with_what_was_sent_first_and_all_that_was_sent_beside_it(
        self, api: Api, operator: Person, clock: Clock
    ) -> None:
        clock.freeze()
        first = send(api, message="How many columns?", companyName="Engines Ltd", consent={"textVersion": "1"})
        clock.shift(hours=23)
        second = send(api, ADDRESS.upper(), contactName="C. Babbage", message="How many wheels?", source="fair")
        (lead,) = leads(api, operator)
        assert lead == lead_of(api, first, operator)
        assert {name: lead[name] for name in ("contactName", "companyName", "message", "source")} == {
            "contactName": first.record["contactName"],
            "companyName": "Engines Ltd",
            "message": "How many columns?",
            "source": None,
        }
        assert lead["consent"]["textVersion"] == "1"
        assert [each["consent"] for each in lead["submissions"]] == [lead["consent"], None]
        assert (lead["status"], lead["version"]) == ("new", 2)
        assert [(each["id"], each["message"]) for each in lead["submissions"]] == [
            (first.id, "How many columns?"),
            (second.id, "How many wheels?"),
        ]

    def test_each_sees_what_they_sent_and_nothing_of_the_other(self, api: Api, operator: Person) -> None:
        first = send(api, message="My secret.", companyName="Engines Ltd")
        judge(api, first, operator, "contacted", note="A secret of ours.")
        second = send(api, contactName="Somebody Else")
        shown = seen(api, second)
        assert shown == {**second.record, "leadToken": None}
        assert (shown["companyName"], shown["message"], shown["version"]) == (None, None, 1)
        assert statuses(shown) == ["new"]
        assert statuses(seen(api, first)) == ["new", "contacted"]
        assert first.id not in str(second.record)
        assert api.get(first.path, headers=second.headers).code == "404 not_found"
        assert [each["id"] for each in api.items("/public/leads", headers=second.headers)] == [second.id]

    def test_what_operators_do_from_then_on_both_see(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        judge(api, first, operator, "contacted")
        judge(api, first, operator, "qualified")
        for each in (first, second):
            assert statuses(seen(api, each)) == ["new", "contacted", "qualified"]
            assert all(set(entry) == {"status", "at"} for entry in seen(api, each)["history"])

    def test_operators_find_the_lead_by_the_id_of_what_was_merged(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        lead = lead_of(api, first, operator)
        assert lead_of(api, second, operator) == lead
        tag = api.get(second.lead_path, as_=operator).etag
        body, headers = {"status": "contacted"}, {"If-Match": tag}
        changed = api.patch(f"{second.lead_path}/status", as_=operator, json=body, headers=headers)
        assert (changed.json["id"], changed.json["status"]) == (first.id, "contacted")
        assert len(changed.calls.reads) == 3  # What was sent, its lead, the chains of the log.

    def test_is_told_as_a_change_of_the_lead(self, api: Api, operator: Person) -> None:
        first = send(api, message="How many columns?")
        send(api, message="How many wheels?")
        newest, oldest = api.items("/system/audit-log", as_=operator)
        assert (newest["type"], oldest["type"]) == ("lead.created", "lead.created")
        assert newest["target"]["id"] == oldest["target"]["id"] == first.id
        assert newest["data"] == lead_of(api, first, operator)
        assert [change["field"] for change in newest["changes"]] == ["submissions"]

    def test_costs_two_reads_and_a_transaction(self, api: Api) -> None:
        send(api)
        assert asked_to_send(api).calls.names == [
            "dynamodb:BatchGetItem",
            "dynamodb:BatchGetItem",
            "dynamodb:TransactWriteItems",
            "sqs:SendMessage",
        ]

    def test_ends_no_withdrawal(self, api: Api, operator: Person) -> None:
        first = send(api, message="Call me.", consent={"textVersion": "1"})
        turn(api, first, "withdrawn")
        second = send(api, contactName="Somebody Else", message="Call me all the same.")
        for status in ("withdrawn", "new"):
            turn(api, second, status)
        (lead,) = leads(api, operator)
        assert (lead["contactName"], lead["message"]) == (first.record["contactName"], "Call me.")
        assert [(each["id"], each["status"]) for each in lead["submissions"]] == [
            (first.id, "withdrawn"),
            (second.id, "new"),
        ]
        assert statuses(lead) == ["new", "withdrawn"]
        assert statuses(seen(api, first)) == ["new", "withdrawn"]
        assert statuses(turn(api, first, "new").json) == ["new", "withdrawn", "new"]
        assert statuses(lead_of(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_leaves_what_was_withdrawn_when_an_operator_makes_the_lead_new(self, api: Api, operator: Person) -> None:
        first = send(api)
        turn(api, first, "withdrawn")
        second = send(api)
        judge(api, first, operator, "new")
        lead = lead_of(api, first, operator)
        assert (lead["status"], [each["status"] for each in lead["submissions"]]) == ("new", ["withdrawn", "new"])
        assert seen(api, second)["status"] == "new"


class TestALeadOfItsOwn:
    def test_begins_after_a_day_without_another(self, api: Api, operator: Person, clock: Clock) -> None:
        clock.freeze()
        first = send(api)
        clock.shift(hours=23, minutes=59)
        second = send(api)
        clock.shift(hours=23, minutes=59)
        third = send(api)
        clock.shift(hours=24)
        fourth = send(api)
        newest, oldest = leads(api, operator)
        assert [each["id"] for each in oldest["submissions"]] == [first.id, second.id, third.id]
        assert newest["id"] == fourth.id

    def test_begins_where_the_last_one_is_full(self, api: Api, operator: Person) -> None:
        sent = [send(api, message=f"Number {number}") for number in range(21)]
        newest, oldest = leads(api, operator)
        assert [each["id"] for each in oldest["submissions"]] == [each.id for each in sent[:20]]
        assert [each["id"] for each in newest["submissions"]] == [sent[20].id]

    def test_begins_where_the_last_one_says_a_lot(self, api: Api, operator: Person) -> None:
        for _ in range(9):
            send(api, message="x" * 4000)
        assert [len(lead["submissions"]) for lead in leads(api, operator)] == [2, 7]

    def test_is_what_an_operator_notes_and_the_next_goes_there(self, api: Api, operator: Person) -> None:
        first = send(api)
        body = {"contactName": "Charles", "contactEmail": ADDRESS, "companyName": "By phone"}
        noted = api.post("/marketing-leads", as_=operator, json=body).json
        assert lead_of(api, first, operator)["companyName"] is None
        second = send(api)
        lead = lead_of(api, second, operator)
        assert (lead["id"], lead["companyName"]) == (noted["id"], "By phone")
        assert statuses(turn(api, second, "withdrawn").json) == ["new", "withdrawn"]
        assert lead_of(api, second, operator)["status"] == "new"  # What the operator noted still stands.

    def test_leaves_what_was_there_as_it_was(self, api: Api, operator: Person, clock: Clock) -> None:
        first = send(api)
        turn(api, first, "withdrawn")
        clock.shift(hours=25)
        before = lead_of(api, first, operator)
        send(api)
        assert lead_of(api, first, operator) == before


class TestWithdrawing:
    def test_one_of_two_leaves_the_lead_as_it_is(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        assert turn(api, second, "withdrawn").json["status"] == "withdrawn"
        lead = lead_of(api, first, operator)
        assert (lead["status"], statuses(lead)) == ("new", ["new"])
        assert [each["status"] for each in lead["submissions"]] == ["new", "withdrawn"]
        assert seen(api, first)["status"] == "new"
        (entry, *_) = api.items("/system/audit-log", as_=operator)
        assert (entry["type"], [change["field"] for change in entry["changes"]]) == (
            "lead.status_changed",
            ["submissions"],
        )

    def test_all_of_them_withdraws_the_lead_and_all_bring_it_back(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        for each in (second, first):
            turn(api, each, "withdrawn")
        assert statuses(lead_of(api, first, operator)) == ["new", "withdrawn"]
        assert statuses(turn(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert statuses(lead_of(api, first, operator)) == ["new", "withdrawn"]
        assert seen(api, first)["status"] == "withdrawn"
        turn(api, first, "new")
        assert statuses(lead_of(api, first, operator)) == ["new", "withdrawn", "new"]

    def test_holds_whatever_operators_do_to_the_rest(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        turn(api, second, "withdrawn")
        judge(api, first, operator, "contacted")
        assert statuses(seen(api, second)) == ["new", "withdrawn"]
        assert statuses(turn(api, second, "new").json) == ["new", "withdrawn", "new"]
        assert lead_of(api, first, operator)["status"] == "contacted"

    def test_of_the_whole_by_an_operator_is_of_each(self, api: Api, operator: Person) -> None:
        first, second = send(api), send(api)
        judge(api, first, operator, "withdrawn")
        assert {seen(api, each)["status"] for each in (first, second)} == {"withdrawn"}
        judge(api, first, operator, "new")
        assert {seen(api, each)["status"] for each in (first, second)} == {"new"}

    def test_whoever_knows_an_address_takes_nothing_from_who_owns_it(self, api: Api, operator: Person) -> None:
        owner = send(api, message="Call me.")
        judge(api, owner, operator, "contacted")
        before = seen(api, owner)
        impostor = send(api, contactName="Nobody", message="Forget it.")
        for status in ("withdrawn", "new", "withdrawn"):
            assert turn(api, impostor, status).status == 200
        assert seen(api, owner) == before
        lead = lead_of(api, owner, operator)
        assert (lead["status"], lead["submissions"][0]["message"]) == ("contacted", "Call me.")


class TestAtOnce:
    def test_two_with_one_address_are_one_lead(self, api: Api, operator: Person, meanwhile: Meanwhile) -> None:
        sent: list[Inquiry] = []
        meanwhile(lambda: sent.append(send(api, message="First.")))
        sent.append(send(api, message="Second."))
        (lead,) = leads(api, operator)
        assert [each["id"] for each in lead["submissions"]] == [each.id for each in sent]

    def test_many_with_one_address_are_one_lead(self, api: Api, operator: Person) -> None:
        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(lambda n: asked_to_send(api, message=f"Number {n}"), range(12)))
        taken = {answer.json["id"] for answer in answers if answer.status == 201}
        assert {answer.code for answer in answers if answer.status != 201} <= {"409 conflict"}
        assert len(taken) >= 6
        (lead,) = leads(api, operator)
        assert {each["id"] for each in lead["submissions"]} == taken
        assert len(api.items("/system/audit-log", as_=operator)) == len(taken)

    def test_what_is_withdrawn_meanwhile_stays_so(self, api: Api, operator: Person, meanwhile: Meanwhile) -> None:
        first = send(api)
        meanwhile(lambda: turn(api, first, "withdrawn"))
        second = send(api)
        (lead,) = leads(api, operator)
        assert [(each["id"], each["status"]) for each in lead["submissions"]] == [
            (first.id, "withdrawn"),
            (second.id, "new"),
        ]
        assert statuses(lead) == ["new", "withdrawn"]

    def test_what_is_sent_meanwhile_is_not_withdrawn(self, api: Api, operator: Person, meanwhile: Meanwhile) -> None:
        first = send(api)
        meanwhile(lambda: send(api))
        assert turn(api, first, "withdrawn").json["status"] == "withdrawn"
        (lead,) = leads(api, operator)
        assert (lead["status"], [each["status"] for each in lead["submissions"]]) == ("new", ["withdrawn", "new"])

    def test_an_operator_and_the_sender_come_one_after_the_other(
        self, api: Api, operator: Person, meanwhile: Meanwhile
    ) -> None:
        mine = send(api)
        meanwhile(lambda: judge(api, mine, operator, "spam"))
        assert turn(api, mine, "withdrawn").code == "409 invalid_transition"
        another = send(api, "grace@example.com")
        meanwhile(lambda: turn(api, another, "withdrawn"))
        assert judge(api, another, operator, "contacted").code == "409 invalid_transition"

    def test_what_is_brought_back_while_more_is_sent_is_so_once(
        self, api: Api, operator: Person, meanwhile: Meanwhile
    ) -> None:
        first = send(api)
        turn(api, first, "withdrawn")
        meanwhile(lambda: turn(api, first, "new"))
        second = send(api)
        (lead,) = leads(api, operator)
        assert [each["id"] for each in lead["submissions"]] == [first.id, second.id]
        guards = [item for item in snapshots.stored().values() if item["pk"].startswith("U#lead-email#")]
        assert [guard["ref"] for guard in guards] == [first.id]
