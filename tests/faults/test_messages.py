"""Messages that are duplicated, delayed, reordered, lost or invalid. They only tell workers where to look."""

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
from tests.faults.variants import call_numbers
from tests.harness import cloud, snapshots
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing, overtaken
from tests.harness.workers import bodies, waiting

EVENTS: Final = "events.fifo"


def rename_organizations(world: World, times: int = 1) -> None:
    """Rename both organizations alternately."""
    for n in range(times):
        for tenant in (world.organization, world.rivals):
            assert world.api.patch(tenant.path, as_=tenant.owner, json={"name": f"Name {n}"}).status == 200


def discard_messages_of_all_queues() -> None:
    for queue in cloud.queues():
        queue._messages.clear()  # noqa: SLF001 - simulates lost messages


def send_event(body: str, group: str) -> None:
    aws.client("sqs").send_message(
        QueueUrl=settings().events_queue_url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=group
    )


class TestLedgerMessage:
    def test_duplicate_appends_once(self, world: World) -> None:
        rename_organizations(world)
        for log in (world.id, world.rivals.id):
            queues.notify_ledger(log, new_id(now()))
        assert len(bodies(EVENTS)) == 4
        world.workers.deliver()
        evidence.assert_proven()

    def test_late_message_changes_nothing(self, world: World) -> None:
        rename_organizations(world)
        world.workers.deliver()
        before = snapshots.stored()
        queues.notify_ledger(world.id, new_id(now()))
        world.workers.deliver()
        assert world.workers.calls.names == ["dynamodb:Query", "dynamodb:BatchGetItem"]
        assert snapshots.stored() == before

    def test_appends_entries_of_lost_messages(self, world: World) -> None:
        rename_organizations(world, times=3)
        discard_messages_of_all_queues()
        queues.notify_ledger(world.id, new_id(now()))
        queues.notify_ledger(world.rivals.id, new_id(now()))
        world.workers.deliver()
        evidence.assert_proven()

    def test_messages_of_different_organizations_may_be_reordered(self, world: World) -> None:
        rename_organizations(world, times=2)
        waiting(EVENTS)._messages.reverse()  # noqa: SLF001
        world.workers.deliver()
        evidence.assert_proven()

    def test_schedule_recovers_a_lost_message(self, world: World, clock: Clock) -> None:
        rename_organizations(world, times=2)
        discard_messages_of_all_queues()
        world.workers.sweep()
        assert bodies(EVENTS) == [], "no entry has been pending for long"
        clock.shift(seconds=11)
        world.workers.sweep()
        assert sorted(json.loads(body)["log"] for body in bodies(EVENTS)) == sorted((world.id, world.rivals.id))
        world.workers.deliver()
        evidence.assert_proven()

    def test_message_of_an_unknown_log_changes_nothing(self, world: World) -> None:
        before = snapshots.stored()
        queues.notify_ledger("01939d3c-0000-7000-8000-0000000000ff", new_id(now()))
        world.workers.deliver()
        assert snapshots.stored() == before

    @pytest.mark.parametrize("body", ["no json", "{}", "[]"])
    def test_invalid_message_stays_and_does_not_block_others(self, body: str, world: World) -> None:
        rename_organizations(world)
        send_event(body, group="nonsense")
        attempt = world.workers.attempt()
        assert attempt.failed == [body]
        evidence.assert_proven()


class TestLedgerMessageWithTask:
    @staticmethod
    def _create_export(world: World) -> str:
        """Create an export and return its path."""
        response = world.api.post(f"{world.organization.path}/audit-log/export-async", as_=world.people.owner)
        assert response.status == 202
        return response.location

    @staticmethod
    def _status(world: World, path: str) -> str:
        return str(world.api.get(path, as_=world.people.owner).json["status"])

    def test_starts_the_task_at_once(self, world: World) -> None:
        export = self._create_export(world)
        world.workers.deliver()
        assert self._status(world, export) == "completed"

    def test_schedule_recovers_a_lost_task_message(self, world: World, clock: Clock) -> None:
        export = self._create_export(world)
        discard_messages_of_all_queues()
        clock.shift(seconds=11)
        world.workers.settle()
        evidence.assert_proven()
        assert self._status(world, export) == "completed"

    def test_entries_are_appended_if_the_task_cannot_be_enqueued(self, world: World) -> None:
        export = self._create_export(world)
        with failing(Fault.THROTTLED, name="sqs:SendMessage", times=None):
            world.workers.deliver()
        evidence.assert_proven()
        assert bodies("jobs") == []
        world.workers.settle()
        assert self._status(world, export) == "completed"

    def test_duplicates_start_one_export(self, world: World) -> None:
        export = self._create_export(world)
        (body,) = bodies(EVENTS)
        for group in ("first", "second"):
            send_event(body, group)
        world.workers.deliver()
        assert self._status(world, export) == "completed"
        completed = [e for e in evidence.entries() if e.json["type"] == "organization.audit_export.completed"]
        assert len([e for e in completed if e.json["target"]["id"] == export.rpartition("/")[2]]) == 1


class TestScheduleRuns:
    def test_successive_runs_enqueue_everything_once(self, world: World, clock: Clock) -> None:
        rename_organizations(world)
        discard_messages_of_all_queues()
        clock.shift(seconds=11)
        world.workers.sweep()
        queued = bodies(EVENTS)
        world.workers.sweep()
        assert bodies(EVENTS) == queued

    def test_concurrent_runs_enqueue_everything_once(self, world: World, clock: Clock, begin: Begin) -> None:
        for at in call_numbers():
            begin(tasks.create_expiring_api_key)
            with clock.later(days=1, seconds=11):
                rename_organizations(world)
                discard_messages_of_all_queues()
                clock.shift(seconds=11)
                with overtaken(world.workers.sweep, at=at) as overtaking:
                    world.workers.sweep()
            if not overtaking.hit:
                break
            assert sorted(json.loads(body)["log"] for body in bodies(EVENTS)) == sorted((world.id, world.rivals.id))
            assert [json.loads(body)["task"] for body in bodies("jobs")] == ["api_keys.expire"]
        assert at > 1

    def test_unfinished_work_is_enqueued_again_after_a_minute(self, world: World, clock: Clock) -> None:
        rename_organizations(world)
        discard_messages_of_all_queues()
        clock.shift(seconds=11)
        world.workers.sweep()
        discard_messages_of_all_queues()
        clock.shift(seconds=61)
        world.workers.settle()
        evidence.assert_proven()


class TestPurge:
    @staticmethod
    def _delete_organization(world: World) -> None:
        assert world.api.delete(world.organization.path, as_=world.people.owner).status == 204
        world.workers.settle()

    @staticmethod
    def _enqueue_purge(world: World) -> None:
        pk, sk = Organization.make_item_key(id=world.id)
        queues.enqueue("organizations.purge", (pk, sk))

    def test_message_after_the_restoration_changes_nothing(self, world: World, clock: Clock) -> None:
        self._delete_organization(world)
        clock.shift(days=RESTORABLE_DAYS - 1)
        response = world.api.patch(world.organization.path, as_=world.people.owner, json={"status": "active"})
        assert response.status == 200
        world.workers.settle()
        clock.shift(days=2)
        before = snapshots.stored()
        self._enqueue_purge(world)
        world.workers.settle()
        assert snapshots.stored() == before

    def test_purge_leaves_other_organizations_unchanged(self, world: World, clock: Clock) -> None:
        items_of_rivals = {key: item for key, item in snapshots.stored().items() if world.rivals.id in str(item)}
        assert items_of_rivals
        self._delete_organization(world)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        self._enqueue_purge(world)
        world.workers.deliver()
        assert {key: item for key, item in snapshots.stored().items() if key in items_of_rivals} == items_of_rivals


class TestKeyExpiry:
    def test_expiry_of_a_revoked_key_does_not_decrement_the_counter_twice(self, world: World, clock: Clock) -> None:
        counter_key = f"O#{world.id}", "COUNT#API keys"
        key = world.key("read", expiresAt=after(now(), days=1))
        count_before = snapshots.stored()[counter_key]["n"]
        path = f"{world.organization.path}/api-keys/{key.id}"
        assert world.api.delete(path, as_=world.people.owner).status == 204
        clock.shift(days=1, seconds=1)
        queues.enqueue("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
        world.workers.settle()
        assert snapshots.stored()[counter_key]["n"] == count_before - 1


def test_unknown_task_stays_and_the_others_run(world: World, clock: Clock) -> None:
    key = world.key("read", expiresAt=after(now(), days=1))
    clock.shift(days=1, seconds=1)
    queues.forward({"task": "nothing.known"})
    queues.enqueue("api_keys.expire", (f"O#{world.id}", f"K#{key.id}"))
    attempt = world.workers.attempt()
    assert attempt.failed == ['{"task": "nothing.known"}']
    assert not snapshots.stored()[f"O#{world.id}", f"K#{key.id}"]["live"]
