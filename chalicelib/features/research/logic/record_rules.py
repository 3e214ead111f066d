"""Which artefacts are of one work, what they say of it, what they propose: pure decisions."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import rfc8785
from pydantic.alias_generators import to_camel

from chalicelib.features.research.entities import Artefact
from chalicelib.features.research.models.identifiers import keys_of
from chalicelib.features.research.models.venue_catalogue import venue_named

PRECEDENCE: Final = ("dblp", "openalex", "orcid")
"""Whose word goes first: who looks at each record, then who has most of them, then what people say of themselves."""

MOST_RESEARCHERS: Final = 20

_FIELDS: Final = ("title", "type", "year", "venue_id", "doi", "authors")


def hash_of(said: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of what a source says."""
    return hashlib.sha256(rfc8785.dumps(dict(said))).hexdigest()


@dataclass(frozen=True)
class Listing:
    """A work as it is compared with others. `common`: its title and first author; `title`: its title alone.

    Either is None where there is nothing to compare.
    """

    id: str
    year: int
    common: str | None
    title: str | None
    researcher_ids: Sequence[str]
    lists_authors: bool


class _Groups:
    """Things that hang together by pairs of them (union-find)."""

    def __init__(self) -> None:
        self._leaders: dict[str, str] = {}

    def leader(self, node: str) -> str:
        """Return the one that stands for all in the group of a thing."""
        leaders = self._leaders
        while leaders.setdefault(node, node) != node:
            leaders[node] = leaders[leaders[node]]
            node = leaders[node]
        return node

    def join(self, one: str, other: str) -> bool:
        """Let two be in one group; return whether they were not yet."""
        led, leading = self.leader(one), self.leader(other)
        self._leaders[led] = leading
        return led != leading


def proposals(listings: Iterable[Listing]) -> int:
    """Return how many merges works propose: so many as would make one work of all that hang together by looking alike.

    Two look alike whose years are one apart at most and which have title and first author in common or, if one of them
    lists no authors, title and a researcher.
    """
    groups = _Groups()
    return sum(groups.join(one.id, other.id) for one, other in _alike(listings))


def _alike(listings: Iterable[Listing]) -> Iterator[tuple[Listing, Listing]]:
    """Yield pairs that look alike: not all there are, but so many that all hang together which do by all pairs."""
    by_author: dict[str, list[Listing]] = {}
    by_researcher: dict[tuple[str, str], list[Listing]] = {}
    for each in listings:
        if each.common:
            by_author.setdefault(each.common, []).append(each)
        for researcher_id in each.researcher_ids if each.title else ():
            by_researcher.setdefault((str(each.title), researcher_id), []).append(each)
    for works_ in by_author.values():
        ordered = sorted(works_, key=lambda each: each.year)
        yield from ((one, other) for one, other in pairwise(ordered) if other.year - one.year <= 1)
    for works_ in by_researcher.values():
        yield from _with_no_authors(works_)


def _with_no_authors(listings: Sequence[Listing]) -> Iterator[tuple[Listing, Listing]]:
    """Yield pairs of works of one title and researcher: each with one that lists no authors of each year near it."""
    no_authors = {each.year: each for each in listings if not each.lists_authors}
    for each in listings:
        near = (no_authors.get(each.year + apart) for apart in (-1, 0, 1))
        yield from ((each, other) for other in near if other)


def works(artefacts: Iterable[Artefact]) -> list[list[Artefact]]:
    """Return the artefacts of each work: those that share a key, be it by way of others.

    Whose word goes first stands first; the works are in the order of their first artefacts' ids.
    """
    together, members = _Groups(), [*artefacts]
    for artefact in members:
        for key in keys_of(artefact.identifiers):
            together.join(key, artefact.id)
    groups: dict[str, list[Artefact]] = {}
    for artefact in members:
        groups.setdefault(together.leader(artefact.id), []).append(artefact)
    ordered = [sorted(group, key=_rank) for group in groups.values()]
    return sorted(ordered, key=lambda group: min(each.id for each in group))


def _rank(artefact: Artefact) -> tuple[int, str]:
    return PRECEDENCE.index(artefact.source), artefact.source_id


def told(artefacts: Sequence[Artefact]) -> dict[str, Any]:
    """Return what the artefacts of a work say of it, each field by the first that says it, and which one that is."""
    fields: dict[str, Any] = {"venue_id": None, "doi": None, "year": None, "authors": []}
    provenance: dict[str, str] = {}
    for artefact in sorted(artefacts, key=_rank):
        said = {
            "title": artefact.title,
            "type": artefact.type if artefact.type != "other" else None,
            "year": artefact.year,
            "venue_id": _venue(artefact),
            "doi": artefact.identifiers.get("doi"),
            "authors": artefact.authors,
        }
        for name in _FIELDS:
            if said[name] and to_camel(name) not in provenance:
                fields[name], provenance[to_camel(name)] = said[name], artefact.id
    editions = [each.edition_id for each in sorted(artefacts, key=_rank) if each.edition_id]
    everyone = {researcher for each in artefacts for researcher in each.researcher_ids}
    return {
        "type": "other",
        **fields,
        "provenance": provenance,
        "edition_id": editions[0] if editions else None,
        "researcher_ids": first_researchers(everyone),
        "artefact_ids": [each.id for each in sorted(artefacts, key=_rank)],
    }


def _venue(artefact: Artefact) -> str | None:
    of_edition = artefact.edition_id.rpartition("-")[0] if artefact.edition_id else None
    return of_edition or venue_named(artefact.venue_name)


def first_researchers(researcher_ids: Iterable[str]) -> list[str]:
    """Return the first of some researchers, in an order of their ids: the same whoever came when."""
    return sorted(set(researcher_ids))[:MOST_RESEARCHERS]
