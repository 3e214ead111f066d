"""Stored records of log streams, and of their progress."""

import secrets as randomness
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from chalicelib.features.notifications.entities import (
    START_STREAM_TASK,
    AdminNotice,
    RecipientWithSecrets,
)
from chalicelib.features.notifications.log_streams.models.schemas import LogStreamOut
from chalicelib.features.notifications.webhooks.models.circuit import Circuit
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.storage.entity import Collection, Entity, ItemKey, ScheduledTask
from chalicelib.kernel.storage.log_rules import DERIVED, LogRules
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota

MAX_LOG_STREAMS: Final = 10
"""Log streams of an organization."""

_EXTERNAL_ID_BYTES: Final = 24
_ERASED_DESTINATION_FIELDS: Final = {
    "enabled": False,
    "disabled_reason": "Its destination named a person who was erased. Give it another.",
}


class LogStream(RecipientWithSecrets):
    """The settings of a log stream.

    `destination` is stored as it is shown, without credentials. `secrets` holds the secrets that sign the batches of an
    HTTPS destination, or the credential of another one.
    """

    kind, parameter = "organization.log_stream", "log_stream_id"
    pk, sk = "O#{organization_id}", "LOG-STREAM#{id}"
    in_organization = Collection("O#{organization_id}", "LOG-STREAM#{id}")
    quota = Quota("log streams", "O#{organization_id}", MAX_LOG_STREAMS, lambda _stream: True)
    output_model = LogStreamOut
    encryption_context_prefix = "log-stream"
    log_rules = LogRules(ended_by=("organization.log_stream.deleted",))

    destination: dict[str, Any]
    description: str | None = None
    external_id: str | None = None
    start_sequence: int = 1

    @property
    def audit_log_label(self) -> str:
        """Return the address of the destination, which stands for the stream in the log."""
        address = self.destination.get("url") or self.destination.get("site") or self.destination.get("bucket")
        return f"{self.destination['type']}: {address}"

    @property
    def progress_key(self) -> ItemKey:
        """Return the item key of the stream's progress."""
        return StreamProgress.make_item_key(id=self.id)

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that redact a person. A changed destination disables the stream."""
        redacted = person.redacted_field_changes({"description": self.description, "destination": self.destination})
        return {**redacted, **_ERASED_DESTINATION_FIELDS} if "destination" in redacted else redacted


class StreamProgress(Entity):
    """How far a log stream is, and how its destination responds. It has the id of the stream.

    - `position`: the sequence of the last entry that the stream has sent or skipped.
    - `planned_until`: the last sequence of the current batch, for the version of the stream in `planned_version`. It is
      stored before the batch is sent, so a repeated batch ends with the same entry.
    - `due_at`: when a worker has to continue. A working one moves it, so that no other starts meanwhile.
    - `fanned_out_sequence`: the last entry of which the fan-out has informed the stream. The fan-out stores it, and
      `due_at` if there is none.
    - `max_entries`: the current size of batches, lower after the destination rejected a batch as too large.
    - `accepted_batches`: the batches of this size that were accepted in a row.
    """

    kind = "organization.log_stream.progress"
    pk, sk = "V#{id}", "!PROGRESS"
    version_fields: ClassVar[tuple[str, ...]] = ("due_at", "position")
    log_rules = DERIVED
    mac_exemption = "The function that sends entries stores it. It cannot use the key."

    organization_id: str
    position: int
    planned_until: int | None = None
    planned_version: int | None = None
    due_at: str | None = None
    fanned_out_sequence: int = 0
    max_entries: int | None = None
    accepted_batches: int = 0
    failed_attempts: int = 0
    failing_since: str | None = None
    misconfigured_since: str | None = None
    pending_disable_reason: str | None = None
    last_error: dict[str, Any] | None = None

    @classmethod
    def create(cls, stream: LogStream, due_at: str | None) -> "StreamProgress":
        """Return the progress of a new stream, which a worker starts at a time."""
        return cls(
            id=stream.id,
            created_at=stream.created_at,
            updated_at=stream.created_at,
            organization_id=stream.organization_id,
            position=stream.start_sequence - 1,
            due_at=due_at,
        )

    @property
    def circuit(self) -> Circuit:
        """Return the part of the circuit breaker that decides when the stream is disabled."""
        return Circuit(
            failing_since=self.failing_since,
            misconfigured_since=self.misconfigured_since,
            pending_disable_reason=self.pending_disable_reason,
        )

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """Return the task that starts a worker."""
        return ScheduledTask(START_STREAM_TASK, self.due_at) if self.due_at else None

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that redact a person from the last error."""
        return person.redacted_field_changes({"last_error": self.last_error})


class StreamNotice(AdminNotice):
    """The email to an organization's admins about a log stream that the service disabled."""

    kind, task = "organization.log_stream.disabled_notice", "log_streams.notify"
    pk, sk = "O#{organization_id}", "LOG-STREAM-NOTICE#{id}"

    log_stream_id: str
    failing_since: str

    @property
    def recipient_key(self) -> ItemKey:
        """Return the item key of the stream."""
        return LogStream.make_item_key(organization_id=self.organization_id, id=self.log_stream_id)

    @classmethod
    def create(cls, stream: LogStream, failing_since: str | None, timestamp: str) -> "StreamNotice":
        """Return the notice about a stream that is disabled now."""
        return cls(
            **new_id_and_time_fields(timestamp),
            lease_until=timestamp,
            organization_id=stream.organization_id,
            log_stream_id=stream.id,
            failing_since=failing_since or timestamp,
        )


HEALTHY_FIELDS: Final[Mapping[str, Any]] = {
    "failed_attempts": 0,
    "failing_since": None,
    "misconfigured_since": None,
    "pending_disable_reason": None,
}
"""The fields of the progress of a stream whose last attempt succeeded, or that starts anew."""

NO_PLAN_FIELDS: Final[Mapping[str, Any]] = {"planned_until": None, "planned_version": None}
"""The fields of the progress of a stream whose next batch is not planned yet."""


def generate_external_id() -> str:
    """Return a random external id, with which the service assumes a role of a customer."""
    return f"atrium-{randomness.token_hex(_EXTERNAL_ID_BYTES)}"
