"""Which events are sent to webhooks and how, and how failing webhooks are retried and disabled."""

import json
from contextlib import nullcontext
from itertools import product

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.logic import fan_out
from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.audit_logs import list_entries
from tests.harness.conformance import check_message
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import create_invitation
from tests.harness.organizations import add_organization_member, create_organization
from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    UPDATED,
    create_webhook,
    parse_event,
    received_event_types,
    received_names,
    rename_organization,
    start_replay,
)

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def seconds_until_retry(delivery: Json) -> float:
    """Return the number of seconds between the last attempt of a delivery and the next."""
    return (timestamp_ms(delivery["nextAttemptAt"]) - timestamp_ms(delivery["attempts"][-1]["at"])) / 1000


class TestSubscribers:
    def test_a_webhook_gets_every_event_from_its_creation_to_its_deletion(self, new_webhook, rename, emit, receiver):
        rename("Before")
        webhook = new_webhook(receiver, events=["*"])
        emit("After")
        assert received_event_types(receiver) == ["organization.webhook.created", UPDATED]
        assert parse_event(receiver.requests[-1])["data"]["name"] == "After"
        assert webhook.delivery_statuses() == ["succeeded"] * 2
        webhook.delete()
        emit("Too late")
        assert len(receiver.requests) == 2

    def test_each_webhook_gets_its_own_delivery_of_the_events_of_its_organization_that_match_its_patterns(
        self, api, stranger, new_webhook, emit, receiver
    ):
        patterns = [["*"], [UPDATED], ["organization.*"], ["organization.api_key.created", UPDATED]]
        other_patterns = [["organization.api_key.*"], ["organization.deleted"], ["page.*"]]
        webhooks = [
            new_webhook(f"{receiver.url}{n}", events=events) for n, events in enumerate([*patterns, *other_patterns])
        ]
        rename_organization(api, create_organization(api, stranger), "Rival Engines")
        emit("After")
        updates = [request for request in receiver.requests if parse_event(request)["type"] == UPDATED]
        assert sorted(request.path for request in updates) == ["/0", "/1", "/2", "/3"]
        (event_id,) = {request.headers["webhook-id"] for request in updates}
        assert [webhook.get_delivery()["eventId"] for webhook in webhooks[:4]] == [event_id] * 4

    def test_a_changed_subscription_or_pause_applies_from_its_own_log_entry_on(self, webhook, rename, emit, receiver):
        rename("First")
        webhook.update(events=["organization.deleted"])
        rename("Second")
        webhook.update(events=[UPDATED], enabled=False)
        rename("Unheard")
        webhook.update(enabled=True)
        emit("Third")
        assert received_names(receiver) == ["First", "Third"]
        assert webhook.delivery_statuses() == ["succeeded", "skipped", "succeeded"]
        skipped = webhook.list_deliveries()[1]
        assert (skipped["attempts"], skipped["nextAttemptAt"]) == ([], None)
        assert skipped["completedAt"] is not None

    def test_many_entries_are_delivered_completely_and_in_order(self, new_webhook, emit, receiver, monkeypatch):
        monkeypatch.setattr(fan_out, "_BATCH_SIZE", 11)
        names = [f"Name {n}" for n in range(12)]
        for n in range(9):
            new_webhook(f"{receiver.url}{n}", enabled=n in (0, 4, 8))
        emit(*names)  # The first batch of entries makes 99 deliveries, too many for one transaction.
        for path in ("/0", "/4", "/8"):
            received = [parse_event(request) for request in receiver.requests if request.path == path]
            assert [payload["data"]["name"] for payload in received] == names
            sequences = [payload["sequence"] for payload in received]
            assert sequences == sorted(sequences)

    def test_only_other_webhooks_get_the_events_about_the_deliveries_of_a_webhook(
        self, api, new_webhook, rename, workers, receiver
    ):
        webhook, other = (new_webhook(f"{receiver.url}{n}", events=["organization.webhook.*", UPDATED]) for n in (1, 2))
        rename("After")
        workers.deliver()
        webhook.retry(webhook.get_delivery()).expect(202)
        start_replay(api, webhook)
        webhook.send_test()
        workers.deliver()
        received = [{each["eventType"].rpartition(".")[2] for each in w.list_deliveries()} for w in (webhook, other)]
        assert received[1] - received[0] == {"delivery_retried"}
        assert received[0] >= {"tested", "replayed"}

    @pytest.mark.parametrize("conflict_count", [4, 5])
    @pytest.mark.usefixtures("webhook")
    def test_the_fan_out_is_tried_five_times(self, organization, emit, receiver, workers, monkeypatch, conflict_count):
        with monkeypatch.context() as patched:
            patched.setattr(fan_out, "fan_out", lambda *_: None)
            emit("After conflicts")
        fails = conflict_count == 5
        with (
            inject_fault(Fault.CONFLICT, call_name="dynamodb:TransactWriteItems", times=conflict_count),
            pytest.raises(ConcurrentModification) if fails else nullcontext(),
        ):
            fan_out.fan_out(organization.id, now_ms() + 60_000)
        workers.deliver()
        assert received_names(receiver) == ([] if fails else ["After conflicts"])

    @pytest.mark.usefixtures("webhook")
    def test_a_missing_entry_stops_the_fan_out(self, organization, emit, rename, workers, receiver, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(fan_out, "fan_out", lambda *_: None)
            emit("Gone", "Behind")
        entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{organization.id}"]
        memory_aws.delete_item(next(item for item in entries if b"Gone" in item["body"] and item["type"] == UPDATED))
        rename("Last")
        assert workers.try_deliver().failed_bodies
        assert receiver.requests == []


class TestRequest:
    def test_is_signed_with_every_valid_secret_like_a_test_delivery(self, webhook, emit, receiver, clock):
        rotation = webhook.post("/rotate-secret", {"graceHours": 1}).json
        emit("In the grace")
        assert webhook.send_test()["delivered"]
        for request, secret in product(receiver.requests, (webhook.secret, rotation["secret"])):
            assert Verifier(secret).verify(request.body, dict(request.headers)) == parse_event(request)
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 2
        clock.shift(minutes=61)
        emit("After it")
        (signature,) = receiver.requests[-1].headers["webhook-signature"].split()
        assert signature.startswith("v1,")

    def test_contains_the_record_the_changes_and_who_made_them(self, api, organization, webhook, emit, receiver):
        emit("After")
        (entry,) = list_entries(api, organization, type=UPDATED)
        payload = parse_event(receiver.requests[0])
        expected = {name: entry[name] for name in ("type", "organizationId", "sequence", "data", "changes")}
        expected |= {"timestamp": entry["occurredAt"], "actor": {"type": "user", "id": organization.owner.id}}
        assert payload == expected
        check_message(payload)
        assert payload["changes"] == [{"field": "name", "from": organization.record["name"], "to": "After"}]
        webhook.send_test()
        test_message = parse_event(receiver.requests[1])
        assert (test_message["actor"], test_message["changes"]) == (payload["actor"], [])
        assert test_message.keys() == payload.keys()

    def test_differs_between_attempts_only_in_its_timestamp(self, webhook, emit, receiver, run_tasks_after):
        receiver.default_reply = Reply(status=500)
        emit("After")
        run_tasks_after(seconds=7)
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
        replies = {200: b"thanks", 201: b"thanks", 204: b"", 299: b"thanks"}
        receiver.replies_by_path = {f"/{status}": Reply(status=status, body=replies[status]) for status in replies}
        webhooks = {status: new_webhook(f"{receiver.url}{status}") for status in replies}
        emit("After")
        for status, webhook in webhooks.items():
            delivery = webhook.get_delivery()
            assert (delivery["status"], delivery["nextAttemptAt"]) == ("succeeded", None)
            (attempt,) = delivery["attempts"]
            expected = {"number": 1, "statusCode": status, "error": None}
            assert attempt | expected | {"responseBody": replies[status].decode() or None} == attempt
            assert attempt["durationMs"] >= 0

    def test_any_other_status_is_retried_after_the_requested_pause(self, new_webhook, emit, receiver):
        headers = {"Location": f"{receiver.url}elsewhere"}
        replies = {n: Reply(n, headers, b"no") for n in (301, 302, 307, 400, 401, 404, 429, 500)}
        replies[503] = Reply(503, {"Retry-After": "120"})
        receiver.replies_by_path = {f"/{status}": reply for status, reply in replies.items()}
        webhooks = {status: new_webhook(f"{receiver.url}{status}") for status in replies}
        emit("After")
        for status, webhook in webhooks.items():
            delivery = webhook.get_delivery()
            assert (delivery["status"], delivery["completedAt"]) == ("pending", None), status
            assert delivery["attempts"][0]["statusCode"] == status
            shortest, longest = (119, 121) if status == 503 else (3.9, 6.1)
            assert shortest <= seconds_until_retry(delivery) <= longest, status
            assert webhook.read()["failingSince"] is not None
        assert sorted(request.path for request in receiver.requests) == sorted(receiver.replies_by_path)


class TestRetrySchedule:
    def test_a_delivery_fails_after_ten_attempts_over_three_days(
        self, api, organization, new_webhook, emit, receiver, run_tasks_after
    ):
        webhook = new_webhook(f"{receiver.url}failing", events=[UPDATED, EXHAUSTED, DISABLED])
        receiver.replies_by_path["/failing"] = Reply(status=500)
        notified = [new_webhook(receiver, events=events) for events in ([EXHAUSTED], [UPDATED, EXHAUSTED])]
        emit("After")
        for seconds in RETRY_SECONDS:
            assert seconds * 0.8 - 1 <= seconds_until_retry(webhook.get_delivery()) <= seconds * 1.2 + 1
            run_tasks_after(seconds=seconds * 1.2 + 301)
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

    @pytest.mark.parametrize("verified", [True, False, None])
    def test_no_notice_goes_to_an_address_that_the_issuer_has_not_verified(
        self, api, issuer, grace, receiver, workers, mailbox, verified
    ):
        founder = issuer.create_person("charles", "Charles", email_verified=verified)
        organization = create_organization(api, founder)
        add_organization_member(organization, grace, "admin")
        create_webhook(api, organization, receiver.url, events=[UPDATED])
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Engines")
        workers.run_until_idle()
        recipients = {letter.recipients[0] for letter in mailbox.received_emails}
        assert recipients == {grace.email, *([founder.email] if verified else [])}

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
    def test_a_retry_goes_to_the_changed_url_and_is_skipped_once_the_webhook_is_disabled(
        self, webhook, emit, receiver, run_tasks_after
    ):
        receiver.default_reply = Reply(status=500)
        emit("After")
        assert webhook.update(url=f"{receiver.url}moved")["failingSince"] is None
        for enabled in (True, False):
            webhook.update(enabled=enabled)
            run_tasks_after(minutes=12)
            assert [request.path for request in receiver.requests] == ["/", "/moved"]
        assert webhook.delivery_statuses() == ["skipped"]

    def test_an_event_about_an_erased_person_is_not_retried(
        self, api, organization, new_webhook, workers, receiver, run_tasks_after
    ):
        receiver.default_reply = Reply(status=500, body=b"sophie@example.org is not welcome")
        webhook = new_webhook(receiver, events=["organization.invitation.created"])
        create_invitation(api, organization, "sophie@example.org")
        workers.deliver()
        body = {"email": "sophie@example.org"}
        assert api.post(f"{organization.path}/erasures", caller=organization.owner, json=body).status == 202
        run_tasks_after(minutes=10)
        workers.run_until_idle()
        assert len(receiver.requests) <= 2
        run_tasks_after(days=1)
        assert webhook.delivery_statuses() == ["skipped"]
        assert "sophie" not in json.dumps(webhook.list_deliveries())
        assert received_event_types(receiver)[:1] == ["organization.invitation.created"]
