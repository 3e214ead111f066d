"""What the operations on the audit log accept and answer."""

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from chalicelib.kernel.core.encoding import from_base64url
from chalicelib.kernel.http.fields import Timestamp, Uuid, lower_case, matching
from chalicelib.kernel.http.models import CursorQuery, ListQuery, Output, TimeRange

Failure = Literal["modified", "missing", "reordered", "truncated", "forked", "bad_signature"]
_EVENT_FILTER: Final = r"^[a-z_]+(\.[a-z_]+)*(\.\*)?$"


def _note(text: str) -> str:
    try:
        return from_base64url(text.rstrip("=")).decode()
    except ValueError:
        raise ValueError("must be a checkpoint in base64url") from None


EventFilter = Annotated[
    str,
    StringConstraints(max_length=100),
    *matching(_EVENT_FILTER, "must be an event type such as organization.updated, or organization.*"),
]
Id = Annotated[str, StringConstraints(max_length=128), BeforeValidator(lower_case)]
Note = Annotated[str, StringConstraints(min_length=1, max_length=8192), AfterValidator(_note)]


class EntryFilters(TimeRange):
    """Which entries. All filters given have to match."""

    type: EventFilter | None = Field(
        None,
        description="One type, or with `.*` at its end all below.",
        examples=["organization.member.*"],
    )
    actor_id: Id | None = Field(None, examples=[None])
    target_id: Id | None = Field(None, examples=[None])


class AuditQuery(EntryFilters, ListQuery):
    """Which entries of the list. All filters given have to match."""


class IntegrityQuery(CursorQuery):
    """How far the log was verified before, and the checkpoint to hold it against."""

    checkpoint: Note | None = Field(
        None,
        description="A checkpoint you kept, in base64url: the log must still begin with it. One that was not signed by "
        "a key of this service is no problem (4xx) but the failure `bad_signature`.",
    )


class Actor(Output):
    """Who did it."""

    type: Literal["user", "api_key", "operator", "anonymous", "system"] = Field(examples=["user"])
    id: str | None = Field(examples=["4c1a2b5e-0000-4000-8000-000000000001"])
    name: str | None = Field(examples=["Ada Lovelace"])


class Target(Output):
    """What it was done to."""

    type: str = Field(examples=["organization"])
    id: str = Field(examples=["01939d3c-0000-7000-8000-00000000000a"])
    name: str = Field(examples=["Analytical Engines"])


class EntryContext(Output):
    """How it came about."""

    operation_id: str = Field(examples=["update_organization"])
    request_id: str | None = Field(examples=["01939d3c-0000-7000-8000-0000000000aa"])
    ip_address: str | None = Field(examples=["192.0.2.7"])
    user_agent: str | None = Field(examples=["curl/8.5.0"])


class FieldChange(Output):
    """One public field before and after. A value over 4 KiB appears as `{sha256, size}`."""

    field: str = Field(examples=["name"])
    from_: Any = Field(serialization_alias="from", examples=["Engines"])
    to: Any = Field(examples=["Analytical Engines"])


class Integrity(Output):
    """The entry's place in the Merkle tree."""

    leaf_hash: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256(0x00 ‖ canonical JSON), hex.")
    tree_size: int = Field(ge=1, description="The size of the tree that first held it.")
    erasure_signature: str | None = Field(
        None,
        pattern="^[A-Za-z0-9+/]{91}=$",
        exclude_if=lambda signature: not signature,
        examples=[None],
        description="Only once the entry was erased: the service's signature of what is left, null if the entry had "
        "been altered before. 4 bytes of the public key's SHA-256, then 64 of Ed25519, in base64. verify.py proves by "
        "it what no hash proves any more.",
    )


class AuditEntry(Output):
    """One thing that happened. `sequence` and `integrity` are null for a second or two, until it is in the tree.

    An entry that named a person who was erased has `erased`: only its place, type and time are left, and signed.
    """

    no_store: ClassVar[bool] = True

    id: Uuid
    sequence: int | None = Field(ge=1, examples=[1])
    type: str = Field(examples=["organization.updated"])
    occurred_at: Timestamp
    organization_id: Uuid | None
    actor: Actor | None
    target: Target | None
    context: EntryContext | None
    changes: list[FieldChange]
    data: dict[str, Any] | None = Field(
        description="The public record after the change.", examples=[{"name": "Analytical Engines"}]
    )
    integrity: Integrity | None
    erased: bool | None = Field(
        None,
        description="True once the entry was erased; else it is left out.",
        exclude_if=lambda erased: not erased,
        examples=[None],
    )


class IntegrityReport(Output):
    """What verification found."""

    valid: bool = Field(examples=[True])
    tree_size: int = Field(ge=0, examples=[2])
    root_hash: str = Field(pattern="^[0-9a-f]{64}$", description="Of the whole tree, hex.")
    checkpoint: str | None = Field(description="The tree head, signed (C2SP). Keep it: later logs must begin with it.")
    pending_entries: int = Field(ge=0, description="Entries committed but not yet in the tree.", examples=[0])
    checked_entries: int = Field(ge=0, description="How many entries were recomputed so far.", examples=[2])
    first_invalid_sequence: int | None = Field(ge=1, examples=[None])
    failure: Failure | None = Field(
        description="`modified`: an entry is not as it was written. `missing`, `reordered`: there is none, or another, "
        "at this sequence. `truncated`: the log is shorter than its head, its newest anchor or the checkpoint sent. "
        "`forked`: its tree has another root than one of these. `bad_signature`: the head, the anchor or the "
        "checkpoint sent was not signed by a key of this service.",
        examples=[None],
    )
    suppressed: int = Field(
        ge=0,
        examples=[0],
        description="Changes whose entries were taken away before they had their place in the log. More than 0 is not "
        "valid, though all that is left of the log is as it was written.",
    )
    next_cursor: str | None = Field(description="Go on with it; null when the whole log was verified.")
