"""Keyed hashes of e-mail addresses, for items that identify an address without containing it.

The key is created once and stored in the table, encrypted with DATA_KEY, so hashes stay the same when configured keys
are replaced.
"""

import hmac
import os
from typing import Final

from chalicelib.kernel.crypto import keyrings, symmetric
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate

HASH_KEY_ITEM_KEY: Final[ItemKey] = ("ADDRESS-HASH-KEY", "#")
HASH_BYTES: Final = 32
"""Length of the keyed hash of an e-mail address."""

_CONTEXT: Final = "address-hash-key"
_KEY_BYTES: Final = 32
_cached_keys: dict[ItemKey, bytes] = {}


def email_hmac_bytes(email_address: str) -> bytes:
    """Return the keyed hash of an address. The first one in a process takes a read.

    Raises Problem `unavailable`.
    """
    return hmac.digest(_load_or_create_hash_key(), email_address.encode(), "sha256")


def cache_hash_key(secret: bytes) -> None:
    """Cache the key in this process."""
    _cached_keys[HASH_KEY_ITEM_KEY] = secret


def reset() -> None:
    """Clear the cached key."""
    _cached_keys.clear()


def reencrypt_key_if_outdated() -> bool:
    """Encrypt the key with the current DATA_KEY, and return whether that was necessary.

    Raises DecryptionError, Problem `unavailable`.
    """
    item = table.get(HASH_KEY_ITEM_KEY)
    if item is None or item["sealed"][:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.DATA_KEY).id:
        return False
    encrypted = symmetric.encrypt_bytes(symmetric.decrypt_bytes(item["sealed"], _CONTEXT), _CONTEXT)
    table.write_transaction([ItemUpdate(HASH_KEY_ITEM_KEY, set={"sealed": encrypted}).to_write()])
    return True


def _load_or_create_hash_key() -> bytes:
    if HASH_KEY_ITEM_KEY not in _cached_keys:
        cache_hash_key(
            symmetric.decrypt_bytes(
                (table.get(HASH_KEY_ITEM_KEY) or _create_or_load_hash_key_item())["sealed"], _CONTEXT
            )
        )
    return _cached_keys[HASH_KEY_ITEM_KEY]


def _create_or_load_hash_key_item() -> Item:
    """Create the key, unless another process does so concurrently, and return its item."""
    pk, sk = HASH_KEY_ITEM_KEY
    item: Item = {"pk": pk, "sk": sk, "sealed": symmetric.encrypt_bytes(os.urandom(_KEY_BYTES), _CONTEXT)}
    try:
        table.write_transaction([writes.put_if_absent_write(item)])
    except TransactionCancelled:
        return table.get(HASH_KEY_ITEM_KEY) or _create_or_load_hash_key_item()
    return item
