"""Signed heads of logs: C2SP tlog-checkpoints in C2SP signed notes, with Ed25519 (RFC 8032).

    NoteError            the text proves nothing
    ├─ MalformedNote     it is not a checkpoint
    └─ BadSignature      no trusted key has signed it

https://c2sp.org/tlog-checkpoint and https://c2sp.org/signed-note. The name of a key is the origin of its checkpoints.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto.merkle import HASH_BYTES

MAX_NOTE_CHARACTERS: Final = 16_384
"""Length of the signed note of a checkpoint."""

ED25519: Final = b"\x01"
"""Identifier of the signature type of a log's key: Ed25519 (c2sp.org/signed-note)."""

KEY_ID_BYTES: Final = 4
"""Length of the key id at the beginning of a signature."""

_LINES: Final = 3
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_SIGNATURE: Final = re.compile(r"— (?P<name>[^\s+]+) (?P<bytes>[A-Za-z0-9+/=]+)")
_FORBIDDEN: Final = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")


class NoteError(Exception):
    """The text proves nothing about a log."""


class MalformedNote(NoteError):
    """The text is not a signed checkpoint. The message names the violation of the format."""


class BadSignature(NoteError):
    """The checkpoint has no signature by a trusted key, or an invalid one."""


@dataclass(frozen=True)
class Checkpoint:
    """The head of a log with `size` entries.

    `origin` is `atrium/<organizationId>`, `root` the 32-byte root of the tree. `extensions` are further lines, none of
    them empty.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def signed_text(self) -> str:
        """Return the signed text: three lines and the extensions, each with a newline."""
        return "".join(f"{line}\n" for line in (self.origin, self.size, to_base64(self.root), *self.extensions))


@dataclass(frozen=True)
class Signature:
    """A signature line of a note. `key_id` and `name` together identify the key."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        """Return the line, without its newline."""
        return f"— {self.name} {to_base64(self.key_id + self.signature)}"


@dataclass(frozen=True)
class Note:
    """A parsed checkpoint that is not verified. `text` is what its signatures sign."""

    checkpoint: Checkpoint
    text: str
    signatures: tuple[Signature, ...]


def public_key(seed: bytes) -> bytes:
    """Return the 32-byte Ed25519 public key of a 32-byte seed. Raises ValueError for another length."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign_checkpoint_note(checkpoint: Checkpoint, seed: bytes) -> str:
    """Return the checkpoint as a note signed with the key of a 32-byte seed. Raises ValueError for another length."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(seed)
    key_id = note_key_id(checkpoint.origin, key.public_key().public_bytes_raw())
    signature = key.sign(checkpoint.signed_text().encode())
    return f"{checkpoint.signed_text()}\n{Signature(checkpoint.origin, key_id, signature)}\n"


def verify_checkpoint_note(note: str, public_keys: Sequence[bytes]) -> Checkpoint:
    """Return a note's checkpoint if one of the 32-byte public keys has signed it as its origin.

    Signatures by other keys are ignored. Compare the origin with the log you mean. Raises MalformedNote. Raises
    BadSignature if no given key has signed the note, or if a signature by one of them is invalid.
    """
    parsed = parse(note)
    origin = parsed.checkpoint.origin
    keys = {note_key_id(origin, key): key for key in public_keys}
    signatures = [signature for signature in parsed.signatures if signature.name == origin and signature.key_id in keys]
    if not signatures:
        raise BadSignature("no trusted key has signed the checkpoint")
    for signature in signatures:
        require_valid_ed25519_signature(parsed.text, signature.signature, keys[signature.key_id])
    return parsed.checkpoint


def parse(note: str) -> Note:
    """Return a note's checkpoint and signatures without verification. Raises MalformedNote."""
    if len(note) > MAX_NOTE_CHARACTERS:
        raise MalformedNote(f"the note is longer than {MAX_NOTE_CHARACTERS} characters")
    if _FORBIDDEN.search(note):
        raise MalformedNote("the note contains a control character or is not valid UTF-8")
    text, blank_line, signatures = note.rpartition("\n\n")
    if not blank_line or not signatures.endswith("\n"):
        raise MalformedNote("the note is not a text, a blank line and signature lines that end in newlines")
    return Note(_parse_checkpoint(text), f"{text}\n", parse_signatures(signatures))


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Return the signatures in lines that each end in a newline. Raises MalformedNote."""
    if not lines.endswith("\n"):
        raise MalformedNote("a signature line does not end in a newline")
    return tuple(map(_parse_signature, lines[:-1].split("\n")))


def _parse_checkpoint(text: str) -> Checkpoint:
    lines = text.split("\n")
    if len(lines) < _LINES or "" in lines:
        raise MalformedNote(f"the text needs {_LINES} lines or more, none of them empty")
    origin, size, root = lines[:_LINES]
    if not _SIZE.fullmatch(size):
        raise MalformedNote("the second line is not a tree size")
    root_hash = _decode_canonical_base64_or_empty(root)
    if len(root_hash) != HASH_BYTES:
        raise MalformedNote("the third line is not a root hash")
    return Checkpoint(origin, int(size), root_hash, tuple(lines[_LINES:]))


def _parse_signature(line: str) -> Signature:
    match = _SIGNATURE.fullmatch(line)
    data = _decode_canonical_base64_or_empty(match["bytes"]) if match else b""
    if not match or len(data) <= KEY_ID_BYTES:
        raise MalformedNote("a line after the blank line is not a signature")
    return Signature(match["name"], data[:KEY_ID_BYTES], data[KEY_ID_BYTES:])


def _decode_canonical_base64_or_empty(text: str) -> bytes:
    try:
        data = from_base64(text)
    except ValueError:
        return b""
    return data if to_base64(data) == text else b""  # canonical base64: the unused bits are zero


def note_key_id(name: str, key: bytes, signature_type: bytes = ED25519) -> bytes:
    """Return the 4-byte id of a public key with a name, for signatures of a type."""
    return sha256(f"{name}\n".encode() + signature_type + key).digest()[:KEY_ID_BYTES]


def require_valid_ed25519_signature(text: str, signature: bytes, key: bytes) -> None:
    """Raise BadSignature unless the 32-byte public key has signed a text."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode())
    except InvalidSignature:
        raise BadSignature("the checkpoint's signature is invalid") from None
