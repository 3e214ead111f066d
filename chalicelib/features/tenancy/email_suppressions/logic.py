"""The link by which somebody unsubscribes: pure decisions.

Its token says the keyed hash of the address that the mail went to, and nothing else: so it works without a read, tells
nobody the address, and still does when the invitation is long gone.
"""

from typing import Final

from chalicelib.features.tenancy.email_suppressions.entities import Suppression
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import signatures
from chalicelib.kernel.identity.email_hashes import HASH_BYTES, keyed_hash
from chalicelib.kernel.storage.entity import ItemKey

UNSUBSCRIBE: Final = "/organizations/invitations/unsubscribe"
_CONTEXT: Final = "unsubscribe"


def token_for(address_hash: str) -> str:
    """Return the token of whoever got a mail at the address of this hash."""
    return signatures.sign_token(bytes.fromhex(address_hash), _CONTEXT)


def hash_in(token: str) -> str | None:
    """Return the hash of the address that a token was made for, or None if the service did not make it."""
    said = signatures.verify_token(token, HASH_BYTES, _CONTEXT)
    return said.hex() if said else None


def unsubscribe_url(address_hash: str) -> str:
    """Return the link that a mail to the address of this hash carries."""
    return f"{settings().public_url}{UNSUBSCRIBE}?token={token_for(address_hash)}"


def suppression_key(address: str) -> ItemKey:
    """Return where it stands that an address wants no mail."""
    return Suppression.make_item_key(address_hash=keyed_hash(address).hex())
