"""Rules about which artefacts are one work, which values a work gets, and which works look alike. Without I/O."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import rfc8785
from pydantic.alias_generators import to_camel

from chalicelib.features.research.entities import Artefact
from chalicelib.features.research.models.identifiers import match_keys
from chalicelib.features.research.models.venue_catalogue import find_venue_id

SOURCE_PRECEDENCE: Final = ("dblp", "openalex", "orcid")
"""Sources in the order of reliability: curated records, the largest collection, self-reported records."""

MAX_RESEARCHERS: Final = 20
"""Researchers of a record. Further ones are omitted."""

_FIELDS: Final = ("title", "type", "year", "venue_id", "doi", "authors")


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of a record."""
    return hashlib.sha256(rfc8785.dumps(dict(content))).hexdigest()


@dataclass(frozen=True)
class ComparedWork:
    """A work to compare with others. `title` is a digest, too. Each digest is None if there is nothing to compare."""

    id: str
    year: int
    title_author_digest: str | None
    title: str | None
    researcher_ids: Sequence[str]
    lists_authors: bool


class _DisjointSets:
    """A union-find structure."""

    def __init__(self) -> None:
        self._leaders: dict[str, str] = {}

    def find_root(self, node: str) -> str:
        """Return the root of the set of a node."""
        leaders = self._leaders
        while leaders.setdefault(node, node) != node:
            leaders[node] = leaders[leaders[node]]
            node = leaders[node]
        return node

    def join_if_separate(self, one: str, other: str) -> bool:
        """Join the sets of two nodes. Return whether they were separate."""
        root, other_root = self.find_root(one), self.find_root(other)
        self._leaders[root] = other_root
        return root != other_root


def count_merges_uniting_similar_works(works: Iterable[ComparedWork]) -> int:
    """Return how many merges would unite all works that look alike.

    Two works look alike if their years are at most one apart and they have title and first author in common or, if one
    of them lists no authors, the title and a researcher.
    """
    groups = _DisjointSets()
    return sum(groups.join_if_separate(one.id, other.id) for one, other in _pairs_connecting_similar_works(works))


def _pairs_connecting_similar_works(works: Iterable[ComparedWork]) -> Iterator[tuple[ComparedWork, ComparedWork]]:
    """Yield pairs of works that look alike: not all pairs, but enough to connect all such works."""
    by_author: dict[str, list[ComparedWork]] = {}
    by_researcher: dict[tuple[str, str], list[ComparedWork]] = {}
    for each in works:
        if each.title_author_digest:
            by_author.setdefault(each.title_author_digest, []).append(each)
        for researcher_id in each.researcher_ids if each.title else ():
            by_researcher.setdefault((str(each.title), researcher_id), []).append(each)
    for similar_works in by_author.values():
        ordered = sorted(similar_works, key=lambda each: each.year)
        yield from ((one, other) for one, other in pairwise(ordered) if other.year - one.year <= 1)
    for similar_works in by_researcher.values():
        yield from _nearby_year_pairs_lacking_authors(similar_works)


def _nearby_year_pairs_lacking_authors(works: Sequence[ComparedWork]) -> Iterator[tuple[ComparedWork, ComparedWork]]:
    """Yield pairs of works with a common title and researcher and nearby years, if at least one lists no authors."""
    no_authors = {each.year: each for each in works if not each.lists_authors}
    for each in works:
        nearby = (no_authors.get(each.year + distance) for distance in (-1, 0, 1))
        yield from ((each, other) for other in nearby if other)


def group_by_work(artefacts: Iterable[Artefact]) -> list[list[Artefact]]:
    """Return the artefacts of each work, which are those connected by match keys.

    Artefacts are ordered by precedence, works by the lowest id of their artefacts.
    """
    sets, members = _DisjointSets(), [*artefacts]
    for artefact in members:
        for key in match_keys(artefact.identifiers):
            sets.join_if_separate(key, artefact.id)
    groups: dict[str, list[Artefact]] = {}
    for artefact in members:
        groups.setdefault(sets.find_root(artefact.id), []).append(artefact)
    ordered = [sorted(group, key=_source_precedence_sort_key) for group in groups.values()]
    return sorted(ordered, key=lambda group: min(each.id for each in group))


def _source_precedence_sort_key(artefact: Artefact) -> tuple[int, str]:
    return SOURCE_PRECEDENCE.index(artefact.source), artefact.source_id


def merged_work_fields(artefacts: Sequence[Artefact]) -> dict[str, Any]:
    """Return the fields of a work, each from the first artefact that has it, and their provenance."""
    fields: dict[str, Any] = {"venue_id": None, "doi": None, "year": None, "authors": []}
    provenance: dict[str, str] = {}
    for artefact in sorted(artefacts, key=_source_precedence_sort_key):
        values = {
            "title": artefact.title,
            "type": artefact.type if artefact.type != "other" else None,
            "year": artefact.year,
            "venue_id": _venue_id(artefact),
            "doi": artefact.identifiers.get("doi"),
            "authors": artefact.authors,
        }
        for name in _FIELDS:
            if values[name] and to_camel(name) not in provenance:
                fields[name], provenance[to_camel(name)] = values[name], artefact.id
    editions = [each.edition_id for each in sorted(artefacts, key=_source_precedence_sort_key) if each.edition_id]
    researcher_ids = {researcher for each in artefacts for researcher in each.researcher_ids}
    return {
        "type": "other",
        **fields,
        "provenance": provenance,
        "edition_id": editions[0] if editions else None,
        "researcher_ids": sorted_limited_researcher_ids(researcher_ids),
        "artefact_ids": [each.id for each in sorted(artefacts, key=_source_precedence_sort_key)],
    }


def _venue_id(artefact: Artefact) -> str | None:
    venue_id = artefact.edition_id.rpartition("-")[0] if artefact.edition_id else None
    return venue_id or find_venue_id(artefact.venue_name)


def sorted_limited_researcher_ids(researcher_ids: Iterable[str]) -> list[str]:
    """Return the first researchers by id, a selection that does not depend on the order of imports."""
    return sorted(set(researcher_ids))[:MAX_RESEARCHERS]
