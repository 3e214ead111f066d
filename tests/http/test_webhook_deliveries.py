"""The deliveries to a webhook: which are listed, what is shown of them, and what asking for one once more does."""

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.ids import new_id
from tests.harness import cloud
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, told
from tests.harness.workers import Workers

URL = "https://hooks.example.com/atrium"
UPDATED = "organization.updated"
RETRIED = "organization.webhook.delivery_retried"
START = "2026-11-20T09:30:00.000Z"


def put(made: Hook, moment: str, *, status: DeliveryStatus = "succeeded", event_type: str = UPDATED) -> str:
    """Let an event of a moment have been delivered to a webhook; return its id."""
    delivery = WebhookDelivery.plan(
        made.id,
        event_id=new_id(moment),
        event_type=event_type,
        organization_id=made.organization.id,
        sequence=1,
        occurred_at=moment,
        now=moment,
        attempt_at=moment if status == "pending" else None,
    )
    cloud.put(delivery.replace(status=status).item())
    return delivery.id


def listed(api: Api, made: Hook, **query: object) -> list[str]:
    """Return the ids of all deliveries that a list holds, in its order."""
    return [one["id"] for one in api.items(f"{made.path}/deliveries", as_=made.organization.owner, query=query)]


class TestList:
    @pytest.fixture
    def made(self, api: Api, organization: Founded) -> Hook:
        return hook(api, organization, URL, enabled=False)

    @pytest.fixture
    def put_all(self, made: Hook, clock: Clock) -> Mapping[tuple[str, str], list[str]]:
        """Deliveries of each status and of two types, a minute from each other; the ids by both, the newest first."""
        clock.freeze(after(START, hours=2))
        statuses: list[DeliveryStatus] = ["pending", "succeeded", "failed", "skipped"]
        ids: dict[tuple[str, str], list[str]] = {}
        for minute in range(40):
            event_type, status = (UPDATED, "organization.created")[minute % 2], statuses[minute % 3 or minute % 4]
            made_id = put(made, after(START, seconds=60 * minute), status=status, event_type=event_type)
            ids.setdefault((status, event_type), []).insert(0, made_id)
        return ids

    def test_they_are_listed_newest_first_whatever_the_page(
        self, api: Api, made: Hook, put_all: Mapping[Any, list[str]]
    ) -> None:
        everything = sorted((one for ids in put_all.values() for one in ids), reverse=True)
        for limit in (1, 7, 40):
            assert listed(api, made, limit=limit) == everything

    @pytest.mark.parametrize("limit", [1, 3, 100])
    @pytest.mark.parametrize("event_type", [None, UPDATED, "organization.created", "organization.deleted"])
    @pytest.mark.parametrize("status", [None, "pending", "succeeded", "failed", "skipped"])
    def test_filters_that_are_given_have_to_match_all(
        self,
        api: Api,
        made: Hook,
        put_all: Mapping[tuple[str, str], list[str]],
        status: str | None,
        event_type: str | None,
        limit: int,
    ) -> None:
        query = {"limit": limit, "status": status, "eventType": event_type}
        wanted = [
            ids
            for (its_status, its_type), ids in put_all.items()
            if status in (None, its_status) and event_type in (None, its_type)
        ]
        found_ids = listed(api, made, **{name: value for name, value in query.items() if value})
        assert found_ids == sorted((one for ids in wanted for one in ids), reverse=True)

    def test_both_ends_of_a_time_are_part_of_it(self, api: Api, made: Hook, put_all: Mapping[Any, list[str]]) -> None:
        everything = sorted(one for ids in put_all.values() for one in ids)
        since, until = after(START, seconds=60 * 5), after(START, seconds=60 * 9)
        assert listed(api, made, **{"from": since, "to": until}) == everything[5:10][::-1]
        assert listed(api, made, **{"from": after(since, seconds=0.001)}) == everything[6:][::-1]
        assert listed(api, made, to=after(until, seconds=-0.001)) == everything[:9][::-1]
        assert listed(api, made, **{"from": since, "eventType": UPDATED, "limit": 2}) == everything[6::2][::-1]

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("status", "delivered"),
            ("status", ""),
            ("eventType", "organization"),
            ("eventType", "organization.*"),
            ("eventType", "x." * 60),
            ("from", "yesterday"),
            ("to", "2026-11-20"),
        ],
    )
    def test_what_can_be_no_filter_is_refused(self, api: Api, made: Hook, name: str, value: str) -> None:
        answer = api.get(f"{made.path}/deliveries", as_=made.organization.owner, query={name: value})
        assert answer.code == "422 validation_failed"
        assert list(answer.faults) == [f"query/{name}"]

    def test_a_time_that_ends_before_it_begins_is_refused(self, api: Api, made: Hook) -> None:
        query = {"from": "2026-11-20T09:30:00Z", "to": "2026-11-20T09:29:59Z"}
        answer = api.get(f"{made.path}/deliveries", as_=made.organization.owner, query=query)
        assert answer.faults == {"query/from": "out_of_range"}

    def test_each_webhook_has_its_own(self, api: Api, organization: Founded, made: Hook) -> None:
        other = hook(api, organization, URL)
        first, second = put(made, START), put(other, START)
        assert (listed(api, made), listed(api, other)) == ([first], [second])

    def test_after_ninety_days_they_are_gone(self, api: Api, made: Hook, ada: Person, clock: Clock) -> None:
        clock.freeze(START)
        first, second = put(made, START), put(made, after(START, days=1))
        clock.shift(days=RETENTION_DAYS, seconds=-1)
        assert listed(api, made) == [second, first]
        clock.shift(seconds=1)
        assert listed(api, made) == [second]
        for status in ("succeeded", None):
            assert listed(api, made, eventType=UPDATED, **({"status": status} if status else {})) == [second]
        assert api.get(f"{made.path}/deliveries/{first}", as_=ada).code == "404 not_found"
        assert api.get(f"{made.path}/deliveries/{second}", as_=ada).status == 200


class TestGet:
    @pytest.fixture
    def made(self, api: Api, organization: Founded) -> Hook:
        return hook(api, organization, URL)

    def test_it_is_as_it_is_listed(self, api: Api, made: Hook, ada: Person) -> None:
        delivery = put(made, now(), status="skipped")
        answer = api.get(f"{made.path}/deliveries/{delivery}", as_=ada)
        assert deliveries(api, made) == [answer.json]
        assert (answer.json["eventId"], answer.json["webhookId"]) == (delivery, made.id)
        again = api.get(f"{made.path}/deliveries/{delivery}", as_=ada, headers={"If-None-Match": answer.etag})
        assert again.status == 304

    def test_one_of_another_webhook_is_not_found(
        self, api: Api, organization: Founded, made: Hook, ada: Person
    ) -> None:
        for other in (hook(api, organization, URL), hook(api, found(api, ada), URL)):
            foreign = put(other, now())
            assert api.get(f"{made.path}/deliveries/{foreign}", as_=ada).code == "404 not_found"
            assert api.post(f"{made.path}/deliveries/{foreign}/retry", as_=ada).code == "404 not_found"


@pytest.mark.usefixtures("private_targets")
class TestRetry:
    @staticmethod
    def retry(api: Api, made: Hook, delivery: Json, **headers: str) -> Answer:
        path = f"{made.path}/deliveries/{delivery['id']}/retry"
        return api.post(path, as_=made.organization.owner, headers=headers)

    @staticmethod
    def one(api: Api, made: Hook) -> Json:
        (delivery,) = deliveries(api, made)
        return delivery

    def test_it_is_tried_again_at_once_and_says_so(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "After")
        workers.deliver()
        before = self.one(api, made)
        answer = self.retry(api, made, before)
        assert answer.status == 202
        assert answer.location == f"{made.path}/deliveries/{before['id']}"
        asked = answer.json
        assert (asked["status"], asked["completedAt"], asked["version"]) == ("pending", None, before["version"] + 1)
        assert asked["nextAttemptAt"] <= now()
        assert self.one(api, made) == asked
        workers.deliver()
        after_ = self.one(api, made)
        assert (after_["status"], [one["number"] for one in after_["attempts"]]) == ("succeeded", [1, 2])
        first, second = receiver.requests
        assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])

    def test_its_entry_says_what_was_retried_and_what_changed(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, grace: Person
    ) -> None:
        rename(api, organization, "After")
        workers.deliver()
        before = self.one(api, made)
        api.post(f"{made.path}/deliveries/{before['id']}/retry", as_=grace)
        (entry,) = log_of(api, organization, type=RETRIED)
        assert entry["target"] == {"type": "organization.webhook.delivery", "id": before["id"], "name": UPDATED}
        assert entry["actor"]["id"] == grace.id
        assert {"field": "status", "from": "succeeded", "to": "pending"} in entry["changes"]

    def test_one_that_was_given_up_has_all_its_attempts_before_it_again(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "After")
        workers.deliver()
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=seconds * 1.2 + 301)
            workers.settle()
        failed = self.one(api, made)
        assert (failed["status"], len(failed["attempts"])) == ("failed", 10)
        assert self.retry(api, made, failed).status == 202
        workers.deliver()
        clock.shift(minutes=6)
        workers.settle()
        again = self.one(api, made)
        assert (again["status"], len(again["attempts"])) == ("pending", 12)
        receiver.answer = Reply()
        clock.shift(minutes=12)
        workers.settle()
        assert (self.one(api, made)["status"], len(self.one(api, made)["attempts"])) == ("succeeded", 13)

    def test_one_that_waits_is_brought_forward(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "After")
        workers.deliver()
        clock.shift(seconds=7)
        workers.settle()
        waiting = self.one(api, made)
        assert waiting["nextAttemptAt"] > after(now(), seconds=200)
        receiver.answer = Reply()
        assert self.retry(api, made, waiting).status == 202
        workers.deliver()
        assert self.one(api, made)["status"] == "succeeded"

    def test_one_that_was_skipped_is_sent_now(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        change(api, made, enabled=False)
        rename(api, organization, "Unheard")
        workers.deliver()
        change(api, made, enabled=True)
        assert self.retry(api, made, self.one(api, made)).status == 202
        workers.deliver()
        assert [told(request)["data"]["name"] for request in receiver.requests] == ["Unheard"]

    def test_of_a_webhook_that_is_not_active_it_is_refused_with_what_to_do(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        disabled = self.retry(api, made, self.one(api, made))
        change(api, made, enabled=True)
        change(api, made, enabled=False)
        paused = self.retry(api, made, self.one(api, made))
        for answer, status in ((disabled, "disabled"), (paused, "paused")):
            assert answer.code == "409 invalid_transition"
            assert f"is {status}" in answer.json["detail"]
            assert '{"enabled": true}' in answer.json["detail"]

    def test_one_that_has_changed_since_it_was_seen_is_left(
        self, api: Api, organization: Founded, made: Hook, workers: Workers
    ) -> None:
        rename(api, organization, "After")
        workers.deliver()
        seen = self.one(api, made)
        etag = api.get(f"{made.path}/deliveries/{seen['id']}", as_=organization.owner).etag
        assert self.retry(api, made, seen, **{"If-Match": etag}).status == 202
        assert self.retry(api, made, seen, **{"If-Match": etag}).code == "412 precondition_failed"

    def test_a_lost_message_is_made_up_for_by_the_sweep(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        rename(api, organization, "After")
        workers.deliver()
        assert self.retry(api, made, self.one(api, made)).status == 202
        for queue in cloud.queues():
            queue._messages.clear()  # noqa: SLF001
        clock.shift(minutes=6)
        workers.settle()
        assert len(receiver.requests) == 2

    def test_one_that_is_not_kept_any_more_is_not_found(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, clock: Clock
    ) -> None:
        rename(api, organization, "After")
        workers.deliver()
        delivery = self.one(api, made)
        clock.shift(days=RETENTION_DAYS, seconds=1)
        assert self.retry(api, made, delivery).code == "404 not_found"


@pytest.mark.usefixtures("private_targets")
def test_each_request_that_was_sent_is_an_attempt(
    api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
) -> None:
    rename(api, organization, "On a connection that is kept")
    workers.deliver()
    answers = iter([Reply(raw=b"", closes=True), Reply()])
    receiver.answer = lambda _: next(answers)
    rename(api, organization, "On that, and then on a new one")
    workers.deliver()
    attempts = [one["attempts"] for one in deliveries(api, made)]
    assert [len(each) for each in attempts] == [1, 2]
    assert sum(map(len, attempts)) == len(receiver.requests)
    first, second = attempts[-1]
    assert (first["number"], first["statusCode"], second["number"], second["statusCode"]) == (1, None, 2, 200)
    assert first["error"].startswith("The server closed the connection")
    assert first["at"] <= second["at"]
