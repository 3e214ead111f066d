"""One id leads from a request to all that became of it: lines of the log, messages, and what others are sent."""

import json

import pytest

from tests.harness.api import Answer, Api
from tests.harness.clock import Clock
from tests.harness.erasures import asked_to_erase
from tests.harness.exports import asked_to_export
from tests.harness.faults import Fault, failing
from tests.harness.invitations import invite
from tests.harness.log_lines import Json, measures, written
from tests.harness.logs import log_of
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import hook
from tests.harness.workers import Workers, bodies

pytestmark = pytest.mark.usefixtures("private_targets")


def renamed(api: Api, organization: Founded, name: str = "Engines") -> Answer:
    return api.patch(organization.path, as_=organization.owner, json={"name": name})


def about(lines: list[Json], answer: Answer) -> list[tuple[str, str]]:
    """Return which lines name a request, in order."""
    return [(line["message"], line.get("operation", "")) for line in lines if answer.request_id in json.dumps(line)]


class TestARequestThatAWebhookHearsOf:
    def test_is_named_from_the_gateway_to_the_webhook(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = hook(api, organization, receiver)
        workers.deliver()
        with written() as lines:
            answer = renamed(api, organization)
            workers.deliver()
        assert answer.headers["X-Request-Id"] == answer.request_id
        assert about(lines, answer) == [
            ("request", "update_organization"),
            ("message", "append_entries"),
            ("attempt", ""),
            ("message", "webhooks.send"),
        ]
        asked, appended, attempt, sent = lines
        assert asked["requestId"] == attempt["requestId"] == answer.request_id
        assert appended["requestIds"] == sent["requestIds"] == [answer.request_id]
        assert (asked["event"], asked["tenant"]) == ("organization.updated", organization.id)
        assert asked["eventId"] == attempt["eventId"] == log_of(api, organization)[0]["id"]
        assert (attempt["subscriberId"], attempt["outcome"], attempt["status"]) == (made.id, "succeeded", 200)
        arrived = receiver.requests[-1]
        assert (arrived.headers["x-request-id"], arrived.headers["webhook-id"]) == (answer.request_id, asked["eventId"])

    def test_is_named_by_whichever_message_does_its_work(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        hook(api, organization, receiver, events=["organization.updated"])
        workers.deliver()
        first, second = renamed(api, organization, "One"), renamed(api, organization, "Two")
        with written() as lines:
            workers.deliver()
        appended = next(line for line in lines if line["message"] != "attempt")
        assert appended["requestIds"] == [first.request_id, second.request_id]
        attempts = [line["requestId"] for line in lines if line["message"] == "attempt"]
        assert attempts == [first.request_id, second.request_id]
        assert [r.headers["x-request-id"] for r in receiver.requests] == attempts

    def test_is_named_although_its_message_was_lost(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        hook(api, organization, receiver)
        workers.deliver()
        with failing(Fault.TIMED_OUT, name="sqs:SendMessage", times=None):
            answer = renamed(api, organization)
        clock.shift(seconds=15)
        with written() as lines:
            workers.sweep()
            workers.deliver()
        swept = lines[0]
        assert measures(swept, "stage")["LedgerLag"] >= 15_000
        assert measures(swept, "stage")["DueLag"] >= 5_000
        assert about(lines, answer) == [("message", "append_entries"), ("attempt", ""), ("message", "webhooks.send")]

    def test_is_named_at_each_attempt(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        hook(api, organization, receiver, events=["organization.updated"])
        workers.deliver()
        receiver.answer = Reply(status=500)
        answer = renamed(api, organization)
        workers.deliver()
        receiver.answer = Reply()
        clock.shift(seconds=10)
        with written() as lines:
            workers.deliver(delayed=True)
        assert about(lines, answer) == [("message", "deliveries.queue"), ("attempt", ""), ("message", "webhooks.send")]
        attempt = lines[1]
        assert (attempt["attempt"], attempt["outcome"], attempt["ageMs"] >= 10_000) == (2, "succeeded", True)

    def test_is_named_by_messages_that_nobody_could_handle(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        hook(api, organization, receiver)
        workers.deliver()
        answer = renamed(api, organization)
        with failing(Fault.TIMED_OUT, name="dynamodb:Query", times=None):
            workers.attempt()
        waiting = [json.loads(body) for queue in ("events.fifo", "deliveries.fifo") for body in bodies(queue)]
        assert [message["requestIds"] for message in waiting] == [[answer.request_id]]


class TestWorkThatARequestStarts:
    def test_an_export_names_it(self, api: Api, organization: Founded, workers: Workers) -> None:
        with written() as lines:
            answer = asked_to_export(api, organization)
            workers.deliver()
        assert ("message", "audit_exports.run") in about(lines, answer)

    def test_mail_names_it(self, api: Api, organization: Founded, workers: Workers, mailbox: Mailbox) -> None:
        with written() as lines:
            invite(api, organization, "sophie@example.org")
            workers.deliver()
        (asked,) = [line for line in lines if line["kind"] == "request"]
        (mailed,) = [line for line in lines if line["operation"] == "invitations.mail"]
        assert mailed["requestIds"] == [asked["requestId"]]
        assert len(mailbox.letters) == 1

    def test_an_erasure_names_it(self, api: Api, organization: Founded, workers: Workers) -> None:
        with written() as lines:
            answer = asked_to_erase(api, organization, email="sophie@example.org")
            workers.deliver()
        assert ("message", "erasures.run") in about(lines, answer)
