"""Conversion between paths and slugs."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.features.sites.pages.models.schemas import MAX_PAGE_DEPTH
from chalicelib.kernel.http.fields import SLUG_PATTERN


def slugs_if_page_path(path: str) -> list[str] | None:
    """Return the slugs of a normalized path: none for `/`. Return None if no page can have the path."""
    slugs = [slug for slug in path.split("/") if slug]
    is_valid = len(slugs) <= MAX_PAGE_DEPTH and all(re.fullmatch(SLUG_PATTERN, slug) for slug in slugs)
    return slugs if is_valid else None


def path_of_breadcrumbs(breadcrumbs: Iterable[Mapping[str, Any]], home_id: str | None) -> str:
    """Return the path of the last page in breadcrumbs. Ancestors of the home page are not part of it."""
    slugs: list[str] = []
    for page in breadcrumbs:
        slugs = [] if page["id"] == home_id else [*slugs, str(page["slug"])]
    return "/" + "/".join(slugs)
