"""Test how events are sent to webhooks, and how failing webhooks are retried and disabled."""

import json
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import timestamp_ms
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    create_webhook,
    get_delivery,
    get_webhook,
    list_deliveries,
    parse_event,
    received_event_types,
    rename_organization,
    update_webhook,
)

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

UPDATED = "organization.updated"
DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def seconds_until_retry(event_delivery: Json) -> float:
    """Return the number of seconds between the last attempt of a delivery and the next."""
    return (timestamp_ms(event_delivery["nextAttemptAt"]) - timestamp_ms(event_delivery["attempts"][-1]["at"])) / 1000


class TestRequest:
    def test_contains_the_event_and_is_signed(self, api, organization, webhook, workers, receiver):
        rename_organization(api, organization, "Difference Engines")
        workers.deliver()
        (request,) = receiver.requests
        (entry,) = list_entries(api, organization, type=UPDATED)
        assert request.method == "POST"
        assert request.headers["Content-Type"] == "application/json"
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

    def test_is_signed_with_every_valid_secret(self, api, organization, webhook, workers, receiver, clock):
        rotation = api.post(f"{webhook.path}/rotate-secret", caller=organization.owner, json={"graceHours": 1}).json
        rename_organization(api, organization, "In the grace")
        workers.deliver()
        headers = dict(receiver.requests[-1].headers)
        for secret in (webhook.secret, rotation["secret"]):
            Verifier(secret).verify(receiver.requests[-1].body, headers)
        clock.shift(minutes=61)
        rename_organization(api, organization, "After it")
        workers.deliver()
        (signature,) = receiver.requests[-1].headers["webhook-signature"].split()
        assert signature.startswith("v1,")

    def test_differs_between_attempts_only_in_its_timestamp(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "After")
        workers.deliver()
        clock.shift(seconds=7)
        workers.run_until_idle()
        first, second = receiver.requests
        assert first.body == second.body
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
        assert [attempt["statusCode"] for attempt in get_delivery(api, webhook, UPDATED)["attempts"]] == [500, 500]


class TestResponse:
    @pytest.mark.parametrize("status", [200, 201, 204, 299])
    def test_success_completes_the_delivery(self, api, organization, webhook, workers, receiver, status):
        receiver.default_reply = Reply(status=status, body=b"" if status == 204 else b"thanks")
        rename_organization(api, organization, "After")
        workers.deliver()
        event_delivery = get_delivery(api, webhook, UPDATED)
        assert (event_delivery["status"], event_delivery["nextAttemptAt"]) == ("succeeded", None)
        (attempt,) = event_delivery["attempts"]
        assert (attempt["number"], attempt["statusCode"], attempt["error"]) == (1, status, None)
        assert attempt["responseBody"] == (None if status == 204 else "thanks")
        assert attempt["durationMs"] >= 0

    @pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 429, 500, 503])
    def test_any_other_status_is_retried(self, api, organization, webhook, workers, receiver, status):
        receiver.default_reply = Reply(
            status=status, headers={"Location": receiver.url_at("127.0.0.1", "/elsewhere")}, body=b"no"
        )
        rename_organization(api, organization, "After")
        workers.try_deliver()
        event_delivery = get_delivery(api, webhook, UPDATED)
        assert (event_delivery["status"], event_delivery["completedAt"]) == ("pending", None)
        assert event_delivery["attempts"][0]["statusCode"] == status
        assert 3.9 <= seconds_until_retry(event_delivery) <= 6.1
        assert {request.path for request in receiver.requests} == {"/"}
        assert get_webhook(api, webhook)["failingSince"] is not None

    def test_retry_after_is_respected(self, api, organization, webhook, workers, receiver):
        receiver.default_reply = Reply(status=503, headers={"Retry-After": "120"})
        rename_organization(api, organization, "After")
        workers.try_deliver()
        assert 119 <= seconds_until_retry(get_delivery(api, webhook, UPDATED)) <= 121

    def test_410_disables_the_webhook(self, api, organization, webhook, workers, receiver):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "After")
        workers.deliver()
        assert get_delivery(api, webhook, UPDATED)["status"] == "failed"
        assert get_webhook(api, webhook) | {"status": "disabled", "enabled": False} == get_webhook(api, webhook)
        assert "410" in get_webhook(api, webhook)["disabledReason"]
        (entry,) = list_entries(api, organization, type=DISABLED)
        assert entry["actor"] == {"type": "system", "id": None, "name": None}
        rename_organization(api, organization, "Unheard")
        workers.deliver()
        assert len(receiver.requests) == 1
        assert [event_delivery["status"] for event_delivery in list_deliveries(api, webhook, status="skipped")] == [
            "skipped"
        ]


class TestRetrySchedule:
    def test_fails_after_ten_attempts_over_three_days(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        exhaustion_webhook = create_webhook(
            api, organization, receiver.url_at("127.0.0.1", "/other"), events=[EXHAUSTED]
        )
        other_webhook = create_webhook(
            api, organization, receiver.url_at("127.0.0.1", "/own"), events=[UPDATED, EXHAUSTED]
        )
        receiver.replies_by_path["/other"] = receiver.replies_by_path["/own"] = Reply()
        rename_organization(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            event_delivery = get_delivery(api, webhook, UPDATED)
            assert seconds * 0.8 - 1 <= seconds_until_retry(event_delivery) <= seconds * 1.2 + 1
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.run_until_idle()
        event_delivery = get_delivery(api, webhook, UPDATED)
        assert (event_delivery["status"], len(event_delivery["attempts"]), event_delivery["nextAttemptAt"]) == (
            "failed",
            10,
            None,
        )
        assert [attempt["number"] for attempt in event_delivery["attempts"]] == list(range(1, 11))
        (entry,) = list_entries(api, organization, type=EXHAUSTED)
        assert entry["target"] == {"type": "organization.webhook.delivery", "id": event_delivery["id"], "name": UPDATED}
        assert entry["data"]["webhookId"] == webhook.id
        assert get_delivery(api, exhaustion_webhook, EXHAUSTED)["status"] == "succeeded"
        assert get_delivery(api, other_webhook, EXHAUSTED)["status"] == "succeeded"

    def test_a_webhook_receives_no_event_about_its_own_failures(self, api, organization, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        webhook = create_webhook(api, organization, receiver, events=[UPDATED, EXHAUSTED, DISABLED])
        rename_organization(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.run_until_idle()
        assert list_entries(api, organization, type=EXHAUSTED)
        assert [event_delivery["eventType"] for event_delivery in list_deliveries(api, webhook)] == [UPDATED]

    def test_five_days_of_failures_disable_the_webhook_and_notify_the_admins(
        self, api, organization, workers, receiver, clock, mailbox
    ):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        receiver.default_reply = Reply(status=500)
        for days in (0, 2, 2):
            clock.shift(days=days)
            rename_organization(api, organization, f"After {days} more")
            workers.deliver()
            assert get_webhook(api, webhook)["status"] == "active"
        since = get_webhook(api, webhook)["failingSince"]
        clock.shift(days=1, minutes=1)
        rename_organization(api, organization, "Too late")
        workers.run_until_idle()
        current = get_webhook(api, webhook)
        assert (current["status"], current["failingSince"]) == ("disabled", since)
        assert "5 days" in current["disabledReason"]
        (entry,) = list_entries(api, organization, type=DISABLED)
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]
        assert sorted(letter.recipients[0] for letter in mailbox.received_emails) == [
            "ada@example.com",
            "grace@example.com",
        ]
        assert webhook.record["url"] in mailbox.emails[0].text
        assert "Analytical Engines" in mailbox.emails[0].subject or "Too late" in mailbox.emails[0].subject

    def test_one_success_clears_the_failure(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "Failing")
        workers.deliver()
        clock.shift(days=4)
        receiver.default_reply = Reply()
        rename_organization(api, organization, "Well")
        workers.deliver()
        assert get_webhook(api, webhook)["failingSince"] is None
        clock.shift(days=2)
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "Failing again")
        workers.deliver()
        assert get_webhook(api, webhook)["status"] == "active"


class TestInterruptions:
    def test_disabling_skips_the_retry(self, api, organization, webhook, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        rename_organization(api, organization, "After")
        workers.deliver()
        update_webhook(api, webhook, enabled=False)
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert len(receiver.requests) == 1
        assert get_delivery(api, webhook, UPDATED)["status"] == "skipped"

    def test_a_retry_goes_to_the_changed_url(self, api, organization, webhook, workers, receiver, clock):
        receiver.replies_by_path["/"] = Reply(status=500)
        rename_organization(api, organization, "After")
        workers.deliver()
        update_webhook(api, webhook, url=receiver.url_at("127.0.0.1", "/moved"))
        assert get_webhook(api, webhook)["failingSince"] is None
        clock.shift(minutes=10)
        workers.run_until_idle()
        assert [request.path for request in receiver.requests] == ["/", "/moved"]
        assert get_delivery(api, webhook, UPDATED)["status"] == "succeeded"

    def test_an_event_about_an_erased_person_is_not_retried(self, api, organization, workers, receiver, clock):
        receiver.default_reply = Reply(status=500, body=b"sophie@example.org is not welcome")
        webhook = create_webhook(api, organization, receiver, events=["organization.invitation.created"])
        body = {"email": "sophie@example.org"}
        assert api.post(f"{organization.path}/invite", caller=organization.owner, json=body).status == 201
        workers.deliver()
        assert api.post(f"{organization.path}/erasures", caller=organization.owner, json=body).status == 202
        clock.shift(minutes=10)
        workers.run_until_idle()
        workers.run_until_idle()
        assert len(receiver.requests) <= 2
        clock.shift(days=1)
        workers.run_until_idle()
        invitation_deliveries: Any = list_deliveries(api, webhook)
        assert [event_delivery["status"] for event_delivery in invitation_deliveries] == ["skipped"]
        assert "sophie" not in json.dumps(invitation_deliveries)
        assert received_event_types(receiver)[:1] == ["organization.invitation.created"]


class TestPrivateAddress:
    def test_is_never_connected_to_or_shown(self, api, organization, webhook, workers, receiver, configure):
        configure(webhook_allow_private="0")
        receiver.default_reply = Reply(status=500, body=b"the inside")
        rename_organization(api, organization, "After")
        workers.try_deliver()
        assert receiver.connection_count == 0
        (attempt,) = get_delivery(api, webhook, UPDATED)["attempts"]
        assert (attempt["statusCode"], attempt["responseBody"]) == (None, None)
        assert attempt["error"] == "The host has no public address."
