"""The lead token, which gives the sender access to a submission.

It contains the id of the submission and the expiry time, is signed, and is stored nowhere.
"""

import struct
from typing import Final
from uuid import UUID

from chalicelib.kernel.core.clock import after, now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.problems import unauthenticated
from chalicelib.kernel.crypto import symmetric

LEAD_TOKEN_HEADER: Final = "Lead-Token"  # noqa: S105 - the name of a header
_VALID_DAYS: Final = 90
"""Days for which the token of a submission is valid."""

_CONTEXT: Final = "lead"
_LAYOUT: Final = struct.Struct(">16sQ")
"""The id of the submission, and the expiry time in milliseconds since the epoch."""


def sign_lead_token(submission_id: str, submitted_at: str) -> str:
    """Return the token of a submission that was received at `submitted_at`."""
    payload = _LAYOUT.pack(UUID(submission_id).bytes, timestamp_ms(after(submitted_at, days=_VALID_DAYS)))
    return symmetric.sign_token(payload, _CONTEXT)


def verify_lead_token(token: str) -> str:
    """Return the submission id in a token. Raises Problem `unauthenticated` or `token_expired`."""
    payload = symmetric.verified_payload_or_none(token, _LAYOUT.size, _CONTEXT)
    if payload is None:
        raise unauthenticated(f"The {LEAD_TOKEN_HEADER} is invalid. Check that it was copied completely.")
    submission_id, expires_at_ms = _LAYOUT.unpack(payload)
    if expires_at_ms <= now_ms():
        detail = f"The {LEAD_TOKEN_HEADER} expired at {timestamp(expires_at_ms)}. Submit the lead again to get another."
        raise unauthenticated(detail, "token_expired")
    return str(UUID(bytes=submission_id))
