"""What the operations on research accept and answer."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from chalicelib.kernel.http.fields import Timestamp, Uuid, matching, require_visible
from chalicelib.kernel.http.models import Input, ListQuery, Output, RecordOutput

Source = Literal["orcid", "openalex", "dblp"]
Work = Literal["import", "reconcile", "backfill"]
Status = Literal["queued", "running", "completed", "failed"]
Failure = Literal["unknown_researcher", "source_unavailable", "refused_by_source", "malformed_answer", "too_many_alike"]

_LONGEST_ID: Final = 128
_ADDRESS: Final = re.compile(r"https?://(?:www\.)?(?:orcid|openalex)\.org/", re.IGNORECASE)
_IN_CAPITALS: Final = re.compile(r"a\d+|(?:\d{4}-){3}\d{3}x")


def _bare(value: object) -> object:
    """Return an id without the address that it is often written with, in the letters that the sources use."""
    if not isinstance(value, str):
        return value
    bare = _ADDRESS.sub("", value.strip()).rstrip("/")
    return bare.upper() if _IN_CAPITALS.fullmatch(bare) else bare


ResearcherId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=_LONGEST_ID),
    BeforeValidator(_bare),
    AfterValidator(require_visible),
]
EditionId = Annotated[str, *matching("^[a-z0-9-]{1,64}$", "must be the id of an edition, such as neurips-2025")]


class ImportCreate(Input):
    """Whose works are fetched: by an ORCID iD or the id of an author at OpenAlex."""

    researcher_id: ResearcherId = Field(
        description="An ORCID iD, or an OpenAlex author id such as A5023888391; also as its address.",
        examples=["0000-0002-1825-0097"],
    )
    organization_id: Uuid | None = Field(
        None, description="The organization whose library they go to; left out, the caller's own.", examples=[None]
    )


class ReconcileCreate(Input):
    """Which library is reconciled."""

    organization_id: Uuid | None = Field(
        None, description="The organization whose library it is; left out, the caller's own.", examples=[None]
    )


class ArtefactsQuery(ListQuery):
    """Which artefacts."""

    researcher_id: ResearcherId | None = Field(
        None, description="Only of this researcher.", examples=["0000-0002-1825-0097"]
    )
    source: Source | None = Field(None, description="Only from this source.", examples=["openalex"])


class OutputsQuery(ListQuery):
    """Which outputs."""

    researcher_id: ResearcherId | None = Field(
        None, description="Only of this researcher.", examples=["0000-0002-1825-0097"]
    )
    venue_id: str | None = Field(None, max_length=64, description="Only at this venue.", examples=["neurips"])
    year: int | None = Field(None, ge=1000, le=9999, description="Only of this year.", examples=[2025])
    doi: str | None = Field(
        None, max_length=512, description="Only with this DOI, bare or as its address.", examples=["10.5555/12345678"]
    )


class Author(Output):
    """An author, as a source names them."""

    name: str = Field(examples=["Josiah Carberry"])
    orcid: str | None = Field(None, examples=["0000-0002-1825-0097"])


class Identifiers(Output):
    """What a work is called elsewhere, without an address around it; a DOI in lower case, of arXiv without version."""

    doi: str | None = Field(None, examples=["10.5555/12345678"])
    arxiv: str | None = Field(None, examples=["2501.00001"])
    pmid: str | None = Field(None, examples=[None])
    openalex: str | None = Field(None, examples=["W2741809807"])
    dblp: str | None = Field(None, examples=[None])


class ArtefactOut(RecordOutput):
    """What one source says of a work, as it was fetched."""

    source: Source = Field(examples=["openalex"])
    source_id: str = Field(description="What the source calls it.", examples=["W2741809807"])
    researcher_ids: list[str] = Field(
        description="The researchers with whom it was imported, by all their ids that it names; 20 at most.",
        examples=[["0000-0002-1825-0097"]],
    )
    title: str = Field(examples=["A Methodology for the Emulation of Architecture"])
    type: str = Field(examples=["article"])
    year: int | None = Field(examples=[2012])
    venue_name: str | None = Field(examples=["Journal of Psychoceramics"])
    identifiers: Identifiers
    authors: list[Author] = Field(description="The first 100; none where the source names none.")
    fetched_at: Timestamp = Field(description="When it was fetched as it is; a repeated import of the same leaves it.")
    content_hash: str = Field(
        description="SHA-256 of the canonical JSON (RFC 8785) of what the source says of the work, in hexadecimal.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )
    output_id: Uuid | None = Field(description="The output that it is part of; null until it is reconciled.")


class WorkOut(RecordOutput):
    """A work, as all artefacts of a library say that share an identifier."""

    title: str = Field(examples=["A Methodology for the Emulation of Architecture"])
    type: str = Field(examples=["article"])
    year: int | None = Field(examples=[2012])
    venue_id: str | None = Field(examples=[None])
    doi: str | None = Field(examples=["10.5555/12345678"])
    authors: list[Author]
    researcher_ids: list[str] = Field(
        description="Of all its artefacts; 20 at most.", examples=[["0000-0002-1825-0097"]]
    )
    artefact_ids: list[Uuid] = Field(description="The first says most: dblp, then openalex, then orcid.")
    provenance: dict[str, Uuid] = Field(description="By field, the artefact whose value it is.")


class VenueEditionOut(Output):
    """One year of a venue."""

    id: str = Field(examples=["neurips-2025"])
    year: int = Field(examples=[2025])
    output_count: int = Field(ge=0, description="Outputs that backfills have brought.", examples=[0])


class VenueOut(Output):
    """A conference whose editions can be backfilled."""

    id: str = Field(examples=["neurips"])
    name: str = Field(examples=["Conference on Neural Information Processing Systems"])
    editions: list[VenueEditionOut]


class Counts(Output):
    """What a job has done so far: of imports and backfills artefacts; of reconciles outputs."""

    created: int = Field(0, ge=0, examples=[12])
    updated: int = Field(0, ge=0, examples=[1])
    unchanged: int = Field(0, ge=0, examples=[30])
    conflicts: int = Field(
        0,
        ge=0,
        examples=[0],
        description="Merges that a reconcile proposes and does not make: outputs that share no identifier, are a year "
        "apart at most, and have the same title and first author or, where one of them lists no authors (ORCID never "
        "does), the same title and a researcher.",
    )


_NOTHING_YET: Final = {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0}
_OF_WORK: Final[Mapping[Work, Mapping[str, Any]]] = {
    "import": {},
    "reconcile": {"kind": "reconcile", "researcher_id": None},
    "backfill": {"kind": "backfill", "researcher_id": None, "edition_id": "neurips-2025"},
}


class ResearchJobOut(RecordOutput):
    """Work on research in the background."""

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"research.{work}.{event}": {**shown, **of_work}
        for work, of_work in _OF_WORK.items()
        for event, shown in (
            ("requested", {"status": "queued", "counts": _NOTHING_YET}),
            ("completed", {"status": "completed"}),
            ("failed", {"status": "failed", "error": "source_unavailable", "detail": "A source gave no answer."}),
        )
    }

    kind: Work = Field(validation_alias="work", examples=["import"])
    status: Status = Field(examples=["completed"])
    counts: Counts
    error: Failure | None = Field(description="Why it failed, as a word for programs.", examples=[None])
    detail: str | None = Field(description="The same for people.", examples=[None])
    skipped: list[str] = Field(description="The first 20 records that could not be read, and why.", examples=[[]])
    skipped_count: int = Field(ge=0, description="How many those are.", examples=[0])
    organization_id: Uuid | None = Field(description="Whose library it works in, if that is an organization's.")
    researcher_id: str | None = Field(description="Whose works it imports.", examples=["0000-0002-1825-0097"])
    edition_id: str | None = Field(description="What it backfills.", examples=[None])
