"""Host names in the `Host` header (RFC 1034), with internationalized ones as ASCII (IDNA 2008)."""

import re
from typing import Final

from chalicelib.kernel.core.case_folding import ascii_lower, normalize_domain_as_dns

_MAX_HOST_CHARACTERS: Final = 253
"""Maximum length of a name in DNS (RFC 1035, section 2.3.4)."""

_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::[0-9]*)?")


def host_name_from_header(header_value: str) -> str | None:
    """Return the name in a `Host` value as in DNS, without port; None if it is invalid."""
    match = _HOST.fullmatch(header_value.strip())
    name = match[1].removesuffix(".") if match else ""
    if len(name) > _MAX_HOST_CHARACTERS:
        return None
    if name.isascii():
        return ascii_lower(name) or None
    try:
        return normalize_domain_as_dns(name)
    except ValueError:
        return None
