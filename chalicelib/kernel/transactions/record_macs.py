"""MACs (HMAC-SHA256) of stored records, which reveal records that the service did not write.

Log entries contain the public fields of records only. The MAC also covers hashes, ciphertexts and internal fields. So
nobody who can write to the table, but cannot use SEAL_KEY, can add a record or replace the hash of an API key
unnoticed.

A MAC is the id of its key (4 bytes), the version of the record for which it was made (6), and 16 bytes over that
version, the item's key and all attributes except the unauthenticated ones and index keys, which follow from the others.
A write makes a new MAC if a covered attribute changes, or if a log entry is committed with it. Functions without the
key change only unauthenticated fields, and keep the MAC.
"""

import hmac
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar

from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose, SecretKey
from chalicelib.kernel.storage.entity import Entity, Item

R = TypeVar("R", bound=Entity)
MacState = Literal["valid", "missing", "invalid"]

_LABEL: Final = b"atrium stored record"
_VERSION_BYTES: Final = 6
_TAG_BYTES: Final = 16
_DERIVED_ATTRIBUTES: Final = re.compile(r"(?:index[0-9]|due)[ps]k|facet[0-9]pk|task|record_mac|updated_at|version")
"""Attributes that the MAC does not cover: index keys, itself, and those that change without a new MAC."""


def with_current_mac(before: Entity | None, after: R, *, has_entry: bool) -> R:
    """Return a record with the MAC that is stored with it when it changes from `before`.

    `has_entry`: whether a log entry is committed in the same transaction. The MAC of an altered record stays invalid.
    Raises Problem `unavailable` if AWS KMS cannot decrypt the key now.
    """
    if after.mac_exemption:
        return after
    if before is None:
        return replace(after, record_mac=make_record_mac(after, after.item()))
    former_item, new_item = _complete_item(before), _item_after_write(before, after)
    has_new_version = has_entry and before.version != after.version
    if not has_new_version and json_equal(_covered(before, former_item), _covered(after, new_item)):
        return after
    if mac_state(before, former_item) == "valid" or accepts_unauthenticated_records():
        return replace(after, record_mac=make_record_mac(after, new_item))
    return replace(after, record_mac=before.record_mac)


def with_renewed_mac(record: R) -> R:
    """Return a record with a MAC of the current key, whatever MAC it has. Raises as `with_current_mac` does."""
    return replace(record, record_mac=make_record_mac(record, _item_after_write(record, record)))


def make_record_mac(record: Entity, item: Item) -> bytes:
    """Return the MAC of a record that is stored as `item`. Raises as `with_current_mac` does."""
    key = _derive_key(keyrings.current_key(KeyPurpose.SEAL_KEY))
    return key.id + _tagged_version(key, record, item, record.version)


def mac_state(record: Entity, item: Item) -> MacState:
    """Return whether the MAC of a stored record is valid. Raises as `with_current_mac` does."""
    mac = item.get("record_mac")
    if mac is None:
        return "missing"
    if not isinstance(mac, bytes) or len(mac) != KEY_ID_BYTES + _VERSION_BYTES + _TAG_BYTES:
        return "invalid"
    key = keyrings.key_by_id(KeyPurpose.SEAL_KEY, mac[:KEY_ID_BYTES])
    expected = key and _tagged_version(_derive_key(key), record, item, mac_version(mac))
    return "valid" if expected and hmac.compare_digest(expected, mac[KEY_ID_BYTES:]) else "invalid"


def mac_version(mac: bytes) -> int:
    """Return the version of the record for which a MAC was made."""
    return int.from_bytes(mac[KEY_ID_BYTES : KEY_ID_BYTES + _VERSION_BYTES], "big")


def accepts_unauthenticated_records() -> bool:
    """Return whether records without a valid MAC are currently accepted."""
    accepted_until = settings().unauthenticated_records_until
    return bool(accepted_until) and now_ms() < timestamp_ms(accepted_until)


def _complete_item(record: Entity) -> Item:
    """Return the item that a record was read from, as far as the MAC covers it."""
    return {**record.foreign_attributes, **record.item()} if record.legacy_item is None else record.legacy_item


def _item_after_write(before: Entity, after: Entity) -> Item:
    """Return the item of a record after it is written. Attributes that do not belong to the record stay."""
    own_names = before.owned_item_attribute_values.keys()
    remaining = {name: value for name, value in _complete_item(before).items() if name not in own_names}
    return {**remaining, **after.item()}


def _tagged_version(key: SecretKey, record: Entity, item: Item, version: int) -> bytes:
    content = json.dumps([version, _covered(record, item)], sort_keys=True, default=_to_json).encode()
    return version.to_bytes(_VERSION_BYTES, "big") + hmac.digest(key.secret, content, "sha256")[:_TAG_BYTES]


def _covered(record: Entity, item: Item) -> Mapping[str, Any]:
    """Return the attributes that the MAC covers."""
    exempt = {record.stored_name(name) for name in record.unauthenticated_fields}
    return {
        name: _with_whole_numbers(value)
        for name, value in item.items()
        if name not in exempt and not _DERIVED_ATTRIBUTES.fullmatch(name)
    }


def _with_whole_numbers(value: Any) -> Any:
    """Return a value with floats without a fraction as integers, as DynamoDB returns them."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _with_whole_numbers(member) for name, member in value.items()}
    return [_with_whole_numbers(element) for element in value] if isinstance(value, list | tuple) else value


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, frozenset):
        return {"set": sorted(value)}
    raise TypeError(f"{type(value)} is not stored in records")


@lru_cache(maxsize=4)
def _derive_key(key: SecretKey) -> SecretKey:
    return SecretKey(key.id, hmac.digest(key.secret, _LABEL, "sha256"))
