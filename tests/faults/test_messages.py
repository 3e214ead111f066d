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
from tests.catalogue import log_proof
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults import task_examples
from tests.faults.fault_variants import call_numbers
from tests.harness import memory_aws, snapshots
from tests.harness.faults import Fault, inject_fault, run_before_call
from tests.harness.workers import get_queue, queued_bodies

EVENTS: Final = "events.fifo"


def rename_organizations(tenant: TenantFixture, times: int = 1) -> None:
    """Rename both organizations alternately."""
    for n in range(times):
        for organization in (tenant.organization, tenant.rivals):
            assert (
                tenant.api.patch(organization.path, caller=organization.owner, json={"name": f"Name {n}"}).status == 200
            )


def send_event(body: str, group: str) -> None:
    aws.client("sqs").send_message(
        QueueUrl=settings().events_queue_url, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=group
    )


class TestLedgerMessage:
    def test_duplicate_appends_once(self, tenant):
        rename_organizations(tenant)
        for log in (tenant.id, tenant.rivals.id):
            queues.notify_ledger(log, new_id(now()))
        assert len(queued_bodies(EVENTS)) == 4
        tenant.workers.deliver()
        log_proof.assert_logs_are_proven()

    def test_late_message_changes_nothing(self, tenant):
        rename_organizations(tenant)
        tenant.workers.deliver()
        before = snapshots.items_by_key()
        queues.notify_ledger(tenant.id, new_id(now()))
        tenant.workers.deliver()
        assert tenant.workers.last_calls.call_names == ["dynamodb:Query", "dynamodb:BatchGetItem"]
        assert snapshots.items_by_key() == before

    def test_appends_entries_of_lost_messages(self, tenant):
        rename_organizations(tenant, times=3)
        memory_aws.discard_queued_messages()
        queues.notify_ledger(tenant.id, new_id(now()))
        queues.notify_ledger(tenant.rivals.id, new_id(now()))
        tenant.workers.deliver()
        log_proof.assert_logs_are_proven()

    def test_messages_of_different_organizations_may_be_reordered(self, tenant):
        rename_organizations(tenant, times=2)
        get_queue(EVENTS)._messages.reverse()  # noqa: SLF001
        tenant.workers.deliver()
        log_proof.assert_logs_are_proven()

    def test_schedule_recovers_a_lost_message(self, tenant, clock):
        rename_organizations(tenant, times=2)
        memory_aws.discard_queued_messages()
        tenant.workers.run_sweep()
        assert queued_bodies(EVENTS) == [], "no entry has been pending for long"
        clock.shift(seconds=11)
        tenant.workers.run_sweep()
        assert sorted(json.loads(body)["log"] for body in queued_bodies(EVENTS)) == sorted(
            (tenant.id, tenant.rivals.id)
        )
        tenant.workers.deliver()
        log_proof.assert_logs_are_proven()

    def test_message_of_an_unknown_log_changes_nothing(self, tenant):
        before = snapshots.items_by_key()
        queues.notify_ledger("01939d3c-0000-7000-8000-0000000000ff", new_id(now()))
        tenant.workers.deliver()
        assert snapshots.items_by_key() == before

    @pytest.mark.parametrize("body", ["no json", "{}", "[]"])
    def test_invalid_message_stays_and_does_not_block_others(self, body, tenant):
        rename_organizations(tenant)
        send_event(body, group="nonsense")
        attempt = tenant.workers.try_deliver()
        assert attempt.failed_bodies == [body]
        log_proof.assert_logs_are_proven()


class TestLedgerMessageWithTask:
    @staticmethod
    def _create_export(tenant: TenantFixture) -> str:
        """Create an export and return its path."""
        response = tenant.api.post(f"{tenant.organization.path}/audit-log/export-async", caller=tenant.people.owner)
        assert response.status == 202
        return response.location

    @staticmethod
    def _status(tenant: TenantFixture, path: str) -> str:
        return str(tenant.api.get(path, caller=tenant.people.owner).json["status"])

    def test_starts_the_task_at_once(self, tenant):
        export = self._create_export(tenant)
        tenant.workers.deliver()
        assert self._status(tenant, export) == "completed"

    def test_schedule_recovers_a_lost_task_message(self, tenant, clock):
        export = self._create_export(tenant)
        memory_aws.discard_queued_messages()
        clock.shift(seconds=11)
        tenant.workers.run_until_idle()
        log_proof.assert_logs_are_proven()
        assert self._status(tenant, export) == "completed"

    def test_entries_are_appended_if_the_task_cannot_be_enqueued(self, tenant):
        export = self._create_export(tenant)
        with inject_fault(Fault.THROTTLED, call_name="sqs:SendMessage", times=None):
            tenant.workers.deliver()
        log_proof.assert_logs_are_proven()
        assert queued_bodies("jobs") == []
        tenant.workers.run_until_idle()
        assert self._status(tenant, export) == "completed"

    def test_duplicates_start_one_export(self, tenant):
        export = self._create_export(tenant)
        (body,) = queued_bodies(EVENTS)
        for group in ("first", "second"):
            send_event(body, group)
        tenant.workers.deliver()
        assert self._status(tenant, export) == "completed"
        completed = [e for e in log_proof.load_entries() if e.json["type"] == "organization.audit_export.completed"]
        assert len([e for e in completed if e.json["target"]["id"] == export.rpartition("/")[2]]) == 1


class TestScheduleRuns:
    def test_successive_runs_enqueue_everything_once(self, tenant, clock):
        rename_organizations(tenant)
        memory_aws.discard_queued_messages()
        clock.shift(seconds=11)
        tenant.workers.run_sweep()
        queued = queued_bodies(EVENTS)
        tenant.workers.run_sweep()
        assert queued_bodies(EVENTS) == queued

    def test_concurrent_runs_enqueue_everything_once(self, tenant, clock, restore_tenant):
        for at in call_numbers():
            restore_tenant(task_examples.create_expiring_api_key)
            with clock.shift_temporarily(days=1, seconds=11):
                rename_organizations(tenant)
                memory_aws.discard_queued_messages()
                clock.shift(seconds=11)
                with run_before_call(tenant.workers.run_sweep, call_number=at) as overtaking:
                    tenant.workers.run_sweep()
            if not overtaking.interrupted_call:
                break
            assert sorted(json.loads(body)["log"] for body in queued_bodies(EVENTS)) == sorted(
                (tenant.id, tenant.rivals.id)
            )
            assert [json.loads(body)["task"] for body in queued_bodies("jobs")] == ["api_keys.expire"]
        assert at > 1

    def test_unfinished_work_is_enqueued_again_after_a_minute(self, tenant, clock):
        rename_organizations(tenant)
        memory_aws.discard_queued_messages()
        clock.shift(seconds=11)
        tenant.workers.run_sweep()
        memory_aws.discard_queued_messages()
        clock.shift(seconds=61)
        tenant.workers.run_until_idle()
        log_proof.assert_logs_are_proven()


class TestPurge:
    @staticmethod
    def _delete_organization(tenant: TenantFixture) -> None:
        assert tenant.api.delete(tenant.organization.path, caller=tenant.people.owner).status == 204
        tenant.workers.run_until_idle()

    @staticmethod
    def _enqueue_purge(tenant: TenantFixture) -> None:
        pk, sk = Organization.make_item_key(id=tenant.id)
        queues.enqueue("organizations.purge", (pk, sk))

    def test_message_after_the_restoration_changes_nothing(self, tenant, clock):
        self._delete_organization(tenant)
        clock.shift(days=RESTORABLE_DAYS - 1)
        response = tenant.api.patch(tenant.organization.path, caller=tenant.people.owner, json={"status": "active"})
        assert response.status == 200
        tenant.workers.run_until_idle()
        clock.shift(days=2)
        before = snapshots.items_by_key()
        self._enqueue_purge(tenant)
        tenant.workers.run_until_idle()
        assert snapshots.items_by_key() == before

    def test_purge_leaves_other_organizations_unchanged(self, tenant, clock):
        items_of_rivals = {key: item for key, item in snapshots.items_by_key().items() if tenant.rivals.id in str(item)}
        assert items_of_rivals
        self._delete_organization(tenant)
        clock.shift(days=RESTORABLE_DAYS, minutes=3)
        self._enqueue_purge(tenant)
        tenant.workers.deliver()
        assert {
            key: item for key, item in snapshots.items_by_key().items() if key in items_of_rivals
        } == items_of_rivals


class TestKeyExpiry:
    def test_expiry_of_a_revoked_key_does_not_decrement_the_counter_twice(self, tenant, clock):
        counter_key = f"O#{tenant.id}", "COUNT#API keys"
        key = tenant.create_api_key("read", expiresAt=after(now(), days=1))
        count_before = snapshots.items_by_key()[counter_key]["n"]
        path = f"{tenant.organization.path}/api-keys/{key.id}"
        assert tenant.api.delete(path, caller=tenant.people.owner).status == 204
        clock.shift(days=1, seconds=1)
        queues.enqueue("api_keys.expire", (f"O#{tenant.id}", f"K#{key.id}"))
        tenant.workers.run_until_idle()
        assert snapshots.items_by_key()[counter_key]["n"] == count_before - 1


def test_unknown_task_stays_and_the_others_run(tenant, clock):
    key = tenant.create_api_key("read", expiresAt=after(now(), days=1))
    clock.shift(days=1, seconds=1)
    queues.enqueue_message({"task": "nothing.known"})
    queues.enqueue("api_keys.expire", (f"O#{tenant.id}", f"K#{key.id}"))
    attempt = tenant.workers.try_deliver()
    assert attempt.failed_bodies == ['{"task": "nothing.known"}']
    assert not snapshots.items_by_key()[f"O#{tenant.id}", f"K#{key.id}"]["live"]
