"""The three public sources as the settings name them, and what their pages come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from chalicelib.features.research.logic.source_client import Malformed, Source
from chalicelib.features.research.models.identifiers import is_orcid
from chalicelib.features.research.models.settings import ResearchSettings
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.storage.entity import Item

MOST_AUTHORS: Final = 100
_MOST_TITLE: Final = 1000
_MOST_NAME: Final = 300


class Unreadable(Exception):
    """A record of a page can't be read; says why. The rest of the page can."""


@dataclass(frozen=True)
class Record:
    """What a source says of a work. `title` and the rest are as in an artefact; `researcher_ids` whom it came with."""

    source: Literal["orcid", "openalex", "dblp"]
    source_id: str
    said: Mapping[str, Any]
    researcher_ids: list[str] = field(default_factory=list)
    edition_id: str | None = None


@dataclass(frozen=True)
class Page:
    """What a step fetched: records, what could not be read, and the steps that it leads to, to be done first."""

    records: list[Record]
    unreadable: list[str]
    then: list[Item]


def orcid() -> Source:
    """Return ORCID's public API."""
    known = section(ResearchSettings)
    headers = {"Authorization": f"Bearer {known.orcid_token}"} if known.orcid_token else {}
    return Source("ORCID", known.orcid_base_url, known.orcid_rate, headers, mailto=known.research_mailto)


def openalex() -> Source:
    """Return OpenAlex."""
    known = section(ResearchSettings)
    given = {"mailto": known.research_mailto, "api_key": known.openalex_api_key}
    query = {name: value for name, value in given.items() if value}
    return Source("OpenAlex", known.openalex_base_url, known.openalex_rate, query=query, mailto=known.research_mailto)


def dblp() -> Source:
    """Return DBLP."""
    known = section(ResearchSettings)
    return Source("DBLP", known.dblp_base_url, known.dblp_rate, mailto=known.research_mailto)


def within(value: Any, *path: str) -> Any:
    """Return what stands at a path of JSON objects; None where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def listed(source: str, value: Any, *path: str, optional: bool = False) -> list[Any]:
    """Return the list at a path of an answer. Raises Malformed if there is none, unless it is optional."""
    found = within(value, *path)
    if found is None and optional:
        return []
    if not isinstance(found, list):
        raise Malformed(f"{source} sent no list `{'.'.join(path)}`.")
    return found


def said(
    *, title: Any, type_: str, year: Any, venue: Any, identifiers: Mapping[str, str], authors: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what a source says of a work as it is kept. Raises Unreadable if it has no title."""
    plain = " ".join(str(title).split())[:_MOST_TITLE] if isinstance(title, str) else ""
    if not plain:
        raise Unreadable("has no title")
    name = " ".join(venue.split())[:_MOST_NAME] if isinstance(venue, str) else ""
    return {
        "title": plain,
        "type": type_,
        "year": _year(year),
        "venue_name": name or None,
        "identifiers": dict(identifiers),
        "authors": authors[:MOST_AUTHORS],
    }


def author(name: Any, orcid_id: Any = None) -> dict[str, Any]:
    """Return an author as they are kept. Raises Unreadable if they have no name."""
    plain = " ".join(name.split())[:_MOST_NAME] if isinstance(name, str) else ""
    if not plain:
        raise Unreadable("has an author without a name")
    bare = orcid_id.rpartition("/")[2] if isinstance(orcid_id, str) else None
    return {"name": plain, "orcid": bare if bare and is_orcid(bare) else None}


def _year(value: Any) -> int | None:
    try:
        year = int(value)
    except (TypeError, ValueError):
        return None
    return year if 1000 <= year <= 9999 else None  # noqa: PLR2004 - four digits
