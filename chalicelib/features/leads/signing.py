"""The token by which whoever sent something comes back to it: what it names and until when, with a tag of ours.

It is stored nowhere.
"""

import struct
from typing import Final
from uuid import UUID

from chalicelib.kernel.core.clock import after, now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.problems import unauthenticated
from chalicelib.kernel.crypto import signatures

HEADER: Final = "Lead-Token"
_DAYS: Final = 90
_CONTEXT: Final = "lead"
_LAYOUT: Final = struct.Struct(">16sQ")
"""What it names; when it ends, in milliseconds."""


def token_of(sent_id: str, moment: str) -> str:
    """Return the token of what was sent at a moment."""
    said = _LAYOUT.pack(UUID(sent_id).bytes, timestamp_ms(after(moment, days=_DAYS)))
    return signatures.sign_token(said, _CONTEXT)


def named_by(token: str) -> str:
    """Return the id that a token names. Raises Problem `unauthenticated` or `token_expired`."""
    said = signatures.verify_token(token, _LAYOUT.size, _CONTEXT)
    if said is None:
        raise unauthenticated(f"The {HEADER} was not made here. Check that it was copied whole.")
    identifier, ends_ms = _LAYOUT.unpack(said)
    if ends_ms <= now_ms():
        detail = f"The {HEADER} ended at {timestamp(ends_ms)}. Send what you have to say again, and get another."
        raise unauthenticated(detail, "token_expired")
    return str(UUID(bytes=identifier))
