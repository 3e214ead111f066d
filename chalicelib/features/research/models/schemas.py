"""Request and response models of the research operations."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from chalicelib.kernel.http.fields import Timestamp, Uuid, pattern_validator_and_schema, require_visible_character
from chalicelib.kernel.http.models import Input, ListQuery, Output, RecordOutput

Source = Literal["orcid", "openalex", "dblp"]
JobType = Literal["import", "reconcile", "backfill"]
JobStatus = Literal["queued", "running", "completed", "failed"]
FailureCode = Literal[
    "unknown_researcher", "source_unavailable", "refused_by_source", "malformed_answer", "too_many_alike"
]

_MAX_ID_CHARACTERS: Final = 128
"""Length of the id of a researcher at a source, such as an ORCID iD."""

_ID_URL_PREFIX: Final = re.compile(r"https?://(?:www\.)?(?:orcid|openalex)\.org/", re.IGNORECASE)
_UPPERCASE_ID: Final = re.compile(r"a\d+|(?:\d{4}-){3}\d{3}x")


def _strip_url_and_fix_id_case(value: object) -> object:
    """Return an id without its URL, in the case that the sources use."""
    if not isinstance(value, str):
        return value
    bare = _ID_URL_PREFIX.sub("", value.strip()).rstrip("/")
    return bare.upper() if _UPPERCASE_ID.fullmatch(bare) else bare


ResearcherId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=_MAX_ID_CHARACTERS),
    BeforeValidator(_strip_url_and_fix_id_case),
    AfterValidator(require_visible_character),
]
EditionId = Annotated[
    str, *pattern_validator_and_schema("^[a-z0-9-]{1,64}$", "must be the id of an edition, such as neurips-2025")
]


class ImportCreate(Input):
    """The researcher whose works to fetch, and the library that receives them.

    Without an organization it is the caller's own library.
    """

    researcher_id: ResearcherId = Field(
        description="An ORCID iD, or an OpenAlex author id such as A5023888391, with or without its URL.",
        examples=["0000-0002-1825-0097"],
    )
    organization_id: Uuid | None = Field(
        None,
        description="The organization of the library into which to import; the caller's own library if omitted.",
        examples=[None],
    )


class ReconcileCreate(Input):
    """The library to reconcile.

    Without an organization it is the caller's own library, which only the caller sees.
    """

    organization_id: Uuid | None = Field(
        None, description="The organization of the library; the caller's own library if omitted."
    )


class ArtefactsQuery(ListQuery):
    """Filters of the list of artefacts."""

    researcher_id: ResearcherId | None = Field(
        None, description="Only of this researcher.", examples=["0000-0002-1825-0097"]
    )
    source: Source | None = Field(None, description="Only from this source.", examples=["openalex"])


class OutputsQuery(ListQuery):
    """Filters of the list of outputs."""

    researcher_id: ResearcherId | None = Field(
        None, description="Only of this researcher.", examples=["0000-0002-1825-0097"]
    )
    venue_id: str | None = Field(None, max_length=64, description="Only at this venue.", examples=["neurips"])
    year: int | None = Field(None, ge=1000, le=9999, description="Only of this year.", examples=[2025])
    doi: str | None = Field(
        None, max_length=512, description="Only with this DOI, with or without its URL.", examples=["10.5555/12345678"]
    )


class Author(Output):
    """An author as a source names them.

    The ORCID iD is null if the source does not know it, so two authors with the same name may be different people.
    """

    name: str = Field(examples=["Josiah Carberry"])
    orcid: str | None = Field(None, examples=["0000-0002-1825-0097"])


class Identifiers(Output):
    """Identifiers of a work, without URLs: the DOI in lower case, the arXiv id without version.

    Artefacts that share one describe the same work.
    """

    doi: str | None = Field(None, examples=["10.5555/12345678"])
    arxiv: str | None = Field(None, examples=["2501.00001"])
    pmid: str | None = Field(None, examples=[None])
    openalex: str | None = Field(None, examples=["W2741809807"])
    dblp: str | None = Field(None, examples=[None])


class ArtefactOut(RecordOutput):
    """A source's record of a work, as it was fetched.

    Artefacts are never edited: another import updates them, and a reconciliation builds works from them.
    """

    source: Source = Field(examples=["openalex"])
    source_id: str = Field(description="The id of the record at the source.", examples=["W2741809807"])
    researcher_ids: list[str] = Field(
        description="All ids, in the record, of the researchers for whom it was imported. At most 20.",
        examples=[["0000-0002-1825-0097"]],
    )
    title: str = Field(examples=["A Methodology for the Emulation of Architecture"])
    type: str = Field(examples=["article"])
    year: int | None = Field(examples=[2012])
    venue_name: str | None = Field(examples=["Journal of Psychoceramics"])
    identifiers: Identifiers
    authors: list[Author] = Field(description="The first 100. Empty if the source names none.")
    fetched_at: Timestamp = Field(
        description="When this content was first fetched. A repeated import of the same content does not change it."
    )
    content_hash: str = Field(
        description="SHA-256 of the canonical JSON (RFC 8785) of the source's record, in hexadecimal.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    )
    output_id: Uuid | None = Field(description="The output built from this artefact. Null until it is reconciled.")


class WorkOut(RecordOutput):
    """A work, built from all artefacts of a library that share an identifier.

    `provenance` names the artefact from which each field was taken.
    """

    title: str = Field(examples=["A Methodology for the Emulation of Architecture"])
    type: str = Field(examples=["article"])
    year: int | None = Field(examples=[2012])
    venue_id: str | None = Field(examples=[None])
    doi: str | None = Field(examples=["10.5555/12345678"])
    authors: list[Author]
    researcher_ids: list[str] = Field(
        description="Researchers of all its artefacts. At most 20.", examples=[["0000-0002-1825-0097"]]
    )
    artefact_ids: list[Uuid] = Field(description="By precedence of the source: dblp, then openalex, then orcid.")
    provenance: dict[str, Uuid] = Field(description="Field → the artefact that its value comes from.")


class VenueEditionOut(Output):
    """The edition of a venue in one year.

    Its id, such as `neurips-2025`, selects it for a backfill.
    """

    id: str = Field(examples=["neurips-2025"])
    year: int = Field(examples=[2025])
    output_count: int = Field(ge=0, description="Outputs created by backfills.", examples=[0])


class VenueOut(Output):
    """A conference whose editions can be backfilled.

    Its id, such as `neurips`, is also a filter of the works.
    """

    id: str = Field(examples=["neurips"])
    name: str = Field(examples=["Conference on Neural Information Processing Systems"])
    editions: list[VenueEditionOut]


class Counts(Output):
    """The numbers of records that a job has processed: artefacts, or the outputs of a reconciliation.

    They grow while the job runs.
    """

    created: int = Field(0, ge=0, examples=[12])
    updated: int = Field(0, ge=0, examples=[1])
    unchanged: int = Field(0, ge=0, examples=[30])
    conflicts: int = Field(
        0,
        ge=0,
        examples=[0],
        description="Merges that a reconciliation suggests but does not make: outputs that share no identifier, are at "
        "most a year apart, and have the same title and first author or, if one of them lists no authors (ORCID never "
        "does), the same title and a common researcher.",
    )


_ZERO_COUNTS: Final = {"created": 0, "updated": 0, "unchanged": 0, "conflicts": 0}
_EXAMPLES_BY_TYPE: Final[Mapping[JobType, Mapping[str, Any]]] = {
    "import": {},
    "reconcile": {"kind": "reconcile", "researcher_id": None},
    "backfill": {"kind": "backfill", "researcher_id": None, "edition_id": "neurips-2025"},
}


class ResearchJobOut(RecordOutput):
    """A background job of research: an import, a reconciliation or a backfill.

    Poll it until it is completed or failed.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        f"research.{work}.{event}": {**event_example, **type_example}
        for work, type_example in _EXAMPLES_BY_TYPE.items()
        for event, event_example in (
            ("requested", {"status": "queued", "counts": _ZERO_COUNTS}),
            ("completed", {"status": "completed"}),
            ("failed", {"status": "failed", "error": "source_unavailable", "detail": "A source gave no answer."}),
        )
    }

    kind: JobType = Field(validation_alias="work", examples=["import"])
    status: JobStatus = Field(examples=["completed"])
    counts: Counts
    error: FailureCode | None = Field(description="Why the job failed, as a code.", examples=[None])
    detail: str | None = Field(description="Why the job failed, in words.", examples=[None])
    skipped: list[str] = Field(description="The first 20 unreadable records with the reasons.", examples=[[]])
    skipped_count: int = Field(ge=0, description="Number of unreadable records.", examples=[0])
    organization_id: Uuid | None = Field(description="The organization of the library, if any.")
    researcher_id: str | None = Field(
        description="The researcher whose works the job imports.", examples=["0000-0002-1825-0097"]
    )
    edition_id: str | None = Field(description="The edition that the job backfills.", examples=[None])
