"""New and changed log streams: their destinations and credentials, and where they start."""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.features.notifications.log_streams.entities import (
    HEALTHY_FIELDS,
    NO_PLAN_FIELDS,
    LogStream,
    generate_external_id,
)
from chalicelib.features.notifications.log_streams.models.destinations import Destination, S3Destination
from chalicelib.features.notifications.log_streams.models.schemas import LogStreamCreate, LogStreamPatch
from chalicelib.features.notifications.logic import signing_secrets
from chalicelib.features.notifications.models import standard_webhooks
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.outbound.customer_buckets import is_role_of_own_account

_OTHER_ADDRESS: Final = (
    "This field is required with another {}. The stored credential is only sent where it was sent before."
)
_NOTHING_TO_ROTATE: Final = (
    "Only a stream to an HTTPS endpoint has a secret. Replace the token of Splunk or the API key of Datadog with PATCH."
)
_OWN_ACCOUNT: Final = "must be a role of your own AWS account, not of the account of this service"


def new_stream_and_secret(
    record_fields: Mapping[str, Any],
    organization_id: str,
    body: LogStreamCreate,
    areas: list[str] | None,
    start_sequence: int,
) -> tuple[LogStream, str | None]:
    """Return a new stream, and the secret to show if its destination is an HTTPS endpoint. Raises ValidationProblem."""
    destination: Destination = body.destination
    _reject_role_of_own_account(destination)
    signing_secret = standard_webhooks.generate_secret() if destination.type == "https" else None
    secret, context = destination.credential or signing_secret, LogStream.secret_context_of(record_fields["id"])
    stream = LogStream(
        **record_fields,
        organization_id=organization_id,
        destination=destination.to_public_fields(),
        events=body.events,
        description=body.description,
        enabled=body.enabled,
        areas=areas,
        secrets=[signing_secrets.encrypted_secret_without_expiry(context, secret)] if secret else [],
        external_id=generate_external_id() if destination.type == "s3" else None,
        start_sequence=start_sequence,
    )
    return stream, signing_secret


def changed_stream_fields(stream: LogStream, body: LogStreamPatch, log_size: int) -> dict[str, Any]:
    """Return the fields of a stream after a change of it. Raises ValidationProblem."""
    return {
        "events": body.events,
        "description": body.description,
        "enabled": body.enabled,
        **_changed_destination_fields(stream, body.destination),
        **({"disabled_reason": None} if body.enabled and not stream.enabled else {}),
        **({} if body.start_at is None else {"start_sequence": resolve_start_sequence(body.start_at, log_size)}),
    }


def _changed_destination_fields(stream: LogStream, destination: Destination) -> dict[str, Any]:
    """Return the fields of a stream after a change of its destination. Without a credential, the current one stays.

    Raises ValidationProblem if the current credential would be sent to another address. Whoever changes the address may
    not know the credential.
    """
    _reject_role_of_own_account(destination)
    fields: dict[str, Any] = {"destination": destination.to_public_fields()}
    address = destination.address_field
    if address and not destination.credential and fields["destination"][address] != stream.destination[address]:
        raise _invalid_field(destination, destination.credential_field, "required", _OTHER_ADDRESS.format(address))
    if destination.credential:
        fields["secrets"] = [
            signing_secrets.encrypted_secret_without_expiry(stream.secret_context, destination.credential)
        ]
    return fields


def rotate_signing_secret(stream: LogStream, grace_hours: int, timestamp: str) -> tuple[str, list[dict[str, Any]]]:
    """Return a new secret of an HTTPS endpoint, and the stored secrets with it.

    Raises Problem `invalid_transition` for other destinations, and as `signing_secrets.rotate_secret` does.
    """
    if stream.destination["type"] != "https":
        raise Problem("invalid_transition", _NOTHING_TO_ROTATE)
    return signing_secrets.rotate_secret(stream, grace_hours, timestamp)


def resolve_start_sequence(start_at: str | int, log_size: int) -> int:
    """Return the sequence of the first entry to send. Raises ValidationProblem if it is beyond the next entry."""
    if isinstance(start_at, str):
        return log_size + 1
    if start_at > log_size + 1:
        detail = f"must be at most {log_size + 1}: the log has {log_size} entries"
        raise ValidationProblem([FieldError("/startAt", "out_of_range", detail)])
    return start_at


def restarted_progress_fields(previous: LogStream, stream: LogStream, *, restarts: bool, now: str) -> dict[str, Any]:
    """Return the fields of the progress to change after a change of the stream. There are none if it only continues.

    A stream that is enabled, restarted or has another destination is tried at once, as if it had never failed.
    """
    is_enabled_now = stream.enabled and not previous.enabled
    has_new_destination = (stream.destination, stream.secrets) != (previous.destination, previous.secrets)
    if not (restarts or is_enabled_now or has_new_destination):
        return {}
    position = {"position": stream.start_sequence - 1} if restarts else {}
    return {
        **HEALTHY_FIELDS,
        **NO_PLAN_FIELDS,
        **position,
        "max_entries": None,
        "accepted_batches": 0,
        "due_at": now if stream.enabled else None,
    }


def _reject_role_of_own_account(destination: Destination) -> None:
    """Raise ValidationProblem for a role of the account of the service."""
    if isinstance(destination, S3Destination) and is_role_of_own_account(destination.role_arn):
        raise _invalid_field(destination, "role_arn", "malformed", _OWN_ACCOUNT)


def _invalid_field(destination: Destination, name: str, code: str, detail: str) -> ValidationProblem:
    alias = type(destination).model_fields[name].alias or name
    return ValidationProblem([FieldError(f"/destination/{alias}", code, detail)])
