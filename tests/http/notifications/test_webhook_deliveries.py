"""Test deliveries to a webhook: listing and reading them, their attempts, and retries that a caller requests."""

import json
from typing import Any

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.kernel.core.clock import after, now
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.erasures import complete_erasure
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Reply
from tests.harness.webhooks import UPDATED, WebhookClient, received_names, store_delivery

URL = "https://hooks.example.com/atrium"
PERIODS = ("lastHour", "lastDay", "lastWeek")
START = "2026-11-20T09:30:00.000Z"


def list_ids(webhook: WebhookClient, **query: object) -> list[str]:
    """Return the ids of all listed deliveries, in list order."""
    return [delivery["id"] for delivery in webhook.get_items("/deliveries", query=query)]


@pytest.fixture
def paused_webhook(new_webhook):
    return new_webhook(URL, events=["*"], enabled=False)


class TestList:
    @pytest.fixture
    def stored_ids(self, paused_webhook, clock):
        """Store deliveries of each status and of two types, a minute apart; return their statuses and types by id."""
        clock.freeze(after(START, hours=2))
        statuses: list[DeliveryStatus] = ["pending", "succeeded", "failed", "skipped"]
        ids: dict[str, tuple[str, str]] = {}
        for minute in range(40):
            event_type, status = (UPDATED, "organization.created")[minute % 2], statuses[minute % 3 or minute % 4]
            occurred_at = after(START, seconds=60 * minute)
            delivery_id = store_delivery(paused_webhook, occurred_at, status=status, event_type=event_type)
            ids[delivery_id] = (status, event_type)
        return ids

    @pytest.mark.parametrize("event_type", [None, UPDATED, "organization.created", "organization.deleted"])
    @pytest.mark.parametrize("status", [None, "pending", "succeeded", "failed", "skipped"])
    def test_filters_apply_together_and_the_newest_delivery_is_first(
        self, paused_webhook, stored_ids, status, event_type
    ):
        matching_ids = [
            delivery_id
            for delivery_id, (stored_status, stored_type) in stored_ids.items()
            if status in (None, stored_status) and event_type in (None, stored_type)
        ]
        filters = {name: value for name, value in (("status", status), ("eventType", event_type)) if value}
        for limit in (1, 3, 40) if status and event_type else (3, 40):
            assert list_ids(paused_webhook, limit=limit, **filters) == sorted(matching_ids, reverse=True)

    def test_both_ends_of_a_time_range_are_included(self, paused_webhook, stored_ids):
        all_ids = sorted(stored_ids)
        first_at, last_at = after(START, seconds=60 * 5), after(START, seconds=60 * 9)
        for query, expected_ids in (
            ({"from": first_at, "to": last_at}, all_ids[5:10]),
            ({"from": after(first_at, seconds=0.001)}, all_ids[6:]),
            ({"to": after(last_at, seconds=-0.001)}, all_ids[:9]),
            ({"from": first_at, "eventType": UPDATED, "limit": 2}, all_ids[6::2]),
        ):
            assert list_ids(paused_webhook, **query) == expected_ids[::-1], query

    def test_an_invalid_filter_is_rejected(self, paused_webhook):
        invalid = {"eventType": ["organization", "organization.*", "x." * 60], "status": ["delivered", ""]}
        for name, values in {**invalid, "from": ["yesterday"], "to": ["2026-11-20"]}.items():
            for value in values:
                assert list(paused_webhook.get("/deliveries", query={name: value}).errors) == [f"query/{name}"], value
        ends_before_it_starts = {"from": "2026-11-20T09:30:00Z", "to": "2026-11-20T09:29:59Z"}
        answer = paused_webhook.get("/deliveries", query=ends_before_it_starts)
        assert answer.errors == {"query/from": "out_of_range"}

    def test_deliveries_expire_after_ninety_days(self, paused_webhook, clock):
        clock.freeze(START)
        first, second = store_delivery(paused_webhook, START), store_delivery(paused_webhook, after(START, days=1))
        clock.shift(days=RETENTION_DAYS, seconds=-1)
        assert list_ids(paused_webhook) == [second, first]
        clock.shift(seconds=1)
        for query in ({}, {"eventType": UPDATED}, {"eventType": UPDATED, "status": "succeeded"}):
            assert list_ids(paused_webhook, **query) == [second]
        assert paused_webhook.get(f"/deliveries/{first}").status_and_code == "404 not_found"
        assert paused_webhook.get(f"/deliveries/{second}").status == 200


def test_each_webhook_has_its_own_deliveries(new_webhook, paused_webhook):
    other = new_webhook(URL)
    first, second = store_delivery(paused_webhook, now(), status="skipped"), store_delivery(other, now())
    assert (list_ids(paused_webhook), list_ids(other)) == ([first], [second])
    record = paused_webhook.get(f"/deliveries/{first}").json
    del record["request"]
    assert paused_webhook.list_deliveries() == [record]
    assert (record["eventId"], record["webhookId"]) == (first, paused_webhook.id)
    assert paused_webhook.get(f"/deliveries/{second}").status_and_code == "404 not_found"
    assert paused_webhook.retry({"id": second}).status_and_code == "404 not_found"


def test_each_request_sent_is_an_attempt(webhook, emit, receiver):
    emit("On a connection that is kept")
    answers = iter([Reply(raw_response=b"", closes_connection=True), Reply()])
    receiver.default_reply = lambda _: next(answers)
    emit("On that, and then on a new one")
    attempts = [delivery["attempts"] for delivery in webhook.list_deliveries()]
    assert [len(delivery_attempts) for delivery_attempts in attempts] == [1, 2]
    assert sum(map(len, attempts)) == len(receiver.requests)
    first, second = attempts[-1]
    assert (first["number"], first["statusCode"], second["number"], second["statusCode"]) == (1, None, 2, 200)
    assert first["error"].startswith("The server closed the connection")
    assert first["at"] <= second["at"]


class TestRequest:
    @pytest.fixture
    def webhook(self, private_targets_allowed, new_webhook, receiver):
        return new_webhook(f"{receiver.url}hook?room=1&key=of-the-room")

    def read_request(self, webhook: WebhookClient, **options: Any) -> Json:
        delivery_id = webhook.get_delivery()["id"]
        request: Json = webhook.get(f"/deliveries/{delivery_id}", **options).expect(200).json["request"]
        return request

    @pytest.mark.parametrize("name", ["After", "long: " + "x" * 190])
    def test_equals_what_was_sent_without_the_secrets(self, api, organization, webhook, emit, receiver, clock, name):
        receiver.default_reply = lambda _: clock.shift(seconds=2) or Reply()
        webhook.post("/rotate-secret").expect(200)
        patch = {"name": name, "companyAddress": "y" * 4_000}
        assert api.patch(organization.path, caller=organization.owner, json=patch).status == 200
        emit()
        request, (sent,) = self.read_request(webhook), receiver.requests
        assert (request["url"], request["body"]) == (f"{receiver.url}hook?room=…&key=…", sent.body.decode())
        headers = {header.lower(): value for header, value in sent.headers.items()}
        signatures = headers["webhook-signature"].split()
        del headers["content-length"]
        assert request["headers"] == headers | {"webhook-signature": "v1,… v1,…"}
        assert len(signatures) == 2
        assert not any(text in json.dumps(request) for text in (*signatures, "of-the-room"))

    def test_shows_what_a_skipped_delivery_would_send(self, webhook, emit, workers, receiver):
        webhook.update(enabled=False)
        emit("Missed")
        request = self.read_request(webhook)
        assert "webhook-timestamp" not in request["headers"]
        webhook.update(enabled=True)
        webhook.retry(webhook.get_delivery()).expect(202)
        workers.deliver()
        assert receiver.requests[0].body.decode() == request["body"]

    def test_its_body_is_shown_only_to_callers_who_may_read_the_event(self, api, organization, webhook, emit):
        emit("After")
        full = self.read_request(webhook)
        for scopes, shown in (
            (["webhooks:read"], False),
            (["webhooks:write", "sites:read"], False),
            (["webhooks:read", "organizations:read"], True),
            (["webhooks:read", "read"], True),
            (["admin"], True),
        ):
            key = create_api_key(api, organization, *scopes)
            assert self.read_request(webhook, caller=key) == (full if shown else full | {"body": None}), scopes

    def test_its_body_is_gone_once_the_event_is_erased(self, api, organization, ada, webhook, emit, workers, clock):
        webhook.update(events=["organization.api_key.created"])
        create_api_key(api, organization, "read", name="Key of charles@example.com")
        emit()
        delivery = webhook.get_delivery("organization.api_key.created")
        assert "charles" in webhook.get(f"/deliveries/{delivery['id']}").json["request"]["body"]
        complete_erasure(api, workers, clock, organization, email="charles@example.com")
        request = webhook.get(f"/deliveries/{delivery['id']}").json["request"]
        assert (request["body"], request["headers"]["webhook-id"]) == (None, delivery["id"])


class TestStatistics:
    def counts(self, webhook: WebhookClient) -> list[tuple[int, int]]:
        """Return the delivered and failed attempts of the last hour, day and week."""
        statistics = webhook.get("/statistics").expect(200).json
        return [(statistics[name]["delivered"], statistics[name]["failed"]) for name in PERIODS]

    def test_count_all_attempts_within_an_hour_a_day_and_a_week(self, webhook, emit, receiver, clock):
        clock.freeze("2026-11-20T09:34:00.000Z")
        receiver.default_reply = Reply(status=500)
        emit("First")
        receiver.default_reply = Reply()
        emit("Second", "Third")
        webhook.send_test()
        etag = webhook.get("").headers["ETag"]
        assert self.counts(webhook) == [(2, 1)] * 3
        for hours, minutes, period_count in ((0, 55, 3), (0, 6, 2), (22, 0, 2), (2, 0, 1), (142, 0, 1), (2, 0, 0)):
            clock.shift(hours=hours, minutes=minutes)
            assert self.counts(webhook) == [(0, 0)] * (3 - period_count) + [(2, 1)] * period_count, now()
        assert webhook.get("").headers["ETag"] == etag

    def test_are_zero_without_attempts_and_gone_with_the_webhook(self, webhook, emit, workers):
        none = {"delivered": 0, "failed": 0, "medianDurationMs": None}
        assert webhook.get("/statistics").json == dict.fromkeys(PERIODS, none)
        emit("After")
        last_hour = webhook.get("/statistics").json["lastHour"]
        (attempt,) = webhook.get_delivery()["attempts"]
        assert abs(last_hour["medianDurationMs"] - attempt["durationMs"]) <= max(1, 0.1 * attempt["durationMs"])
        webhook.delete()
        workers.run_until_idle()
        assert webhook.get("/statistics").status_and_code == "404 not_found"
        assert not [item for item in memory_aws.all_items() if item["pk"] == f"V#{webhook.id}"]


class TestRetry:
    @pytest.fixture
    def delivery(self, webhook, emit):
        """A delivery that succeeded."""
        emit("After")
        return webhook.get_delivery()

    def test_a_delivery_is_sent_again_at_once(self, webhook, delivery, workers, receiver):
        requeued = webhook.retry(delivery).json
        expected = {"status": "pending", "completedAt": None, "version": delivery["version"] + 1}
        assert requeued | expected == requeued == webhook.get_delivery()
        assert requeued["nextAttemptAt"] <= now()
        workers.deliver()
        completed = webhook.get_delivery()
        assert completed["status"] == "succeeded"
        assert [attempt["number"] for attempt in completed["attempts"]] == [1, 2]
        first, second = receiver.requests
        assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])

    def test_a_failed_delivery_gets_all_attempts_again(self, webhook, emit, workers, receiver, run_tasks_after):
        def outcome_after(minutes: float) -> tuple[str, int]:
            run_tasks_after(minutes=minutes)
            delivery = webhook.get_delivery()
            return delivery["status"], len(delivery["attempts"])

        receiver.default_reply = Reply(status=500)
        emit("After")
        for seconds in RETRY_SECONDS:
            outcome = outcome_after((seconds * 1.2 + 301) / 60)
        assert outcome == ("failed", 10)
        assert webhook.retry(webhook.get_delivery()).status == 202
        workers.deliver()
        assert outcome_after(6) == ("pending", 12)
        receiver.default_reply = Reply()
        assert outcome_after(12) == ("succeeded", 13)

    def test_a_pending_delivery_is_sent_earlier(self, webhook, emit, workers, receiver, run_tasks_after):
        receiver.default_reply = Reply(status=500)
        emit("After")
        run_tasks_after(seconds=7)
        pending = webhook.get_delivery()
        assert pending["nextAttemptAt"] > after(now(), seconds=200)
        receiver.default_reply = Reply()
        assert webhook.retry(pending).status == 202
        workers.deliver()
        assert webhook.get_delivery()["status"] == "succeeded"

    def test_a_skipped_delivery_is_sent_once_the_webhook_is_active(self, webhook, emit, workers, receiver):
        webhook.update(enabled=False)
        emit("Unheard")
        answers = {"paused": webhook.retry(webhook.get_delivery())}
        webhook.update(enabled=True)
        assert webhook.retry(webhook.get_delivery()).status == 202
        workers.deliver()
        assert received_names(receiver) == ["Unheard"]
        receiver.default_reply = Reply(status=410)
        emit("Gone")
        answers["disabled"] = webhook.retry(webhook.list_deliveries()[1])
        for status, answer in answers.items():
            answer.expect_problem("409 invalid_transition", f"is {status}", '{"enabled": true}')

    def test_an_expired_delivery_is_not_found(self, webhook, delivery, clock):
        clock.shift(days=RETENTION_DAYS, seconds=1)
        assert webhook.retry(delivery).status_and_code == "404 not_found"
