"""Exports whose worker is killed or overtaken at any AWS call have complete and correct files."""

import gzip
import json
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from typing import Final

import pytest

from chalicelib.features.audit.exports.logic import async_export
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files, table
from chalicelib.kernel.work import jobs, queues
from tests.catalogue import log_proof
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults.fault_variants import FAULTS_AFTER_SUCCESS, Variant, call_numbers, exhaustive_unless_essential
from tests.harness import exports
from tests.harness.clock import Clock
from tests.harness.exports import CreatedExport, append_entries, create_export, download_file
from tests.harness.faults import Fault, ProcessDied, inject_fault, run_before_call

FATAL_VARIANTS: Final = [
    Variant(fault, is_repeated=False) for fault in (*FAULTS_AFTER_SUCCESS, Fault.DIED_BEFORE, Fault.TIMED_OUT)
]
LEASE_MINUTES: Final = 4


@pytest.fixture(autouse=True)
def _frequent_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make checkpoints frequent, so that only some of them have enough data for an upload part."""
    exports.set_min_part_bytes(monkeypatch, min_bytes=12_000)
    monkeypatch.setattr(logs, "_MAX_LONG_BODIES", 2)
    monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", -1)


def create_export_of_long_entries(tenant: TenantFixture) -> CreatedExport:
    """Create a pending export of long entries with a filter."""
    append_entries(tenant.id, 2, 9_000)
    tenant.create_api_key("read")
    append_entries(tenant.id, 3, 9_000)
    started = create_export(tenant.api, tenant.organization, filters={"type": "organization.updated"})
    ledger.append_pending_and_return_longest_wait_ms(tenant.id)
    return started


def run_until_completed(tenant: TenantFixture, clock: Clock, started: CreatedExport) -> None:
    """Run the workers until the export is completed, and assert that it is correct."""
    for _ in range(4):
        clock.shift(minutes=LEASE_MINUTES)
        tenant.workers.run_until_idle()
        if (table.get(started.item_key) or {})["status"] == "completed":
            break
    assert_export_is_correct(tenant, started)


def assert_export_is_correct(tenant: TenantFixture, started: CreatedExport) -> None:
    """Assert that the file matches its record and its completion was logged once."""
    record = started.get(tenant.api)
    assert record["status"] == "completed"
    file = download_file(record)
    assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])
    exported_entries = [json.loads(line) for line in gzip.decompress(file).splitlines()]
    assert [entry["sequence"] for entry in exported_entries] == sequences(started)
    assert record["entryCount"] == len(exported_entries)
    assert f"{len(exported_entries)} of" in exports.verify_export_file(record)
    assert Counter(entry.json["type"] for entry in log_proof.load_entries() if started.id in str(entry.body)) == {
        "organization.audit_export.requested": 1,
        "organization.audit_export.completed": 1,
        "organization.audit_export.downloaded": 1,
    }


def sequences(started: CreatedExport) -> list[int]:
    """Return the sequences of the entries that match the filter."""
    log_entries = [entry for entry in log_proof.load_entries() if entry.log == started.organization.id]
    return [e.sequence for e in log_entries if e.sequence and e.json["type"] == "organization.updated"]


@pytest.mark.parametrize("variant", exhaustive_unless_essential(FATAL_VARIANTS))
def test_export_is_completed_after_a_fault_at_any_call(variant, tenant, restore_tenant, clock):
    for at in call_numbers():
        started = restore_tenant(create_export_of_long_entries)
        queues.enqueue("audit_exports.run", started.item_key)
        with variant.inject(at) as injected, suppress(ProcessDied):
            tenant.workers.try_deliver()
        if not injected.failed_call:
            break
        run_until_completed(tenant, clock, started)
    assert at > (15 if variant.fault in FAULTS_AFTER_SUCCESS else 20), "the fault was injected at all calls"


def test_export_is_completed_after_repeated_faults(tenant, restore_tenant, clock):
    started = restore_tenant(create_export_of_long_entries)
    queues.enqueue("audit_exports.run", started.item_key)
    for at in range(2, 16):
        with inject_fault(Fault.DIED_BEFORE, first_call=at), suppress(ProcessDied):
            tenant.workers.try_deliver()
        clock.shift(minutes=LEASE_MINUTES)
    run_until_completed(tenant, clock, started)
    assert files.find_original_of_first_key(settings().exports_bucket, f"{started.organization.id}/{started.id}/rest/")
    clock.shift(days=8)
    tenant.workers.run_until_idle()
    assert files.find_original_of_first_key(settings().exports_bucket, "") is None
    assert exports.unfinished_uploads() == []


def test_export_is_completed_once_if_another_worker_takes_over(tenant, restore_tenant, clock):
    """The first worker goes on after another one took over. Its parts do not get into the file."""

    def take_over() -> None:
        clock.shift(minutes=LEASE_MINUTES)
        tenant.workers.try_deliver()

    for at in call_numbers():
        started = restore_tenant(create_export_of_long_entries)
        for _ in range(2):
            queues.enqueue("audit_exports.run", started.item_key)
        with run_before_call(take_over, call_number=at) as overtaking:
            tenant.workers.try_deliver()
        if not overtaking.interrupted_call:
            break
        run_until_completed(tenant, clock, started)
    assert at > 20, "it was overtaken before all calls"


def test_export_is_completed_in_slices(tenant, restore_tenant, clock, monkeypatch):
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
    started = restore_tenant(create_export_of_long_entries)
    queues.enqueue("audit_exports.run", started.item_key)
    slices = [body for body in tenant.workers.deliver() if "audit_exports.run" in body]
    assert len(slices) >= 4
    run_until_completed(tenant, clock, started)
