"""Test how events are sent to webhooks, and how failing webhooks are retried and disabled."""

import json
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import timestamp_ms
from tests.conftest import Configure
from tests.harness.api import Api, Json
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, delivery, hook, rename, shown, told, types
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"
DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def seconds_until_retry(event_delivery: Json) -> float:
    """Return the number of seconds between the last attempt of a delivery and the next."""
    return (timestamp_ms(event_delivery["nextAttemptAt"]) - timestamp_ms(event_delivery["attempts"][-1]["at"])) / 1000


class TestRequest:
    def test_contains_the_event_and_is_signed(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Difference Engines")
        workers.deliver()
        (request,) = receiver.requests
        (entry,) = log_of(api, organization, type=UPDATED)
        assert request.method == "POST"
        assert request.headers["Content-Type"] == "application/json"
        assert told(request) == {
            "type": UPDATED,
            "timestamp": entry["occurredAt"],
            "data": entry["data"],
            "organizationId": organization.id,
            "sequence": entry["sequence"],
        }
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["webhook-id"] == entry["id"]
        assert Verifier(made.secret).verify(request.body, headers) == told(request)

    def test_is_signed_with_every_valid_secret(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        rotation = api.post(f"{made.path}/rotate-secret", as_=organization.owner, json={"graceHours": 1}).json
        rename(api, organization, "In the grace")
        workers.deliver()
        headers = dict(receiver.requests[-1].headers)
        for secret in (made.secret, rotation["secret"]):
            Verifier(secret).verify(receiver.requests[-1].body, headers)
        clock.shift(minutes=61)
        rename(api, organization, "After it")
        workers.deliver()
        (signature,) = receiver.requests[-1].headers["webhook-signature"].split()
        assert signature.startswith("v1,")

    def test_differs_between_attempts_only_in_its_timestamp(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "After")
        workers.deliver()
        clock.shift(seconds=7)
        workers.settle()
        first, second = receiver.requests
        assert first.body == second.body
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert int(second.headers["webhook-timestamp"]) > int(first.headers["webhook-timestamp"])
        assert [attempt["statusCode"] for attempt in delivery(api, made, UPDATED)["attempts"]] == [500, 500]


class TestResponse:
    @pytest.mark.parametrize("status", [200, 201, 204, 299])
    def test_success_completes_the_delivery(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, status: int
    ) -> None:
        receiver.answer = Reply(status=status, body=b"" if status == 204 else b"thanks")
        rename(api, organization, "After")
        workers.deliver()
        event_delivery = delivery(api, made, UPDATED)
        assert (event_delivery["status"], event_delivery["nextAttemptAt"]) == ("succeeded", None)
        (attempt,) = event_delivery["attempts"]
        assert (attempt["number"], attempt["statusCode"], attempt["error"]) == (1, status, None)
        assert attempt["responseBody"] == (None if status == 204 else "thanks")
        assert attempt["durationMs"] >= 0

    @pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 429, 500, 503])
    def test_any_other_status_is_retried(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, status: int
    ) -> None:
        receiver.answer = Reply(status=status, headers={"Location": receiver.at("127.0.0.1", "/elsewhere")}, body=b"no")
        rename(api, organization, "After")
        workers.attempt()
        event_delivery = delivery(api, made, UPDATED)
        assert (event_delivery["status"], event_delivery["completedAt"]) == ("pending", None)
        assert event_delivery["attempts"][0]["statusCode"] == status
        assert 3.9 <= seconds_until_retry(event_delivery) <= 6.1
        assert {request.path for request in receiver.requests} == {"/"}
        assert shown(api, made)["failingSince"] is not None

    def test_retry_after_is_respected(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=503, headers={"Retry-After": "120"})
        rename(api, organization, "After")
        workers.attempt()
        assert 119 <= seconds_until_retry(delivery(api, made, UPDATED)) <= 121

    def test_410_disables_the_webhook(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "After")
        workers.deliver()
        assert delivery(api, made, UPDATED)["status"] == "failed"
        assert shown(api, made) | {"status": "disabled", "enabled": False} == shown(api, made)
        assert "410" in shown(api, made)["disabledReason"]
        (entry,) = log_of(api, organization, type=DISABLED)
        assert entry["actor"] == {"type": "system", "id": None, "name": None}
        rename(api, organization, "Unheard")
        workers.deliver()
        assert len(receiver.requests) == 1
        assert [event_delivery["status"] for event_delivery in deliveries(api, made, status="skipped")] == ["skipped"]


class TestRetrySchedule:
    def test_fails_after_ten_attempts_over_three_days(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        exhaustion_webhook = hook(api, organization, receiver.at("127.0.0.1", "/other"), events=[EXHAUSTED])
        other_webhook = hook(api, organization, receiver.at("127.0.0.1", "/own"), events=[UPDATED, EXHAUSTED])
        receiver.answers["/other"] = receiver.answers["/own"] = Reply()
        rename(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            event_delivery = delivery(api, made, UPDATED)
            assert seconds * 0.8 - 1 <= seconds_until_retry(event_delivery) <= seconds * 1.2 + 1
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.settle()
        event_delivery = delivery(api, made, UPDATED)
        assert (event_delivery["status"], len(event_delivery["attempts"]), event_delivery["nextAttemptAt"]) == (
            "failed",
            10,
            None,
        )
        assert [attempt["number"] for attempt in event_delivery["attempts"]] == list(range(1, 11))
        (entry,) = log_of(api, organization, type=EXHAUSTED)
        assert entry["target"] == {"type": "organization.webhook.delivery", "id": event_delivery["id"], "name": UPDATED}
        assert entry["data"]["webhookId"] == made.id
        assert delivery(api, exhaustion_webhook, EXHAUSTED)["status"] == "succeeded"
        assert delivery(api, other_webhook, EXHAUSTED)["status"] == "succeeded"

    def test_a_webhook_receives_no_event_about_its_own_failures(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        webhook = hook(api, organization, receiver, events=[UPDATED, EXHAUSTED, DISABLED])
        rename(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.settle()
        assert log_of(api, organization, type=EXHAUSTED)
        assert [event_delivery["eventType"] for event_delivery in deliveries(api, webhook)] == [UPDATED]

    def test_five_days_of_failures_disable_the_webhook_and_notify_the_admins(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock, mailbox: Mailbox
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        receiver.answer = Reply(status=500)
        for days in (0, 2, 2):
            clock.shift(days=days)
            rename(api, organization, f"After {days} more")
            workers.deliver()
            assert shown(api, webhook)["status"] == "active"
        since = shown(api, webhook)["failingSince"]
        clock.shift(days=1, minutes=1)
        rename(api, organization, "Too late")
        workers.settle()
        current = shown(api, webhook)
        assert (current["status"], current["failingSince"]) == ("disabled", since)
        assert "5 days" in current["disabledReason"]
        (entry,) = log_of(api, organization, type=DISABLED)
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]
        assert sorted(letter.to[0] for letter in mailbox.received) == ["ada@example.com", "grace@example.com"]
        assert webhook.record["url"] in mailbox.letters[0].text
        assert "Analytical Engines" in mailbox.letters[0].subject or "Too late" in mailbox.letters[0].subject

    def test_one_success_clears_the_failure(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "Failing")
        workers.deliver()
        clock.shift(days=4)
        receiver.answer = Reply()
        rename(api, organization, "Well")
        workers.deliver()
        assert shown(api, made)["failingSince"] is None
        clock.shift(days=2)
        receiver.answer = Reply(status=500)
        rename(api, organization, "Failing again")
        workers.deliver()
        assert shown(api, made)["status"] == "active"


class TestInterruptions:
    def test_disabling_skips_the_retry(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "After")
        workers.deliver()
        change(api, made, enabled=False)
        clock.shift(minutes=10)
        workers.settle()
        assert len(receiver.requests) == 1
        assert delivery(api, made, UPDATED)["status"] == "skipped"

    def test_a_retry_goes_to_the_changed_url(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answers["/"] = Reply(status=500)
        rename(api, organization, "After")
        workers.deliver()
        change(api, made, url=receiver.at("127.0.0.1", "/moved"))
        assert shown(api, made)["failingSince"] is None
        clock.shift(minutes=10)
        workers.settle()
        assert [request.path for request in receiver.requests] == ["/", "/moved"]
        assert delivery(api, made, UPDATED)["status"] == "succeeded"

    def test_an_event_about_an_erased_person_is_not_retried(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500, body=b"sophie@example.org is not welcome")
        webhook = hook(api, organization, receiver, events=["organization.invitation.created"])
        body = {"email": "sophie@example.org"}
        assert api.post(f"{organization.path}/invite", as_=organization.owner, json=body).status == 201
        workers.deliver()
        assert api.post(f"{organization.path}/erasures", as_=organization.owner, json=body).status == 202
        clock.shift(minutes=10)
        workers.settle()
        workers.settle()
        assert len(receiver.requests) <= 2
        clock.shift(days=1)
        workers.settle()
        invitation_deliveries: Any = deliveries(api, webhook)
        assert [event_delivery["status"] for event_delivery in invitation_deliveries] == ["skipped"]
        assert "sophie" not in json.dumps(invitation_deliveries)
        assert types(receiver)[:1] == ["organization.invitation.created"]


class TestPrivateAddress:
    def test_is_never_connected_to_or_shown(
        self,
        api: Api,
        organization: Founded,
        made: Hook,
        workers: Workers,
        receiver: Receiver,
        configure: Configure,
    ) -> None:
        configure(webhook_allow_private="0")
        receiver.answer = Reply(status=500, body=b"the inside")
        rename(api, organization, "After")
        workers.attempt()
        assert receiver.connections == 0
        (attempt,) = delivery(api, made, UPDATED)["attempts"]
        assert (attempt["statusCode"], attempt["responseBody"]) == (None, None)
        assert attempt["error"] == "The host has no public address."
