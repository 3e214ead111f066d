"""Compares the records of all organizations with their logs: `python -m local audit-records`.

It does what a reconciliation of one organization does, for all of them. A scan of the table also finds containers that
neither a log nor an index names. The command changes nothing, unless it is asked to add MACs to records that were
stored by releases without record MACs, or to accept a finding.
"""

import json
import time
from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

from chalicelib.features.audit.reconciliations.entities import Reconciliation, Suspect
from chalicelib.features.audit.reconciliations.logic import acceptance, record_checks
from chalicelib.features.audit.reconciliations.logic.log_reader import UNREADABLE_ERRORS, LogReader
from chalicelib.features.audit.reconciliations.logic.walk import Walk
from chalicelib.features.audit.reconciliations.tasks import CONFIRMATION_DELAY_SECONDS, MAX_READS_PER_SECOND
from chalicelib.kernel.core.aws import AWS_ERRORS
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.log_ids import organization_id_from_log
from local.tools.record_macs import RecordsKeepChanging, iter_items, renew_record_macs
from local.tools.table_scans import RateLimit
from local.tools.verify_logs import iter_log_positions

Finding = dict[str, Any]

_CONTAINER_SORT_KEY: Final = "#"
_RESUME_HINT: Final = "Run the command again."


class AuditFailed(Exception):
    """AWS did not respond, or records disagree with the log. The message says what to do."""


class RecordReference(NamedTuple):
    """A record as a finding names it."""

    organization_id: str
    type: str
    id: str


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
        found, failed_ids = list[RecordReference](), set[str]()
        for organization_id in organization_ids:
            try:
                found += _print_findings(organization_id, _reconcile(organization_id))
            except (*UNREADABLE_ERRORS, *AWS_ERRORS, ConcurrentModification) as error:
                print(f"{organization_id}: not compared: {error!r}", flush=True)
                failed_ids.add(organization_id)
        for organization_id, suspects in _check_containers({(each.type, each.id) for each in found}):
            found += _print_findings(organization_id, suspects)
    except (*AWS_ERRORS, ConcurrentModification, RecordsKeepChanging) as error:
        raise AuditFailed(f"{error} {_RESUME_HINT}") from error
    compared_count = len(organization_ids) - len(failed_ids)
    compared, findings = describe_count(compared_count, "organization"), describe_count(len(found), "finding")
    print(f"Compared {compared} with the log: {findings}.")
    if found:
        raise AuditFailed("Find out who wrote these records. docs/security.md describes who can.")
    if failed_ids:
        raise AuditFailed(f"{describe_count(len(failed_ids), 'organization')} could not be compared. {_RESUME_HINT}")


def accept_finding(record: RecordReference) -> None:
    """Print the finding about a record, accept it with an entry of the log, and print the entry. Raises AuditFailed."""
    try:
        walk = _walk_to_confirmation(
            record.organization_id, lambda each: (each["type"], each["id"]) == (record.type, record.id)
        )
        confirmed = [each for suspect in walk.reconciliation.suspects for each in walk.check_again(suspect)][:1]
        if not confirmed:
            raise AuditFailed(f"{record.type} {record.id} agrees with the log of {record.organization_id}.")
        _print_findings(record.organization_id, confirmed)
        event = acceptance.accept(walk.reader, confirmed[0])
    except ConcurrentModification as error:
        raise AuditFailed(f"A request changed the record. {_RESUME_HINT}") from error
    except (*AWS_ERRORS, acceptance.NotAcceptable) as error:
        raise AuditFailed(str(error)) from error
    print(f"Accepted by the entry {event.id}, {event.type}: {json.dumps(event.data)}")


def _reconcile(organization_id: str) -> list[Finding]:
    """Return the findings in an organization, within the limit of reads per second."""
    walk = _walk_to_confirmation(organization_id)
    _advance(walk, lambda: bool(walk.reconciliation.suspects))
    if walk.reconciliation.has_more:
        print(f"{organization_id}: there are more findings than those listed", flush=True)
    return walk.reconciliation.findings


def _walk_to_confirmation(organization_id: str, is_wanted: Callable[[Suspect], bool] = lambda _suspect: True) -> Walk:
    """Return a comparison of which only the confirmation of the wanted suspects remains, after its delay."""
    reconciliation = Reconciliation(**new_id_and_time_fields(now()), organization_id=organization_id)
    walk = Walk(reconciliation, is_wanted)
    _advance(walk, lambda: walk.reconciliation.step != "confirmation")
    if walk.reconciliation.suspects:
        time.sleep(CONFIRMATION_DELAY_SECONDS)
    return walk


def _advance(walk: Walk, is_unfinished: Callable[[], bool]) -> None:
    limit = RateLimit(MAX_READS_PER_SECOND)
    while is_unfinished():
        former_count = walk.reader.read_count
        walk.reconciliation = walk.reconciliation.replace(**walk.advance())
        limit.wait_after(walk.reader.read_count - former_count)


def _check_containers(found: Collection[tuple[str, str]]) -> Iterator[tuple[str, list[Suspect]]]:
    """Yield the findings about containers that no log and no index names, by organization.

    `found`: types and ids of the records that were found before.
    """
    items = iter_items("sk = :container", container=_CONTAINER_SORT_KEY)
    suspects = [each for item in items for each in _check_container(item, found)]
    if suspects:
        time.sleep(CONFIRMATION_DELAY_SECONDS)
    for organization_id, group in groupby(suspects, lambda each: each[0]):
        reader = LogReader(organization_id)
        current = reader.get_items({(each["pk"], each["sk"]) for _, each in group})
        yield organization_id, record_checks.find_suspects(reader, [*current.values()], is_final=True)


def _check_container(item: Item, found: Collection[tuple[str, str]]) -> list[tuple[str, Suspect]]:
    organization_id = str(item.get("organization_id") or item.get("id"))
    reader, limit = LogReader(organization_id), RateLimit(MAX_READS_PER_SECOND)
    suspects = record_checks.find_suspects(reader, [item])
    limit.wait_after(reader.read_count)
    return [(organization_id, each) for each in suspects if (each["type"], each["id"]) not in found]


def _print_findings(organization_id: str, findings: Collection[Finding | Suspect]) -> list[RecordReference]:
    for each in findings:
        fields = f": {', '.join(each['fields'])}" if each["fields"] else ""
        print(f"{organization_id}: {each['kind']} {each['type']} {each['id']}{fields}", flush=True)
    return [RecordReference(organization_id, each["type"], each["id"]) for each in findings]
