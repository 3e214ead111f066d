"""Leads for those who submitted them: the response, the token, and the changes that it allows."""

from typing import Any

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.crypto import symmetric
from tests.harness import snapshots
from tests.harness.challenges import get_challenge
from tests.harness.leads import (
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
IDEMPOTENCY = {"Idempotency-Key": "k"}


@pytest.fixture
def lead(api):
    return create_lead(api)


class TestCreatePublicLead:
    def test_the_response_shows_the_submission_without_its_source_and_its_token_is_not_stored(self, api, clock):
        timestamp = clock.freeze("2027-03-21T09:00:00.000Z")
        record = post_lead(api, "Ada@Example.COM", **OPTIONAL_FIELDS).json
        assert record["leadToken"] not in str(snapshots.items_by_key())
        assert "source" not in record
        fields = {**OPTIONAL_FIELDS, "contactEmail": "ada@example.com", "status": "new"}
        fields["consent"] = {"textVersion": "2026-03", "givenAt": timestamp}
        del fields["source"]
        assert record | fields == record

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
        for email in ("x" * 1_000_000, ["ada@example.com"], None, "", "\x00"):
            answer = api.post("/public/leads", json={"contactName": "Ada", "contactEmail": email})
            assert [*answer.errors] == ["/contactEmail"]

    def test_an_ip_address_may_submit_ten_leads_a_minute(self, api, clock):
        clock.freeze()
        rate_limits = [post_lead(api, f"p{n}@example.org", ip="203.0.113.9").headers["RateLimit"] for n in range(10)]
        assert rate_limits == [f'"public-leads";r={n};t=60' for n in reversed(range(10))]
        clock.shift(seconds=42)
        response = post_lead(api, "p10@example.org", ip="203.0.113.9").expect_problem("429 rate_limited")
        assert response.headers["Retry-After"] == "18"
        assert response.headers["RateLimit-Policy"] == '"public-leads";q=10;w=60'
        assert response.calls.call_names == ["dynamodb:BatchGetItem"]
        accepted = post_lead(api, "p10@example.org", ip="203.0.113.10").expect(201)
        reads = ["dynamodb:BatchGetItem"] * 2  # The rate limit is one more write of the same transaction.
        assert accepted.calls.call_names == [*reads, "dynamodb:TransactWriteItems", "sqs:SendMessage"]
        clock.shift(seconds=18)
        assert post_lead(api, "p10@example.org", ip="203.0.113.9").status == 201


class TestHoneypot:
    def test_the_response_looks_like_any_other(self, api):
        real, fake = (post_lead(api, f"{n}@example.org", website=text) for n, text in enumerate((" ", "x")))
        assert (real.status, sorted(real.headers)) == (fake.status, sorted(fake.headers))
        real_types, fake_types = ({name: type(value) for name, value in each.json.items()} for each in (real, fake))
        assert real_types == fake_types
        assert len(real.text) == len(fake.text)

    def test_nothing_but_the_request_is_stored(self, api, operator):
        lead = create_lead(api, **OPTIONAL_FIELDS, website="https://spam.example")
        assert lead.record["consent"]["textVersion"] == "2026-03"
        for path in ("/marketing-leads", "/system/audit-log"):
            assert api.get_items(path, caller=operator) == []
        assert {pk[:2] for pk, _ in snapshots.items_by_key()} == {"Y#"}
        assert api.get(lead.path, headers=lead.headers).status_and_code == "404 not_found"
        assert api.get_items("/public/leads", headers=lead.headers) == []

    def test_the_request_counts_toward_the_rate_limit(self, api):
        answers = [post_lead(api, ip="203.0.113.9", website="x") for _ in range(11)]
        assert [answer.status for answer in answers] == [201] * 10 + [429]
        assert answers[0].calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:TransactWriteItems"]

    def test_a_retry_returns_the_same_response(self, api):
        body = {"contactName": "Bot", "contactEmail": "bot@example.org", "website": "x"}
        first, repeated = (api.post("/public/leads", json=body, headers=IDEMPOTENCY) for _ in range(2))
        assert first.comparable_content == repeated.comparable_content


class TestLeadToken:
    def test_the_token_reads_its_own_lead_for_90_days(self, api, clock):
        clock.freeze()
        lead = create_lead(api)
        expected = {**lead.record, "leadToken": None}
        clock.shift(days=90, seconds=-1)
        assert get_public_lead(api, lead) == expected
        assert api.get_items("/public/leads", headers=lead.headers) == [expected]
        clock.shift(seconds=1)
        for path in (lead.path, "/public/leads"):
            answer = api.get(path, headers=lead.headers)
            assert (answer.status_and_code, get_challenge(answer.headers)) == ("401 token_expired", "Bearer")
        assert patch_public_lead_status(api, lead, "withdrawn").status_and_code == "401 token_expired"

    def test_an_altered_token_and_one_of_another_purpose_are_rejected_without_reads(self, api, lead):
        claims, tag = from_base64url(lead.token)[:24], from_base64url(lead.token)[24:]
        for other_tag in (bytes([tag[0] ^ 1, *tag[1:]]), symmetric.authentication_tag_bytes(claims, "preview")):
            for path in (lead.path, "/public/leads"):
                response = api.get(path, headers={"Lead-Token": to_base64url(claims + other_tag)})
                assert (response.status_and_code, response.calls.call_names) == ("401 unauthenticated", [])

    def test_no_caller_lists_a_lead_without_its_token(self, api, operator, organization, lead):
        for caller in (None, operator, organization.owner, create_api_key(api, organization, "admin")):
            assert api.get("/public/leads", caller=caller).json == {"items": [], "nextCursor": None}


class TestChangePublicLeadStatus:
    def test_a_lead_is_withdrawn_and_reopened(self, api, operator, clock):
        clock.freeze("2027-03-21T09:00:00.000Z")
        lead = create_lead(api)
        history = [{"status": "new", "at": "2027-03-21T09:00:00.000Z"}]
        for minute, status in enumerate(("withdrawn", "new", "withdrawn"), 1):
            clock.shift(minutes=1)
            history.append({"status": status, "at": f"2027-03-21T09:0{minute}:00.000Z"})
            record = patch_public_lead_status(api, lead, status).json
            assert (record["status"], record["history"]) == (status, history)
            assert get_public_lead(api, lead) == record
        operator_view = get_lead(api, lead, operator)
        assert operator_view["history"] == [{**change, "by": None} for change in history]
        assert operator_view["status"] == "withdrawn"

    def test_the_current_status_changes_nothing(self, api, lead):
        before = snapshots.items_without_rate_limits()
        assert patch_public_lead_status(api, lead, "new").json == {**lead.record, "leadToken": None}
        assert snapshots.items_without_rate_limits() == before

    @pytest.mark.parametrize("statuses", [["spam"], ["unqualified"], ["contacted", "qualified", "converted"]])
    def test_statuses_set_by_operators_and_changes_of_a_closed_lead_are_rejected(self, api, operator, lead, statuses):
        for status in statuses:
            response = patch_public_lead_status(api, lead, status).expect_problem("409 invalid_transition")
            assert response.json["detail"].endswith("Possible next statuses: 'withdrawn'.")
            assert patch_lead_status(api, lead, operator, status).status == 200
        for status in ("withdrawn", "new"):
            response = patch_public_lead_status(api, lead, status).expect_problem("409 invalid_transition")
            assert response.json["detail"].endswith("Possible next statuses: none.")

    def test_if_match_rejects_a_lead_with_a_new_status_but_not_with_a_new_note(self, api, operator, lead):
        etag = api.get(lead.path, headers=lead.headers).etag
        patch_lead_status(api, lead, operator, "new", note="Charles once more.")
        assert api.get(lead.path, headers=lead.headers).etag == etag  # Notes are not visible to the sender.
        patch_lead_status(api, lead, operator, "contacted")
        for tag, status in ((etag, 412), (api.get(lead.path, headers=lead.headers).etag, 200)):
            headers = {**lead.headers, "If-Match": tag}
            assert api.patch(f"{lead.path}/status", headers=headers, json={"status": "withdrawn"}).status == status

    def test_senders_have_twenty_changes_and_operators_have_more(self, api, operator, lead):
        for number in range(20):
            assert patch_public_lead_status(api, lead, ("withdrawn", "new")[number % 2]).status == 200
        assert patch_public_lead_status(api, lead, "withdrawn").status_and_code == "409 limit_exceeded"
        assert patch_lead_status(api, lead, operator, "spam").status == 200
