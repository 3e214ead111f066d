"""The acceptance of a finding: an entry which states that a record is intended as it is stored, or that it is missing.

An operator accepts a finding after its investigation. The entry is about the record, so the next reconciliation finds
it like any other entry about the record. A later change without the service is found again.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic.alias_generators import to_camel

from chalicelib.features.audit.reconciliations.entities import Suspect
from chalicelib.features.audit.reconciliations.logic import entry_checks, record_checks
from chalicelib.features.audit.reconciliations.logic.comparison import field_values_in_key
from chalicelib.features.audit.reconciliations.logic.log_reader import LogReader
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.storage.entity import Entity, ItemKey
from chalicelib.kernel.storage.log_rules import ABSENCE_EVENT, ACCEPTANCE_EVENT
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.record_macs import MAX_VERSION
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox
from chalicelib.kernel.work.commands import OPERATOR_ACTOR, Command

ACCEPT_COMMAND: Final = Command("audit-records --accept", (ACCEPTANCE_EVENT, ABSENCE_EVENT))


class NotAcceptable(Exception):
    """A finding that cannot be accepted. The message says why, and what to do."""


def accept(reader: LogReader, suspect: Suspect) -> Event:
    """Commit an entry about the record of a confirmed suspect, and return its event.

    A stored record gets a new version and a valid MAC in the same transaction, and its derived items. Raises
    NotAcceptable, and as `UnitOfWork.commit` does.
    """
    changes = UnitOfWork(now())
    key: ItemKey = (suspect["pk"], suspect["sk"])
    if suspect["kind"] == "missing":
        event_type, name, data = ABSENCE_EVENT, suspect["id"], _last_known_fields(reader, suspect, key)
        absent = "attribute_not_exists(#pk) OR #id <> :id"
        changes.add_write(
            Write("ConditionCheck", key, condition=absent, names=["pk", "id"], values={"id": suspect["id"]})
        )
    else:
        record = _read_acceptable_record(reader, key)
        version = _next_version(reader, record)
        record = changes.update(record, accepts_stored_item=True, version=version, updated_at=changes.now)
        event_type, name, data = ACCEPTANCE_EVENT, record.audit_log_label, _public_fields(record)
    event = Event(
        id=new_id(changes.now),
        type=event_type,
        occurred_at=changes.now,
        log=reader.log_id,
        actor=OPERATOR_ACTOR,
        target={"type": suspect["type"], "id": suspect["id"], "name": name},
        context={"operationId": ACCEPT_COMMAND.name, "requestId": None, "ipAddress": None, "userAgent": None},
        changes=[],
        data=data,
    )
    outbox.commit_events(changes, [event])
    return event


def _read_acceptable_record(reader: LogReader, key: ItemKey) -> Entity:
    item = reader.get_items([key]).get(key)
    record = record_checks.read_record_or_suspect(item) if item else None
    if not isinstance(record, Entity) or record.item_key != key:
        raise NotAcceptable(
            f"The item {key} is not a record that this release can read. If no newer release is being deployed, delete "
            "the item. Then accept that the record is missing, if it is still a finding."
        )
    if record.audit_log_id != reader.log_id:
        raise NotAcceptable(f"The record belongs to {record.audit_log_id}, according to its fields. Delete the item.")
    return record


def _next_version(reader: LogReader, record: Entity) -> int:
    """Return a version above those of the record and of the entries about it, so that no older copy is accepted."""
    entries = reader.list_newest_about_record(record)
    logged: list[int] = [entry["data"].get("version", 0) for entry in entries if entry["data"]]
    version = max(record.version, *logged, 0) + 1
    if version > MAX_VERSION:
        raise NotAcceptable(f"The version of the record is {record.version}, which the service never stores.")
    return version


def _public_fields(record: Entity) -> Mapping[str, Any]:
    """Return the record as entries contain it. Records that others contain have no public form of their own."""
    if record.output_model:
        return outbox.public_fields_of_record(record)
    return {"id": record.id, "version": record.version}


def _last_known_fields(reader: LogReader, suspect: Suspect, key: ItemKey) -> Mapping[str, Any]:
    """Return the record as the entry contains it after which it should exist, or else the fields in its key."""
    entry = reader.get_entry_or_none(str(suspect["entry_id"]))
    expected = next(
        (each for each in entry_checks.list_expected_records([entry] if entry else []) if each.key == key), None
    )
    if expected is None:
        raise NotAcceptable("The entry after which the record should exist was erased. Run the command again.")
    if expected.is_subject:
        return {**expected.entry["data"]}
    values = field_values_in_key(expected.record_type, key)
    return {"id": suspect["id"], **{to_camel(name): value for name, value in values.items()}}
