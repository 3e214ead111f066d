"""Application events in webhooks, channels, deliveries and replays."""

import json
from typing import Any, Final

import pytest

from chalicelib.kernel.core.clock import after, now
from tests.harness.api import Json
from tests.harness.application_events import ADA, INVOICE, NIGHTLY_EXPORT, commit_application_event
from tests.harness.audit_logs import get_last_entry
from tests.harness.channels import received_texts
from tests.harness.declared_types import declare_event_type
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import CreatedWebhook, list_deliveries, parse_event, received_event_types

pytestmark = pytest.mark.usefixtures("private_targets_allowed", "pauses_by_clock")

APPROVED: Final = "invoice.approved"


@pytest.fixture
def report(organization, workers):
    """A function that commits an application event to the log of Ada's organization, and delivers all events."""

    def report(*args: Any, **fields: Any) -> str:
        entry_id = commit_application_event(organization.id, *args, **fields)
        workers.deliver(include_delayed=True)
        return entry_id

    return report


def last_event(receiver: Receiver) -> Json:
    return parse_event(receiver.requests[-1])


class TestWebhooks:
    def test_the_message_has_the_data_and_tells_who_reported_what_the_actor_is_said_to_have_done(
        self, api, organization, new_webhook, report, receiver
    ):
        new_webhook(receiver, events=["*"])
        occurred_at = after(now(), days=-3)
        entry_id = report(version=2, occurred_at=occurred_at, data={"amount": 12, "note": "x" * 9000})
        entry = get_last_entry(api, organization)
        assert receiver.requests[-1].headers["webhook-id"] == entry_id == entry["id"]
        assert last_event(receiver) == {
            "type": APPROVED,
            "timestamp": occurred_at,
            "data": {"amount": 12, "note": "x" * 9000},
            "organizationId": organization.id,
            "sequence": entry["sequence"],
            "actor": {"type": "customer", "id": "C-17", "asserted": True},
            "changes": [],
            "version": 2,
            "receivedAt": entry["receivedAt"],
            "reportedBy": NIGHTLY_EXPORT,
            "targets": [INVOICE],
        }

    def test_an_event_without_actor_and_targets_names_the_principal(self, new_webhook, report, receiver):
        new_webhook(receiver, events=["*"])
        report(actor=None, targets=())
        principal = {"type": "api_key", "id": NIGHTLY_EXPORT["id"]}
        event = last_event(receiver)
        assert (event["actor"], event["reportedBy"], event["targets"]) == (principal, NIGHTLY_EXPORT, [])

    def test_an_event_about_a_webhook_neither_changes_nor_silences_it(self, new_webhook, report, receiver):
        webhook = new_webhook(receiver, events=["*"])
        paused = new_webhook(receiver, events=["*"], enabled=False)
        report("hook.seen", targets=[{"type": "organization.webhook", "id": webhook.id, "name": None}], data=None)
        settings = {"enabled": True, "status": "active", "events": ["*"], "areas": None}
        about_paused = {"type": "organization.webhook", "id": paused.id, "name": None}
        report("hook.deleted", targets=[about_paused], data=settings)
        about_delivery = {"type": "organization.webhook.delivery", "id": "d", "name": None}
        report("hook.failed", targets=[about_delivery], data={"webhookId": webhook.id})
        report()
        expected = ["hook.seen", "hook.deleted", "hook.failed", APPROVED]
        assert received_event_types(receiver)[-4:] == expected
        assert paused.delivery_statuses()[-4:] == ["skipped"] * 4

    def test_a_key_without_the_scope_of_events_does_not_receive_them(
        self, api, organization, report, receiver, workers
    ):
        urls = {scope: f"{receiver.url}{scope}" for scope in ("sites:read", "events:read")}
        created = {}
        for scope, url in urls.items():
            key = create_api_key(api, organization, "webhooks:write", scope)
            body = {"url": url, "events": ["*"]}
            answer = api.post(f"{organization.path}/webhooks", caller=key, json=body).expect(201)
            created[scope] = CreatedWebhook(answer.json, organization)
        report()
        types = {
            scope: {each["eventType"] for each in list_deliveries(api, webhook)} for scope, webhook in created.items()
        }
        assert {scope: APPROVED in each for scope, each in types.items()} == {"sites:read": False, "events:read": True}


class TestDeliveries:
    def test_they_are_found_by_type_and_by_the_time_of_receipt(self, new_webhook, report, receiver):
        webhook = new_webhook(receiver, events=["*"])
        occurred_at = after(now(), days=-3)
        entry_id = report(occurred_at=occurred_at)
        (delivery,) = webhook.list_deliveries(eventType=APPROVED)
        assert (delivery["eventId"], delivery["status"]) == (entry_id, "succeeded")
        assert delivery["createdAt"] > after(now(), days=-1)
        assert webhook.list_deliveries(eventType=APPROVED, to=after(occurred_at, seconds=60)) == []
        request = webhook.get(f"/deliveries/{delivery['id']}").json["request"]
        assert request["body"].encode() == receiver.requests[-1].body

    def test_retries_and_replays_send_the_same_bytes(self, new_webhook, report, receiver, run_tasks_after):
        webhook = new_webhook(receiver, events=["*"])
        receiver.default_reply = Reply(status=500)
        report(data={"note": "é" * 5000}, occurred_at=after(now(), days=-3))
        receiver.default_reply = Reply()
        (delivery,) = webhook.list_deliveries(eventType=APPROVED)
        assert webhook.retry(delivery).status == 202
        run_tasks_after(seconds=1)
        body = {"from": after(now(), days=-1), "status": "succeeded"}
        assert webhook.post("/replay", body).status == 202
        run_tasks_after(minutes=1)
        bodies = [request.body for request in receiver.requests if parse_event(request)["type"] == APPROVED]
        assert len(bodies) >= 3
        assert len({*bodies}) == 1


class TestChannels:
    def test_without_a_declared_sentence_the_text_is_generic_and_marks_an_asserted_actor(
        self, new_channel, report, receiver
    ):
        new_channel(receiver, events=["*"])
        report(actor={**ADA, "name": "Ada <!channel>"})
        report(actor=None, targets=())
        asserted_actor = "Ada &lt;!channel&gt; (reported by the API key Nightly export)"
        assert received_texts(receiver)[-2:] == [
            f"{asserted_actor} caused the event invoice.approved about Invoice 42.",
            "The API key Nightly export caused the event invoice.approved.",
        ]

    def test_the_text_is_the_declared_sentence_with_names_and_data(self, new_channel, report, receiver):
        new_channel(receiver, events=["*"])
        declare_event_type(APPROVED, "{actor} approved {target} over {data.amount} {data.currency}, {data.__class__}.")
        report(data={"amount": 12, "currency": "{actor} <EUR>"})
        assert received_texts(receiver)[-1] == (
            "Ada (reported by the API key Nightly export) approved Invoice 42 over 12 {actor} &lt;EUR&gt;, —."
        )

    @pytest.mark.parametrize(
        ("sentence", "expected"),
        [
            (
                "{actor} said {data.a}{data.a}{data.a}{data.a}{data.a}",
                "Ada (reported by the API key Nightly export) said x",
            ),
            (
                "{data.a}{data.a}{data.a}{data.a}{data.a} said {actor}",
                "Ada (reported by the API key Nightly export) caused",
            ),
        ],
    )
    def test_a_long_text_is_cut_unless_it_would_not_say_who_reported_it(
        self, new_channel, report, receiver, sentence, expected
    ):
        new_channel(receiver, events=["*"])
        declare_event_type(APPROVED, sentence)
        report(data={"a": "x" * 200})
        text = received_texts(receiver)[-1]
        assert text.startswith(expected)
        assert (len(text), text[-1]) == (580, "…") or "caused" in expected

    def test_only_a_declared_type_has_a_sentence(self, new_channel, organization, receiver, workers, run_tasks_after):
        new_channel(receiver, events=["*"])
        declare_event_type(APPROVED, "{actor} approved {target}.")
        workers.deliver(include_delayed=True)
        for event_type in (APPROVED, APPROVED, "patient.file_opened"):
            commit_application_event(organization.id, event_type)
        for _ in range(2):  # At most one message is sent each second.
            run_tasks_after(minutes=6)
        texts = received_texts(receiver)[-3:]
        assert [text.rpartition("approved Invoice 42")[1] for text in texts] == ["approved Invoice 42"] * 2 + [""]

    def test_a_generic_webhook_gets_the_event_as_webhooks_do(self, new_channel, new_webhook, report, receiver):
        new_webhook(receiver, events=["*"])
        new_channel(f"{receiver.url}channel", provider="webhook", events=["*"])
        report()
        messages = {request.path: json.loads(request.body) for request in receiver.requests}
        assert messages["/channel"]["event"] == messages["/"]


class TestPatterns:
    @pytest.fixture(autouse=True)
    def declared(self, organization):
        declare_event_type(APPROVED, "{actor} approved {target}.")

    def test_declared_types_and_their_prefixes_are_accepted_and_selected(self, new_webhook, report, receiver):
        webhook = new_webhook(receiver, events=[APPROVED])
        other = new_webhook(f"{receiver.url}other", events=["invoice.*", "organization.updated"])
        assert other.record["events"] == ["invoice.*", "organization.updated"]
        report()
        report("invoice.paid")
        report("patient.file_opened")
        assert [each["eventType"] for each in webhook.list_deliveries()] == [APPROVED]
        assert [each["eventType"] for each in other.list_deliveries()] == [APPROVED, "invoice.paid"]

    @pytest.mark.parametrize("path", ["webhooks", "integration-channels"])
    def test_undeclared_ones_are_rejected_with_the_nearest_names(self, api, organization, receiver, path):
        channel_fields = {"provider": "webhook", "name": "Room", "config": {"webhookUrl": receiver.url}}
        fields = {"url": receiver.url} if path == "webhooks" else channel_fields
        events = [APPROVED, "invoice.aproved", "invoices.*", "organization.updated", "zzz.zzz"]
        answer = api.post(f"{organization.path}/{path}", caller=organization.owner, json={"events": events, **fields})
        assert answer.errors == {f"/events/{n}": "malformed" for n in (1, 2, 4)}
        first, second, third = (error["detail"] for error in answer.json["errors"])
        assert "Do you mean invoice.approved" in first
        assert "invoice.*" in second
        assert third == "'zzz.zzz' is not an event type or pattern; GET /event-types lists them."

    def test_the_declared_types_are_read_once_and_only_for_new_patterns_of_application_events(
        self, api, organization, receiver
    ):
        def read_names(events: list[str], *, path: str = "", **fields: Any) -> list[str]:
            body = {"events": events, **fields}
            method, url = ("PATCH", path) if path else ("POST", f"{organization.path}/webhooks")
            return api.request(method, url, caller=organization.owner, json=body).calls.read_names

        before = read_names(["organization.updated"], url=receiver.url)
        assert read_names([APPROVED, "invoice.*"], url=receiver.url) == [*before, "dynamodb:Query"]
        path = api.get_items(f"{organization.path}/webhooks", caller=organization.owner)[-1]
        path = f"{organization.path}/webhooks/{path['id']}"
        unchanged = read_names([APPROVED, "invoice.*"], path=path)
        assert read_names([APPROVED], path=path, description="Ours") == unchanged

    def test_an_exact_type_requires_the_scope_of_events(self, api, organization, receiver):
        key = create_api_key(api, organization, "webhooks:write", "sites:read")
        body = {"url": receiver.url, "events": ["page.*", APPROVED]}
        answer = api.post(f"{organization.path}/webhooks", caller=key, json=body)
        assert (answer.status_and_code, answer.errors) == (
            "403 insufficient_scope",
            {"/events/1": "insufficient_scope"},
        )
