"""Leads for those who submitted them: the response, the token, and the changes that it allows."""

import base64
from typing import Any

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import signatures
from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.leads import (
    CreatedLead,
    create_lead,
    get_lead,
    get_public_lead,
    patch_lead_status,
    patch_public_lead_status,
    post_lead,
)
from tests.harness.organizations import create_api_key

OPTIONAL_FIELDS: dict[str, Any] = {
    "contactName": "Ada Lovelace",
    "companyName": "Engines Ltd",
    "message": "How many columns?",
    "source": "pricing page",
    "consent": {"textVersion": "2026-03"},
}


class TestCreatePublicLead:
    def test_a_name_and_an_email_address_are_enough(self, api):
        answer = api.post("/public/leads", json={"contactName": "Ada Lovelace", "contactEmail": "ada@example.com"})
        assert answer.status == 201
        assert answer.location == f"/public/leads/{answer.json['id']}"
        assert answer.json["status"] == "new"
        empty_fields = [name for name, value in answer.json.items() if value is None]
        assert empty_fields == ["companyName", "message", "consent"]

    def test_the_response_shows_the_submission_without_its_source(self, api, clock):
        timestamp = clock.freeze("2027-03-21T09:00:00.000Z")
        record = post_lead(api, "Ada@Example.COM", **OPTIONAL_FIELDS).json
        assert record.pop("leadToken")
        assert record == {
            "id": record["id"],
            "createdAt": timestamp,
            "updatedAt": timestamp,
            "version": 1,
            "contactName": "Ada Lovelace",
            "contactEmail": "ada@example.com",
            "companyName": "Engines Ltd",
            "message": "How many columns?",
            "consent": {"textVersion": "2026-03", "givenAt": timestamp},
            "status": "new",
            "history": [{"status": "new", "at": timestamp}],
        }

    def test_an_earlier_consent_keeps_its_time(self, api):
        consent = {"textVersion": "7", "givenAt": "2026-01-01T10:00:00+01:00"}
        assert create_lead(api, consent=consent).record["consent"] == {**consent, "givenAt": "2026-01-01T09:00:00.000Z"}

    def test_invalid_fields_are_rejected_together(self, api):
        body = {"contactName": " ", "contactEmail": "nobody", "message": "x" * 4001, "consent": {}, "status": "spam"}
        assert api.post("/public/leads", json=body).errors == {
            "/contactName": "too_short",
            "/contactEmail": "malformed",
            "/message": "too_long",
            "/consent/textVersion": "required",
            "/status": "unknown_field",
        }

    @pytest.mark.parametrize("email", ["x" * 1_000_000, ["ada@example.com"], None, "", "\x00"])
    def test_any_invalid_email_address_is_rejected(self, api, email):
        answer = api.post("/public/leads", json={"contactName": "Ada", "contactEmail": email})
        assert list(answer.errors) == ["/contactEmail"]

    def test_an_ip_address_may_submit_ten_leads_a_minute(self, api, clock):
        clock.freeze()
        rate_limits = [post_lead(api, f"p{n}@example.org", ip="203.0.113.9").headers["RateLimit"] for n in range(10)]
        assert rate_limits[0] == '"public-leads";r=9;t=60'
        assert rate_limits[-1] == '"public-leads";r=0;t=60'
        clock.shift(seconds=42)
        response = post_lead(api, "p10@example.org", ip="203.0.113.9")
        assert response.status_and_code == "429 rate_limited"
        assert response.headers["Retry-After"] == "18"
        assert response.headers["RateLimit-Policy"] == '"public-leads";q=10;w=60'
        assert response.calls.call_names == ["dynamodb:BatchGetItem"]
        assert post_lead(api, "p10@example.org", ip="203.0.113.10").status == 201
        clock.shift(seconds=18)
        assert post_lead(api, "p10@example.org", ip="203.0.113.9").status == 201

    def test_the_rate_limit_is_one_more_write_of_the_same_transaction(self, api):
        calls = post_lead(api).calls
        assert calls.call_names == ["dynamodb:BatchGetItem"] * 2 + ["dynamodb:TransactWriteItems", "sqs:SendMessage"]

    def test_a_retry_with_the_idempotency_key_returns_the_same_lead_and_token(self, api, operator):
        body, idempotency = {"contactName": "Ada", "contactEmail": "ada@example.com"}, {"Idempotency-Key": "k"}
        first, repeated = (api.post("/public/leads", json=body, headers=idempotency) for _ in range(2))
        assert first.comparable_content == repeated.comparable_content
        assert repeated.headers["Idempotency-Replayed"] == "true"
        assert len(api.get_items("/marketing-leads", caller=operator)) == 1


class TestHoneypot:
    @pytest.fixture
    def honeypot_lead(self, api: ApiClient) -> CreatedLead:
        """The response to a program that fills in every field."""
        return create_lead(api, **OPTIONAL_FIELDS, website="https://spam.example")

    def test_the_response_looks_like_any_other(self, api, honeypot_lead):
        real = post_lead(api, "real@example.org", website=" ")
        fake = post_lead(api, "fake@example.org", website="x")
        assert (real.status, sorted(real.headers)) == (fake.status, sorted(fake.headers))
        assert {name: type(value) for name, value in real.json.items()} == {
            name: type(value) for name, value in fake.json.items()
        }
        assert len(real.text) == len(fake.text)
        assert honeypot_lead.record["consent"]["textVersion"] == "2026-03"

    def test_nothing_but_the_request_is_stored(self, api, operator, honeypot_lead):
        assert api.get_items("/marketing-leads", caller=operator) == []
        assert api.get_items("/system/audit-log", caller=operator) == []
        assert {pk[:2] for pk, _ in snapshots.items_by_key()} == {"Y#"}
        assert api.get(honeypot_lead.path, headers=honeypot_lead.headers).status_and_code == "404 not_found"
        assert api.get_items("/public/leads", headers=honeypot_lead.headers) == []

    def test_the_request_counts_toward_the_rate_limit(self, api):
        answers = [post_lead(api, ip="203.0.113.9", website="x") for _ in range(11)]
        assert [answer.status for answer in answers] == [201] * 10 + [429]
        assert answers[0].calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:TransactWriteItems"]

    def test_a_retry_returns_the_same_response(self, api):
        body = {"contactName": "Bot", "contactEmail": "bot@example.org", "website": "x"}
        first, repeated = (api.post("/public/leads", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
        assert first.comparable_content == repeated.comparable_content


class TestLeadToken:
    def test_the_token_reads_its_own_lead_for_90_days(self, api, clock):
        clock.freeze()
        lead = create_lead(api)
        expected = {**lead.record, "leadToken": None}
        assert get_public_lead(api, lead) == expected
        assert api.get_items("/public/leads", headers=lead.headers) == [expected]
        clock.shift(days=90, seconds=-1)
        assert get_public_lead(api, lead) == expected
        clock.shift(seconds=1)
        for answer in (
            api.get(lead.path, headers=lead.headers),
            api.get("/public/leads", headers=lead.headers),
            patch_public_lead_status(api, lead, "withdrawn"),
        ):
            assert answer.status_and_code == "401 token_expired"
            assert answer.headers["WWW-Authenticate"] == "Bearer"

    def test_the_token_reads_no_other_lead(self, api):
        lead, other_lead = create_lead(api), create_lead(api, "grace@example.com")
        other_response = api.get(other_lead.path, headers=lead.headers)
        assert (
            other_response.comparable_problem
            == api.get(f"/public/leads/{'0' * 8}{lead.id[8:]}", headers=lead.headers).comparable_problem
        )
        assert other_response.status_and_code == "404 not_found"
        response = api.patch(f"{other_lead.path}/status", headers=lead.headers, json={"status": "withdrawn"})
        assert response.status_and_code == "404 not_found"
        assert get_public_lead(api, other_lead)["status"] == "new"

    def test_a_token_with_any_altered_bit_is_rejected(self, api):
        lead = create_lead(api)
        data = from_base64url(lead.token)
        for position in range(len(data)):
            altered_token = bytearray(data)
            altered_token[position] ^= 1
            for path in (lead.path, "/public/leads"):
                response = api.get(path, headers={"Lead-Token": to_base64url(bytes(altered_token))})
                assert response.status_and_code == "401 unauthenticated"
                assert response.calls.call_names == []

    def test_a_token_of_another_purpose_or_key_is_rejected(self, api, monkeypatch):
        lead = create_lead(api)
        claims = from_base64url(lead.token)[:24]
        other = to_base64url(claims + signatures.authentication_tag_bytes(claims, "preview"))
        assert api.get(lead.path, headers={"Lead-Token": other}).status_and_code == "401 unauthenticated"
        monkeypatch.setenv("TOKEN_KEY", base64.b64encode(bytes(32)).decode())
        settings.cache_clear()
        assert api.get(lead.path, headers=lead.headers).status_and_code == "401 unauthenticated"
        monkeypatch.undo()
        settings.cache_clear()
        assert get_public_lead(api, lead)["id"] == lead.id

    def test_no_caller_reads_a_lead_without_its_token(self, api, operator, organization):
        lead, key = create_lead(api), create_api_key(api, organization, "admin")
        for caller in (None, operator, organization.owner, key):
            assert api.get("/public/leads", caller=caller).json == {"items": [], "nextCursor": None}
            assert api.get(lead.path, caller=caller).status_and_code == "401 unauthenticated"
            assert api.get(lead.path, caller=caller, headers=lead.headers).status == 200

    def test_responses_are_not_cached(self, api):
        lead = create_lead(api)
        for path in (lead.path, "/public/leads"):
            assert api.get(path, headers=lead.headers).headers["Cache-Control"] == "no-store"

    def test_the_token_is_not_stored(self, api):
        assert create_lead(api).token not in str(snapshots.items_by_key())


class TestChangePublicLeadStatus:
    def test_a_lead_is_withdrawn_and_reopened(self, api, operator, clock):
        clock.freeze("2027-03-21T09:00:00.000Z")
        lead = create_lead(api)
        for status in ("withdrawn", "new", "withdrawn"):
            clock.shift(minutes=1)
            answer = patch_public_lead_status(api, lead, status)
            assert (answer.status, answer.json["status"]) == (200, status)
            assert answer.json == get_public_lead(api, lead)
        history = [
            {"status": status, "at": f"2027-03-21T09:0{minute}:00.000Z"}
            for minute, status in enumerate(["new", "withdrawn", "new", "withdrawn"])
        ]
        assert get_public_lead(api, lead)["history"] == history
        operator_view = get_lead(api, lead, operator)
        assert operator_view["history"] == [{**change, "by": None} for change in history]
        assert operator_view["status"] == "withdrawn"

    def test_the_entry_shows_the_lead_as_operators_see_it(self, api, operator):
        lead = create_lead(api)
        before = get_lead(api, lead, operator)
        patch_public_lead_status(api, lead, "withdrawn")
        after = get_lead(api, lead, operator)
        entry, _ = api.get_items("/system/audit-log", caller=operator)
        assert entry["type"] == "lead.status_changed"
        assert entry["actor"] == {"type": "anonymous", "id": None, "name": None}
        assert entry["target"] == {"type": "lead", "id": lead.id, "name": "Charles Babbage"}
        assert entry["data"] == after
        assert [change["field"] for change in entry["changes"]] == ["status", "history", "submissions"]
        assert entry["changes"][0] == {"field": "status", "from": "new", "to": "withdrawn"}
        assert entry["changes"][1]["from"] == before["history"]

    def test_the_current_status_changes_nothing(self, api):
        lead = create_lead(api)
        before = snapshots.items_by_key()
        assert patch_public_lead_status(api, lead, "new").json == {**lead.record, "leadToken": None}
        # Only the request count is stored.
        assert {key: item for key, item in snapshots.items_by_key().items() if key[0][:2] != "Y#"} == {
            key: item for key, item in before.items() if key[0][:2] != "Y#"
        }

    @pytest.mark.parametrize("status", ["contacted", "qualified", "converted", "unqualified", "spam"])
    def test_statuses_set_by_operators_are_rejected(self, api, status):
        response = patch_public_lead_status(api, create_lead(api), status)
        assert response.status_and_code == "409 invalid_transition"
        assert response.json["detail"].endswith("Possible next statuses: 'withdrawn'.")

    @pytest.mark.parametrize("statuses", [["spam"], ["unqualified"], ["contacted", "qualified", "converted"]])
    def test_a_closed_lead_cannot_be_changed(self, api, operator, statuses):
        lead = create_lead(api)
        for status in statuses:
            assert patch_lead_status(api, lead, operator, status).status == 200
        for status in ("withdrawn", "new"):
            response = patch_public_lead_status(api, lead, status)
            assert response.status_and_code == "409 invalid_transition"
            assert response.json["detail"].endswith("Possible next statuses: none.")

    def test_if_match_rejects_a_lead_with_a_new_status_but_not_with_a_new_note(self, api, operator):
        lead = create_lead(api)
        etag = api.get(lead.path, headers=lead.headers).etag
        patch_lead_status(api, lead, operator, "new", note="Charles once more.")
        with_note = api.get(lead.path, headers=lead.headers)
        assert with_note.etag == etag  # Notes are not visible to the sender.
        patch_lead_status(api, lead, operator, "contacted")
        body, path = {"status": "withdrawn"}, f"{lead.path}/status"
        response = api.patch(path, headers={**lead.headers, "If-Match": etag}, json=body)
        assert response.status_and_code == "412 precondition_failed"
        current_etag = api.get(lead.path, headers=lead.headers).etag
        assert (
            api.patch(path, headers={**lead.headers, "If-Match": current_etag}, json=body).json["status"] == "withdrawn"
        )

    def test_senders_have_twenty_changes_and_operators_have_more(self, api, operator):
        lead = create_lead(api)
        for number in range(20):
            assert patch_public_lead_status(api, lead, ("withdrawn", "new")[number % 2]).status == 200
        assert patch_public_lead_status(api, lead, "withdrawn").status_and_code == "409 limit_exceeded"
        assert patch_lead_status(api, lead, operator, "spam").status == 200


class TestListPublicLeadStatuses:
    def test_every_status_is_listed_with_the_next_ones(self, api, operator):
        statuses = api.get_items("/public/leads/statuses")
        assert statuses == api.get_items("/marketing-leads/statuses", caller=operator)
        assert {status["status"]: status["next"] for status in statuses} == {
            "new": ["contacted", "unqualified", "spam", "withdrawn"],
            "contacted": ["qualified", "unqualified", "spam", "withdrawn"],
            "qualified": ["converted", "unqualified", "spam", "withdrawn"],
            "converted": [],
            "unqualified": ["new"],
            "spam": ["new"],
            "withdrawn": ["new"],
        }
        assert [status["status"] for status in statuses if status["terminal"]] == ["converted"]
        assert statuses[0]["label"] == "New"
