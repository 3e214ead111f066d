"""Names of actors and targets, as chat messages show them. No I/O."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower

MAX_NAME_CHARACTERS: Final = 256
"""Maximum characters of a name. Two fully escaped names fit into one section of Slack."""

UNKNOWN_TARGET: Final = "something"

_KEY_TYPES: Final = {"api_key": "API key", "service_key": "service key"}
_DEFAULT_NAMES: Final = {
    "user": "Somebody",
    "api_key": "An API key",
    "service_key": "A service key",
    "operator": "An operator",
    "system": "The service",
}
_BIDI_CONTROLS: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Invisible characters that change the direction of the surrounding text."""


def principal_name(
    principal: Mapping[str, Any], max_characters: int = MAX_NAME_CHARACTERS, *, begins_sentence: bool = True
) -> str:
    """Return the name of a principal. The name of a key follows what it is."""
    name = clean_name(principal["name"] or "", max_characters)
    if name and principal["type"] not in _KEY_TYPES:
        return name
    text = f"The {_KEY_TYPES[principal['type']]} {name}" if name else _DEFAULT_NAMES.get(principal["type"], "Somebody")
    return text if begins_sentence else ascii_lower(text[0]) + text[1:]


def clean_name(name: str, max_characters: int = MAX_NAME_CHARACTERS) -> str:
    """Return a name as a single line without direction controls, shortened if necessary."""
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in _BIDI_CONTROLS.sub("", name))
    text = " ".join(text.split())
    return text if len(text) <= max_characters else text[: max_characters - 1].rstrip() + "…"
