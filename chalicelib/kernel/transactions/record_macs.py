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
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeGuard

from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose, SecretKey
from chalicelib.kernel.storage.entity import Entity, Item
from chalicelib.kernel.storage.schema_versions import is_index_attribute

MacState = Literal["valid", "missing", "invalid"]

_LABEL: Final = b"atrium stored record"
_VERSION_BYTES: Final = 6
_TAG_BYTES: Final = 16
MAX_VERSION: Final = 256**_VERSION_BYTES - 1
"""Greatest version of a record for which a MAC can be made."""
_UNCOVERED_ATTRIBUTES: Final = ("record_mac", "updated_at", "version")
"""Attributes that the MAC does not cover, as well as index keys: itself, and those that change without a new MAC."""


def mac_after_write(
    before: Entity, after: Entity, former_item: Item, item: Item, changed_attributes: Iterable[str], *, has_entry: bool
) -> bytes | None:
    """Return the MAC to store with a record that changes from `before` to `after`.

    `former_item` and `item` are what is stored before and after the write: exactly that, because an item from another
    release can lack attributes and encode values in another way. `has_entry`: whether a log entry is committed in the
    same transaction. The MAC of an altered record stays invalid. Raises Problem `unavailable` if AWS KMS cannot decrypt
    the key now.
    """
    has_new_version = has_entry and before.version != after.version
    covers_change = any(map(_is_covered_by_mac_of(after), changed_attributes))
    if after.mac_exemption or not (has_new_version or covers_change):
        return after.record_mac
    if mac_state(before, former_item) == "valid" or accepts_unauthenticated_records():
        return make_record_mac(after, item)
    return before.record_mac


def make_record_mac(record: Entity, item: Item) -> bytes:
    """Return the MAC of a record that is stored as `item`. Raises as `mac_after_write` does."""
    key = _derive_key(keyrings.current_key(KeyPurpose.SEAL_KEY))
    return key.id + _tagged_version(key, record, item, record.version)


def mac_state(record: Entity, item: Item) -> MacState:
    """Return whether the MAC of a stored record is valid. Raises as `mac_after_write` does."""
    mac = item.get("record_mac")
    if mac is None:
        return "missing"
    if not _is_well_formed(mac):
        return "invalid"
    key = keyrings.key_by_id(KeyPurpose.SEAL_KEY, mac[:KEY_ID_BYTES])
    expected = key and _tagged_version(_derive_key(key), record, item, mac_version(mac))
    return "valid" if expected and hmac.compare_digest(expected, mac[KEY_ID_BYTES:]) else "invalid"


def mac_version(mac: object) -> int:
    """Return the version of the record for which a MAC was made, 0 if the stored value is not a MAC."""
    return int.from_bytes(mac[KEY_ID_BYTES : KEY_ID_BYTES + _VERSION_BYTES], "big") if _is_well_formed(mac) else 0


def _is_well_formed(mac: object) -> TypeGuard[bytes]:
    return isinstance(mac, bytes) and len(mac) == KEY_ID_BYTES + _VERSION_BYTES + _TAG_BYTES


def accepts_unauthenticated_records() -> bool:
    """Return whether records without a valid MAC are currently accepted."""
    accepted_until = settings().unauthenticated_records_until
    return bool(accepted_until) and now_ms() < timestamp_ms(accepted_until)


def _tagged_version(key: SecretKey, record: Entity, item: Item, version: int) -> bytes:
    content = json.dumps([version, _covered(record, item)], sort_keys=True, default=_to_json).encode()
    return version.to_bytes(_VERSION_BYTES, "big") + hmac.digest(key.secret, content, "sha256")[:_TAG_BYTES]


def _covered(record: Entity, item: Item) -> Mapping[str, Any]:
    """Return the attributes that the MAC covers."""
    is_covered = _is_covered_by_mac_of(record)
    return {name: _with_whole_numbers(value) for name, value in item.items() if is_covered(name)}


def _is_covered_by_mac_of(record: Entity) -> Callable[[str], bool]:
    """Return a function that tells whether the MAC of a record covers an attribute."""
    exempt = {*_UNCOVERED_ATTRIBUTES, *map(record.stored_name, record.unauthenticated_fields)}
    return lambda attribute: attribute not in exempt and not is_index_attribute(attribute)


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
