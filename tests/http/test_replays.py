"""Replays: which deliveries are made once more, in which order, and what becomes of a replay that is disturbed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.replays import tasks
from chalicelib.features.notifications.replays.entities import Replay
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work import jobs
from tests.harness import cloud
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, told
from tests.harness.workers import Workers, bodies

URL = "https://hooks.example.com/atrium"
UPDATED = "organization.updated"
REPLAYED = "organization.webhook.replayed"
LONG_AGO = "2020-01-01T00:00:00Z"


def asked(api: Api, made: Hook, **body: Any) -> Answer:
    """Return the answer to the owner's request to replay deliveries."""
    return api.post(f"{made.path}/replay", as_=made.organization.owner, json={"from": LONG_AGO, **body})


def begun(api: Api, made: Hook, **body: Any) -> Json:
    """Return a replay that the owner has started."""
    answer = asked(api, made, **body)
    assert answer.status == 202, answer.text
    return answer.json


def ended(api: Api, made: Hook, replay: Json) -> Json:
    """Return a replay as it is now; it is over."""
    record = api.get(f"{made.path}/replays/{replay['id']}", as_=made.organization.owner).json
    assert record["status"] in ("completed", "failed"), record
    return record


def put(made: Hook, statuses: Iterable[DeliveryStatus], at: str | None = None) -> list[str]:
    """Let events have been delivered to a webhook a millisecond after each other, since a second; return their ids."""
    ids: list[str] = []
    for status in statuses:
        moment = after(at or after(now(), seconds=-1), seconds=len(ids) / 1000)
        delivery = WebhookDelivery.plan(
            made.id,
            event_id=new_id(moment),
            event_type=UPDATED,
            organization_id=made.organization.id,
            sequence=len(ids) + 1,
            occurred_at=moment,
            now=moment,
            attempt_at=None,
        )
        cloud.put(delivery.replace(status=status).item())
        ids.append(delivery.id)
    return ids


def pending(api: Api, made: Hook) -> list[str]:
    """Return the ids of the deliveries that wait to be sent, the oldest first."""
    return [one["id"] for one in deliveries(api, made, status="pending")]


def started(workers: Workers) -> None:
    """Let the replay itself be done, as far as it can be, and nothing be sent."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("chalicelib.kernel.work.queues.enqueue_deliveries", lambda _messages: None)
        workers.attempt()


@pytest.fixture
def idle(api: Api, organization: Founded, workers: Workers) -> Hook:
    """A webhook that wants nothing that happens."""
    made = hook(api, organization, URL, events=["organization.purged"])
    workers.deliver()
    return made


@pytest.mark.usefixtures("private_targets")
class TestWhatWasMissed:
    def test_is_sent_in_its_order_and_the_replay_says_how_much_that_was(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Heard")
        workers.deliver()
        change(api, made, enabled=False)
        for n in range(60):
            rename(api, organization, f"Missed {n}")
        workers.deliver()
        change(api, made, enabled=True)
        answer = asked(api, made)
        assert answer.status == 202
        replay = answer.json
        assert answer.location == f"{made.path}/replays/{replay['id']}"
        assert (replay["status"], replay["requeued"], replay["webhookId"]) == ("queued", 60, made.id)
        assert (replay["from"], replay["deliveryStatus"]) == ("2020-01-01T00:00:00.000Z", None)
        assert replay["createdAt"] == replay["to"]
        workers.deliver()
        record = ended(api, made, replay)
        assert (record["status"], record["requeued"], record["error"]) == ("completed", 60, None)
        names = [told(request)["data"]["name"] for request in receiver.requests]
        assert names == ["Heard", *(f"Missed {n}" for n in range(60))]
        assert {one["status"] for one in deliveries(api, made)} == {"succeeded"}

    def test_and_fails_again_is_tried_like_anything_else(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        change(api, made, enabled=False)
        rename(api, organization, "Missed")
        workers.deliver()
        change(api, made, enabled=True)
        receiver.answer = Reply(status=500)
        begun(api, made)
        workers.deliver()
        assert [one["status"] for one in deliveries(api, made)] == ["pending"]
        receiver.answer = Reply()
        clock.shift(seconds=10)
        workers.settle()
        assert [one["status"] for one in deliveries(api, made)] == ["succeeded"]


class TestWhich:
    STATUSES: tuple[DeliveryStatus, ...] = ("succeeded", "failed", "skipped", "failed")

    def test_those_that_failed_or_were_skipped_unless_told_otherwise(
        self, api: Api, idle: Hook, workers: Workers
    ) -> None:
        made = put(idle, self.STATUSES)
        assert begun(api, idle)["requeued"] == 3
        started(workers)
        assert pending(api, idle) == made[1:]

    @pytest.mark.parametrize(("status", "which"), [("failed", [1, 3]), ("skipped", [2]), ("succeeded", [0])])
    def test_those_of_one_status(self, api: Api, idle: Hook, workers: Workers, status: str, which: list[int]) -> None:
        made = put(idle, self.STATUSES)
        replay = begun(api, idle, status=status)
        assert (replay["requeued"], replay["deliveryStatus"]) == (len(which), status)
        started(workers)
        assert pending(api, idle) == [made[n] for n in which]
        assert ended(api, idle, replay)["requeued"] == len(which)

    def test_those_of_a_time_both_its_ends_included(self, api: Api, idle: Hook, workers: Workers, clock: Clock) -> None:
        made, moments = [], []
        clock.freeze()
        for _ in range(5):
            clock.shift(minutes=1)
            moments.append(now())
            made += put(idle, ["failed"], moments[-1])
        clock.shift(minutes=1)
        assert begun(api, idle, **{"from": moments[1], "to": moments[3]})["requeued"] == 3
        started(workers)
        assert pending(api, idle) == made[1:4]

    def test_those_that_wait_are_left_and_none_of_what_comes_later_is_meant(
        self, api: Api, idle: Hook, workers: Workers, clock: Clock
    ) -> None:
        clock.freeze()
        put(idle, ["pending", "succeeded"])
        replay = begun(api, idle)
        clock.shift(seconds=1)
        put(idle, ["failed"], now())
        started(workers)
        assert (replay["requeued"], ended(api, idle, replay)["requeued"]) == (0, 0)

    def test_those_that_are_not_kept_any_more_are_gone(
        self, api: Api, idle: Hook, workers: Workers, clock: Clock
    ) -> None:
        put(idle, ["failed"])
        clock.shift(days=RETENTION_DAYS, seconds=1)
        replay = begun(api, idle)
        started(workers)
        assert ended(api, idle, replay)["requeued"] == 0

    def test_another_webhooks_are_its_own(self, api: Api, organization: Founded, idle: Hook, workers: Workers) -> None:
        other = hook(api, organization, URL, events=["organization.purged"])
        put(other, ["failed"])
        assert begun(api, idle)["requeued"] == 0
        started(workers)
        assert [one["status"] for one in deliveries(api, other)] == ["failed"]


class TestARequest:
    @pytest.mark.parametrize(
        ("body", "faults"),
        [
            ({"from": None}, {"/from": "required"}),
            ({"from": "yesterday"}, {"/from": "malformed"}),
            ({"to": "2019-12-31T23:59:59Z"}, {"/from": "out_of_range"}),
            ({"until": LONG_AGO}, {"/until": "unknown_field"}),
            ({"status": "pending"}, {"/status": "not_one_of"}),
            ({"status": "failed,skipped"}, {"/status": "not_one_of"}),
        ],
    )
    def test_that_makes_no_sense_is_refused(self, api: Api, idle: Hook, body: Json, faults: dict[str, str]) -> None:
        answer = asked(api, idle, **body)
        assert answer.code == "422 validation_failed"
        assert answer.faults == faults

    def test_for_a_webhook_that_is_not_active_is_refused_with_what_to_do(self, api: Api, idle: Hook) -> None:
        change(api, idle, enabled=False)
        answer = asked(api, idle)
        assert answer.code == "409 invalid_transition"
        assert '{"enabled": true}' in answer.json["detail"]

    def test_has_an_entry_about_the_replay(self, api: Api, organization: Founded, idle: Hook) -> None:
        replay = begun(api, idle, status="failed")
        (entry,) = log_of(api, organization, type=REPLAYED)
        assert entry["target"] == {"type": "organization.webhook.replay", "id": replay["id"], "name": replay["id"]}
        assert (entry["data"], entry["changes"]) == (replay, [])

    def test_finds_no_replay_of_another_webhook(self, api: Api, organization: Founded, idle: Hook, ada: Person) -> None:
        replay = begun(api, idle)
        for other in (hook(api, organization, URL), hook(api, found(api, ada), URL)):
            assert api.get(f"{other.path}/replays/{replay['id']}", as_=ada).code == "404 not_found"

    def test_is_refused_while_too_many_run(
        self, api: Api, organization: Founded, idle: Hook, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert Replay.quota.limit == 10
        monkeypatch.setattr(Replay, "quota", replace(Replay.quota, limit=2))
        other = hook(api, organization, URL)
        for made in (idle, other):
            begun(api, made)
        assert asked(api, idle).code == "409 limit_exceeded"
        workers.deliver()
        assert asked(api, idle).status == 202


class TestWhatComesInBetween:
    @pytest.fixture(autouse=True)
    def _small_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 2)
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 3)

    def test_a_long_one_goes_on_in_turns(
        self, api: Api, idle: Hook, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", 0)
        made = put(idle, ["failed", "succeeded"] * 8)
        replay = begun(api, idle)
        for _ in range(8):
            started(workers)
        record = ended(api, idle, replay)
        assert (record["status"], record["requeued"]) == ("completed", 8)
        assert pending(api, idle) == made[::2]

    def test_one_that_is_disturbed_asks_for_nothing_twice(
        self, api: Api, idle: Hook, workers: Workers, clock: Clock
    ) -> None:
        made = put(idle, ["failed"] * 7)
        replay = begun(api, idle)
        with failing(Fault.TIMED_OUT, name="dynamodb:TransactWriteItems", at=6, times=None) as injected:
            started(workers)
        assert injected.hit
        assert 0 < len(pending(api, idle)) < 7
        clock.shift(minutes=4)
        workers.sweep()
        started(workers)
        record = ended(api, idle, replay)
        assert (record["status"], record["requeued"]) == ("completed", 7)
        assert pending(api, idle) == made
        assert {one["version"] for one in deliveries(api, idle)} == {2}

    def test_what_changes_meanwhile_is_left(
        self, api: Api, idle: Hook, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = put(idle, ["failed"] * 4)
        replay, ask = begun(api, idle), tasks._requeue_unchecked  # noqa: SLF001

        def disturbed(replay: Replay, lot: Any, position: Any) -> Replay:
            monkeypatch.setattr(tasks, "_requeue_unchecked", ask)
            path = f"{idle.path}/deliveries/{made[0]}/retry"
            assert api.post(path, as_=idle.organization.owner).status == 202
            return ask(replay, lot, position)

        monkeypatch.setattr(tasks, "_requeue_unchecked", disturbed)
        started(workers)
        assert ended(api, idle, replay)["requeued"] == 3
        assert {one["version"] for one in deliveries(api, idle) if one["id"] != made[0]} == {2}

    def test_one_whose_messages_are_lost_is_made_up_for_by_the_sweep(
        self, api: Api, idle: Hook, workers: Workers, clock: Clock
    ) -> None:
        put(idle, ["failed"] * 3)
        replay = begun(api, idle)
        with failing(Fault.TIMED_OUT, name="sqs:SendMessageBatch", times=None):
            workers.deliver()
        assert ended(api, idle, replay)["requeued"] == 3
        assert bodies("deliveries.fifo") == []
        clock.shift(minutes=6)
        workers.settle()
        assert pending(api, idle) == []

    @pytest.mark.parametrize(
        ("disturb", "reason"),
        [
            ({"enabled": False}, "The webhook is paused: nothing is sent to it any more."),
            (None, "The webhook was deleted."),
        ],
    )
    def test_a_webhook_that_takes_nothing_any_more_ends_it(
        self, api: Api, idle: Hook, workers: Workers, disturb: Json | None, reason: str
    ) -> None:
        put(idle, ["failed"] * 3)
        replay = begun(api, idle)
        if disturb:
            change(api, idle, **disturb)
        else:
            assert api.delete(idle.path, as_=idle.organization.owner).status == 204
        workers.deliver()
        record = ended(api, idle, replay)
        assert (record["status"], record["error"], record["requeued"]) == ("failed", reason, 0)

    def test_one_that_comes_to_nothing_again_and_again_is_given_up(
        self, api: Api, idle: Hook, workers: Workers, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(idle, ["failed"])
        replay = begun(api, idle)
        with monkeypatch.context() as patched:
            patched.setattr(tasks, "_advance", _break)
            for _ in range(jobs.MAX_FAILURES):
                workers.attempt()
                clock.shift(minutes=4)
                workers.sweep()
        workers.attempt()
        record = ended(api, idle, replay)
        assert (record["status"], record["requeued"]) == ("failed", 0)
        assert "start it again" in record["error"]

    def test_it_is_forgotten_with_the_deliveries(self, api: Api, idle: Hook, workers: Workers) -> None:
        replay = begun(api, idle)
        workers.deliver()
        (item,) = [item for item in cloud.stored() if item.get("id") == replay["id"]]
        assert item["ttl"] == _seconds(after(replay["createdAt"], days=RETENTION_DAYS))


def _break(_replay: Replay) -> Replay:
    raise ZeroDivisionError


def _seconds(moment: str) -> int:
    return timestamp_ms(moment) // 1000
