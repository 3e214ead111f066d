"""Query parameters that an operation does not have. They are ignored, or rejected if the request prefers that."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.request import Request, Response

STRICT_HANDLING_APPLIED: Final[Mapping[str, str]] = {"Preference-Applied": "handling=strict"}
"""The header of responses to requests with `Prefer: handling=strict` (RFC 7240, section 3)."""

_MAX_HEADER_BYTES: Final = 1024
"""Maximum size of `Ignored-Parameters`. Names beyond it are omitted."""
_MAX_LISTED_NAME_CHARACTERS: Final = 64
"""Maximum length of a name in `Ignored-Parameters`. A longer name is cut."""

_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_LIST: Final = re.compile(rf'(?:[^"]|{_QUOTED})*')
_LIST_ELEMENT: Final = re.compile(rf'(?:[^",]|{_QUOTED})+')
_PREFERENCE: Final = re.compile(rf"({_WORD})(?:[ \t]*=[ \t]*({_WORD}|{_QUOTED}))?[ \t]*(?:;|$)")
_QUOTED_PAIR: Final = re.compile(r"\\(.)")


def has_strict_handling(request: Request) -> bool:
    """Return whether the request prefers to be rejected rather than processed with unknown parts (`handling=strict`).

    Of repeated preferences the first one counts, and a header that is not well-formed has no effect (RFC 7240,
    sections 2 and 4.4).
    """
    header = request.headers.get("prefer", "")
    if not _LIST.fullmatch(header):
        return False
    preferences = (_PREFERENCE.match(element.strip()) for element in _LIST_ELEMENT.findall(header))
    values = (match[2] for match in preferences if match and ascii_lower(match[1]) == "handling")
    value = next(values, None) or ""
    return ascii_lower(_QUOTED_PAIR.sub(r"\1", value.strip('"'))) == "strict"


def add_query_handling_headers(response: Response, request: Request, ignored_names: Sequence[str]) -> None:
    """Add headers that name the ignored query parameters, and confirm the preference for strict handling.

    A response that caches may store depends on this preference. Its compression by API Gateway depends on
    `Accept-Encoding`, but API Gateway adds no `Vary`.
    """
    if ignored_parameters := _encode_names_within_limit(ignored_names):
        response.headers["Ignored-Parameters"] = ignored_parameters
    if has_strict_handling(request):
        response.headers |= STRICT_HANDLING_APPLIED
    if "no-store" not in response.headers.get("Cache-Control", "no-store"):
        response.headers["Vary"] = ", ".join(filter(None, [response.headers.get("Vary"), "Prefer, Accept-Encoding"]))


def _encode_names_within_limit(names: Iterable[str]) -> str:
    """Return the names of query parameters, percent-encoded as in a URL and separated by commas.

    Long names are cut. Of many names, only the first ones are returned.
    """
    value = ""
    for name in filter(None, names):
        encoded = quote(name[:_MAX_LISTED_NAME_CHARACTERS], safe="", errors="replace")
        longer = f"{value}, {encoded}" if value else encoded
        if len(longer) > _MAX_HEADER_BYTES:
            break
        value = longer
    return value
