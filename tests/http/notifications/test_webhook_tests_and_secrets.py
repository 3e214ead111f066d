"""Test test deliveries to webhooks, their rate limit and timeout, and the rotation of secrets."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.webhooks.models.standard_webhooks import decode_secret
from chalicelib.kernel.outbound import egress
from chalicelib.kernel.storage import table
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.receiver import ReceivedRequest, Receiver, Reply

URL = "https://hooks.example.com/atrium"


class TestTestDelivery:
    @staticmethod
    def verify_signature(request: ReceivedRequest, secret: str) -> Json:
        headers = {name.lower(): value for name, value in request.headers.items()}
        message: Json = Verifier(secret).verify(request.body, headers)
        return message

    def test_sends_a_new_signed_message_each_time_and_stores_no_delivery(
        self, api, organization, webhook, workers, receiver
    ):
        receiver.default_reply = Reply(status=202, body=b"thanks")
        result = webhook.send_test()
        assert result | {"delivered": True, "statusCode": 202, "error": None} == result
        assert 0 <= result["durationMs"] < 15_000
        rotation = webhook.post("/rotate-secret").json
        webhook.send_test()
        first, second = receiver.requests
        message = self.verify_signature(first, webhook.secret)
        expected = {"type": "webhook.test", "organizationId": organization.id, "sequence": None}
        assert message | expected == message
        assert message["data"]["webhookId"] == webhook.id
        assert first.headers["Content-Type"] == "application/json"
        assert first.headers["webhook-id"] != second.headers["webhook-id"]
        for secret in (webhook.secret, rotation["secret"]):
            self.verify_signature(second, secret)
        workers.deliver()
        assert webhook.list_deliveries() == []
        entries = list_entries(api, organization, type="organization.webhook.tested")
        assert [(entry["target"]["id"], entry["changes"]) for entry in entries] == [(webhook.id, [])] * 2
        assert entries[0]["data"] == webhook.read()

    def test_reports_failures_without_counting_them(self, webhook, new_webhook, receiver):
        before = webhook.read()
        for status in (301, 400, 410, 500):
            receiver.default_reply = Reply(status=status, headers={"Location": receiver.url}, body=b"no")
            result = webhook.send_test()
            assert (result["delivered"], result["statusCode"]) == (False, status)
            assert str(status) in result["error"]
        assert webhook.read() == before
        with Receiver() as closed_receiver:
            unused_url = closed_receiver.url
        result = new_webhook(unused_url).send_test()
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert result["error"] == "The connection was refused."

    def test_works_for_a_paused_or_disabled_webhook(self, webhook, emit, receiver):
        webhook.update(enabled=False)
        assert webhook.send_test()["delivered"]
        webhook.update(enabled=True)
        receiver.default_reply = Reply(status=410)
        emit("Gone")
        assert webhook.read()["status"] == "disabled"
        receiver.default_reply = Reply()
        assert webhook.send_test()["delivered"]
        assert webhook.read()["status"] == "disabled"

    def test_an_idempotent_replay_sends_nothing(self, webhook, receiver):
        first, second = (webhook.post("/test", headers={"Idempotency-Key": "try"}) for _ in range(2))
        assert first.text == second.text
        assert len(receiver.requests) == 1


class TestRotateWebhookSecret:
    @pytest.fixture
    def webhook(self, new_webhook):
        return new_webhook(URL)

    @pytest.fixture
    def rotate(self, webhook):
        """A function that rotates the secret and returns when each of the current secrets expires."""

        def rotate(hours: int | None = None) -> list[str | None]:
            answer = webhook.post("/rotate-secret", {} if hours is None else {"graceHours": hours})
            assert answer.status == 200, answer.text
            item = table.get((f"O#{webhook.organization.id}", f"W#{webhook.id}"))
            assert item
            return [secret["until"] for secret in item["secrets"]]

        return rotate

    def test_the_new_secret_is_shown_once(self, api, organization, webhook):
        answer = webhook.post("/rotate-secret", {})
        record = answer.json
        assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
        assert len(decode_secret(record["secret"])) == 32
        assert (record["secret"] != webhook.secret, record["version"]) == (True, 2)
        assert webhook.read() == {**record, "secret": None}
        (entry,) = list_entries(api, organization, type="organization.webhook.secret_rotated")
        assert record["secret"] not in json.dumps(entry)

    def test_former_secrets_sign_for_a_day_by_default_which_a_later_rotation_can_only_shorten(self, rotate, clock):
        clock.freeze("2026-11-20T09:30:00Z")
        assert rotate() == [None, "2026-11-21T09:30:00.000Z"]
        assert rotate(168) == [None, "2026-11-27T09:30:00.000Z", "2026-11-21T09:30:00.000Z"]
        assert rotate(1) == [None, *["2026-11-20T10:30:00.000Z"] * 3]
        assert rotate(0) == [None]

    def test_at_most_five_secrets_are_valid(self, webhook, rotate, clock):
        for _ in range(4):
            rotate(1)
        assert webhook.post("/rotate-secret", {"graceHours": 1}).status_and_code == "409 limit_exceeded"
        rotate(0)
        for _ in range(4):
            rotate(1)
        clock.shift(minutes=61)
        assert len(rotate(1)) == 2

    def test_an_invalid_grace_period_is_rejected(self, webhook):
        for hours in (-1, 169, 1.5, "1"):
            answer = webhook.post("/rotate-secret", {"graceHours": hours})
            assert answer.status_and_code == "422 validation_failed", hours
            assert list(answer.errors) == ["/graceHours"]


class TestRateLimit:
    def test_an_organization_tests_ten_times_a_minute_with_any_caller_and_target(
        self, api, organization, webhook, new_channel, receiver, grace, clock
    ):
        clock.freeze()
        channel = new_channel(receiver.url, provider="webhook")
        key = create_api_key(api, organization, "webhooks:write", "channels:write")
        targets, callers = [webhook, channel], [organization.owner, grace, key]
        for n in range(10):
            clock.shift(seconds=2)
            answer = targets[n % 2].post("/test", caller=callers[n % 3])
            assert (answer.status, answer.json["delivered"]) == (200, True)
        assert len(receiver.requests) == 10
        for rejection in [target.post("/test", caller=caller) for caller in callers for target in targets]:
            assert rejection.status_and_code == "429 rate_limited"
            assert rejection.headers["RateLimit-Policy"].startswith('"tests";q=10;w=60')
        assert len(receiver.requests) == 10
        clock.shift(seconds=int(rejection.headers["Retry-After"]))
        assert webhook.post("/test", caller=grace).status == 200

    def test_a_user_tests_at_most_thirty_times_across_organizations(
        self, api, organization, webhook, new_webhook, receiver, clock
    ):
        clock.freeze()
        others = [new_webhook(receiver, of=create_organization(api, organization.owner)) for _ in range(3)]
        assert [webhook.post("/test").status for _ in range(11)] == [200] * 10 + [429]
        statuses = [other.post("/test").status for other in others for _ in range(10)]
        assert statuses == [200] * 20 + [429] * 10
        assert len(receiver.requests) == 30

    def test_concurrent_requests_do_not_exceed_the_limit(self, webhook, receiver):
        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(lambda _: webhook.post("/test").status, range(14)))
        # A request that conflicts over the webhook's record has sent its message and does not repeat it.
        assert sorted(statuses) == [200] * 10 + [429] * 4
        assert len(receiver.requests) == 10


class TestTimeout:
    def test_a_server_that_does_not_respond_times_out_after_five_seconds(self, webhook, channel, receiver, monkeypatch):
        timeouts: list[float] = []
        original_exchange = egress.exchange_with_deadline

        def record_timeout(seconds: float) -> AbstractContextManager[egress.Exchange]:
            timeouts.append(seconds)
            return original_exchange(min(seconds, 0.3))

        monkeypatch.setattr(egress, "exchange_with_deadline", record_timeout)
        receiver.default_reply = Reply(delay_seconds=1.0)
        for target in (webhook, channel):
            result = target.send_test()
            assert (result["delivered"], result["statusCode"]) == (False, None)
            assert result["error"] == "The server did not respond within 5 s."
        assert timeouts == [5.0, 5.0]
