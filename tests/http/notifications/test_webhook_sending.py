"""Test how events are sent to webhooks, and how failing webhooks are retried and disabled."""

import json

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import timestamp_ms
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import create_invitation
from tests.harness.receiver import Reply
from tests.harness.webhooks import UPDATED, parse_event, received_event_types

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def seconds_until_retry(delivery: Json) -> float:
    """Return the number of seconds between the last attempt of a delivery and the next."""
    return (timestamp_ms(delivery["nextAttemptAt"]) - timestamp_ms(delivery["attempts"][-1]["at"])) / 1000


class TestRequest:
    def test_contains_the_event_and_is_signed(self, api, organization, webhook, emit, receiver):
        emit("Difference Engines")
        (request,) = receiver.requests
        (entry,) = list_entries(api, organization, type=UPDATED)
        assert (request.method, request.headers["Content-Type"]) == ("POST", "application/json")
        assert parse_event(request) == {
            "type": UPDATED,
            "timestamp": entry["occurredAt"],
            "data": entry["data"],
            "organizationId": organization.id,
            "sequence": entry["sequence"],
        }
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["webhook-id"] == entry["id"]
        assert Verifier(webhook.secret).verify(request.body, headers) == parse_event(request)

    def test_is_signed_with_every_valid_secret(self, webhook, emit, receiver, clock):
        rotation = webhook.post("/rotate-secret", {"graceHours": 1}).json
        emit("In the grace")
        headers = dict(receiver.requests[-1].headers)
        for secret in (webhook.secret, rotation["secret"]):
            Verifier(secret).verify(receiver.requests[-1].body, headers)
        clock.shift(minutes=61)
        emit("After it")
        (signature,) = receiver.requests[-1].headers["webhook-signature"].split()
        assert signature.startswith("v1,")

    def test_differs_between_attempts_only_in_its_timestamp(self, webhook, emit, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        emit("After")
        clock.shift(seconds=7)
        workers.run_until_idle()
        first, second = receiver.requests
        assert first.body == second.body
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
        assert [attempt["statusCode"] for attempt in webhook.get_delivery()["attempts"]] == [500, 500]

    def test_never_goes_to_a_private_address(self, webhook, emit_each, receiver, configure):
        configure(webhook_allow_private="0")
        receiver.default_reply = Reply(status=500, body=b"the inside")
        emit_each("After")
        assert receiver.connection_count == 0
        (attempt,) = webhook.get_delivery()["attempts"]
        assert (attempt["statusCode"], attempt["responseBody"]) == (None, None)
        assert attempt["error"] == "The host has no public address."


class TestResponse:
    def test_success_completes_the_delivery(self, new_webhook, emit, receiver):
        statuses = (200, 201, 204, 299)
        bodies = {status: b"" if status == 204 else b"thanks" for status in statuses}
        receiver.replies_by_path = {f"/{status}": Reply(status=status, body=bodies[status]) for status in statuses}
        webhooks = {status: new_webhook(f"{receiver.url}{status}") for status in statuses}
        emit("After")
        for status, webhook in webhooks.items():
            delivery = webhook.get_delivery()
            assert (delivery["status"], delivery["nextAttemptAt"]) == ("succeeded", None)
            (attempt,) = delivery["attempts"]
            assert (attempt["number"], attempt["statusCode"], attempt["error"]) == (1, status, None)
            assert attempt["responseBody"] == (bodies[status].decode() or None)
            assert attempt["durationMs"] >= 0

    def test_any_other_status_is_retried_after_the_requested_pause(self, new_webhook, emit, receiver):
        statuses = (301, 302, 307, 400, 401, 404, 429, 500, 503)
        headers = {"Location": f"{receiver.url}elsewhere"}
        receiver.replies_by_path = {
            f"/{status}": Reply(status=status, headers=headers, body=b"no") for status in statuses
        }
        receiver.replies_by_path["/503"] = Reply(status=503, headers={"Retry-After": "120"})
        webhooks = {status: new_webhook(f"{receiver.url}{status}") for status in statuses}
        emit("After")
        for status, webhook in webhooks.items():
            delivery = webhook.get_delivery()
            assert (delivery["status"], delivery["completedAt"]) == ("pending", None), status
            assert delivery["attempts"][0]["statusCode"] == status
            shortest, longest = (119, 121) if status == 503 else (3.9, 6.1)
            assert shortest <= seconds_until_retry(delivery) <= longest, status
            assert webhook.read()["failingSince"] is not None
        assert sorted(request.path for request in receiver.requests) == sorted(f"/{status}" for status in statuses)

    def test_410_disables_the_webhook(self, api, organization, webhook, emit, receiver):
        receiver.default_reply = Reply(status=410)
        emit("After")
        assert webhook.delivery_statuses() == ["failed"]
        current = webhook.read()
        assert (current["status"], current["enabled"]) == ("disabled", False)
        assert "410" in current["disabledReason"]
        (entry,) = list_entries(api, organization, type=DISABLED)
        assert entry["actor"] == {"type": "system", "id": None, "name": None}
        emit("Unheard")
        assert len(receiver.requests) == 1
        assert webhook.delivery_statuses() == ["failed", "skipped"]


class TestRetrySchedule:
    def test_a_delivery_fails_after_ten_attempts_over_three_days(
        self, api, organization, new_webhook, emit, workers, receiver, clock
    ):
        webhook = new_webhook(f"{receiver.url}failing", events=[UPDATED, EXHAUSTED, DISABLED])
        receiver.replies_by_path["/failing"] = Reply(status=500)
        notified = [new_webhook(receiver, events=events) for events in ([EXHAUSTED], [UPDATED, EXHAUSTED])]
        emit("After")
        for seconds in RETRY_SECONDS:
            assert seconds * 0.8 - 1 <= seconds_until_retry(webhook.get_delivery()) <= seconds * 1.2 + 1
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.run_until_idle()
        (delivery,) = webhook.list_deliveries()  # A webhook receives no event about its own failures.
        assert (delivery["eventType"], delivery["status"], delivery["nextAttemptAt"]) == (UPDATED, "failed", None)
        assert [attempt["number"] for attempt in delivery["attempts"]] == list(range(1, 11))
        (entry,) = list_entries(api, organization, type=EXHAUSTED)
        assert entry["target"] == {"type": "organization.webhook.delivery", "id": delivery["id"], "name": UPDATED}
        assert entry["data"]["webhookId"] == webhook.id
        assert [each.get_delivery(EXHAUSTED)["status"] for each in notified] == ["succeeded"] * 2

    def test_five_days_of_failures_disable_the_webhook_and_notify_the_admins(
        self, api, organization, webhook, emit, workers, receiver, clock, mailbox
    ):
        receiver.default_reply = Reply(status=500)
        for days in (0, 2, 2):
            clock.shift(days=days)
            emit(f"After {days} more")
            assert webhook.read()["status"] == "active"
        since = webhook.read()["failingSince"]
        clock.shift(days=1, minutes=1)
        emit("Too late")
        workers.run_until_idle()
        current = webhook.read()
        assert (current["status"], current["failingSince"]) == ("disabled", since)
        assert "5 days" in current["disabledReason"]
        (entry,) = list_entries(api, organization, type=DISABLED)
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]
        recipients = sorted(letter.recipients[0] for letter in mailbox.received_emails)
        assert recipients == ["ada@example.com", "grace@example.com"]
        assert webhook.record["url"] in mailbox.emails[0].text
        assert "Analytical Engines" in mailbox.emails[0].subject or "Too late" in mailbox.emails[0].subject

    def test_one_success_clears_the_failure(self, webhook, emit, receiver, clock):
        receiver.default_reply = Reply(status=500)
        emit("Failing")
        clock.shift(days=4)
        receiver.default_reply = Reply()
        emit("Well")
        assert webhook.read()["failingSince"] is None
        clock.shift(days=2)
        receiver.default_reply = Reply(status=500)
        emit("Failing again")
        assert webhook.read()["status"] == "active"


class TestInterruptions:
    def test_disabling_skips_the_retry(self, webhook, emit, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        emit("After")
        webhook.update(enabled=False)
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert len(receiver.requests) == 1
        assert webhook.delivery_statuses() == ["skipped"]

    def test_a_retry_goes_to_the_changed_url(self, webhook, emit, workers, receiver, clock):
        receiver.replies_by_path["/"] = Reply(status=500)
        emit("After")
        assert webhook.update(url=f"{receiver.url}moved")["failingSince"] is None
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert [request.path for request in receiver.requests] == ["/", "/moved"]
        assert webhook.delivery_statuses() == ["succeeded"]

    def test_an_event_about_an_erased_person_is_not_retried(
        self, api, organization, new_webhook, workers, receiver, clock
    ):
        receiver.default_reply = Reply(status=500, body=b"sophie@example.org is not welcome")
        webhook = new_webhook(receiver, events=["organization.invitation.created"])
        create_invitation(api, organization, "sophie@example.org")
        workers.deliver()
        body = {"email": "sophie@example.org"}
        assert api.post(f"{organization.path}/erasures", caller=organization.owner, json=body).status == 202
        clock.shift(minutes=10)
        workers.run_until_idle()
        workers.run_until_idle()
        assert len(receiver.requests) <= 2
        clock.shift(days=1)
        workers.run_until_idle()
        assert webhook.delivery_statuses() == ["skipped"]
        assert "sophie" not in json.dumps(webhook.list_deliveries())
        assert received_event_types(receiver)[:1] == ["organization.invitation.created"]
