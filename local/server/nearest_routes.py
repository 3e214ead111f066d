"""Suggestions for unknown routes. Deployed, API Gateway rejects these without asking the service."""

import re
from typing import Final
from urllib.parse import unquote

from chalicelib.entrypoints.routes import ROUTES
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.nearest_names import find_nearest_names
from chalicelib.kernel.http.fields import UUID_PATTERN

_MAX_PATHS: Final = 3
_MIN_SIMILARITY: Final = 0.75


def find_nearest_routes(method: str, path: str) -> list[str]:
    """Return the operations whose paths are most similar to a path, as `GET /organizations/{organization_id}`.

    Of a path with several operations it is the one with the request's method, or else all of them.
    """
    paths = {_without_ids(known_path): known_path for _, _, known_path, _ in ROUTES}
    requested = _without_ids(unquote(path).rstrip("/"))
    matches = find_nearest_names(requested, paths, max_count=_MAX_PATHS, min_similarity=_MIN_SIMILARITY)
    return [route for match in matches for route in _routes_at(paths[match], method)]


def _without_ids(path: str) -> str:
    """Return a path with `{}` in place of each id or path parameter."""
    return "/".join(
        "{}" if segment.startswith("{") or re.fullmatch(UUID_PATTERN, segment) else segment
        for segment in ascii_lower(path).split("/")
    )


def _routes_at(path: str, method: str) -> list[str]:
    methods = [known_method for _, known_method, known_path, _ in ROUTES if known_path == path]
    return [f"{known} {path}" for known in ([method] if method in methods else methods)]
