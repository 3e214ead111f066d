"""Replaces MACs of stored records by MACs of the current SEAL_KEY, and adds missing ones while that is accepted."""

from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.audit.reconciliations.logic.log_reader import UNREADABLE_ERRORS
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Entity, Item
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json
from chalicelib.kernel.storage.record_types import find_record_type
from chalicelib.kernel.transactions.record_macs import (
    MAX_VERSION,
    accepts_unauthenticated_records,
    mac_state,
    make_record_mac,
)
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from local.tools.table_scans import iter_scanned_items

_MAX_ATTEMPTS: Final = 5


class RecordsKeepChanging(Exception):
    """Requests kept changing a record. The message names it."""


def renew_record_macs() -> tuple[int, int]:
    """Return the number of records that got a new MAC, and of those whose MAC is missing or invalid.

    The latter keep it, so that a reconciliation reports them. Until UNAUTHENTICATED_RECORDS_UNTIL, they get a new one
    unless they cannot be read as records. Raises RecordsKeepChanging.
    """
    renewed_count = invalid_count = 0
    for item in iter_items("attribute_exists(kind)"):
        for _ in range(_MAX_ATTEMPTS):
            try:
                is_renewed = _try_renew(item)
            except ConcurrentModification:
                item = table.get((item["pk"], item["sk"])) or {}  # noqa: PLW2901 - the current state of the same item
            else:
                break
        else:
            raise RecordsKeepChanging(f"Requests keep changing {item.get('kind')} {item.get('id')}.")
        renewed_count += is_renewed is True
        invalid_count += is_renewed is False
    return renewed_count, invalid_count


def iter_items(condition: str, **values: str) -> Iterator[Item]:
    """Yield all items that satisfy a filter expression, read from the table. `:name` in it stands for a value."""
    parameters: dict[str, Any] = {"FilterExpression": condition}
    if values:
        parameters["ExpressionAttributeValues"] = {f":{name}": {"S": value} for name, value in values.items()}
    yield from map(item_from_dynamodb_json, iter_scanned_items(parameters))


def _read_record_or_none(record_type: type[Entity], item: Item) -> Entity | None:
    """Return the record in an item, None if the item is malformed: somebody has written it without the service."""
    try:
        record = record_type.from_item(item)
        stored = record.item()
    except (*UNREADABLE_ERRORS, Problem):
        return None
    has_own_key = (stored["pk"], stored["sk"]) == (item["pk"], item["sk"])
    version: object = record.version
    return record if has_own_key and isinstance(version, int) and 0 < version <= MAX_VERSION else None


def _try_renew(item: Item) -> bool | None:
    """Give a record a MAC of the current key. Return None if it needs none, and False if it must not get one."""
    record_type = find_record_type(str(item.get("kind", "")))
    if record_type is None or record_type.mac_exemption:
        return None
    record = _read_record_or_none(record_type, item)
    if record is None:
        return False
    is_valid = mac_state(record, item) == "valid"
    if is_valid and item["record_mac"][:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.SEAL_KEY).id:
        return None
    if not (is_valid or accepts_unauthenticated_records()):
        return False
    changes = UnitOfWork(now())
    changes.update_untracked(record, record_mac=make_record_mac(record, item))
    changes.commit()
    return True
