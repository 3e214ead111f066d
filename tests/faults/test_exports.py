"""An export whose worker dies, or is overtaken by another, at any call of AWS: its file is whole and right."""

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
from tests.faults.variants import DONE, Variant, calls
from tests.harness import exports
from tests.harness.clock import Clock
from tests.harness.exports import Started, begin_export, fetched, fill
from tests.harness.faults import Died, Fault, failing, overtaken

DEADLY: Final = [Variant(fault, lasts=False) for fault in (*DONE, Fault.DIED_BEFORE, Fault.TIMED_OUT)]
LEASE_MINUTES: Final = 4


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker keep what it has every few entries: enough for a part, or not, in turn."""
    exports.let_parts_be_small(monkeypatch, least=12_000)
    monkeypatch.setattr(logs, "_MAX_LONG_BODIES", 2)
    monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", -1)


def asked_for(world: World) -> Started:
    """An export of long entries, of which some are left out, that nobody has begun to make."""
    fill(world.id, 2, 9_000)
    world.key("read")
    fill(world.id, 3, 9_000)
    started = begin_export(world.api, world.organization, filters={"type": "organization.updated"})
    ledger.append_pending(world.id)
    return started


def settled(world: World, clock: Clock, started: Started) -> None:
    """Let messages come back, and what is due be done, until the export has ended; then assert that it is right."""
    for _ in range(4):
        clock.shift(minutes=LEASE_MINUTES)
        world.workers.settle()
        if (table.get(started.key) or {})["status"] == "completed":
            break
    judge(world, started)


def judge(world: World, started: Started) -> None:
    """Assert that the file is whole and what its record says, and that its end was said once."""
    record = started.now(world.api)
    assert record["status"] == "completed"
    file = fetched(record)
    assert (sha256(file).hexdigest(), len(file)) == (record["sha256"], record["sizeBytes"])
    said = [json.loads(line) for line in gzip.decompress(file).splitlines()]
    assert [entry["sequence"] for entry in said] == sequences(started)
    assert record["entryCount"] == len(said)
    assert f"{len(said)} of" in exports.proven(record)
    assert Counter(entry.json["type"] for entry in evidence.entries() if started.id in str(entry.body)) == {
        "organization.audit_export.requested": 1,
        "organization.audit_export.completed": 1,
        "organization.audit_export.downloaded": 1,
    }


def sequences(started: Started) -> list[int]:
    """The sequences of the entries that are wanted."""
    mine = [entry for entry in evidence.entries() if entry.log == started.organization.id]
    return [e.sequence for e in mine if e.sequence and e.json["type"] == "organization.updated"]


@pytest.mark.parametrize("variant", DEADLY, ids=str)
def test_an_export_whose_worker_dies_at_any_call_is_made(
    variant: Variant, world: World, begin: Begin, clock: Clock
) -> None:
    for at in calls():
        started = begin(asked_for)
        queues.enqueue("audit_exports.run", started.key)
        with variant.strikes(at) as injected, suppress(Died):
            world.workers.attempt()
        if not injected.hit:
            break
        settled(world, clock, started)
    assert at > (15 if variant.fault in DONE else 20), "the fault found all calls"


def test_an_export_whose_workers_die_again_and_again_is_made(world: World, begin: Begin, clock: Clock) -> None:
    started = begin(asked_for)
    queues.enqueue("audit_exports.run", started.key)
    for at in range(2, 16):
        with failing(Fault.DIED_BEFORE, at=at), suppress(Died):
            world.workers.attempt()
        clock.shift(minutes=LEASE_MINUTES)
    settled(world, clock, started)
    assert files.find_first_key(settings().exports_bucket, f"{started.organization.id}/{started.id}/rest/")
    clock.shift(days=8)
    world.workers.settle()
    assert files.find_first_key(settings().exports_bucket, "") is None
    assert exports.being_made() == []


def test_an_export_that_another_worker_takes_over_before_any_call_is_made_once(
    world: World, begin: Begin, clock: Clock
) -> None:
    """The first one goes on as if it had slept: what it puts gets into no file."""

    def take_over() -> None:
        clock.shift(minutes=LEASE_MINUTES)
        world.workers.attempt()

    for at in calls():
        started = begin(asked_for)
        for _ in range(2):
            queues.enqueue("audit_exports.run", started.key)
        with overtaken(take_over, at=at) as overtaking:
            world.workers.attempt()
        if not overtaking.hit:
            break
        settled(world, clock, started)
    assert at > 20, "it was overtaken everywhere"


def test_an_export_is_made_turn_by_turn(
    world: World, begin: Begin, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
    started = begin(asked_for)
    queues.enqueue("audit_exports.run", started.key)
    turns = [body for body in world.workers.deliver() if "audit_exports.run" in body]
    assert len(turns) >= 4
    settled(world, clock, started)
