"""Test test deliveries to webhooks, their rate limit and timeout, and the rotation of secrets, also of log streams."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest

from chalicelib.kernel.outbound import egress
from chalicelib.kernel.storage import table
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import WebhookClient

URL = "https://hooks.example.com/atrium"


class TestTestDelivery:
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
        assert result | {"delivered": False, "statusCode": None, "error": "The connection was refused."} == result

    def test_works_for_a_paused_or_disabled_webhook(self, webhook, emit, receiver):
        webhook.update(enabled=False)
        first, second = (webhook.post("/test", headers={"Idempotency-Key": "try"}) for _ in range(2))
        assert (first.json["delivered"], second.text, len(receiver.requests)) == (True, first.text, 1)
        webhook.update(enabled=True)
        receiver.default_reply = Reply(status=410)
        emit("Gone")
        assert webhook.read()["status"] == "disabled"
        receiver.default_reply = Reply()
        assert webhook.send_test()["delivered"]
        assert webhook.read()["status"] == "disabled"


def rotate(recipient, hours=None):
    """Rotate the secret and return when each of the current secrets expires."""
    rotated = recipient.post("/rotate-secret", {} if hours is None else {"graceHours": hours}).expect(200).json
    prefix = "W" if isinstance(recipient, WebhookClient) else "LOG-STREAM"
    item = table.get((f"O#{recipient.organization.id}", f"{prefix}#{recipient.id}"))
    assert item
    last_end = max((secret["until"] for secret in item["secrets"] if secret["until"]), default=None)
    assert rotated["formerSecretsUntil"] == recipient.read()["formerSecretsUntil"] == last_end
    return [secret["until"] for secret in item["secrets"]]


class TestRotateSecret:
    @pytest.fixture(params=["webhook", "log stream"])
    def recipient(self, request, new_webhook, new_stream):
        return new_webhook(URL) if request.param == "webhook" else new_stream({"type": "https", "url": URL})

    def test_former_secrets_sign_for_a_day_by_default_which_a_later_rotation_can_only_shorten(self, recipient, clock):
        clock.freeze("2026-11-20T09:30:00Z")
        assert rotate(recipient) == [None, "2026-11-21T09:30:00.000Z"]
        assert rotate(recipient, 168) == [None, "2026-11-27T09:30:00.000Z", "2026-11-21T09:30:00.000Z"]
        assert rotate(recipient, 1) == [None, *["2026-11-20T10:30:00.000Z"] * 3]
        assert rotate(recipient, 0) == [None]

    def test_at_most_five_secrets_are_valid(self, recipient, clock):
        for _ in range(4):
            rotate(recipient, 1)
        assert recipient.post("/rotate-secret", {"graceHours": 1}).status_and_code == "409 limit_exceeded"
        rotate(recipient, 0)
        for _ in range(4):
            rotate(recipient, 1)
        clock.shift(minutes=61)
        assert len(rotate(recipient, 1)) == 2

    def test_an_invalid_grace_period_is_rejected(self, recipient):
        for hours in (-1, 169, 1.5, "1"):
            assert list(recipient.post("/rotate-secret", {"graceHours": hours}).errors) == ["/graceHours"], hours


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
            assert result["error"] == "The server did not respond within 0.3 s."
        assert timeouts == [5.0, 5.0]
