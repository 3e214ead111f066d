"""The id of a request identifies everything that results from it: log records, messages, and outgoing requests."""

import json

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.erasures import post_erasure
from tests.harness.exports import post_export
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import create_invitation
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.receiver import Reply
from tests.harness.webhooks import CreatedWebhook, create_webhook
from tests.harness.workers import queued_bodies

SENT = [("attempt", ""), ("message", "webhooks.send")]
APPENDED_AND_SENT = [("message", "append_entries"), *SENT]


def select_records(records, answer):
    selected = [record for record in records if answer.request_id in json.dumps(record)]
    return [(record["message"], record.get("operation", "")) for record in selected]


class TestDeliveries:
    @pytest.fixture
    def subscribe(self, api, organization, workers, receiver, private_targets_allowed):
        """A function that creates a webhook and delivers all messages until now."""

        def subscribe(*events: str) -> CreatedWebhook:
            webhook = create_webhook(api, organization, receiver, events=[*events])
            workers.deliver()
            return webhook

        return subscribe

    @pytest.fixture
    def rename(self, api, organization):
        return lambda name="Engines": api.patch(organization.path, caller=organization.owner, json={"name": name})

    def test_the_id_is_passed_on_to_the_webhook(self, api, organization, workers, receiver, subscribe, rename):
        webhook = subscribe("*")
        with capture_log_records() as records:
            answer = rename()
            workers.deliver()
        assert answer.headers["X-Request-Id"] == answer.request_id
        assert select_records(records, answer) == [("request", "update_organization"), *APPENDED_AND_SENT]
        request, append, attempt, delivery = records
        assert request["requestId"] == attempt["requestId"] == answer.request_id
        assert append["requestIds"] == delivery["requestIds"] == [answer.request_id]
        assert (request["event"], request["tenant"]) == ("organization.updated", organization.id)
        assert request["eventId"] == attempt["eventId"] == list_entries(api, organization)[0]["id"]
        assert (attempt["subscriberId"], attempt["outcome"], attempt["status"]) == (webhook.id, "succeeded", 200)
        headers = receiver.requests[-1].headers
        assert (headers["x-request-id"], headers["webhook-id"]) == (answer.request_id, request["eventId"])

    def test_a_message_contains_the_id_of_each_of_its_requests(self, workers, receiver, subscribe, rename):
        subscribe("organization.updated")
        request_ids = [rename(name).request_id for name in ("One", "Two")]
        with capture_log_records() as records:
            workers.deliver()
        assert records[0]["requestIds"] == request_ids
        assert [record["requestId"] for record in records if record["message"] == "attempt"] == request_ids
        assert [r.headers["x-request-id"] for r in receiver.requests] == request_ids

    def test_the_id_is_passed_on_although_the_message_was_lost(self, workers, clock, subscribe, rename):
        subscribe("*")
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessage", times=None):
            answer = rename()
        clock.shift(seconds=15)
        with capture_log_records() as records:
            workers.run_sweep()
            workers.deliver()
        metrics = embedded_metrics(records[0], "stage")
        assert (metrics["LedgerLag"] >= 15_000, metrics["DueLag"] >= 5_000) == (True, True)
        assert select_records(records, answer) == APPENDED_AND_SENT

    def test_every_attempt_contains_the_id(self, workers, receiver, clock, subscribe, rename):
        subscribe("organization.updated")
        receiver.default_reply = Reply(status=500)
        answer = rename()
        workers.deliver()
        receiver.default_reply = Reply()
        clock.shift(seconds=10)
        with capture_log_records() as records:
            workers.deliver(include_delayed=True)
        assert select_records(records, answer) == [("message", "deliveries.queue"), *SENT]
        attempt = records[1]
        assert (attempt["attempt"], attempt["outcome"], attempt["ageMs"] >= 10_000) == (2, "succeeded", True)

    def test_unprocessed_messages_contain_the_id(self, workers, subscribe, rename):
        subscribe("*")
        answer = rename()
        with inject_fault(Fault.TIMED_OUT, call_name="dynamodb:Query", times=None):
            workers.try_deliver()
        messages = [json.loads(body) for queue in ("events.fifo", "deliveries.fifo") for body in queued_bodies(queue)]
        assert [message["requestIds"] for message in messages] == [[answer.request_id]]


def test_the_records_of_an_export_and_of_an_erasure_contain_the_id(api, organization, workers):
    with capture_log_records() as records:
        export, erasure = post_export(api, organization), post_erasure(api, organization, email="s@example.org")
        workers.deliver()
    assert ("message", "audit_exports.run") in select_records(records, export)
    assert ("message", "erasures.run") in select_records(records, erasure)


def test_the_records_of_an_email_contain_the_id(api, organization, workers, mailbox):
    with capture_log_records() as records:
        create_invitation(api, organization, "sophie@example.org")
        workers.deliver()
    (request,) = [record for record in records if record["kind"] == "request"]
    (mail,) = [record for record in records if record["operation"] == "invitations.mail"]
    assert mail["requestIds"] == [request["requestId"]]
    assert len(mailbox.emails) == 1
