"""Unsubscribe links. No I/O.

The token in a link contains only the keyed hash of the recipient's address. It works without a read, does not disclose
the address and stays valid after the invitation is gone.
"""

from typing import Final

from chalicelib.features.tenancy.logic.email_hashes import HASH_BYTES
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import symmetric

UNSUBSCRIBE_PATH: Final = "/organizations/invitations/unsubscribe"
_CONTEXT: Final = "unsubscribe"


def create_unsubscribe_token(address_hash: str) -> str:
    """Return the token for the recipient with this address hash."""
    return symmetric.sign_token(bytes.fromhex(address_hash), _CONTEXT)


def address_hash_from_token(token: str) -> str | None:
    """Return the address hash in a token, or None if the service did not sign the token."""
    content = symmetric.verified_payload_or_none(token, HASH_BYTES, _CONTEXT)
    return content.hex() if content else None


def build_unsubscribe_url(address_hash: str) -> str:
    """Return the unsubscribe link for a mail to the recipient with this address hash."""
    return f"{settings().public_url}{UNSUBSCRIBE_PATH}?token={create_unsubscribe_token(address_hash)}"
