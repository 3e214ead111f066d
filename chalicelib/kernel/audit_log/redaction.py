"""Redaction of entries: the content is removed, the position stays, and the service signs what remains.

Without the signature, the owner of the table or of an export could hide an entry by marking it as erased. It is an
Ed25519 signature (RFC 8032) instead of the entry MAC, because it must stay verifiable after keys are replaced, and
outside of the service. The id of the key precedes it. The entry MAC is removed, so that the content cannot be restored
unnoticed.
"""

from typing import Final

from chalicelib.kernel.audit_log import entry_macs, ledger
from chalicelib.kernel.audit_log.entries import EntryItem, body_key, canonical_json
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.event_patterns import is_application_type
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, key_id
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.writes import ItemUpdate, Write

_PURPOSE: Final = b"atrium erased entry\n"
_UNSIGNED: Final = b"\x00"
_REMAINING_ATTRIBUTES: Final = ("id", "created_at", "updated_at", "type", "leaf")
_REMAINING_IF_PRESENT: Final = ("origin",)
_REMOVED_ATTRIBUTES: Final = (
    "body",
    "actor",
    "target",
    "seal",
    "mac",
    f"{EntryItem.by_actor.index}pk",
    f"{EntryItem.by_target.index}pk",
)


def redaction_writes(log: str, item: Item, *, should_sign: bool) -> list[Write]:
    """Return the writes that remove everything from an entry except its position, type and time.

    Only an authentic entry is signed, so verification still detects an altered one.
    """
    signature = _sign(_redaction_signature_input(log, item)) if should_sign else _UNSIGNED
    update = ItemUpdate((item["pk"], item["sk"]), set={"erased": signature}, remove=_REMOVED_ATTRIBUTES)
    redaction = update.to_write("attribute_exists(#pk)")
    return [redaction, Write("Delete", body_key(log, item["sk"]))]


def stored_redaction_signature_or_none(entry: EntryItem) -> str | None:
    """Return the signature of an erased entry in base64, or None if it was altered before."""
    return to_base64(entry.erased) if entry.erased and entry.erased != _UNSIGNED else None


def is_redacted_entry_intact(log: str, sequence: int, item: Item) -> bool:
    """Return whether an erased entry has exactly the attributes that the service left.

    The item must have the attributes by which an entry is shown, with their types. Everything else can have any value.
    """
    size, signature = item.get("tree_size"), item["erased"]
    if not (isinstance(size, int) and isinstance(signature, bytes)):
        return False
    if is_application_type(item["type"]) != ("origin" in item):  # The signature covers the type, not the origin.
        return False
    names = [*_REMAINING_ATTRIBUTES, *(name for name in _REMAINING_IF_PRESENT if name in item)]
    remaining = EntryItem(**{name: item[name] for name in names}, log_id=log, erased=signature)
    expected = remaining.item() | ledger.entry_position_attributes(log, sequence, size)
    return expected == item and _has_valid_signature(_redaction_signature_input(log, item), signature)


def _redaction_signature_input(log: str, item: Item) -> bytes:
    values = [item[name] for name in ("sequence", "tree_size", "id", "created_at", "updated_at", "type")]
    return _PURPOSE + canonical_json([log, *values, item["leaf"].hex()])


def _sign(content: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = entry_macs.load_signing_key_matching_public_key()
    return key.id + Ed25519PrivateKey.from_private_bytes(key.secret).sign(content)


def _has_valid_signature(content: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = next(
        (key for key in entry_macs.current_and_former_public_keys() if key_id(key) == signature[:KEY_ID_BYTES]), None
    )
    if key is None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature[KEY_ID_BYTES:], content)
    except InvalidSignature:
        return False
    return True
