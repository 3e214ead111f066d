"""Case-insensitive comparison of text in which no other letter becomes an ASCII letter.

`str.lower` maps the Kelvin sign (U+212A) to `k`, and `str.casefold` maps the long s (U+017F) to `s` and the sharp s to
`ss`, so different names would become equal. Use these functions instead, everywhere.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_BECOMES_ASCII_IN_LOWER_CASE: Final = re.compile("([\u0130\u212a])")
_BECOMES_ASCII_WHEN_FOLDED: Final = re.compile(
    "([\u00df\u0130\u0149\u017f\u01f0\u1e96-\u1e9a\u1e9e\u212a\ufb00-\ufb06])"
)
_CHANGES_AS_CAPITAL: Final = re.compile("[\u00df\u0131\u0149\u017f\u01f0\u1e96-\u1e9a\ufb00-\ufb06]")
"""Lower-case letters whose upper case contains ASCII letters."""
_LOCAL_PART: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}")
_DOMAIN: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}")
_MAX_ADDRESS_CHARACTERS: Final = 254
_MAX_DOMAIN_CHARACTERS: Final = 253
_ADDRESS_ADVICE: Final = "must be an e-mail address such as ada@example.com"
_LOCAL_ADVICE: Final = "must have only ASCII and lower-case letters before the @"
_DOMAIN_ADVICE: Final = "must have a domain that is valid by IDNA 2008, such as example.com or bücher.example"


def ascii_lower(text: str) -> str:
    """Return text with its ASCII letters in lower case, and everything else unchanged."""
    return text.translate(_LOWER)


def lower_without_new_ascii(text: str) -> str:
    """Return text in lower case, except letters that would become ASCII letters."""
    return _convert_except(_BECOMES_ASCII_IN_LOWER_CASE, str.lower, text)


def casefold_without_new_ascii(text: str) -> str:
    """Return text folded for caseless comparison, except letters that would become ASCII letters."""
    return _convert_except(_BECOMES_ASCII_WHEN_FOLDED, str.casefold, text)


def normalize_domain_as_dns(text: str) -> str:
    """Return a domain as in DNS (RFC 5890 to 5892), in lower case. Other letters do not become ASCII letters.

    Raises ValueError if it is not valid in IDNA 2008.
    """
    import idna

    name = _convert_except(_BECOMES_ASCII_IN_LOWER_CASE, lambda part: unicodedata.normalize("NFC", part.lower()), text)
    if name.isascii() and "xn--" not in name:
        return name
    if len(name) > _MAX_DOMAIN_CHARACTERS:
        raise ValueError(_DOMAIN_ADVICE)
    try:
        return idna.encode(name, strict=True, std3_rules=True).decode()
    except idna.IDNAError:
        raise ValueError(_DOMAIN_ADVICE) from None


def parse_email_address(text: str) -> str:
    """Return an e-mail address in the form for comparisons: ASCII letters in lower case, the domain as in DNS.

    Raises ValueError if it is no e-mail address, or if a change of case would change it in any other way.
    """
    address = _normalize_unambiguous_email(text)
    local_part, _, domain = address.rpartition("@")
    well_formed = _LOCAL_PART.fullmatch(local_part) and _DOMAIN.fullmatch(domain)
    if not well_formed or len(address) > _MAX_ADDRESS_CHARACTERS:
        raise ValueError(_ADDRESS_ADVICE)
    return address


def email_from_claim(text: str) -> str | None:
    """Return the e-mail address in a token's claim in the form for comparisons, or None.

    Issuers accept more addresses than can be invited, such as `ada@localhost`.
    """
    try:
        return _normalize_unambiguous_email(text)
    except ValueError:
        return None


def email_spellings_by_domain_encoding(address: str) -> list[str]:
    """Return an address in its current form, and as it was stored earlier, with a Unicode domain."""
    import idna

    local_part, _, domain = address.rpartition("@")
    if "xn--" not in domain:
        return [address]
    try:
        return [address, f"{local_part}@{idna.decode(domain)}"]
    except idna.IDNAError:
        return [address]


def _normalize_unambiguous_email(text: str) -> str:
    local_part, at_sign, domain = text.rpartition("@")
    local_part = ascii_lower(local_part)
    is_unchanged = unicodedata.normalize("NFKC", local_part) == local_part == local_part.lower()
    if not at_sign:
        raise ValueError(_ADDRESS_ADVICE)
    if not is_unchanged or _CHANGES_AS_CAPITAL.search(local_part):
        raise ValueError(_LOCAL_ADVICE)
    return f"{local_part}@{normalize_domain_as_dns(domain)}"


def _convert_except(unchanged: re.Pattern[str], convert: Callable[[str], str], text: str) -> str:
    if text.isascii():
        return ascii_lower(text)
    return "".join(part if index % 2 else convert(part) for index, part in enumerate(unchanged.split(text)))
