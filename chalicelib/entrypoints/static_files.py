"""Files of the release that the service sends as they are, and the headers of its own pages."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from chalicelib.kernel.operations.results import RawResponse

PAGE_HEADERS: Final[Mapping[str, str]] = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

IMMUTABLE: Final = "public, max-age=31536000, immutable"
REVALIDATED: Final = "no-cache"

_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".py": "text/x-python; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FINGERPRINT_CHARACTERS: Final = 16


@cache
def read_text(file: Path) -> str:
    """Return the text of a file."""
    return file.read_text(encoding="utf-8")


@cache
def fingerprint(file: Path) -> str:
    """Return the version of a file that its URL contains."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:_FINGERPRINT_CHARACTERS]


def respond_with_file(text: str, suffix: str, headers: Mapping[str, str], cache_control: str) -> RawResponse:
    """Return a response with a text. `suffix`: the ending of the file's name, which determines the media type."""
    return RawResponse(text, _MEDIA_TYPES[suffix], {"Cache-Control": cache_control, **headers})
