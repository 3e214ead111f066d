"""Messages that come twice, late, out of order, or make no sense: they say what to look at, never what is true."""

import json
from typing import Final

import pytest

from chalicelib.features.tenancy.entities.organizations import RESTORABLE_DAYS, Organization
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work import queues
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults import tasks
from tests.faults.variants import calls
from tests.harness import cloud, snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing, overtaken
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
            queues.notify_ledger(log, new_id(now()))
        assert len(bodies(EVENTS)) == 4
        world.workers.deliver()
        evidence.assert_proven()

    def test_that_comes_late_finds_nothing_to_do(self, world: World) -> None:
        rename(world)
        world.workers.deliver()
        before = snapshots.stored()
        queues.notify_ledger(world.id, new_id(now()))
        world.workers.deliver()
        assert world.workers.calls.names == ["dynamodb:Query", "dynamodb:BatchGetItem"]
        assert snapshots.stored() == before

    def test_appends_what_other_messages_were_about(self, world: World) -> None:
        rename(world, times=3)
        forget_messages()
        queues.notify_ledger(world.id, new_id(now()))
        queues.notify_ledger(world.rivals.id, new_id(now()))
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
        queues.notify_ledger("01939d3c-0000-7000-8000-0000000000ff", new_id(now()))
        world.workers.deliver()
        assert snapshots.stored() == before

    @pytest.mark.parametrize("body", ["no json", "{}", "[]"])
    def test_that_makes_no_sense_stays_and_holds_up_nobody_else(self, body: str, world: World) -> None:
        rename(world)
        send_event(body, group="nonsense")
        attempt = world.workers.attempt()
        assert attempt.failed == [body]
        evidence.assert_proven()


class TestAWakeThatBringsATask:
    @staticmethod
    def _asked(world: World) -> str:
        """Ask for an export, and return where it is found."""
        answer = world.api.post(f"{world.organization.path}/audit-log/export-async", as_=world.people.owner)
        assert answer.status == 202
        return answer.location

    @staticmethod
    def _status(world: World, path: str) -> str:
        return str(world.api.get(path, as_=world.people.owner).json["status"])

    def test_lets_it_begin_at_once(self, world: World) -> None:
        export = self._asked(world)
        world.workers.deliver()
        assert self._status(world, export) == "completed"

    def test_is_made_up_for_by_the_schedule_if_it_is_lost(self, world: World, clock: Clock) -> None:
        export = self._asked(world)
        forget_messages()
        clock.shift(seconds=11)
        world.workers.settle()
        evidence.assert_proven()
        assert self._status(world, export) == "completed"

    def test_holds_up_no_entry_if_it_can_not_pass_it_on_and_leaves_it_to_the_schedule(self, world: World) -> None:
        export = self._asked(world)
        with failing(Fault.THROTTLED, name="sqs:SendMessage", times=None):
            world.workers.deliver()
        evidence.assert_proven()
        assert bodies("jobs") == []
        world.workers.settle()
        assert self._status(world, export) == "completed"

    def test_starts_one_export_however_often_it_comes(self, world: World) -> None:
        export = self._asked(world)
        (body,) = bodies(EVENTS)
        for group in ("first", "second"):
            send_event(body, group)
        world.workers.deliver()
        assert self._status(world, export) == "completed"
        completed = [e for e in evidence.entries() if e.json["type"] == "organization.audit_export.completed"]
        assert len([e for e in completed if e.json["target"]["id"] == export.rpartition("/")[2]]) == 1


class TestTwoTicks:
    def test_one_after_the_other_queue_everything_once(self, world: World, clock: Clock) -> None:
        rename(world)
        forget_messages()
        clock.shift(seconds=11)
        world.workers.sweep()
        queued = bodies(EVENTS)
        world.workers.sweep()
        assert bodies(EVENTS) == queued

    def test_at_once_queue_everything_once(self, world: World, clock: Clock, begin: Begin) -> None:
        for at in calls():
            begin(tasks.a_key_expires)
            with clock.later(days=1, seconds=11):
                rename(world)
                forget_messages()
                clock.shift(seconds=11)
                with overtaken(world.workers.sweep, at=at) as overtaking:
                    world.workers.sweep()
            if not overtaking.hit:
                break
            assert sorted(json.loads(body)["log"] for body in bodies(EVENTS)) == sorted((world.id, world.rivals.id))
            assert [json.loads(body)["task"] for body in bodies("jobs")] == ["api_keys.expire"]
        assert at > 1

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
        pk, sk = Organization.make_item_key(id=world.id)
        queues.enqueue("organizations.purge", (pk, sk))

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
    def test_of_a_key_that_was_revoked_frees_no_second_place(self, world: World, clock: Clock) -> None:
        count = f"O#{world.id}", "COUNT#API keys"
        key = world.key("read", expiresAt=after(now(), days=1))
        counted = snapshots.stored()[count]["n"]
        path = f"{world.organization.path}/api-keys/{key.id}"
        assert world.api.delete(path, as_=world.people.owner).status == 204
        clock.shift(days=1, seconds=1)
        queues.enqueue("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
        world.workers.settle()
        assert snapshots.stored()[count]["n"] == counted - 1


def test_a_task_that_nobody_knows_stays_and_the_others_are_done(world: World, clock: Clock) -> None:
    key = world.key("read", expiresAt=after(now(), days=1))
    clock.shift(days=1, seconds=1)
    queues.forward({"task": "nothing.known"})
    queues.enqueue("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
    attempt = world.workers.attempt()
    assert attempt.failed == ['{"task": "nothing.known"}']
    assert not snapshots.stored()[f"O#{world.id}", f"K#{key.id}"]["live"]
