"""Reconciliations of stored records with the log."""

from unittest.mock import patch

from chalicelib.features.audit.reconciliations import tasks
from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.reconciliations.logic.acceptance import accept
from chalicelib.features.audit.reconciliations.logic.walk import Walk
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.core.clock import now
from tests.harness.api import ApiClient, Json
from tests.harness.organizations import CreatedOrganization
from tests.harness.stored_records import new_id_and_time_fields
from tests.harness.workers import Workers


def reconcile(api: ApiClient, workers: Workers, organization: CreatedOrganization) -> Json:
    """Reconcile an organization's records with its log over HTTP, and return the completed reconciliation."""
    path = f"{organization.path}/audit-log/reconciliations"
    started = api.post(path, caller=organization.owner).expect(202)
    with patch.object(tasks, "CONFIRMATION_DELAY_SECONDS", 0):
        workers.run_until_idle()
        workers.run_until_idle()
    answer: Json = api.get(started.location, caller=organization.owner).expect(200).json
    assert answer["status"] == "completed", answer
    return answer


def find_disagreements(organization_id: str) -> list[Json]:
    """Return the findings of a reconciliation, without its delays and without storing it."""
    walk = _walk_to_confirmation(organization_id)
    while walk.reconciliation.suspects:
        walk.reconciliation = walk.reconciliation.replace(**walk.advance())
    assert sum(walk.reconciliation.finding_counts.values()) == len(walk.reconciliation.findings)
    assert not walk.reconciliation.has_more
    assert walk.reconciliation.checked_entries > 0
    return walk.reconciliation.findings


def accept_findings(organization_id: str) -> list[Event]:
    """Accept all findings as the command does, and return the events."""
    walk = _walk_to_confirmation(organization_id)
    confirmed = [each for suspect in walk.reconciliation.suspects for each in walk.check_again(suspect)]
    by_record = {(each["type"], each["id"]): each for each in reversed(confirmed)}
    return [accept(walk.reader, each) for each in by_record.values()]


def _walk_to_confirmation(organization_id: str) -> Walk:
    walk = Walk(Reconciliation(**new_id_and_time_fields(now()), organization_id=organization_id))
    while walk.reconciliation.step != "confirmation":
        walk.reconciliation = walk.reconciliation.replace(**walk.advance())
    return walk
