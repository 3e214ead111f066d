"""Which artefacts are of one work, what they say of it, what they propose: pure decisions."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import rfc8785
from pydantic.alias_generators import to_camel

from chalicelib.features.research.catalogue import venue_named
from chalicelib.features.research.entities import Artefact
from chalicelib.features.research.identifiers import keys_of

PRECEDENCE: Final = ("dblp", "openalex", "orcid")
"""Whose word goes first: who looks at each record, then who has most of them, then what people say of themselves."""

MOST_RESEARCHERS: Final = 20

_FIELDS: Final = ("title", "type", "year", "venue_id", "doi", "authors")


def hash_of(said: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON of what a source says."""
    return hashlib.sha256(rfc8785.dumps(dict(said))).hexdigest()


def proposals(years: Iterable[tuple[str, int]]) -> int:
    """Return how many merges works propose, given by what they have in common and their years, in that order."""
    count, last = 0, ("", -10)
    for each in years:
        count += each[0] == last[0] and each[1] - last[1] <= 1
        last = each
    return count


def works(artefacts: Iterable[Artefact]) -> list[list[Artefact]]:
    """Return the artefacts of each work: those that share a key, be it by way of others (union-find).

    Whose word goes first stands first; the works are in the order of their first artefacts' ids.
    """
    leaders: dict[str, str] = {}

    def leader(node: str) -> str:
        while leaders.setdefault(node, node) != node:
            leaders[node] = leaders[leaders[node]]
            node = leaders[node]
        return node

    members = [*artefacts]
    for artefact in members:
        for key in keys_of(artefact.identifiers):
            leaders[leader(key)] = leader(artefact.id)
    groups: dict[str, list[Artefact]] = {}
    for artefact in members:
        groups.setdefault(leader(artefact.id), []).append(artefact)
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
            "title": artefact.title, "type": artefact.type if artefact.type != "other" else None,
            "year": artefact.year, "venue_id": _venue(artefact), "doi": artefact.identifiers.get("doi"),
            "authors": artefact.authors,
        }  # fmt: skip
        for name in _FIELDS:
            if said[name] and to_camel(name) not in provenance:
                fields[name], provenance[to_camel(name)] = said[name], artefact.id
    editions = [each.edition_id for each in sorted(artefacts, key=_rank) if each.edition_id]
    everyone = {researcher for each in artefacts for researcher in each.researcher_ids}
    return {
        "type": "other", **fields, "provenance": provenance, "edition_id": editions[0] if editions else None,
        "researcher_ids": first_researchers(everyone),
        "artefact_ids": [each.id for each in sorted(artefacts, key=_rank)],
    }  # fmt: skip


def _venue(artefact: Artefact) -> str | None:
    of_edition = artefact.edition_id.rpartition("-")[0] if artefact.edition_id else None
    return of_edition or venue_named(artefact.venue_name)


def first_researchers(researcher_ids: Iterable[str]) -> list[str]:
    """Return the first of some researchers, in an order of their ids: the same whoever came when."""
    return sorted(set(researcher_ids))[:MOST_RESEARCHERS]
