"""Slugs of pages."""

from typing import Annotated, Final

from pydantic import AfterValidator

from chalicelib.kernel.http.fields import (
    SLUG_ADVICE,
    SLUG_PATTERN,
    pattern_validator_and_schema,
    reject_double_hyphen_or_reserved_slug,
)

RESERVED_PAGE_SLUGS: Final = frozenset(
    {
        "admin",
        "api",
        "app",
        "by-slug",
        "docs",
        "invitations",
        "resolve",
        "status",
        "www",
    }
)
"""The reserved slugs that apply to pages, too.

The other reserved slugs are names of hosts or of the service's own paths. They do not conflict with pages of sites, and
many sites have a page such as `/about`.
"""


def _check_page_slug(text: str) -> str:
    return reject_double_hyphen_or_reserved_slug(text, RESERVED_PAGE_SLUGS)


PageSlug = Annotated[str, *pattern_validator_and_schema(SLUG_PATTERN, SLUG_ADVICE), AfterValidator(_check_page_slug)]
