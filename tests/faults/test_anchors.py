"""A fault at any AWS call of anchoring: a message that comes back or the next hour makes up for it, and writes once."""

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
from tests.faults.variants import Variant, by_lean_variant, calls
from tests.harness import snapshots
from tests.harness.anchors import anchor, anchored
from tests.harness.faults import Died
from tests.harness.logs import grow


def a_log_has_grown(world: World) -> Head:
    """Let the organization's log have grown since its anchor, of which the head is returned, and no other log."""
    anchor(world.workers)
    head = Head.from_item(table.get(head_key(world.id)))
    grow(world.api, world.workers, world.organization)
    return head


@by_lean_variant
def test_a_fault_at_any_call_is_made_up_for(
    variant: Variant, world: World, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)  # Their queries are all alike.
    for at in calls():
        earlier = begin(a_log_has_grown)
        anchors.store_anchor(world.id, earlier)
        before = snapshots.stored()
        with variant.strikes(at) as injected, suppress(Died, Problem):
            world.workers.anchor()
            world.workers.attempt()
        if not injected.hit:
            break
        after_the_fault = snapshots.stored()
        assert after_the_fault == before or is_done(after_the_fault, before, world, earlier)
        anchor(world.workers)
        anchor(world.workers)
        assert is_done(snapshots.stored(), before, world, earlier)
    assert at > 1, "the fault found no call"


def is_done(items: Items, before: Items, world: World, earlier: Head) -> bool:
    """Return whether the log is anchored as it is, and its head is just what it was but for the mark."""
    key = head_key(world.id)
    unmarked = {name: value for name, value in before[key].items() if not name.startswith("index2")}
    newest = anchors.load_latest_anchor(world.id)
    return (
        items == before | {key: unmarked}
        and newest == Head.from_item(items[key])
        and anchored(world.id) == [earlier.tree.size + 1, earlier.tree.size]
    )
