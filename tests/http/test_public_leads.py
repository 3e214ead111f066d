"""Leads as those see them who sent them: what the answer gives them, what their token opens, what they may do."""

import base64
from typing import Any

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import signatures
from tests.harness import snapshots
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.leads import Inquiry, asked_to_send, judge, lead_of, seen, send, turn
from tests.harness.organizations import Founded, make_key

ALL: dict[str, Any] = {
    "contactName": "Ada Lovelace",
    "companyName": "Engines Ltd",
    "message": "How many columns?",
    "source": "pricing page",
    "consent": {"textVersion": "2026-03"},
}


class TestCreatePublicLead:
    def test_two_fields_are_enough(self, api: Api) -> None:
        answer = api.post("/public/leads", json={"contactName": "Ada Lovelace", "contactEmail": "ada@example.com"})
        assert answer.status == 201
        assert answer.location == f"/public/leads/{answer.json['id']}"
        assert answer.json["status"] == "new"
        nothing = [name for name, value in answer.json.items() if value is None]
        assert nothing == ["companyName", "message", "consent"]

    def test_shows_what_was_sent_but_not_where_they_were_seen_to_come_from(self, api: Api, clock: Clock) -> None:
        moment = clock.freeze("2027-03-21T09:00:00.000Z")
        record = asked_to_send(api, "Ada@Example.COM", **ALL).json
        assert record.pop("leadToken")
        assert record == {
            "id": record["id"],
            "createdAt": moment,
            "updatedAt": moment,
            "version": 1,
            "contactName": "Ada Lovelace",
            "contactEmail": "ada@example.com",
            "companyName": "Engines Ltd",
            "message": "How many columns?",
            "consent": {"textVersion": "2026-03", "givenAt": moment},
            "status": "new",
            "history": [{"status": "new", "at": moment}],
        }

    def test_consent_that_was_given_before_keeps_its_moment(self, api: Api) -> None:
        consent = {"textVersion": "7", "givenAt": "2026-01-01T10:00:00+01:00"}
        assert send(api, consent=consent).record["consent"] == {**consent, "givenAt": "2026-01-01T09:00:00.000Z"}

    def test_all_faults_are_told_at_once(self, api: Api) -> None:
        body = {"contactName": " ", "contactEmail": "nobody", "message": "x" * 4001, "consent": {}, "status": "spam"}
        assert api.post("/public/leads", json=body).faults == {
            "/contactName": "too_short",
            "/contactEmail": "malformed",
            "/message": "too_long",
            "/consent/textVersion": "required",
            "/status": "unknown_field",
        }

    @pytest.mark.parametrize("email", ["x" * 1_000_000, ["ada@example.com"], None, "", "\x00"])
    def test_what_is_no_address_is_refused_whatever_it_is(self, api: Api, email: object) -> None:
        answer = api.post("/public/leads", json={"contactName": "Ada", "contactEmail": email})
        assert list(answer.faults) == ["/contactEmail"]

    def test_ten_a_minute_may_be_sent_from_an_address(self, api: Api, clock: Clock) -> None:
        clock.freeze()
        left = [asked_to_send(api, f"p{n}@example.org", ip="203.0.113.9").headers["RateLimit"] for n in range(10)]
        assert left[0] == '"public-leads";r=9;t=60'
        assert left[-1] == '"public-leads";r=0;t=60'
        clock.shift(seconds=42)
        refused = asked_to_send(api, "p10@example.org", ip="203.0.113.9")
        assert refused.code == "429 rate_limited"
        assert refused.headers["Retry-After"] == "18"
        assert refused.headers["RateLimit-Policy"] == '"public-leads";q=10;w=60'
        assert refused.calls.names == ["dynamodb:BatchGetItem"]
        assert asked_to_send(api, "p10@example.org", ip="203.0.113.10").status == 201
        clock.shift(seconds=18)
        assert asked_to_send(api, "p10@example.org", ip="203.0.113.9").status == 201

    def test_the_budget_is_one_more_write_of_the_same_transaction(self, api: Api) -> None:
        calls = asked_to_send(api).calls
        assert calls.names == ["dynamodb:BatchGetItem"] * 2 + ["dynamodb:TransactWriteItems", "sqs:SendMessage"]

    def test_a_repeated_request_has_one_lead_and_the_same_token(self, api: Api, operator: Person) -> None:
        body, once = {"contactName": "Ada", "contactEmail": "ada@example.com"}, {"Idempotency-Key": "k"}
        first, again = (api.post("/public/leads", json=body, headers=once) for _ in range(2))
        assert first.said == again.said
        assert again.headers["Idempotency-Replayed"] == "true"
        assert len(api.items("/marketing-leads", as_=operator)) == 1


class TestTheTrap:
    @pytest.fixture
    def trapped(self, api: Api) -> Inquiry:
        """What a program is answered that fills in every field."""
        return send(api, **ALL, website="https://spam.example")

    def test_is_answered_as_everybody_is(self, api: Api, trapped: Inquiry) -> None:
        real = asked_to_send(api, "real@example.org", website=" ")
        fake = asked_to_send(api, "fake@example.org", website="x")
        assert (real.status, sorted(real.headers)) == (fake.status, sorted(fake.headers))
        assert {name: type(value) for name, value in real.json.items()} == {
            name: type(value) for name, value in fake.json.items()
        }
        assert len(real.text) == len(fake.text)
        assert trapped.record["consent"]["textVersion"] == "2026-03"

    def test_keeps_and_tells_nothing_but_that_a_request_was_made(
        self, api: Api, operator: Person, trapped: Inquiry
    ) -> None:
        assert api.items("/marketing-leads", as_=operator) == []
        assert api.items("/system/audit-log", as_=operator) == []
        assert {pk[:2] for pk, _ in snapshots.stored()} == {"Y#"}
        assert api.get(trapped.path, headers=trapped.headers).code == "404 not_found"
        assert api.items("/public/leads", headers=trapped.headers) == []

    def test_counts_towards_the_budget(self, api: Api) -> None:
        answers = [asked_to_send(api, ip="203.0.113.9", website="x") for _ in range(11)]
        assert [answer.status for answer in answers] == [201] * 10 + [429]
        assert answers[0].calls.names == ["dynamodb:BatchGetItem", "dynamodb:TransactWriteItems"]

    def test_is_answered_the_same_when_it_is_repeated(self, api: Api) -> None:
        body = {"contactName": "Bot", "contactEmail": "bot@example.org", "website": "x"}
        first, again = (api.post("/public/leads", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
        assert first.said == again.said


class TestTheToken:
    def test_opens_what_it_came_with_for_90_days(self, api: Api, clock: Clock) -> None:
        clock.freeze()
        mine = send(api)
        shown = {**mine.record, "leadToken": None}
        assert seen(api, mine) == shown
        assert api.items("/public/leads", headers=mine.headers) == [shown]
        clock.shift(days=90, seconds=-1)
        assert seen(api, mine) == shown
        clock.shift(seconds=1)
        for answer in (
            api.get(mine.path, headers=mine.headers),
            api.get("/public/leads", headers=mine.headers),
            turn(api, mine, "withdrawn"),
        ):
            assert answer.code == "401 token_expired"
            assert answer.headers["WWW-Authenticate"] == "Bearer"

    def test_opens_nothing_else(self, api: Api) -> None:
        mine, another = send(api), send(api, "grace@example.com")
        borrowed = api.get(another.path, headers=mine.headers)
        assert borrowed.refusal == api.get(f"/public/leads/{'0' * 8}{mine.id[8:]}", headers=mine.headers).refusal
        assert borrowed.code == "404 not_found"
        put = api.patch(f"{another.path}/status", headers=mine.headers, json={"status": "withdrawn"})
        assert put.code == "404 not_found"
        assert seen(api, another)["status"] == "new"

    def test_any_bit_of_it_counts(self, api: Api) -> None:
        mine = send(api)
        data = from_base64url(mine.token)
        for at in range(len(data)):
            bent = bytearray(data)
            bent[at] ^= 1
            for path in (mine.path, "/public/leads"):
                refused = api.get(path, headers={"Lead-Token": to_base64url(bytes(bent))})
                assert refused.code == "401 unauthenticated"
                assert refused.calls.names == []

    def test_of_another_purpose_or_key_is_none(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = send(api)
        said = from_base64url(mine.token)[:24]
        other = to_base64url(said + signatures.authenticate(said, "preview"))
        assert api.get(mine.path, headers={"Lead-Token": other}).code == "401 unauthenticated"
        monkeypatch.setenv("TOKEN_KEY", base64.b64encode(bytes(32)).decode())
        settings.cache_clear()
        assert api.get(mine.path, headers=mine.headers).code == "401 unauthenticated"
        monkeypatch.undo()
        settings.cache_clear()
        assert seen(api, mine)["id"] == mine.id

    def test_is_needed_whoever_asks(self, api: Api, operator: Person, organization: Founded) -> None:
        mine, key = send(api), make_key(api, organization, "admin")
        for caller in (None, operator, organization.owner, key):
            assert api.get("/public/leads", as_=caller).json == {"items": [], "nextCursor": None}
            assert api.get(mine.path, as_=caller).code == "401 unauthenticated"
            assert api.get(mine.path, as_=caller, headers=mine.headers).status == 200

    def test_no_cache_keeps_what_it_opens(self, api: Api) -> None:
        mine = send(api)
        for path in (mine.path, "/public/leads"):
            assert api.get(path, headers=mine.headers).headers["Cache-Control"] == "no-store"

    def test_is_stored_nowhere(self, api: Api) -> None:
        assert send(api).token not in str(snapshots.stored())


class TestChangePublicLeadStatus:
    def test_withdraws_and_brings_back(self, api: Api, operator: Person, clock: Clock) -> None:
        clock.freeze("2027-03-21T09:00:00.000Z")
        mine = send(api)
        for status in ("withdrawn", "new", "withdrawn"):
            clock.shift(minutes=1)
            answer = turn(api, mine, status)
            assert (answer.status, answer.json["status"]) == (200, status)
            assert answer.json == seen(api, mine)
        history = [
            {"status": status, "at": f"2027-03-21T09:0{minute}:00.000Z"}
            for minute, status in enumerate(["new", "withdrawn", "new", "withdrawn"])
        ]
        assert seen(api, mine)["history"] == history
        lead = lead_of(api, mine, operator)
        assert lead["history"] == [{**each, "by": None} for each in history]
        assert lead["status"] == "withdrawn"

    def test_is_told_as_the_operators_see_it(self, api: Api, operator: Person) -> None:
        mine = send(api)
        before = lead_of(api, mine, operator)
        turn(api, mine, "withdrawn")
        now = lead_of(api, mine, operator)
        entry, _ = api.items("/system/audit-log", as_=operator)
        assert entry["type"] == "lead.status_changed"
        assert entry["actor"] == {"type": "anonymous", "id": None, "name": None}
        assert entry["target"] == {"type": "lead", "id": mine.id, "name": "Charles Babbage"}
        assert entry["data"] == now
        assert [change["field"] for change in entry["changes"]] == ["status", "history", "submissions"]
        assert entry["changes"][0] == {"field": "status", "from": "new", "to": "withdrawn"}
        assert entry["changes"][1]["from"] == before["history"]

    def test_the_present_status_changes_nothing(self, api: Api) -> None:
        mine = send(api)
        before = snapshots.stored()
        assert turn(api, mine, "new").json == {**mine.record, "leadToken": None}
        # That it was asked for is counted, and nothing else is stored.
        assert {key: item for key, item in snapshots.stored().items() if key[0][:2] != "Y#"} == {
            key: item for key, item in before.items() if key[0][:2] != "Y#"
        }

    @pytest.mark.parametrize("status", ["contacted", "qualified", "converted", "unqualified", "spam"])
    def test_is_not_for_what_operators_decide(self, api: Api, status: str) -> None:
        refused = turn(api, send(api), status)
        assert refused.code == "409 invalid_transition"
        assert refused.json["detail"].endswith("Possible next statuses: 'withdrawn'.")

    @pytest.mark.parametrize("way", [["spam"], ["unqualified"], ["contacted", "qualified", "converted"]])
    def test_comes_too_late_once_it_is_decided(self, api: Api, operator: Person, way: list[str]) -> None:
        mine = send(api)
        for status in way:
            assert judge(api, mine, operator, status).status == 200
        for wanted in ("withdrawn", "new"):
            refused = turn(api, mine, wanted)
            assert refused.code == "409 invalid_transition"
            assert refused.json["detail"].endswith("Possible next statuses: none.")

    def test_of_what_an_operator_has_looked_at_meanwhile_is_refused(self, api: Api, operator: Person) -> None:
        mine = send(api)
        tag = api.get(mine.path, headers=mine.headers).etag
        judge(api, mine, operator, "new", note="Charles once more.")
        same = api.get(mine.path, headers=mine.headers)
        assert same.etag == tag  # A note is not theirs to see, nor that there is one.
        judge(api, mine, operator, "contacted")
        body, path = {"status": "withdrawn"}, f"{mine.path}/status"
        stale = api.patch(path, headers={**mine.headers, "If-Match": tag}, json=body)
        assert stale.code == "412 precondition_failed"
        present = api.get(mine.path, headers=mine.headers).etag
        assert api.patch(path, headers={**mine.headers, "If-Match": present}, json=body).json["status"] == "withdrawn"

    def test_ends_after_twenty_changes_but_not_for_operators(self, api: Api, operator: Person) -> None:
        mine = send(api)
        for number in range(20):
            assert turn(api, mine, ("withdrawn", "new")[number % 2]).status == 200
        assert turn(api, mine, "withdrawn").code == "409 limit_exceeded"
        assert judge(api, mine, operator, "spam").status == 200


class TestListPublicLeadStatuses:
    def test_shows_the_way_a_lead_goes(self, api: Api, operator: Person) -> None:
        shown = api.items("/public/leads/statuses")
        assert shown == api.items("/marketing-leads/statuses", as_=operator)
        assert {each["status"]: each["next"] for each in shown} == {
            "new": ["contacted", "unqualified", "spam", "withdrawn"],
            "contacted": ["qualified", "unqualified", "spam", "withdrawn"],
            "qualified": ["converted", "unqualified", "spam", "withdrawn"],
            "converted": [],
            "unqualified": ["new"],
            "spam": ["new"],
            "withdrawn": ["new"],
        }
        assert [each["status"] for each in shown if each["terminal"]] == ["converted"]
        assert shown[0]["label"] == "New"
