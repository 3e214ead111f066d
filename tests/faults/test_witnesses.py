"""Anchoring with witnesses and a fault at any AWS call: each anchor becomes one leaf, which all witnesses cosign."""

import base64
from contextlib import suppress

import pytest

from chalicelib.features.audit.witnesses.logic import anchor_log, anchored_checkpoints, publication
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.problems import Problem
from tests.faults.fault_variants import call_numbers, with_work_variants
from tests.faults.test_anchors import grow_log
from tests.harness import rfc6962, snapshots
from tests.harness.anchors import run_anchoring
from tests.harness.faults import ProcessDied
from tests.harness.witnesses import ORIGIN, FakeWitness, anchor_leaf_hash, reachable_witnesses


@pytest.fixture
def witness(tenant, configure, monkeypatch):
    monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)  # The queries of all shards are alike.
    monkeypatch.setattr(anchored_checkpoints, "PENDING_SHARDS", 1)
    public_key = base64.b64decode(tenant.api.get("/status").json["auditPublicKey"])
    witness = FakeWitness("witness.example", {ORIGIN: public_key})
    configure(witnesses=witness.setting, witnessed_log_origin=ORIGIN)
    with reachable_witnesses([witness]):
        yield witness


def grow_witnessed_log(tenant):
    """Append to a log after all logs were anchored and cosigned."""
    grow_log(tenant)
    return anchor_log.load_head_or_empty().tree


@with_work_variants
def test_fault_at_any_call_loses_no_anchor(variant, tenant, restore_tenant, witness, clock):
    for at in call_numbers():
        witness.latest = {}
        tree = restore_tenant(grow_witnessed_log)
        witness.latest = {ORIGIN: (tree.size, tree.root_hash())}
        with variant.inject(at) as injected, suppress(ProcessDied, Problem):
            tenant.workers.run_hourly_anchoring()
            tenant.workers.try_deliver(include_delayed=True)
        if not injected.failed_call:
            break
        clock.shift(minutes=5)
        run_anchoring(tenant.workers)
        clock.shift(minutes=40)  # Failed submissions are due, and leases of workers that died have ended.
        tenant.workers.run_sweep()
        tenant.workers.deliver()
        leaves = list_leaves()
        assert len(leaves) == tree.size + 1
        assert witness.latest[ORIGIN] == (len(leaves), rfc6962.tree_root(leaves))
        assert [each["note"] for each in cosigned_checkpoints()] == [anchor_log.load_head_or_empty().note]
    assert at > 1, "the fault was never injected"


def list_leaves():
    """Return the leaves of the log of anchors. No anchored checkpoint may be pending."""
    items = snapshots.items_by_key().values()
    assert not [item for item in items if item.get("index2pk") == anchored_checkpoints.pending_pk(0)]
    by_index = {item["leaf_index"]: anchor_leaf_hash(item["note"]) for item in items if "leaf_index" in item}
    return [by_index[index] for index in range(len(by_index))]


def cosigned_checkpoints():
    log = publication.load_witnessed_log_or_none()
    assert log is not None
    return log.cosigned
