"""Request and response models of the audit log."""

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from chalicelib.kernel.core.encoding import from_base64url
from chalicelib.kernel.core.event_patterns import MAX_EVENT_TYPE_CHARACTERS
from chalicelib.kernel.http.fields import Timestamp, Uuid, ascii_lower_if_text, pattern_validator_and_schema
from chalicelib.kernel.http.models import CursorQuery, ListQuery, Output, TimeRange

Failure = Literal["modified", "missing", "reordered", "truncated", "forked", "bad_signature"]
WholeLogFailure = Literal[Failure, "suppressed", "anchor_rewritten"]
_EVENT_TYPE_PATTERN: Final = r"^[a-z_]+(\.[a-z_]+)*(\.\*)?$"


def _decode_note(text: str) -> str:
    if "\n" in text:  # It is the text itself. Surrounding white space was removed, and a note ends with a newline.
        return f"{text}\n"
    try:
        return from_base64url(text.rstrip("=")).decode()
    except ValueError:
        raise ValueError("must be a checkpoint, as text or in base64url") from None


EventTypeFilter = Annotated[
    str,
    StringConstraints(max_length=MAX_EVENT_TYPE_CHARACTERS),
    *pattern_validator_and_schema(
        _EVENT_TYPE_PATTERN, "must be an event type such as organization.updated, or organization.*"
    ),
]
LowercaseId = Annotated[str, StringConstraints(max_length=128), BeforeValidator(ascii_lower_if_text)]
CheckpointNote = Annotated[str, StringConstraints(min_length=1, max_length=8192), AfterValidator(_decode_note)]


class EntryFilters(TimeRange):
    """Filters for entries. An entry has to match all of them."""

    origin: ClassVar[Literal["application"] | None] = None
    """The origin that entries must have, or None for any."""

    type: EventTypeFilter | None = Field(
        None,
        description="One event type, or a prefix with `.*` for all types below it.",
        examples=["organization.member.*"],
    )
    actor_id: LowercaseId | None = Field(
        None,
        description="Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor that "
        "an application named.",
        examples=[None],
    )
    target_id: LowercaseId | None = Field(
        None,
        description="Only entries about this record, as in `target.id`. The target of a change of a member is the "
        "membership: `id` in the list of members, not `userId`. A transfer of the ownership is about the organization. "
        "An application event is found by its first target.",
        examples=[None],
    )


class AuditQuery(EntryFilters, ListQuery):
    """Filters for the list of entries. An entry has to match all of them."""


class IntegrityQuery(CursorQuery):
    """The position of an earlier verification, and a checkpoint to verify the log against."""

    checkpoint: CheckpointNote | None = Field(
        None,
        description="A checkpoint that you stored earlier, as text (URL-encoded) or in base64url. The log must still "
        "begin with it. If no key of this service signed it, the report has the failure `bad_signature`. That is not "
        "a problem (4xx).",
    )


class ActorReference(Output):
    """The principal who caused a built-in event: a user, a key, a link, an anonymous caller or the service itself.

    `id` is null for anonymous callers, for the service itself, and for operators who run a command.
    """

    type: Literal["user", "api_key", "service_key", "link", "operator", "anonymous", "system"] = Field(
        examples=["user"]
    )
    id: str | None = Field(examples=["4c1a2b5e-0000-4000-8000-000000000001"])


class LinkCreatorReference(Output):
    """The user with whose rights the holder of a signed link acts, with their name at that time.

    An erasure of this person also erases the entries about what the holder did.
    """

    type: Literal["user"] = Field(examples=["user"])
    id: str = Field(examples=["4c1a2b5e-0000-4000-8000-000000000001"])
    name: str | None = Field(examples=["Ada Lovelace"])


class Actor(Output):
    """Who performed the action, with their name at that time.

    In the entry of a built-in event, it is the principal: a user, an API key, the holder of a signed link, an operator,
    an anonymous caller or the service itself. For the last two, and for operators who run a command, `id` is null. In
    the entry of an application event, the application can name any other actor, and `asserted` marks such an actor. The
    name helps people to read the log. Programs compare `type` and `id`, because a person can change their name.
    """

    type: str = Field(
        description="`user`, `api_key`, `link`, `operator`, `anonymous` or `system`; in application events also "
        "`service_key`, and any type that the application names.",
        examples=["user"],
    )
    id: str | None = Field(examples=["4c1a2b5e-0000-4000-8000-000000000001"])
    name: str | None = Field(examples=["Ada Lovelace"])
    asserted: bool | None = Field(
        None,
        description="True if the application named the actor. The service has not verified it: trust it as far as you "
        "trust `reportedBy`. Absent otherwise.",
        exclude_if=lambda asserted: not asserted,
        examples=[None],
    )
    created_by: LinkCreatorReference | None = Field(
        None,
        description="Who created the link, if the actor is the holder of a signed link. Its holder acts with the "
        "rights of this user. Absent otherwise.",
        exclude_if=lambda created_by: created_by is None,
        examples=[None],
    )


class Reporter(Output):
    """The user, API key or service key that sent an application event.

    The service authenticated it. It differs from the actor if the application named one.
    """

    type: Literal["user", "api_key", "service_key"] = Field(examples=["api_key"])
    id: str = Field(examples=["01939d3c-0000-7000-8000-00000000000d"])
    name: str | None = Field(examples=["Nightly export"])


class Target(Output):
    """The record that the action changed or, for an application event, what the application named.

    The name is the one at the time of the action, so the entry can be read after a deletion. It is null if an
    application named none.
    """

    type: str = Field(examples=["organization"])
    id: str = Field(examples=["01939d3c-0000-7000-8000-00000000000a"])
    name: str | None = Field(examples=["Analytical Engines"])


class EntryContext(Output):
    """The request that led to the entry.

    Together with the request id it connects the entry with the service's log records. In application events, address
    and user agent are those of the actor, if the application stated them.
    """

    operation_id: str = Field(examples=["update_organization"])
    request_id: str | None = Field(examples=["01939d3c-0000-7000-8000-0000000000aa"])
    ip_address: str | None = Field(examples=["192.0.2.7"])
    user_agent: str | None = Field(examples=["curl/8.5.0"])


class FieldChange(Output):
    """One public field before and after the change that an entry records.

    A value over 4 KiB appears as `{sha256, size}`.
    """

    field: str = Field(examples=["name"])
    from_: Any = Field(serialization_alias="from", examples=["Engines"])
    to: Any = Field(examples=["Analytical Engines"])


class Integrity(Output):
    """The position of the entry in the Merkle tree.

    The hash commits to the complete entry, so a change of the entry can be detected.
    """

    leaf_hash: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256(0x00 ‖ canonical JSON), hex.")
    tree_size: int = Field(ge=1, description="The size of the first tree that contains the entry.")
    erasure_signature: str | None = Field(
        None,
        pattern="^[A-Za-z0-9+/]{91}=$",
        exclude_if=lambda signature: not signature,
        examples=[None],
        description="Present for an erased entry only: the service's signature of the remaining fields, or null if the "
        "entry had been altered before the erasure. The value is the base64 of the first 4 bytes of the public key's "
        "SHA-256, followed by the 64-byte Ed25519 signature. verify.py checks it instead of the leaf hash.",
    )


class AuditEntry(Output):
    """One entry of the log. `sequence` and `integrity` are null for a second or two, until the entry is in the tree.

    Only the entries of application events have `version`, `receivedAt`, `reportedBy` and `targets`. `erased` marks an
    entry that named a person whose data was erased. Only its signed position, type and time remain.
    """

    no_store: ClassVar[bool] = True

    id: Uuid
    sequence: int | None = Field(ge=1, examples=[1])
    type: str = Field(examples=["organization.updated"])
    version: int | None = Field(
        None,
        ge=1,
        description="The version of the event type's schema. Present for application events only.",
        exclude_if=lambda version: version is None,
        examples=[None],
    )
    occurred_at: Timestamp = Field(
        description="When the event occurred. For an application event, the application says so; for an erased entry, "
        "it is the time of receipt."
    )
    received_at: Timestamp | None = Field(
        None,
        description="When the service received the event: the time by which the log is filtered. Present for "
        "application events only.",
        exclude_if=lambda received_at: received_at is None,
        examples=[None],
    )
    organization_id: Uuid | None
    actor: Actor | None
    reported_by: Reporter | None = Field(
        None,
        description="Who reported the event. Present for application events only.",
        exclude_if=lambda reported_by: reported_by is None,
        examples=[None],
    )
    target: Target | None = Field(
        description="What the event is about; the first of `targets` for an application event, null if it has none."
    )
    targets: list[Target] | None = Field(
        None,
        description="All that the event is about. Present for application events only.",
        exclude_if=lambda targets: targets is None,
        examples=[None],
    )
    context: EntryContext | None
    changes: list[FieldChange] = Field(description="The public fields that changed. Empty for an application event.")
    data: dict[str, Any] | None = Field(
        description="The public record after the change or, for an application event, what the application sent.",
        examples=[{"name": "Analytical Engines"}],
    )
    integrity: Integrity | None
    erased: bool | None = Field(
        None,
        description="True for an erased entry; absent otherwise.",
        exclude_if=lambda erased: not erased,
        examples=[None],
    )


class IntegrityReport(Output):
    """The result of a verification.

    If `valid` is false, `failure` names what is wrong and `firstInvalidSequence` where.
    """

    valid: bool = Field(examples=[True])
    tree_size: int = Field(ge=0, examples=[2])
    root_hash: str = Field(pattern="^[0-9a-f]{64}$", description="The root hash of the whole tree, hex.")
    checkpoint: str | None = Field(
        description="The signed tree head (C2SP). Store it: every later log must begin with it."
    )
    pending_entries: int = Field(ge=0, description="Entries committed but not yet in the tree.", examples=[0])
    checked_entries: int = Field(ge=0, description="Entries verified so far.", examples=[2])
    first_invalid_sequence: int | None = Field(ge=1, examples=[None])
    failure: Failure | None = Field(
        description="`modified`: an entry was altered. `missing`: there is no entry with this sequence. `reordered`: "
        "another entry has this sequence. `truncated`: the log is shorter than its head, its newest anchor or the "
        "checkpoint in the request. `forked`: the root of its tree differs from one of these. `bad_signature`: no key "
        "of this service signed the head, the anchor or the checkpoint in the request.",
        examples=[None],
    )
    suppressed: int = Field(
        ge=0,
        examples=[0],
        description="Changes whose entries were removed before they received a sequence. A log with more than 0 is not "
        "valid, even if every remaining entry is intact.",
    )
    next_cursor: str | None = Field(description="The cursor for the next request. Null once the whole log is verified.")
