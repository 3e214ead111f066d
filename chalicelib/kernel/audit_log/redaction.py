"""Erasing: what an entry says is removed, its place in the tree stays, and the service signs that it was the one.

Otherwise whoever owns the table, or keeps an export, could hide an entry by calling it erased. It is a signature
(Ed25519, RFC 8032) and not the ledger's seal, because it has to hold when the key was followed by another, and outside
of the service. In front of it stands its key's id. The seal goes, so that nobody who kept the text can put it back
unnoticed.
"""

from typing import Final

from chalicelib.kernel.audit_log import entry_macs, ledger
from chalicelib.kernel.audit_log.entries import EntryItem, body_key, canonical_json
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, key_id
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.writes import ItemUpdate, Write

_PURPOSE: Final = b"atrium erased entry\n"
_UNSIGNED: Final = b"\x00"
_STAYS: Final = ("id", "created_at", "updated_at", "type", "leaf")
_GONE: Final = (
    "body",
    "actor",
    "target",
    "seal",
    "mac",
    f"{EntryItem.by_actor.index}pk",
    f"{EntryItem.by_target.index}pk",
)


def redact_entry(log: str, item: Item, *, proven: bool) -> list[Write]:
    """Return the writes that take from a sealed entry all but its place, its type and its time.

    Only that of a `proven` one is signed: an entry that somebody altered stays one that verification finds.
    """
    signature = _sign(_claim(log, item)) if proven else _UNSIGNED
    update = ItemUpdate((item["pk"], item["sk"]), set={"erased": signature}, remove=_GONE)
    erased = update.write("attribute_exists(#pk)")
    return [erased, Write("Delete", body_key(log, item["sk"]))]


def redaction_signature(entry: EntryItem) -> str | None:
    """Return the signature of what stays of an erased entry in base64; None of one that was altered before it was."""
    return to_base64(entry.erased) if entry.erased and entry.erased != _UNSIGNED else None


def is_intact(log: str, sequence: int, item: Item) -> bool:
    """Return whether what stays of an erased entry is what the service left there, no more and no less.

    The item has what an entry is shown by; nothing else of it is taken for granted.
    """
    size, signature = item.get("tree_size"), item["erased"]
    if not (isinstance(size, int) and isinstance(signature, bytes)):
        return False
    stays = EntryItem(**{name: item[name] for name in _STAYS}, log_id=log, erased=signature)
    whole = stays.item() | ledger.sequence_attributes(log, sequence, size)
    return whole == item and _is_signed(_claim(log, item), signature)


def _claim(log: str, item: Item) -> bytes:
    said = [item[name] for name in ("sequence", "tree_size", "id", "created_at", "updated_at", "type")]
    return _PURPOSE + canonical_json([log, *said, item["leaf"].hex()])


def _sign(claim: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = entry_macs.signing_key()
    return key.id + Ed25519PrivateKey.from_private_bytes(key.secret).sign(claim)


def _is_signed(claim: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = next((key for key in entry_macs.public_keys() if key_id(key) == signature[:KEY_ID_BYTES]), None)
    if key is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature[KEY_ID_BYTES:], claim)
    except InvalidSignature:
        return False
    return True
