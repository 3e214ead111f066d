"""Ids: UUIDv7 (RFC 9562), so that ids sort as what they name came to be."""

from typing import Any, TypedDict

from uuid_utils import uuid7

from chalicelib.kernel.core.clock import timestamp_ms


def new_id(moment: str) -> str:
    """Return a new id of a moment."""
    return str(uuid7(nanoseconds=timestamp_ms(moment) * 1_000_000))


def new_record_fields(moment: str) -> dict[str, Any]:
    """Return what a record begins with that is new at a moment: its id, and when it was made."""
    return {"id": new_id(moment), "created_at": moment, "updated_at": moment}


def timestamp_of(identifier: str) -> int:
    """Return an id's moment in milliseconds since 1970."""
    return int(identifier.replace("-", "")[:12], 16)


def lower_bound(ms: int) -> str:
    """Return what every id of the moment, and later ones, sort behind."""
    digits = f"{max(ms, 0):012x}"
    return f"{digits[:8]}-{digits[8:]}"


class IdRange(TypedDict):
    """What a Query over ids begins with, and what it ends with; None is no end."""

    since: str | None
    until: str | None


def id_range(since: str | None, until: str | None) -> IdRange:
    """Return the ends of a Query over the ids of a time, given by its first and its last moment."""
    return {
        "since": lower_bound(timestamp_ms(since)) if since else None,
        "until": f"{lower_bound(timestamp_ms(until))}~" if until else None,
    }
