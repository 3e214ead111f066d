"""Anchoring with a fault at any AWS call: the redelivered message or the next hour completes it once."""

from contextlib import suppress

import pytest

from chalicelib.features.audit.log.logic import anchors
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from tests.catalogue.conftest import Begin
from tests.catalogue.evidence import Items
from tests.catalogue.tenant_fixture import World
from tests.faults.variants import Variant, call_numbers, with_reduced_variants
from tests.harness import snapshots
from tests.harness.anchors import anchor, anchored
from tests.harness.faults import Died
from tests.harness.logs import grow


def grow_log(world: World) -> Head:
    """Append to the organization's log after anchoring all logs, and return the anchored head."""
    anchor(world.workers)
    head = Head.from_item(table.get(head_key(world.id)))
    grow(world.api, world.workers, world.organization)
    return head


@with_reduced_variants
def test_fault_at_any_call_is_recovered(
    variant: Variant, world: World, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)  # The queries of all shards are alike.
    for at in call_numbers():
        previous_head = begin(grow_log)
        anchors.store_anchor(world.id, previous_head)
        before = snapshots.stored()
        with variant.inject(at) as injected, suppress(Died, Problem):
            world.workers.anchor()
            world.workers.attempt()
        if not injected.hit:
            break
        items_after_fault = snapshots.stored()
        assert items_after_fault == before or is_anchored_once(items_after_fault, before, world, previous_head)
        anchor(world.workers)
        anchor(world.workers)
        assert is_anchored_once(snapshots.stored(), before, world, previous_head)
    assert at > 1, "the fault was never injected"


def is_anchored_once(items: Items, before: Items, world: World, previous_head: Head) -> bool:
    """Return whether the log is anchored once, and its head differs only by the removed mark."""
    key = head_key(world.id)
    attributes = {name: value for name, value in before[key].items() if not name.startswith("index2")}
    latest_anchor = anchors.load_latest_anchor(world.id)
    return (
        items == before | {key: attributes}
        and latest_anchor == Head.from_item(items[key])
        and anchored(world.id) == [previous_head.tree.size + 1, previous_head.tree.size]
    )
