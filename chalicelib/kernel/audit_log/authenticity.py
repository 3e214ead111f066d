"""Authenticity: between its commit and its place in the tree an entry is authenticated by a MAC (HMAC-SHA256).

Whoever can write to the table could otherwise put an entry and its pointer there and have the ledger sign both. Only
functions that commit entries, and the ledger, can use the key (`ENTRY_KEY`). Once an entry is in the tree its seal
takes the MAC's place.

A MAC is the id of its key (4 bytes) and 32 bytes over the log, the entry's id, its leaf hash and its link in one of the
log's chains. The entry and its pointer carry the same link and the same MAC.
"""

import hmac
import re
from typing import Final

from chalicelib.kernel.audit_log.mac_chains import Link
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.crypto.merkle import HASH_BYTES
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.storage.entity import Item

_CONTEXT: Final = "atrium pending entry"


def mac_of(log: str, entry_id: str, leaf: bytes, link: Link) -> bytes:
    """Return the MAC of an entry that is about to be committed.

    Raises Problem `unavailable` if the key is wrapped and can't be unwrapped now.
    """
    key = keyrings.current_key(KeyPurpose.ENTRY_KEY)
    return key.id + _mac(key, log, entry_id, leaf + link.packed())


def is_authentic(log: str, item: Item) -> bool:
    """Return whether a function that commits entries made this entry, or this pointer, of a log. Raises as `mac_of`.

    Nothing of the item is taken for granted. Without MAC and link it counts only until UNAUTHENTICATED_ENTRIES_UNTIL.
    """
    entry_id, leaf, mac, packed = item["sk"], item.get("leaf"), item.get("mac"), item.get("link")
    if not isinstance(leaf, bytes) or len(leaf) != HASH_BYTES:
        return False
    if mac is None and packed is None:
        return unauthenticated_count() and bool(re.fullmatch(UUID_PATTERN, entry_id))
    link = Link.unpacked(packed)
    if link is None or not isinstance(mac, bytes):
        return False
    key = keyrings.key_by_id(KeyPurpose.ENTRY_KEY, mac[:KEY_ID_BYTES])
    return key is not None and hmac.compare_digest(mac[KEY_ID_BYTES:], _mac(key, log, entry_id, leaf + link.packed()))


def unauthenticated_count() -> bool:
    """Return whether entries without a MAC count at this moment."""
    until = settings().unauthenticated_entries_until
    return bool(until) and now_ms() < timestamp_ms(until)


def _mac(key: keyrings.SecretKey, log: str, entry_id: str, leaf_and_link: bytes) -> bytes:
    return hmac.digest(key.secret, f"{_CONTEXT}\n{log}\n{entry_id}\n".encode() + leaf_and_link, "sha256")
