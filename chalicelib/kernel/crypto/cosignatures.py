"""Cosignatures: statements of witnesses that a checkpoint extends all earlier ones that they have seen of its log.

https://c2sp.org/tlog-cosignature, of the type Ed25519 (`cosignature/v1`). The signature in a line consists of the time,
as 8 bytes, and the Ed25519 signature of a text that contains the time and the signed text of the checkpoint.
"""

import re
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import ED25519, BadSignature, MalformedNote

COSIGNATURE: Final = b"\x04"
"""Identifier of the signature type of a witness's key."""

_KEY_BYTES: Final = 32
_TIME_BYTES: Final = 8
_SIGNATURE_BYTES: Final = 64
_VERIFIER_KEY: Final = re.compile(r"(?P<name>[^\s+,]+)\+(?P<id>[0-9a-f]{8})\+(?P<key>[A-Za-z0-9+/=]+)")


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name, as `name+id+key` (c2sp.org/signed-note, verifier keys).

    `signature_type`: `ED25519` for the key of a log, `COSIGNATURE` for that of a witness.
    """

    name: str
    public_key: bytes
    signature_type: bytes

    @property
    def id(self) -> bytes:
        """Return the 4-byte id."""
        return checkpoints.note_key_id(self.name, self.public_key, self.signature_type)

    def __str__(self) -> str:
        """Return the key as text."""
        return f"{self.name}+{self.id.hex()}+{to_base64(self.signature_type + self.public_key)}"


@dataclass(frozen=True)
class Cosignature:
    """A verified cosignature: its line, without a newline, and its time in seconds since 1970."""

    line: str
    time: int


def parse_verifier_key(text: str) -> VerifierKey:
    """Return a verifier key of a log or of a witness. Raises ValueError with the reason."""
    match = _VERIFIER_KEY.fullmatch(text)
    if not match:
        raise ValueError("a verifier key is a name, 8 hexadecimal digits and a key in base64, separated by +")
    try:
        data = from_base64(match["key"])
    except ValueError:
        raise ValueError("the key at the end of the verifier key is not base64") from None
    key = VerifierKey(match["name"], data[1:], data[:1])
    if key.signature_type not in (ED25519, COSIGNATURE) or len(key.public_key) != _KEY_BYTES:
        raise ValueError("a verifier key has the type 01 or 04 and an Ed25519 key of 32 bytes")
    if str(key) != text:
        raise ValueError("the id in the verifier key is not that of its name and key: the text was changed")
    return key


def verify_cosignature(note_text: str, lines: str, key: VerifierKey) -> Cosignature:
    """Return the cosignature of a checkpoint by a witness, from signature lines that each end in a newline.

    `note_text`: what the log signed. Lines by other keys are ignored. Raises MalformedNote, and BadSignature if the key
    has signed none of the lines, or if one of its signatures is invalid.
    """
    own = [each for each in checkpoints.parse_signatures(lines) if (each.name, each.key_id) == (key.name, key.id)]
    if not own:
        raise BadSignature("the witness has not cosigned the checkpoint")
    times = [_verify_and_return_time(note_text, signature.signature, key) for signature in own]
    return Cosignature(str(own[0]), times[0])


def _verify_and_return_time(note_text: str, timestamped_signature: bytes, key: VerifierKey) -> int:
    if len(timestamped_signature) != _TIME_BYTES + _SIGNATURE_BYTES:
        raise MalformedNote("a cosignature consists of a time and an Ed25519 signature")
    time = int.from_bytes(timestamped_signature[:_TIME_BYTES], "big")
    checkpoints.require_valid_ed25519_signature(
        f"cosignature/v1\ntime {time}\n{note_text}", timestamped_signature[_TIME_BYTES:], key.public_key
    )
    return time
