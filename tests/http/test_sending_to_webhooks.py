"""How an event is sent to a webhook, and what becomes of one that does not take it."""

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


def pause(one: Json) -> float:
    """Return how many seconds lie between a delivery's last attempt and its next."""
    return (timestamp_ms(one["nextAttemptAt"]) - timestamp_ms(one["attempts"][-1]["at"])) / 1000


class TestTheRequest:
    def test_it_says_what_happened_and_who_sends_it(
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

    def test_every_live_secret_signs_it(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        rotated = api.post(f"{made.path}/rotate-secret", as_=organization.owner, json={"graceHours": 1}).json
        rename(api, organization, "In the grace")
        workers.deliver()
        headers = dict(receiver.requests[-1].headers)
        for secret in (made.secret, rotated["secret"]):
            Verifier(secret).verify(receiver.requests[-1].body, headers)
        clock.shift(minutes=61)
        rename(api, organization, "After it")
        workers.deliver()
        (signature,) = receiver.requests[-1].headers["webhook-signature"].split()
        assert signature.startswith("v1,")

    def test_it_is_the_same_at_each_attempt_but_for_its_time(
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
        assert [a["statusCode"] for a in delivery(api, made, UPDATED)["attempts"]] == [500, 500]


class TestAnAnswer:
    @pytest.mark.parametrize("status", [200, 201, 204, 299])
    def test_of_success_ends_the_delivery(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, status: int
    ) -> None:
        receiver.answer = Reply(status=status, body=b"" if status == 204 else b"thanks")
        rename(api, organization, "After")
        workers.deliver()
        one = delivery(api, made, UPDATED)
        assert (one["status"], one["nextAttemptAt"]) == ("succeeded", None)
        (attempt,) = one["attempts"]
        assert (attempt["number"], attempt["statusCode"], attempt["error"]) == (1, status, None)
        assert attempt["responseBody"] == (None if status == 204 else "thanks")
        assert attempt["durationMs"] >= 0

    @pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 429, 500, 503])
    def test_of_anything_else_is_tried_again(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, status: int
    ) -> None:
        receiver.answer = Reply(status=status, headers={"Location": receiver.at("127.0.0.1", "/elsewhere")}, body=b"no")
        rename(api, organization, "After")
        workers.attempt()
        one = delivery(api, made, UPDATED)
        assert (one["status"], one["completedAt"]) == ("pending", None)
        assert one["attempts"][0]["statusCode"] == status
        assert 3.9 <= pause(one) <= 6.1
        assert {request.path for request in receiver.requests} == {"/"}
        assert shown(api, made)["failingSince"] is not None

    def test_that_asks_for_peace_is_obeyed(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=503, headers={"Retry-After": "120"})
        rename(api, organization, "After")
        workers.attempt()
        assert 119 <= pause(delivery(api, made, UPDATED)) <= 121

    def test_that_it_wants_nothing_any_more_disables_the_webhook(
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
        assert [one["status"] for one in deliveries(api, made, status="skipped")] == ["skipped"]


class TestTheSchedule:
    def test_ten_attempts_are_made_over_three_days_and_then_it_is_given_up(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        other = hook(api, organization, receiver.at("127.0.0.1", "/other"), events=[EXHAUSTED])
        both = hook(api, organization, receiver.at("127.0.0.1", "/own"), events=[UPDATED, EXHAUSTED])
        receiver.answers["/other"] = receiver.answers["/own"] = Reply()
        rename(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            one = delivery(api, made, UPDATED)
            assert seconds * 0.8 - 1 <= pause(one) <= seconds * 1.2 + 1
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.settle()
        one = delivery(api, made, UPDATED)
        assert (one["status"], len(one["attempts"]), one["nextAttemptAt"]) == ("failed", 10, None)
        assert [attempt["number"] for attempt in one["attempts"]] == list(range(1, 11))
        (entry,) = log_of(api, organization, type=EXHAUSTED)
        assert entry["target"] == {"type": "organization.webhook.delivery", "id": one["id"], "name": UPDATED}
        assert entry["data"]["webhookId"] == made.id
        assert delivery(api, other, EXHAUSTED)["status"] == "succeeded"
        assert delivery(api, both, EXHAUSTED)["status"] == "succeeded"

    def test_a_webhook_is_not_told_of_its_own_failures(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        made = hook(api, organization, receiver, events=[UPDATED, EXHAUSTED, DISABLED])
        rename(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.settle()
        assert log_of(api, organization, type=EXHAUSTED)
        assert [one["eventType"] for one in deliveries(api, made)] == [UPDATED]

    def test_one_that_has_failed_for_five_days_is_disabled_and_its_admins_get_a_mail(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock, mailbox: Mailbox
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        receiver.answer = Reply(status=500)
        for days in (0, 2, 2):
            clock.shift(days=days)
            rename(api, organization, f"After {days} more")
            workers.deliver()
            assert shown(api, made)["status"] == "active"
        since = shown(api, made)["failingSince"]
        clock.shift(days=1, minutes=1)
        rename(api, organization, "Too late")
        workers.settle()
        now = shown(api, made)
        assert (now["status"], now["failingSince"]) == ("disabled", since)
        assert "5 days" in now["disabledReason"]
        (entry,) = log_of(api, organization, type=DISABLED)
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]
        assert sorted(letter.to[0] for letter in mailbox.received) == ["ada@example.com", "grace@example.com"]
        assert made.record["url"] in mailbox.letters[0].text
        assert "Analytical Engines" in mailbox.letters[0].subject or "Too late" in mailbox.letters[0].subject

    def test_one_success_is_enough_to_be_well_again(
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


class TestWhatComesInBetween:
    def test_one_that_is_paused_before_the_next_attempt_gets_it_no_more(
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

    def test_one_that_leads_elsewhere_by_then_gets_it_there(
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

    def test_a_person_who_is_erased_meanwhile_is_not_told_about(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500, body=b"sophie@example.org is not welcome")
        other = hook(api, organization, receiver, events=["organization.invitation.created"])
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
        found: Any = deliveries(api, other)
        assert [one["status"] for one in found] == ["skipped"]
        assert "sophie" not in json.dumps(found)
        assert types(receiver)[:1] == ["organization.invitation.created"]


class TestAnAddressThatIsNotPublic:
    def test_is_never_connected_to_and_nothing_of_it_is_shown(
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
