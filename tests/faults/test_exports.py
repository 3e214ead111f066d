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
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.faults.variants import FAULTS_AFTER_SUCCESS, Variant, call_numbers
from tests.harness import exports
from tests.harness.clock import Clock
from tests.harness.exports import Started, begin_export, fetched, fill
from tests.harness.faults import Died, Fault, failing, overtaken

FATAL_VARIANTS: Final = [
    Variant(fault, is_repeated=False) for fault in (*FAULTS_AFTER_SUCCESS, Fault.DIED_BEFORE, Fault.TIMED_OUT)
]
LEASE_MINUTES: Final = 4


@pytest.fixture(autouse=True)
def _frequent_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make checkpoints frequent, so that only some of them have enough data for an upload part."""
    exports.let_parts_be_small(monkeypatch, least=12_000)
    monkeypatch.setattr(logs, "_MAX_LONG_BODIES", 2)
    monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", -1)


def create_export_of_long_entries(world: World) -> Started:
    """Create a pending export of long entries with a filter."""
    fill(world.id, 2, 9_000)
    world.key("read")
    fill(world.id, 3, 9_000)
    started = begin_export(world.api, world.organization, filters={"type": "organization.updated"})
    ledger.append_pending(world.id)
    return started


def run_until_completed(world: World, clock: Clock, started: Started) -> None:
    """Run the workers until the export is completed, and assert that it is correct."""
    for _ in range(4):
        clock.shift(minutes=LEASE_MINUTES)
        world.workers.settle()
        if (table.get(started.key) or {})["status"] == "completed":
            break
    assert_export_is_correct(world, started)


def assert_export_is_correct(world: World, started: Started) -> None:
    """Assert that the file matches its record and its completion was logged once."""
    record = started.now(world.api)
    assert record["status"] == "completed"
    file = fetched(record)
    assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])
    exported_entries = [json.loads(line) for line in gzip.decompress(file).splitlines()]
    assert [entry["sequence"] for entry in exported_entries] == sequences(started)
    assert record["entryCount"] == len(exported_entries)
    assert f"{len(exported_entries)} of" in exports.proven(record)
    assert Counter(entry.json["type"] for entry in evidence.entries() if started.id in str(entry.body)) == {
        "organization.audit_export.requested": 1,
        "organization.audit_export.completed": 1,
        "organization.audit_export.downloaded": 1,
    }


def sequences(started: Started) -> list[int]:
    """Return the sequences of the entries that match the filter."""
    log_entries = [entry for entry in evidence.entries() if entry.log == started.organization.id]
    return [e.sequence for e in log_entries if e.sequence and e.json["type"] == "organization.updated"]


@pytest.mark.parametrize("variant", FATAL_VARIANTS, ids=str)
def test_export_is_completed_after_a_fault_at_any_call(
    variant: Variant, world: World, begin: Begin, clock: Clock
) -> None:
    for at in call_numbers():
        started = begin(create_export_of_long_entries)
        queues.enqueue("audit_exports.run", started.key)
        with variant.inject(at) as injected, suppress(Died):
            world.workers.attempt()
        if not injected.hit:
            break
        run_until_completed(world, clock, started)
    assert at > (15 if variant.fault in FAULTS_AFTER_SUCCESS else 20), "the fault was injected at all calls"


def test_export_is_completed_after_repeated_faults(world: World, begin: Begin, clock: Clock) -> None:
    started = begin(create_export_of_long_entries)
    queues.enqueue("audit_exports.run", started.key)
    for at in range(2, 16):
        with failing(Fault.DIED_BEFORE, at=at), suppress(Died):
            world.workers.attempt()
        clock.shift(minutes=LEASE_MINUTES)
    run_until_completed(world, clock, started)
    assert files.find_first_key(settings().exports_bucket, f"{started.organization.id}/{started.id}/rest/")
    clock.shift(days=8)
    world.workers.settle()
    assert files.find_first_key(settings().exports_bucket, "") is None
    assert exports.being_made() == []


def test_export_is_completed_once_if_another_worker_takes_over(world: World, begin: Begin, clock: Clock) -> None:
    """The first worker goes on after another one took over. Its parts do not get into the file."""

    def take_over() -> None:
        clock.shift(minutes=LEASE_MINUTES)
        world.workers.attempt()

    for at in call_numbers():
        started = begin(create_export_of_long_entries)
        for _ in range(2):
            queues.enqueue("audit_exports.run", started.key)
        with overtaken(take_over, at=at) as overtaking:
            world.workers.attempt()
        if not overtaking.hit:
            break
        run_until_completed(world, clock, started)
    assert at > 20, "it was overtaken before all calls"


def test_export_is_completed_in_slices(
    world: World, begin: Begin, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
    started = begin(create_export_of_long_entries)
    queues.enqueue("audit_exports.run", started.key)
    slices = [body for body in world.workers.deliver() if "audit_exports.run" in body]
    assert len(slices) >= 4
    run_until_completed(world, clock, started)
