"""Keyed hashes of e-mail addresses: what tells addresses apart that nobody is to read in the table.

The key is made once and stands in the table, sealed by DATA_KEY: what was hashed is found again whatever keys of the
settings are replaced.
"""

import hmac
import os
from typing import Final

from chalicelib.kernel.crypto import encryption, keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate

KEY: Final[ItemKey] = ("ADDRESS-HASH-KEY", "#")
HASH_BYTES: Final = 32

_CONTEXT: Final = "address-hash-key"
_KEY_BYTES: Final = 32
_known: dict[ItemKey, bytes] = {}


def keyed_hash(address: str) -> bytes:
    """Return what stands for an address: one read where the process hashes its first.

    Raises Problem `unavailable`.
    """
    return hmac.digest(_secret(), address.encode(), "sha256")


def remember(secret: bytes) -> None:
    """Let this process know the key, as one does that has hashed before."""
    _known[KEY] = secret


def reset() -> None:
    """Let this process read the key again."""
    _known.clear()


def reseal() -> bool:
    """Seal the key anew unless the present DATA_KEY has; return whether that was done.

    Raises SealBroken, Problem `unavailable`.
    """
    item = table.get(KEY)
    if item is None or item["sealed"][:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.DATA_KEY).id:
        return False
    sealed = encryption.encrypt(encryption.decrypt(item["sealed"], _CONTEXT), _CONTEXT)
    table.write_transaction([ItemUpdate(KEY, set={"sealed": sealed}).write()])
    return True


def _secret() -> bytes:
    if KEY not in _known:
        remember(encryption.decrypt((table.get(KEY) or _made())["sealed"], _CONTEXT))
    return _known[KEY]


def _made() -> Item:
    """Make the key, unless another process does at this moment, and return the item that holds it."""
    pk, sk = KEY
    item: Item = {"pk": pk, "sk": sk, "sealed": encryption.encrypt(os.urandom(_KEY_BYTES), _CONTEXT)}
    try:
        table.write_transaction([writes.put_new(item)])
    except TransactionCancelled:
        return table.get(KEY) or _made()
    return item
