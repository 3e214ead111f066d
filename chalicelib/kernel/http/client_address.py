"""The address of the client that sent a request, also behind an edge such as CloudFront.

An edge forwards the requests of all visitors from its own addresses. It states the visitor's address in a header, and
proves with a secret in another header that it is the edge. Anybody can send the first header; only the edge knows the
secret.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import ip_address
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.settings import settings

EDGE_SECRET_HEADER: Final = "Edge-Secret"  # noqa: S105 - the name of a header is not a secret
"""The header with the secret of the edge. CloudFront does not allow names that begin with `X-Edge-`.

The edge replaces a header of this name from the visitor.
"""

VIEWER_ADDRESS_HEADER: Final = "CloudFront-Viewer-Address"
"""The header with the visitor's address and port: `198.51.100.10:46532`, or `2001:db8::7:46532` without brackets.

The edge replaces a header of this name from the visitor.
"""

_RECEIVED_SECRET_HEADER: Final = ascii_lower(EDGE_SECRET_HEADER)
_RECEIVED_ADDRESS_HEADER: Final = ascii_lower(VIEWER_ADDRESS_HEADER)


def client_address(headers: Mapping[str, str], connection_address: str) -> str:
    """Return the address of a request's client: the visitor's if an edge states it, else that of the connection.

    `headers`: names in lower case. The visitor's address is believed only with a secret whose digest is listed in
    `EDGE_SECRET_DIGESTS`.
    """
    if not _has_edge_secret(headers):
        return connection_address
    return _parse_address_with_port_or_none(headers.get(_RECEIVED_ADDRESS_HEADER, "")) or connection_address


def without_edge_secret(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without the secret of the edge, so that it reaches no log and no stored record."""
    return {name: value for name, value in headers.items() if name != _RECEIVED_SECRET_HEADER}


def edge_secret_digest(secret: str) -> str:
    """Return the digest of a secret, as `EDGE_SECRET_DIGESTS` lists it."""
    return sha256(secret.encode(errors="replace")).hexdigest()


def _has_edge_secret(headers: Mapping[str, str]) -> bool:
    digest = edge_secret_digest(headers.get(_RECEIVED_SECRET_HEADER, ""))
    # Each comparison takes constant time and none is left out, so that the time reveals nothing about the digests.
    return True in [hmac.compare_digest(digest, each) for each in settings().edge_secret_digests.split(",")]


def _parse_address_with_port_or_none(text: str) -> str | None:
    """Return the address in an address with a port, in its canonical form, or None if it is invalid."""
    address, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal()) or "%" in address:
        return None
    try:
        return str(ip_address(address.removeprefix("[").removesuffix("]")))
    except ValueError:
        return None
