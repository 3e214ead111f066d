"""Reconciliations of stored records with the log."""

from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.reconciliations.logic.walk import Walk
from chalicelib.kernel.core.clock import now
from tests.harness.api import Json
from tests.harness.stored_records import new_id_and_time_fields


def find_disagreements(organization_id: str) -> list[Json]:
    """Return the findings of a reconciliation, without its delays and without storing it."""
    reconciliation = Reconciliation(**new_id_and_time_fields(now()), organization_id=organization_id)
    walk = Walk(reconciliation)
    while walk.reconciliation.step != "confirmation" or walk.reconciliation.suspects:
        walk.reconciliation = walk.reconciliation.replace(**walk.advance())
    assert not walk.reconciliation.has_more
    assert walk.reconciliation.checked_entries > 0
    return walk.reconciliation.findings
