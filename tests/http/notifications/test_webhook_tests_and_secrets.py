"""Test test deliveries to webhooks, their rate limit and timeout, and the rotation of secrets."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.webhooks.models.standard_webhooks import decode_secret
from chalicelib.kernel.outbound import egress
from chalicelib.kernel.storage import table
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.receiver import ReceivedRequest, Receiver, Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_webhook,
    list_deliveries,
    rename_organization,
    update_webhook,
)

URL = "https://hooks.example.com/atrium"
UPDATED = "organization.updated"


@pytest.mark.usefixtures("private_targets_allowed")
class TestTestDelivery:
    @pytest.fixture
    def subscribed_webhook(
        self, api: ApiClient, organization: CreatedOrganization, receiver: Receiver
    ) -> CreatedWebhook:
        return create_webhook(api, organization, receiver, events=[UPDATED])

    @staticmethod
    def send_test(api: ApiClient, webhook: CreatedWebhook) -> Json:
        answer = api.post(f"{webhook.path}/test", caller=webhook.organization.owner)
        assert answer.status == 200
        return answer.json

    @staticmethod
    def verify_signature(request: ReceivedRequest, secret: str) -> Json:
        headers = {name.lower(): value for name, value in request.headers.items()}
        message: Json = Verifier(secret).verify(request.body, headers)
        return message

    def test_sends_a_signed_message_at_once(self, api, organization, subscribed_webhook, receiver):
        receiver.default_reply = Reply(status=202, body=b"thanks")
        result = self.send_test(api, subscribed_webhook)
        assert result | {"delivered": True, "statusCode": 202, "error": None} == result
        assert 0 <= result["durationMs"] < 15_000
        (request,) = receiver.requests
        message = self.verify_signature(request, subscribed_webhook.secret)
        assert (message["type"], message["organizationId"], message["sequence"]) == (
            "webhook.test",
            organization.id,
            None,
        )
        assert message["data"]["webhookId"] == subscribed_webhook.id
        assert request.headers["Content-Type"] == "application/json"

    def test_sends_a_new_message_each_time_and_stores_no_delivery(
        self, api, organization, subscribed_webhook, workers, receiver
    ):
        for _ in range(2):
            self.send_test(api, subscribed_webhook)
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 2
        workers.deliver()
        assert list_deliveries(api, subscribed_webhook) == []
        entries = list_entries(api, organization, type="organization.webhook.tested")
        assert [entry["target"]["id"] for entry in entries] == [subscribed_webhook.id] * 2
        assert [entry["changes"] for entry in entries] == [[], []]
        assert entries[0]["data"] == get_webhook(api, subscribed_webhook)

    def test_is_signed_with_every_valid_secret(self, api, subscribed_webhook, receiver):
        rotation = api.post(
            f"{subscribed_webhook.path}/rotate-secret", caller=subscribed_webhook.organization.owner
        ).json
        self.send_test(api, subscribed_webhook)
        for secret in (subscribed_webhook.secret, rotation["secret"]):
            self.verify_signature(receiver.requests[0], secret)

    @pytest.mark.parametrize("status", [301, 400, 410, 500])
    def test_reports_the_response_and_does_not_count_as_a_failure(self, api, subscribed_webhook, receiver, status):
        webhook_before = get_webhook(api, subscribed_webhook)
        receiver.default_reply = Reply(status=status, headers={"Location": receiver.url}, body=b"no")
        result = self.send_test(api, subscribed_webhook)
        assert result | {"delivered": False, "statusCode": status} == result
        assert str(status) in result["error"]
        assert get_webhook(api, subscribed_webhook) == webhook_before

    def test_reports_a_connection_error(self, api, organization, unused_port):
        webhook = create_webhook(api, organization, f"http://127.0.0.1:{unused_port}/")
        result = self.send_test(api, webhook)
        assert result | {"delivered": False, "statusCode": None} == result
        assert result["error"] == "The connection was refused."

    def test_works_for_a_paused_or_disabled_webhook(self, api, organization, subscribed_webhook, workers, receiver):
        update_webhook(api, subscribed_webhook, enabled=False)
        assert self.send_test(api, subscribed_webhook)["delivered"]
        update_webhook(api, subscribed_webhook, enabled=True)
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        workers.deliver()
        assert get_webhook(api, subscribed_webhook)["status"] == "disabled"
        receiver.default_reply = Reply()
        assert self.send_test(api, subscribed_webhook)["delivered"]
        assert get_webhook(api, subscribed_webhook)["status"] == "disabled"

    def test_an_idempotent_replay_sends_nothing(self, api, subscribed_webhook, receiver):
        headers = {"Idempotency-Key": "try"}
        first, second = (
            api.post(f"{subscribed_webhook.path}/test", caller=subscribed_webhook.organization.owner, headers=headers)
            for _ in range(2)
        )
        assert first.text == second.text
        assert len(receiver.requests) == 1


@pytest.fixture
def unused_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with Receiver() as closed_receiver:
        return closed_receiver.port


class TestRotateWebhookSecret:
    @pytest.fixture
    def webhook(self, api: ApiClient, organization: CreatedOrganization) -> CreatedWebhook:
        return create_webhook(api, organization, URL)

    @staticmethod
    def rotate(api: ApiClient, webhook: CreatedWebhook, **body: int) -> ApiResponse:
        return api.post(f"{webhook.path}/rotate-secret", caller=webhook.organization.owner, json=body)

    @staticmethod
    def list_expirations(webhook: CreatedWebhook) -> list[str | None]:
        item = table.get((f"O#{webhook.organization.id}", f"W#{webhook.id}"))
        assert item
        return [secret["until"] for secret in item["secrets"]]

    def test_the_new_secret_is_shown_once(self, api, organization, webhook):
        answer = self.rotate(api, webhook)
        record = answer.json
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert len(decode_secret(record["secret"])) == 32
        assert (record["secret"] != webhook.secret, record["version"]) == (True, 2)
        assert get_webhook(api, webhook) == {**record, "secret": None}
        (entry,) = list_entries(api, organization, type="organization.webhook.secret_rotated")
        assert record["secret"] not in json.dumps(entry)

    def test_the_former_secret_signs_for_a_day_by_default(self, api, webhook, clock):
        clock.freeze("2026-11-20T09:30:00Z")
        self.rotate(api, webhook)
        assert self.list_expirations(webhook) == [None, "2026-11-21T09:30:00.000Z"]
        self.rotate(api, webhook, graceHours=168)
        assert self.list_expirations(webhook) == [None, "2026-11-27T09:30:00.000Z", "2026-11-21T09:30:00.000Z"]

    def test_a_later_rotation_can_only_shorten_the_grace_period(self, api, webhook, clock):
        clock.freeze("2026-11-20T09:30:00Z")
        self.rotate(api, webhook, graceHours=2)
        self.rotate(api, webhook, graceHours=1)
        assert self.list_expirations(webhook) == [None, *["2026-11-20T10:30:00.000Z"] * 2]
        self.rotate(api, webhook, graceHours=0)
        assert self.list_expirations(webhook) == [None]

    def test_at_most_five_secrets_are_valid(self, api, webhook, clock):
        for _ in range(4):
            assert self.rotate(api, webhook, graceHours=1).status == 200
        assert self.rotate(api, webhook, graceHours=1).status_and_code == "409 limit_exceeded"
        assert self.rotate(api, webhook, graceHours=0).status == 200
        for _ in range(4):
            self.rotate(api, webhook, graceHours=1)
        clock.shift(minutes=61)
        assert self.rotate(api, webhook, graceHours=1).status == 200
        assert len(self.list_expirations(webhook)) == 2

    @pytest.mark.parametrize("hours", [-1, 169, 1.5, "1"])
    def test_an_invalid_grace_period_is_rejected(self, api, webhook, hours):
        answer = self.rotate(api, webhook, graceHours=hours)
        assert answer.status_and_code == "422 validation_failed"
        assert list(answer.errors) == ["/graceHours"]


@pytest.mark.usefixtures("private_targets_allowed")
class TestRateLimit:
    def test_an_organization_tests_ten_times_a_minute_with_any_caller_and_target(
        self, api, organization, receiver, grace, clock
    ):
        clock.freeze()
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        channel = api.post(
            f"{organization.path}/integration-channels",
            caller=organization.owner,
            json={"provider": "webhook", "name": "Room", "config": {"webhookUrl": receiver.url}},
        )
        key = create_api_key(api, organization, "webhooks:write", "channels:write")
        callers = [organization.owner, grace, key]
        paths = [webhook.path, channel.location]
        for n in range(10):
            clock.shift(seconds=2)
            answer = api.post(f"{paths[n % 2]}/test", caller=callers[n % 3])
            assert (answer.status, answer.json["delivered"]) == (200, True)
        assert len(receiver.requests) == 10
        for caller in callers:
            for path in paths:
                rejection = api.post(f"{path}/test", caller=caller)
                assert rejection.status_and_code == "429 rate_limited"
                assert rejection.headers["RateLimit-Policy"].startswith('"tests";q=10;w=60')
        assert len(receiver.requests) == 10
        clock.shift(seconds=int(rejection.headers["Retry-After"]))
        assert api.post(f"{webhook.path}/test", caller=grace).status == 200

    def test_another_organization_has_its_own_limit(self, api, organization, receiver, clock):
        clock.freeze()
        first, second = (
            create_webhook(api, owner_organization, receiver)
            for owner_organization in (organization, create_organization(api, organization.owner))
        )
        answers = [api.post(f"{first.path}/test", caller=organization.owner) for _ in range(11)]
        assert [answer.status for answer in answers] == [200] * 10 + [429]
        assert api.post(f"{second.path}/test", caller=organization.owner).status == 200

    def test_a_user_tests_at_most_thirty_times_across_organizations(self, api, organization, receiver, clock):
        clock.freeze()
        organizations = [organization, *(create_organization(api, organization.owner) for _ in range(3))]
        webhooks = [create_webhook(api, each, receiver) for each in organizations]
        answers = [
            api.post(f"{webhook.path}/test", caller=organization.owner) for webhook in webhooks for _ in range(10)
        ]
        assert [answer.status for answer in answers] == [200] * 30 + [429] * 10
        assert len(receiver.requests) == 30

    def test_concurrent_requests_do_not_exceed_the_limit(self, api, organization, receiver):
        webhook = create_webhook(api, organization, receiver)
        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(lambda _: self.get_test_status(api, webhook), range(24)))
        # A request that conflicts over the webhook's record has sent its message and does not repeat it.
        assert sorted(statuses) == [200] * 10 + [429] * 14
        assert len(receiver.requests) == 10

    @staticmethod
    def get_test_status(api: ApiClient, webhook: CreatedWebhook) -> int:
        return api.post(f"{webhook.path}/test", caller=webhook.organization.owner).status


@pytest.mark.usefixtures("private_targets_allowed")
class TestTimeout:
    @pytest.mark.parametrize("target_type", ["webhook", "channel"])
    def test_a_server_that_does_not_respond_times_out_after_five_seconds(
        self, api, organization, receiver, monkeypatch, target_type
    ):
        timeouts: list[float] = []
        original_exchange = egress.exchange_with_deadline

        def record_timeout(seconds: float) -> AbstractContextManager[egress.Exchange]:
            timeouts.append(seconds)
            return original_exchange(min(seconds, 0.3))

        monkeypatch.setattr(egress, "exchange_with_deadline", record_timeout)
        receiver.default_reply = Reply(delay_seconds=1.0)
        if target_type == "webhook":
            path = create_webhook(api, organization, receiver).path
        else:
            config = {"webhookUrl": receiver.url}
            path = api.post(
                f"{organization.path}/integration-channels",
                caller=organization.owner,
                json={"provider": "webhook", "name": "Room", "config": config},
            ).location
        result = api.post(f"{path}/test", caller=organization.owner).json
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert timeouts == [5.0]
        assert result["error"] == "The server did not respond within 5 s."
