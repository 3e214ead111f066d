"""Conversion between paths and slugs."""

from collections.abc import Iterable, Mapping
from typing import Any

from chalicelib.features.sites.pages.models.schemas import MAX_PAGE_DEPTH
from chalicelib.kernel.trees.paths import valid_slugs_or_none


def slugs_if_page_path(path: str) -> list[str] | None:
    """Return the slugs of a normalized path: none for `/`. Return None if no page can have the path."""
    return valid_slugs_or_none([slug for slug in path.split("/") if slug], MAX_PAGE_DEPTH)


def path_of_breadcrumbs(breadcrumbs: Iterable[Mapping[str, Any]], home_id: str | None) -> str:
    """Return the path of the last page in breadcrumbs. Ancestors of the home page are not part of it."""
    slugs: list[str] = []
    for page in breadcrumbs:
        slugs = [] if page["id"] == home_id else [*slugs, str(page["slug"])]
    return "/" + "/".join(slugs)
