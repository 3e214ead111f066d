"""The formats in which destinations expect entries, as their providers document them.

- HTTPS and S3: the JSON of the entry.
- Splunk: an event of the HTTP Event Collector (Splunk, "Format events for HTTP Event Collector").
- Datadog: a log of the logs API, version 2 (Datadog API Reference, "Send logs").

The body of a request joins the formatted entries, with one byte for each of them and one more for an array.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from pydantic_core import to_json

from chalicelib.features.notifications.log_streams.entities import LogStream
from chalicelib.kernel.core.clock import after, now, timestamp_ms

EntryFormatter = Callable[[bytes, str], bytes]
"""Returns an entry in the format of a destination, given its JSON and its time."""

_SOURCE: Final = "atrium"
_DATADOG_MAX_AGE_HOURS: Final = 17
"""Datadog accepts timestamps that are up to 18 hours in the past. Older entries get the time of their arrival."""


def entry_formatter(stream: LogStream) -> EntryFormatter:
    """Return the function that formats entries for the destination of a stream."""
    destination = stream.destination
    if destination["type"] == "splunk":
        metadata = {name: destination[name] for name in ("index", "sourcetype") if destination.get(name)}
        return partial(_splunk_event, to_json({"source": _SOURCE, **metadata})[1:-1])
    if destination["type"] == "datadog":
        tags = f"organization:{stream.organization_id}"
        fields = {"ddsource": _SOURCE, "ddtags": tags, "service": destination["service"]}
        return partial(_datadog_log, fields, after(now(), hours=-_DATADOG_MAX_AGE_HOURS))
    return lambda entry, _occurred_at: entry


def json_array(values: Sequence[bytes]) -> bytes:
    """Return JSON values as an array."""
    return b"[" + b",".join(values) + b"]"


def json_lines(values: Sequence[bytes]) -> bytes:
    """Return JSON values as lines."""
    return b"".join(value + b"\n" for value in values)


def _splunk_event(metadata_members: bytes, entry: bytes, occurred_at: str) -> bytes:
    seconds, milliseconds = divmod(timestamp_ms(occurred_at), 1000)
    return b'{"time":%d.%03d,%b,"event":%b}' % (seconds, milliseconds, metadata_members, entry)


def _datadog_log(fields: Mapping[str, str], oldest: str, entry: bytes, occurred_at: str) -> bytes:
    timestamp = {"timestamp": occurred_at} if occurred_at > oldest else {}
    return to_json({**fields, "message": entry.decode(), **timestamp})
