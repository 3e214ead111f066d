"""Compares the records of all organizations with their logs: `python -m local audit-records`.

It does what a reconciliation of one organization does, for all of them. A scan of the table also finds containers that
neither a log nor an index names. The command changes nothing, unless it is asked to add MACs to records that were
stored by releases without record MACs.
"""

import time
from collections.abc import Collection, Iterator
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.features.audit.reconciliations.entities import Reconciliation
from chalicelib.features.audit.reconciliations.logic import record_checks
from chalicelib.features.audit.reconciliations.logic.log_reader import UNREADABLE_ERRORS, LogReader
from chalicelib.features.audit.reconciliations.logic.walk import Walk
from chalicelib.features.audit.reconciliations.tasks import CONFIRMATION_DELAY_SECONDS, MAX_READS_PER_SECOND
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import organization_id_from_log
from local.tools.record_macs import RecordsKeepChanging, iter_items, renew_record_macs
from local.tools.verify_logs import iter_log_positions

Finding = dict[str, Any]

_CONTAINER_SORT_KEY: Final = "#"
_RESUME_HINT: Final = "Run the command again."


class AuditFailed(Exception):
    """AWS did not respond, or records disagree with the log. The message says what to do."""


def audit_records(*, renews_macs: bool) -> None:
    """Print each record that disagrees with its organization's log, and a summary. Raises AuditFailed.

    `renews_macs`: first add MACs to records without a valid one, as long as the settings accept such records.
    """
    try:
        if renews_macs:
            renewed_count, invalid_count = renew_record_macs()
            renewed = describe_count(renewed_count, "record")
            print(f"{renewed} got a MAC. Records without a valid MAC: {invalid_count}.", flush=True)
        organization_ids = [log for each in iter_log_positions("") if (log := organization_id_from_log(each.log))]
        found_ids, failed_ids = set[str](), set[str]()
        for organization_id in organization_ids:
            try:
                found = _reconcile(organization_id)
            except (*UNREADABLE_ERRORS, Problem, ConcurrentModification, ClientError, BotoCoreError) as error:
                print(f"{organization_id}: not compared: {error!r}", flush=True)
                failed_ids.add(organization_id)
            else:
                found_ids |= {each["id"] for each in _print_findings(organization_id, found)}
        found_ids |= {each["id"] for log, found in _check_containers(found_ids) for each in _print_findings(log, found)}
    except (Problem, ConcurrentModification, RecordsKeepChanging, ClientError, BotoCoreError) as error:
        raise AuditFailed(f"{error} {_RESUME_HINT}") from error
    compared_count = len(organization_ids) - len(failed_ids)
    compared, findings = describe_count(compared_count, "organization"), describe_count(len(found_ids), "finding")
    print(f"Compared {compared} with the log: {findings}.")
    if found_ids:
        raise AuditFailed("Find out who wrote these records. docs/security.md describes who can.")
    if failed_ids:
        raise AuditFailed(f"{describe_count(len(failed_ids), 'organization')} could not be compared. {_RESUME_HINT}")


def _reconcile(organization_id: str) -> list[Finding]:
    """Return the findings in an organization, within the limit of reads per second."""
    fields = new_id_and_time_fields(now())
    walk, started_at = Walk(Reconciliation(**fields, organization_id=organization_id)), time.monotonic()
    while walk.reconciliation.step != "confirmation" or walk.reconciliation.suspects:
        progress = walk.advance()
        if progress.get("step") == "confirmation" and progress["suspects"]:
            time.sleep(CONFIRMATION_DELAY_SECONDS)
        walk.reconciliation = walk.reconciliation.replace(**progress)
        time.sleep(max(0, walk.reader.read_count / MAX_READS_PER_SECOND - (time.monotonic() - started_at)))
    if walk.reconciliation.has_more:
        print(f"{organization_id}: there are more findings than those listed", flush=True)
    return walk.reconciliation.findings


def _check_containers(found_ids: Collection[str]) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the findings about containers that no log and no index names, by organization."""
    for item in iter_items("sk = :container", container=_CONTAINER_SORT_KEY):
        organization_id = str(item.get("organization_id") or item.get("id"))
        found = record_checks.find_suspects(LogReader(organization_id), [item], is_final=True)
        yield organization_id, [{**each} for each in found if each["id"] not in found_ids]


def _print_findings(organization_id: str, findings: list[Finding]) -> list[Finding]:
    for each in findings:
        fields = f": {', '.join(each['fields'])}" if each["fields"] else ""
        print(f"{organization_id}: {each['kind']} {each['type']} {each['id']}{fields}", flush=True)
    return findings
