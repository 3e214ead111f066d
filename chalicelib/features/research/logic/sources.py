"""The three public sources as configured, and functions to read their responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from chalicelib.features.research.logic.source_client import InvalidResponse, Source
from chalicelib.features.research.models.identifiers import is_orcid
from chalicelib.features.research.models.settings import ResearchSettings
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.storage.entity import Item

MAX_AUTHORS: Final = 100
"""Authors that are read of a publication. Further ones are omitted."""

_MAX_TITLE_CHARACTERS: Final = 1000
_MAX_NAME_CHARACTERS: Final = 300


class UnreadableRecord(Exception):
    """A record in a page is invalid, for the reason in the message. The rest of the page can be used."""


@dataclass(frozen=True)
class SourceRecord:
    """A source's record of a work. `content` holds fields of an artefact. It was fetched for the `researcher_ids`."""

    source: Literal["orcid", "openalex", "dblp"]
    source_id: str
    content: Mapping[str, Any]
    researcher_ids: list[str] = field(default_factory=list)
    edition_id: str | None = None


@dataclass(frozen=True)
class SourcePage:
    """The result of a step: records, the unreadable records with the reasons, and the steps to do next."""

    records: list[SourceRecord]
    unreadable: list[str]
    next_steps: list[Item]


def orcid_source() -> Source:
    """Return ORCID's public API."""
    config = section(ResearchSettings)
    headers = {"Authorization": f"Bearer {config.orcid_token}"} if config.orcid_token else {}
    return Source("ORCID", config.orcid_base_url, config.orcid_rate, headers, contact_email=config.research_mailto)


def openalex_source() -> Source:
    """Return the API of OpenAlex."""
    config = section(ResearchSettings)
    parameters = {"mailto": config.research_mailto, "api_key": config.openalex_api_key}
    query = {name: value for name, value in parameters.items() if value}
    return Source(
        "OpenAlex", config.openalex_base_url, config.openalex_rate, query=query, contact_email=config.research_mailto
    )


def dblp_source() -> Source:
    """Return the API of DBLP."""
    config = section(ResearchSettings)
    return Source("DBLP", config.dblp_base_url, config.dblp_rate, contact_email=config.research_mailto)


def value_at_path(value: Any, *field_names: str) -> Any:
    """Return the value at a path of JSON objects, or None."""
    for name in field_names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def list_at_path(source: str, value: Any, *field_names: str, optional: bool = False) -> list[Any]:
    """Return the list at a path of a response. Raises InvalidResponse if there is none, unless it is optional."""
    items = value_at_path(value, *field_names)
    if items is None and optional:
        return []
    if not isinstance(items, list):
        raise InvalidResponse(f"{source} sent no list `{'.'.join(field_names)}`.")
    return items


def build_titled_record_content(
    *, title: Any, type_: str, year: Any, venue: Any, identifiers: Mapping[str, str], authors: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the content of a record from the values in a response. Raises UnreadableRecord if it has no title."""
    normalized_title = " ".join(str(title).split())[:_MAX_TITLE_CHARACTERS] if isinstance(title, str) else ""
    if not normalized_title:
        raise UnreadableRecord("has no title")
    venue_name = " ".join(venue.split())[:_MAX_NAME_CHARACTERS] if isinstance(venue, str) else ""
    return {
        "title": normalized_title,
        "type": type_,
        "year": _parse_year_or_none(year),
        "venue_name": venue_name or None,
        "identifiers": dict(identifiers),
        "authors": authors[:MAX_AUTHORS],
    }


def build_named_author(name: Any, orcid_id: Any = None) -> dict[str, Any]:
    """Return an author. Raises UnreadableRecord if the name is missing."""
    normalized_name = " ".join(name.split())[:_MAX_NAME_CHARACTERS] if isinstance(name, str) else ""
    if not normalized_name:
        raise UnreadableRecord("has an author without a name")
    orcid_without_url = orcid_id.rpartition("/")[2] if isinstance(orcid_id, str) else None
    return {
        "name": normalized_name,
        "orcid": orcid_without_url if orcid_without_url and is_orcid(orcid_without_url) else None,
    }


def _parse_year_or_none(value: Any) -> int | None:
    try:
        year = int(value)
    except (TypeError, ValueError):
        return None
    return year if 1000 <= year <= 9999 else None  # noqa: PLR2004 - four digits
