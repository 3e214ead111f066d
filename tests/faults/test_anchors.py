"""Anchoring with a fault at any AWS call: the redelivered message or the next hour completes it once."""

from contextlib import suppress

from chalicelib.features.audit.log.logic import anchors
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from tests.catalogue.log_proof import Items
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults.fault_variants import call_numbers, with_work_variants
from tests.harness import snapshots
from tests.harness.anchors import anchored_sizes, run_anchoring
from tests.harness.audit_logs import add_entries
from tests.harness.faults import ProcessDied


def grow_log(tenant: TenantFixture) -> Head:
    """Append to the organization's log after anchoring all logs, and return the anchored head."""
    run_anchoring(tenant.workers)
    head = Head.from_item_or_empty(table.get(head_key(tenant.id)))
    add_entries(tenant.api, tenant.workers, tenant.organization)
    return head


@with_work_variants
def test_fault_at_any_call_is_recovered(variant, tenant, restore_tenant, monkeypatch):
    monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)  # The queries of all shards are alike.
    for at in call_numbers():
        previous_head = restore_tenant(grow_log)
        anchors.store_anchor_if_absent(tenant.id, previous_head)
        before = snapshots.items_by_key()
        with variant.inject(at) as injected, suppress(ProcessDied, Problem):
            tenant.workers.run_hourly_anchoring()
            tenant.workers.try_deliver()
        if not injected.failed_call:
            break
        items_after_fault = snapshots.items_by_key()
        assert items_after_fault == before or is_anchored_once(items_after_fault, before, tenant, previous_head)
        run_anchoring(tenant.workers)
        run_anchoring(tenant.workers)
        assert is_anchored_once(snapshots.items_by_key(), before, tenant, previous_head)
    assert at > 1, "the fault was never injected"


def is_anchored_once(items: Items, before: Items, tenant: TenantFixture, previous_head: Head) -> bool:
    """Return whether the log is anchored once, and its head differs only by the removed mark."""
    key = head_key(tenant.id)
    attributes = {name: value for name, value in before[key].items() if not name.startswith("index2")}
    latest_anchor = anchors.load_latest_anchor_or_none(tenant.id)
    return (
        items == before | {key: attributes}
        and latest_anchor is not None
        and latest_anchor.head == Head.from_item_or_empty(items[key])
        and anchored_sizes(tenant.id) == [previous_head.tree.size + 1, previous_head.tree.size]
    )
