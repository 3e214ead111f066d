"""MACs (HMAC-SHA256) of pending entries, from the commit until the entry is in the tree.

Without them, anyone who can write to the table could add an entry and its pointer, and the ledger would sign both. Only
the functions that commit entries, and the ledger, can use the key (`ENTRY_KEY`). Once an entry is in the tree, its
entry MAC replaces this one.

A MAC is the id of its key (4 bytes) and 32 bytes over the log, the entry's id, its leaf hash and its link in one of the
log's chains. The entry and its pointer contain the same link and MAC.
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


def make_pending_mac(log: str, entry_id: str, leaf: bytes, link: Link) -> bytes:
    """Return the MAC of an entry that is about to be committed.

    Raises Problem `unavailable` if AWS KMS cannot decrypt the key now.
    """
    key = keyrings.current_key(KeyPurpose.ENTRY_KEY)
    return key.id + _compute_pending_mac(key, log, entry_id, leaf + link.to_bytes())


def is_authentic_pending_item(log: str, item: Item) -> bool:
    """Return whether the service made this entry, or this pointer to one. Raises as `make_pending_mac`.

    The item can have any attributes. Without MAC and link it is authentic only until UNAUTHENTICATED_ENTRIES_UNTIL.
    """
    entry_id, leaf, mac, packed = item["sk"], item.get("leaf"), item.get("mac"), item.get("link")
    if not isinstance(leaf, bytes) or len(leaf) != HASH_BYTES:
        return False
    if mac is None and packed is None:
        return accepts_unauthenticated_entries() and bool(re.fullmatch(UUID_PATTERN, entry_id))
    link = Link.from_bytes_or_none(packed)
    if link is None or not isinstance(mac, bytes):
        return False
    key = keyrings.key_by_id(KeyPurpose.ENTRY_KEY, mac[:KEY_ID_BYTES])
    return key is not None and hmac.compare_digest(
        mac[KEY_ID_BYTES:], _compute_pending_mac(key, log, entry_id, leaf + link.to_bytes())
    )


def accepts_unauthenticated_entries() -> bool:
    """Return whether entries without a MAC are currently accepted."""
    accepted_until = settings().unauthenticated_entries_until
    return bool(accepted_until) and now_ms() < timestamp_ms(accepted_until)


def _compute_pending_mac(key: keyrings.SecretKey, log: str, entry_id: str, leaf_and_link: bytes) -> bytes:
    return hmac.digest(key.secret, f"{_CONTEXT}\n{log}\n{entry_id}\n".encode() + leaf_and_link, "sha256")
