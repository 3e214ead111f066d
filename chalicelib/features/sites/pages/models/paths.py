"""Paths of pages: which slugs one has, and which one a page has."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.features.sites.pages.models.schemas import MOST_DEPTH
from chalicelib.kernel.http.fields import SLUG_PATTERN


def slugs_of(path: str) -> list[str] | None:
    """Return the slugs of a path that `normalized` returned, none of the home; None if no page can have it."""
    slugs = [slug for slug in path.split("/") if slug]
    possible = len(slugs) <= MOST_DEPTH and all(re.fullmatch(SLUG_PATTERN, slug) for slug in slugs)
    return slugs if possible else None


def path_along(line: Iterable[Mapping[str, Any]], home: str | None) -> str:
    """Return the path of the last of some pages, each below the one before it: what is above the home is left out."""
    slugs: list[str] = []
    for page in line:
        slugs = [] if page["id"] == home else [*slugs, str(page["slug"])]
    return "/" + "/".join(slugs)
