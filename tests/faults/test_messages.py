"""Messages that come twice, late, out of order, or make no sense: they say what to look at, never what is true."""

import json
from typing import Any, Final

import pytest

from chalicelib.features.organizations.entities import RESTORABLE_DAYS, Organization
from chalicelib.kernel import aws, queues, table
from chalicelib.kernel.clock import after, now
from chalicelib.kernel.ids import new_id
from chalicelib.kernel.settings import settings
from tests.catalogue import evidence
from tests.catalogue.world import World
from tests.harness import cloud, snapshots
from tests.harness.clock import Clock
from tests.harness.workers import bodies, waiting

EVENTS: Final = "events.fifo"


def rename(world: World, times: int = 1) -> None:
    """Change both organizations' names, some times in turn."""
    for n in range(times):
        for place in (world.organization, world.rivals):
            assert world.api.patch(place.path, as_=place.owner, json={"name": f"Name {n}"}).status == 200


def forget_messages() -> None:
    for queue in cloud.queues():
        queue._messages.clear()  # noqa: SLF001 - a message that is lost


def send_event(body: str, group: str) -> None:
    aws.client("sqs").send_message(
        QueueUrl=settings().events_queue_url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=group
    )


class TestAWake:
    def test_that_comes_twice_appends_once(self, world: World) -> None:
        rename(world)
        for log in (world.id, world.rivals.id):
            queues.wake(log, new_id(now()))
        assert len(bodies(EVENTS)) == 4
        world.workers.deliver()
        evidence.assert_proven()

    def test_that_comes_late_finds_nothing_to_do(self, world: World) -> None:
        rename(world)
        world.workers.deliver()
        before = snapshots.stored()
        queues.wake(world.id, new_id(now()))
        world.workers.deliver()
        assert world.workers.calls.names == ["dynamodb:Query"]
        assert snapshots.stored() == before

    def test_appends_what_other_messages_were_about(self, world: World) -> None:
        rename(world, times=3)
        forget_messages()
        queues.wake(world.id, new_id(now()))
        queues.wake(world.rivals.id, new_id(now()))
        world.workers.deliver()
        evidence.assert_proven()

    def test_of_one_organization_may_overtake_anothers(self, world: World) -> None:
        rename(world, times=2)
        waiting(EVENTS)._messages.reverse()  # noqa: SLF001
        world.workers.deliver()
        evidence.assert_proven()

    def test_that_is_lost_is_made_up_for_by_the_schedule(self, world: World, clock: Clock) -> None:
        rename(world, times=2)
        forget_messages()
        world.workers.sweep()
        assert bodies(EVENTS) == [], "no entry waits for long yet"
        clock.shift(seconds=11)
        world.workers.sweep()
        assert sorted(json.loads(body)["log"] for body in bodies(EVENTS)) == sorted((world.id, world.rivals.id))
        world.workers.deliver()
        evidence.assert_proven()

    def test_of_a_log_that_never_was_does_nothing(self, world: World) -> None:
        before = snapshots.stored()
        queues.wake("01939d3c-0000-7000-8000-0000000000ff", new_id(now()))
        world.workers.deliver()
        assert snapshots.stored() == before

    @pytest.mark.parametrize("body", ["no json", "{}", "[]"])
    def test_that_makes_no_sense_stays_and_holds_up_nobody_else(self, body: str, world: World) -> None:
        rename(world)
        send_event(body, group="nonsense")
        attempt = world.workers.attempt()
        assert attempt.failed == [body]
        evidence.assert_proven()


class TestTwoTicks:
    def test_one_after_the_other_queue_everything_once(self, world: World, clock: Clock) -> None:
        rename(world)
        forget_messages()
        clock.shift(seconds=11)
        world.workers.sweep()
        queued = bodies(EVENTS)
        world.workers.sweep()
        assert bodies(EVENTS) == queued

    def test_at_once_queue_everything_once(self, world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        key = world.key("read", expiresAt=after(now(), days=1))
        forget_messages()
        clock.shift(days=1, seconds=11)
        query, nested = table.query, [world.workers.sweep]

        def overtaken(*arguments: Any, **words: Any) -> table.Found:
            found = query(*arguments, **words)
            while found.items and nested:
                nested.pop()()  # The other sweep comes between what this one reads and what it claims.
            return found

        monkeypatch.setattr(table, "query", overtaken)
        world.workers.sweep()
        assert nested == []
        assert [json.loads(body)["log"] for body in bodies(EVENTS)] == [world.id]
        assert [json.loads(body)["sk"] for body in bodies("jobs")] == [f"K#{key.id}"]

    def test_queue_again_what_was_not_done_in_a_minute(self, world: World, clock: Clock) -> None:
        rename(world)
        forget_messages()
        clock.shift(seconds=11)
        world.workers.sweep()
        forget_messages()
        clock.shift(seconds=61)
        world.workers.settle()
        evidence.assert_proven()


class TestAPurge:
    @staticmethod
    def _deleted(world: World) -> None:
        assert world.api.delete(world.organization.path, as_=world.people.owner).status == 204
        world.workers.settle()

    @staticmethod
    def _send(world: World) -> None:
        pk, sk = Organization.key_of(id=world.id)
        queues.start("organizations.purge", (pk, sk))

    def test_that_comes_twice_is_one(self, world: World, clock: Clock) -> None:
        self._deleted(world)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        self._send(world)
        self._send(world)
        world.workers.settle()
        assert [entry.json["type"] for entry in evidence.entries() if entry.log == world.id][-2:] == [
            "organization.deleted", "organization.purged",
        ]  # fmt: skip
        assert not [key for key in snapshots.stored() if key[0] == f"O#{world.id}"]
        evidence.assert_proven()

    def test_that_comes_too_early_does_nothing(self, world: World, clock: Clock) -> None:
        self._deleted(world)
        clock.shift(days=RESTORABLE_DAYS, minutes=1)
        before = snapshots.stored()
        self._send(world)
        world.workers.deliver()
        assert snapshots.stored() == before

    def test_that_comes_after_the_restoration_does_nothing(self, world: World, clock: Clock) -> None:
        self._deleted(world)
        clock.shift(days=RESTORABLE_DAYS - 1)
        restored = world.api.patch(world.organization.path, as_=world.people.owner, json={"status": "active"})
        assert restored.status == 200
        world.workers.settle()
        clock.shift(days=2)
        before = snapshots.stored()
        self._send(world)
        world.workers.settle()
        assert snapshots.stored() == before

    def test_leaves_the_neighbours_alone(self, world: World, clock: Clock) -> None:
        theirs = {key: item for key, item in snapshots.stored().items() if world.rivals.id in str(item)}
        assert theirs
        self._deleted(world)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        self._send(world)
        world.workers.deliver()
        assert {key: item for key, item in snapshots.stored().items() if key in theirs} == theirs


class TestAnExpiry:
    def test_that_comes_twice_frees_one_place(self, world: World, clock: Clock) -> None:
        count = f"O#{world.id}", "COUNT#API keys"
        key = world.key("read", expiresAt=after(now(), days=1))
        counted = snapshots.stored()[count]["n"]
        clock.shift(days=1, seconds=1)
        for _ in range(2):
            queues.start("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
        world.workers.settle()
        assert snapshots.stored()[count]["n"] == counted - 1

    def test_of_a_key_that_was_revoked_frees_no_second_place(self, world: World, clock: Clock) -> None:
        count = f"O#{world.id}", "COUNT#API keys"
        key = world.key("read", expiresAt=after(now(), days=1))
        counted = snapshots.stored()[count]["n"]
        path = f"{world.organization.path}/api-keys/{key.id}"
        assert world.api.delete(path, as_=world.people.owner).status == 204
        clock.shift(days=1, seconds=1)
        queues.start("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
        world.workers.settle()
        assert snapshots.stored()[count]["n"] == counted - 1


def test_a_task_that_nobody_knows_stays_and_the_others_are_done(world: World, clock: Clock) -> None:
    key = world.key("read", expiresAt=after(now(), days=1))
    clock.shift(days=1, seconds=1)
    queues.forward({"task": "nothing.known"})
    queues.start("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
    attempt = world.workers.attempt()
    assert attempt.failed == ['{"task": "nothing.known"}']
    assert not snapshots.stored()[f"O#{world.id}", f"K#{key.id}"]["live"]
