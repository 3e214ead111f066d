"""What is stored of research: artefacts, outputs, jobs; each belongs to one library."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal

from chalicelib.features.research.models.identifiers import alike, keys_of, title_digest
from chalicelib.features.research.models.schemas import (
    ArtefactOut,
    ResearchJobOut,
    Source,
    Status,
    Work,
    WorkOut,
)
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from chalicelib.kernel.work.jobs import Job

COMMON: Final = "common"
"""The library that everybody sees. Others go by the id of the organization or the user whose they are."""

JOBS_KEPT_DAYS: Final = 30

_LIBRARY: Final = "RL#{library_id}"

STALE: Final = "RL#{library_id}#D"
"""Artefacts of a library that changed since their output was made, by id."""

KEYS: Final = "RL#{library_id}#K"
"""Artefacts of a library by their keys."""

SHELF: Final = "RL#{library_id}#S"
"""Outputs of a library by what may make them one."""

EDITIONS: Final = "RL#{library_id}#V"
"""How many outputs an edition has."""


class Artefact(Entity):
    """What one source says of a work, as it was fetched. `stale`: whether its output was made before it was so."""

    kind, parameter = "research-artefact", "artefact_id"
    pk, sk = "RA#{id}", "{id}"
    in_library = Collection(f"{_LIBRARY}#A", "{id}", index="index1")
    by_source = Collection(f"{_LIBRARY}#A#S#{{source}}", "{id}", index="index2")
    by_source_id = Unique(
        "research-artefact#{library_id}#{source}", "{source_id}", error_code="", field="sourceId", ref_field="id"
    )
    output_model = ArtefactOut

    organization_id: str | None = None
    library_id: str
    source: Source
    source_id: str
    researcher_ids: list[str] = field(default_factory=list)
    title: str
    type: str
    year: int | None = None
    venue_name: str | None = None
    edition_id: str | None = None
    identifiers: dict[str, str] = field(default_factory=dict)
    authors: list[dict[str, Any]] = field(default_factory=list)
    fetched_at: str
    content_hash: str
    output_id: str | None = None
    stale: bool = True

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Rows that lead to it: by its keys, by its researchers and, as long as it is stale, because of that."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[Item]:
        for key in keys_of(self.identifiers):
            yield {"pk": KEYS.format(library_id=self.library_id), "sk": f"{key}#{self.id}", "id": self.id}
        for researcher_id in self.researcher_ids:
            for pk in (
                researcher_key(self.library_id, Artefact, researcher_id),
                researcher_key(self.library_id, Artefact, researcher_id, self.source),
            ):
                yield {"pk": pk, "sk": self.id, "id": self.id}
        if self.stale:
            yield {"pk": STALE.format(library_id=self.library_id), "sk": self.id, "id": self.id}


class ResearchOutput(Entity):
    """A work, by all artefacts of a library that share a key. `merged_into`: the output that it went up in."""

    kind, parameter = "research-output", "output_id"
    pk, sk = "RO#{id}", "{id}"
    in_library = Collection(f"{_LIBRARY}#O#{{shelf}}", "{id}", index="index1")
    by_venue = Facet(f"{_LIBRARY}#O#V#{{venue_id}}", "facet1")
    by_year = Facet(f"{_LIBRARY}#O#Y#{{year}}", "facet2")
    by_doi = Facet(f"{_LIBRARY}#O#D#{{doi}}", "facet3")
    output_model = WorkOut

    organization_id: str | None = None
    library_id: str
    shelf: Literal["shown", "merged"] = "shown"
    title: str = ""
    type: str = "other"
    year: int | None = None
    venue_id: str | None = None
    edition_id: str | None = None
    doi: str | None = None
    authors: list[dict[str, Any]] = field(default_factory=list)
    researcher_ids: list[str] = field(default_factory=list)
    artefact_ids: list[str] = field(default_factory=list)
    provenance: dict[str, str] = field(default_factory=dict)
    merged_into: str | None = None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Rows that lead to it: by its researchers, and by what it may have in common with others."""
        if self.merged_into:
            return ()
        rows = [
            {"pk": researcher_key(self.library_id, ResearchOutput, researcher_id), "sk": self.id, "id": self.id}
            for researcher_id in self.researcher_ids
        ]
        return (*rows, self.shelf_mark)

    @property
    def shelf_mark(self) -> Item:
        """The row by which it is compared with the other outputs of its library.

        Works that list authors are compared by title and first author, which are in its key. Those that list none are
        by title and researchers, which are its attributes: a row each would be too many for one transaction. Rows that
        were stored before there were attributes have none, not even `lists_authors`.
        """
        common = alike(self.title, self.authors) if self.year else None
        title = title_digest(self.title) if self.year and self.researcher_ids else None
        row = {
            "pk": SHELF.format(library_id=self.library_id),
            "sk": f"{common or '-'}#{self.year or 0:04d}#{self.id}",
            "id": self.id,
            "lists_authors": bool(self.authors),
        }
        return row | ({"title": title, "researcher_ids": self.researcher_ids} if title else {})

    def went_into(self, survivor_id: str) -> dict[str, Any]:
        """Return what is left of it once it went up in another: where that is."""
        cleared: dict[str, Any] = {
            "title": "",
            "type": "other",
            "authors": [],
            "researcher_ids": [],
            "artefact_ids": [],
            "provenance": {},
        }
        gone = dict.fromkeys(("year", "venue_id", "edition_id", "doi"))
        return {**cleared, **gone, "shelf": "merged", "merged_into": survivor_id}


class ResearchJob(Job):
    """An import, a reconcile or a backfill of a library, asked for by whoever `started_by` names until they are erased.

    `steps` are the pages still to be fetched, `done` of the first of them is stored; a backfill ends by reconciling.
    `skipped` names the first records that could not be read.
    """

    kind, parameter, task = "research.job", "job_id", "research.work"
    pk, sk = "RJ#{id}", "#"
    in_organization = Collection("O#{organization_id}#R", "{id}", index="index1")
    output_model = ResearchJobOut

    organization_id: str | None = None
    library_id: str
    started_by: str | None = None
    work: Work
    researcher_id: str | None = None
    edition_id: str | None = None
    status: Status = "queued"
    counts: dict[str, int] = field(default_factory=lambda: {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0})
    error: str | None = None
    detail: str | None = None
    skipped: list[str] = field(default_factory=list)
    skipped_count: int = 0
    steps: list[Item] = field(default_factory=list)
    done: int = 0
    ttl: int

    @property
    def log_label(self) -> str:
        """What it works on."""
        return self.researcher_id or self.edition_id or self.id

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what forgets that the person asked for it."""
        return {"started_by": None} if self.started_by in person.user_ids else {}

    @property
    def as_requested(self) -> "ResearchJob":
        """The job as it was asked for, which is what the entry before its end tells of."""
        return ResearchJob(
            id=self.id,
            created_at=self.created_at,
            updated_at=self.created_at,
            ttl=self.ttl,
            work=self.work,
            organization_id=self.organization_id,
            library_id=self.library_id,
            started_by=self.started_by,
            researcher_id=self.researcher_id,
            edition_id=self.edition_id,
        )

    @property
    def place(self) -> dict[str, Any]:
        """What says of a record where it belongs."""
        return {"library_id": self.library_id, "organization_id": self.organization_id}

    def counting(self, **more: int) -> dict[str, int]:
        """Return its counts with so many more."""
        return {name: count + more.get(name, 0) for name, count in self.counts.items()}


def researcher_key(library_id: str, kind: type[Entity], researcher_id: str, source: str = "") -> str:
    """Return the partition of the rows that lead to what a researcher has in a library, maybe of one source only."""
    of_source = f"#{source}" if source else ""
    return f"RL#{library_id}#{kind.parameter[0].upper()}R#{researcher_id}{of_source}"


def counted(library_id: str, edition_id: str, delta: int) -> Write:
    """Return the write that counts outputs of an edition."""
    key = EDITIONS.format(library_id=library_id), edition_id
    return ItemUpdate(key, increment={"n": delta}).write()
