"""Checks the events of a request against the declared types and against the clock, and reports them to the log."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from chalicelib.features.events.entries.models.schemas import (
    MAX_EVENTS_PER_BATCH,
    EventBatch,
    EventIn,
    TargetIn,
    events_in,
)
from chalicelib.features.events.types.logic.definitions import (
    Definition,
    UnknownType,
    UnknownVersion,
    definition_keys,
    find_definition,
)
from chalicelib.features.events.types.models import MAX_VERSIONS
from chalicelib.kernel.audit_log.application_events import ApplicationEvent, Reference, ReportedEvent
from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.event_patterns import EVENT_TYPE_PATTERN
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Principal, ServiceKeyPrincipal
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage.entity import ItemKey

MAX_FUTURE_SECONDS: Final = 5 * 60
"""How far `occurredAt` can be in the future, because clocks differ."""

MAX_PAST_SECONDS: Final = 7 * 24 * 3600
"""How long ago an event can have occurred."""


class NamedTypes(Prefetched):
    """The declared types and versions that the events of a body name."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the definitions. Types and versions that cannot exist need none."""
        named_types = dict.fromkeys(_iter_named_types(values))
        return [key for event_type, version in named_types for key in definition_keys(event_type, version)]

    def find_definition(self, event_type: str, version: int | None) -> Definition:
        """Return the definition of a type. Raises UnknownType and UnknownVersion."""
        return find_definition(self.items, event_type, version)


def _iter_named_types(values: KnownValues) -> Iterator[tuple[str, int | None]]:
    body = values.request.unvalidated_json_object_or_empty
    events = body.get("events") if values.operation.body_model is EventBatch else [body]
    for event in events[:MAX_EVENTS_PER_BATCH] if isinstance(events, list) else ():
        event_type = _named_type_or_empty(event)
        if re.fullmatch(EVENT_TYPE_PATTERN, event_type):
            yield event_type, _version_or_none(event.get("version"))


def _named_type_or_empty(event: Any) -> str:
    """Return the type that an event names before validation, or an empty text if that is none."""
    event_type = event.get("type") if isinstance(event, dict) else None
    return event_type.strip() if isinstance(event_type, str) else ""


def _version_or_none(number: Any) -> int | None:
    """Return the number of a version that a type can have. The comparison rejects infinity and NaN."""
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return int(number) if is_number and 1 <= number <= MAX_VERSIONS and number == int(number) else None


def reject_types_not_allowed(access: Access, request: Request) -> None:
    """Raise Problem 403 if the caller is a service key that is limited to other types than those in the body.

    It reads the body before validation, because a missing right precedes invalid fields.
    """
    body = request.unvalidated_json_object_or_empty
    events = body.get("events")
    batch = events if isinstance(events, list) else []
    for pointer, event in (("", body), *((f"/events/{number}", event) for number, event in enumerate(batch))):
        if event_type := _named_type_or_empty(event):
            _reject_type_not_allowed(access.principal, pointer, event_type)


def report_events(ctx: Context, log: str, body: EventIn | EventBatch, types: NamedTypes) -> list[ApplicationEvent]:
    """Commit the events of a body, all or none, and return them in their order.

    Raises Problem 403 if a service key is limited to other types, and ValidationProblem with the errors of all events.
    """
    events = [
        (f"/events/{number}" if isinstance(body, EventBatch) else "", e) for number, e in enumerate(events_in(body))
    ]
    for pointer, event in events:
        _reject_type_not_allowed(ctx.principal_or_anonymous, pointer, event.type)
    errors, reports = list[FieldError](), list[ReportedEvent]()
    find_cached_definition = cache(types.find_definition)  # Each parses a schema of up to 32 KiB.
    for pointer, event in events:
        errors += _list_time_errors(ctx, pointer, event)
        try:
            definition = find_cached_definition(event.type, event.version)
        except (UnknownType, UnknownVersion) as error:
            name = "type" if isinstance(error, UnknownType) else "version"
            errors.append(FieldError(f"{pointer}/{name}", "not_one_of", str(error)))
            continue
        errors += [error.with_pointer_prefix(f"{pointer}/data") for error in definition.list_errors(event.data)]
        reports.append(_to_report(event, definition.version))
    if errors:
        raise ValidationProblem(errors)
    return ctx.report(log, reports)


def _reject_type_not_allowed(principal: Principal, pointer: str, event_type: str) -> None:
    if isinstance(principal, ServiceKeyPrincipal) and not principal.credential.allows_event_type(event_type):
        allowed = ", ".join(principal.credential.types or ())
        detail = f"The service key is limited to these types: {allowed}. Nothing was written."
        raise Problem.create_with_field_error(f"{pointer}/type", "insufficient_scope", detail)


def _list_time_errors(ctx: Context, pointer: str, event: EventIn) -> list[FieldError]:
    earliest, latest = after(ctx.now, seconds=-MAX_PAST_SECONDS), after(ctx.now, seconds=MAX_FUTURE_SECONDS)
    if event.occurred_at is None or earliest <= event.occurred_at <= latest:
        return []
    detail = "must be at most 7 days ago, and at most 5 minutes in the future"
    return [FieldError(f"{pointer}/occurredAt", "out_of_range", detail)]


def _to_report(event: EventIn, version: int) -> ReportedEvent:
    return ReportedEvent(
        type=event.type,
        version=version,
        occurred_at=event.occurred_at,
        actor=_reference(event.actor) if event.actor else None,
        targets=[_reference(target) for target in event.targets or ()],
        ip_address=event.context.ip_address if event.context else None,
        user_agent=event.context.user_agent if event.context else None,
        data=event.data,
    )


def _reference(named: TargetIn) -> Reference:
    fields: dict[str, Any] = {"type": named.type, "id": named.id, "name": named.name}
    return fields


def require_filter_within_key_types(ctx: Context, event_type: str | None) -> None:
    """Raise Problem 403 if the caller is a service key that is limited to types, and the list is not.

    `event_type`: the filter by type, which can be a prefix with `.*`.
    """
    principal = ctx.principal_or_anonymous
    if not isinstance(principal, ServiceKeyPrincipal) or principal.credential.types is None:
        return
    if event_type is None or not principal.credential.allows_event_type(event_type):
        allowed = ", ".join(principal.credential.types)
        detail = f"The service key is limited to these types: {allowed}. Add a filter by one of them: `?type=`."
        raise Problem.create_with_field_error("query/type", "insufficient_scope", detail)
