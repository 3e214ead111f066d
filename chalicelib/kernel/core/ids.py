"""Ids: UUIDv7 (RFC 9562), which sort by time of creation."""

from typing import Any, TypedDict

from uuid_utils import uuid7

from chalicelib.kernel.core.clock import timestamp_ms


def new_id(created_at: str) -> str:
    """Return a new id that contains this time of creation."""
    return str(uuid7(nanoseconds=timestamp_ms(created_at) * 1_000_000))


def new_id_and_time_fields(created_at: str) -> dict[str, Any]:
    """Return the first fields of a new record: its id and its times."""
    return {"id": new_id(created_at), "created_at": created_at, "updated_at": created_at}


def timestamp_ms_of_id(identifier: str) -> int:
    """Return the time in an id, in milliseconds since 1970."""
    return int(identifier.replace("-", "")[:12], 16)


def id_timestamp_prefix(ms: int) -> str:
    """Return a lower bound for the ids created at or after a time, given in milliseconds since 1970."""
    digits = f"{max(ms, 0):012x}"
    return f"{digits[:8]}-{digits[8:]}"


class IdRange(TypedDict):
    """A range of ids for a query. None is unbounded."""

    since: str | None
    until: str | None


def id_range_query_arguments(since: str | None, until: str | None) -> IdRange:
    """Return the range of the ids between two times, both inclusive."""
    return {
        "since": id_timestamp_prefix(timestamp_ms(since)) if since else None,
        "until": f"{id_timestamp_prefix(timestamp_ms(until))}~" if until else None,
    }
