"""The id of a request identifies everything that results from it: log records, messages, and outgoing requests."""

import json

import pytest

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.erasures import post_erasure
from tests.harness.exports import post_export
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import create_invitation
from tests.harness.log_records import Json, capture_log_records, embedded_metrics
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import Reply
from tests.harness.webhooks import create_webhook
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


def rename(api: ApiClient, organization: CreatedOrganization, name: str = "Engines") -> ApiResponse:
    return api.patch(organization.path, caller=organization.owner, json={"name": name})


def select_records(records: list[Json], answer: ApiResponse) -> list[tuple[str, str]]:
    """Return the log records that contain the id of a request, in order."""
    return [
        (record["message"], record.get("operation", ""))
        for record in records
        if answer.request_id in json.dumps(record)
    ]


class TestDeliveries:
    def test_the_id_is_passed_on_to_the_webhook(self, api, organization, workers, receiver):
        webhook = create_webhook(api, organization, receiver)
        workers.deliver()
        with capture_log_records() as records:
            answer = rename(api, organization)
            workers.deliver()
        assert answer.headers["X-Request-Id"] == answer.request_id
        assert select_records(records, answer) == [
            ("request", "update_organization"),
            ("message", "append_entries"),
            ("attempt", ""),
            ("message", "webhooks.send"),
        ]
        request, append, attempt, delivery = records
        assert request["requestId"] == attempt["requestId"] == answer.request_id
        assert append["requestIds"] == delivery["requestIds"] == [answer.request_id]
        assert (request["event"], request["tenant"]) == ("organization.updated", organization.id)
        assert request["eventId"] == attempt["eventId"] == list_entries(api, organization)[0]["id"]
        assert (attempt["subscriberId"], attempt["outcome"], attempt["status"]) == (webhook.id, "succeeded", 200)
        received = receiver.requests[-1]
        assert (received.headers["x-request-id"], received.headers["webhook-id"]) == (
            answer.request_id,
            request["eventId"],
        )

    def test_a_message_contains_the_id_of_each_of_its_requests(self, api, organization, workers, receiver):
        create_webhook(api, organization, receiver, events=["organization.updated"])
        workers.deliver()
        first, second = rename(api, organization, "One"), rename(api, organization, "Two")
        with capture_log_records() as records:
            workers.deliver()
        append = next(record for record in records if record["message"] != "attempt")
        assert append["requestIds"] == [first.request_id, second.request_id]
        attempts = [record["requestId"] for record in records if record["message"] == "attempt"]
        assert attempts == [first.request_id, second.request_id]
        assert [r.headers["x-request-id"] for r in receiver.requests] == attempts

    def test_the_id_is_passed_on_although_the_message_was_lost(self, api, organization, workers, receiver, clock):
        create_webhook(api, organization, receiver)
        workers.deliver()
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:SendMessage", times=None):
            answer = rename(api, organization)
        clock.shift(seconds=15)
        with capture_log_records() as records:
            workers.run_sweep()
            workers.deliver()
        sweep = records[0]
        assert embedded_metrics(sweep, "stage")["LedgerLag"] >= 15_000
        assert embedded_metrics(sweep, "stage")["DueLag"] >= 5_000
        assert select_records(records, answer) == [
            ("message", "append_entries"),
            ("attempt", ""),
            ("message", "webhooks.send"),
        ]

    def test_every_attempt_contains_the_id(self, api, organization, workers, receiver, clock):
        create_webhook(api, organization, receiver, events=["organization.updated"])
        workers.deliver()
        receiver.default_reply = Reply(status=500)
        answer = rename(api, organization)
        workers.deliver()
        receiver.default_reply = Reply()
        clock.shift(seconds=10)
        with capture_log_records() as records:
            workers.deliver(include_delayed=True)
        assert select_records(records, answer) == [
            ("message", "deliveries.queue"),
            ("attempt", ""),
            ("message", "webhooks.send"),
        ]
        attempt = records[1]
        assert (attempt["attempt"], attempt["outcome"], attempt["ageMs"] >= 10_000) == (2, "succeeded", True)

    def test_unprocessed_messages_contain_the_id(self, api, organization, workers, receiver):
        create_webhook(api, organization, receiver)
        workers.deliver()
        answer = rename(api, organization)
        with inject_fault(Fault.TIMED_OUT, call_name="dynamodb:Query", times=None):
            workers.try_deliver()
        messages = [json.loads(body) for queue in ("events.fifo", "deliveries.fifo") for body in queued_bodies(queue)]
        assert [message["requestIds"] for message in messages] == [[answer.request_id]]


class TestBackgroundWork:
    def test_the_records_of_an_export_contain_the_id(self, api, organization, workers):
        with capture_log_records() as records:
            answer = post_export(api, organization)
            workers.deliver()
        assert ("message", "audit_exports.run") in select_records(records, answer)

    def test_the_records_of_an_email_contain_the_id(self, api, organization, workers, mailbox):
        with capture_log_records() as records:
            create_invitation(api, organization, "sophie@example.org")
            workers.deliver()
        (request,) = [record for record in records if record["kind"] == "request"]
        (mail,) = [record for record in records if record["operation"] == "invitations.mail"]
        assert mail["requestIds"] == [request["requestId"]]
        assert len(mailbox.emails) == 1

    def test_the_records_of_an_erasure_contain_the_id(self, api, organization, workers):
        with capture_log_records() as records:
            answer = post_erasure(api, organization, email="sophie@example.org")
            workers.deliver()
        assert ("message", "erasures.run") in select_records(records, answer)
