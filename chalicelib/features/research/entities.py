"""The stored artefacts, outputs and jobs of research. Each of them belongs to one library."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Literal

from chalicelib.features.research.models.identifiers import match_keys, title_digest, title_first_author_digest
from chalicelib.features.research.models.schemas import (
    ArtefactOut,
    JobStatus,
    JobType,
    ResearchJobOut,
    Source,
    WorkOut,
)
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from chalicelib.kernel.work.jobs import Job

PUBLIC_LIBRARY_ID: Final = "common"
"""The id of the library that everybody sees. Other libraries have the id of their organization or user."""

JOB_RETENTION_DAYS: Final = 30
"""Days for which a job of research is stored."""

_LIBRARY_PARTITION: Final = "RL#{library_id}"

STALE_ARTEFACTS_PARTITION: Final = "RL#{library_id}#D"
"""Partition of the items that list the stale artefacts of a library, by id."""

MATCH_KEYS_PARTITION: Final = "RL#{library_id}#K"
"""Partition of the items that find the artefacts of a library by their match keys."""

COMPARISON_PARTITION: Final = "RL#{library_id}#S"
"""Partition of the items by which the outputs of a library are compared with each other."""

EDITION_COUNTS_PARTITION: Final = "RL#{library_id}#V"
"""Partition of the items that count the outputs of each edition."""


COPIES_OF_SOURCES: Final = LogRules(exemption="Imports write it without entries, from public data of research sources.")


class Artefact(Entity):
    """A source's record of a work, as it was fetched. It is stale until its output contains it in this state."""

    kind, parameter = "research-artefact", "artefact_id"
    log_rules, mac_exemption = COPIES_OF_SOURCES, COPIES_OF_SOURCES.exemption
    pk, sk = "RA#{id}", "{id}"
    in_library = Collection(f"{_LIBRARY_PARTITION}#A", "{id}", index="index1")
    by_source = Collection(f"{_LIBRARY_PARTITION}#A#S#{{source}}", "{id}", index="index2")
    by_source_id = Unique(
        "research-artefact#{library_id}#{source}", "{source_id}", error_code="", field="sourceId", ref_field="id"
    )
    output_model = ArtefactOut
    attribute_names: ClassVar = {"is_stale": "stale"}

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
    is_stale: bool = True

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The items that find the artefact by its match keys, by its researchers and, while it is stale, as stale."""
        return tuple(self._iter_key_researcher_and_stale_items())

    def _iter_key_researcher_and_stale_items(self) -> Iterator[Item]:
        for match_key in match_keys(self.identifiers):
            yield {
                "pk": MATCH_KEYS_PARTITION.format(library_id=self.library_id),
                "sk": f"{match_key}#{self.id}",
                "id": self.id,
            }
        for researcher_id in self.researcher_ids:
            for pk in (
                researcher_partition_key(self.library_id, Artefact, researcher_id),
                researcher_partition_key(self.library_id, Artefact, researcher_id, self.source),
            ):
                yield {"pk": pk, "sk": self.id, "id": self.id}
        if self.is_stale:
            yield {"pk": STALE_ARTEFACTS_PARTITION.format(library_id=self.library_id), "sk": self.id, "id": self.id}


class ResearchOutput(Entity):
    """A work, built from all artefacts of a library that share an identifier.

    `list_name` is `shown`, or `merged` if the output was merged into another, whose id is `merged_into` then.
    """

    kind, parameter = "research-output", "output_id"
    log_rules, mac_exemption = COPIES_OF_SOURCES, COPIES_OF_SOURCES.exemption
    pk, sk = "RO#{id}", "{id}"
    in_library = Collection(f"{_LIBRARY_PARTITION}#O#{{list_name}}", "{id}", index="index1")
    by_venue = Facet(f"{_LIBRARY_PARTITION}#O#V#{{venue_id}}", "facet1")
    by_year = Facet(f"{_LIBRARY_PARTITION}#O#Y#{{year}}", "facet2")
    by_doi = Facet(f"{_LIBRARY_PARTITION}#O#D#{{doi}}", "facet3")
    output_model = WorkOut
    attribute_names: ClassVar = {"list_name": "shelf"}

    organization_id: str | None = None
    library_id: str
    list_name: Literal["shown", "merged"] = "shown"
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
        """The items that find the output by its researchers, and the item for comparisons."""
        if self.merged_into:
            return ()
        rows = [
            {
                "pk": researcher_partition_key(self.library_id, ResearchOutput, researcher_id),
                "sk": self.id,
                "id": self.id,
            }
            for researcher_id in self.researcher_ids
        ]
        return (*rows, self.comparison_item)

    @property
    def comparison_item(self) -> Item:
        """The item by which the output is compared with the other outputs of its library.

        Works with authors are compared by title and first author, which are in the key. Works without authors are
        compared by title and researchers, which are attributes, because an item for each researcher would exceed a
        transaction. Older items have none of these attributes.
        """
        digest = title_first_author_digest(self.title, self.authors) if self.year else None
        title = title_digest(self.title) if self.year and self.researcher_ids else None
        row = {
            "pk": COMPARISON_PARTITION.format(library_id=self.library_id),
            "sk": f"{digest or '-'}#{self.year or 0:04d}#{self.id}",
            "id": self.id,
            "lists_authors": bool(self.authors),
        }
        return row | ({"title": title, "researcher_ids": self.researcher_ids} if title else {})

    def changed_fields_when_merged_into(self, survivor_id: str) -> dict[str, Any]:
        """Return the changed fields of an output that is merged into another."""
        cleared: dict[str, Any] = {
            "title": "",
            "type": "other",
            "authors": [],
            "researcher_ids": [],
            "artefact_ids": [],
            "provenance": {},
        }
        removed = dict.fromkeys(("year", "venue_id", "edition_id", "doi"))
        return {**cleared, **removed, "list_name": "merged", "merged_into": survivor_id}


class ResearchJob(Job):
    """An import, a reconciliation or a backfill of a library.

    `started_by` is the id of the caller, or None after their erasure. `pending_steps` describes the pages still to be
    fetched. Of the first of them, `stored_record_count` records are stored already. A backfill ends with a
    reconciliation. `skipped` lists the first unreadable records with the reasons.
    """

    kind, parameter, task = "research.job", "job_id", "research.work"
    pk, sk = "RJ#{id}", "#"
    in_organization = Collection("O#{organization_id}#R", "{id}", index="index1")
    of_caller = Collection("RJ#U#{started_by}", "{id}", index="index2", newest_first=True)
    output_model = ResearchJobOut
    fields_omitted_from_lists = frozenset({"pending_steps"})
    attribute_names: ClassVar = {"pending_steps": "steps", "stored_record_count": "done"}

    organization_id: str | None = None
    library_id: str
    started_by: str | None = None
    work: JobType
    researcher_id: str | None = None
    edition_id: str | None = None
    status: JobStatus = "queued"
    counts: dict[str, int] = field(default_factory=lambda: {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0})
    error: str | None = None
    detail: str | None = None
    skipped: list[str] = field(default_factory=list)
    skipped_count: int = 0
    pending_steps: list[Item] = field(default_factory=list)
    stored_record_count: int = 0
    ttl: int

    @property
    def audit_log_label(self) -> str:
        """The researcher or edition of the job, or else its id."""
        return self.researcher_id or self.edition_id or self.id

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changed fields if the person is the caller."""
        return {"started_by": None} if self.started_by in person.user_ids else {}

    @property
    def as_created(self) -> "ResearchJob":
        """The job as it was created, which is the base of the diff in the log entry of its end."""
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
    def library_and_organization_ids(self) -> dict[str, Any]:
        """The ids of the library and of its organization, which all records of the library have."""
        return {"library_id": self.library_id, "organization_id": self.organization_id}

    def counts_increased_by(self, **added: int) -> dict[str, int]:
        """Return the sums of the counts of the job and further ones."""
        return {name: count + added.get(name, 0) for name, count in self.counts.items()}


def researcher_partition_key(library_id: str, record_type: type[Entity], researcher_id: str, source: str = "") -> str:
    """Return the partition of the items that list a researcher's records in a library, optionally of one source."""
    source_suffix = f"#{source}" if source else ""
    return f"RL#{library_id}#{record_type.parameter[0].upper()}R#{researcher_id}{source_suffix}"


def edition_count_write(library_id: str, edition_id: str, delta: int) -> Write:
    """Return the write that adds to the number of outputs of an edition."""
    key = EDITION_COUNTS_PARTITION.format(library_id=library_id), edition_id
    return ItemUpdate(key, increment={"n": delta}).to_write()
