"""The requests that send batches to destinations, in the formats that their providers document.

- HTTPS: a JSON array or lines of JSON, signed as Standard Webhooks define it.
- Splunk: events of the HTTP Event Collector (Splunk, "Format events for HTTP Event Collector").
- Datadog: the logs API, version 2 (Datadog API Reference, "Send logs").
- S3: objects with lines of JSON, compressed by gzip.
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic_core import from_json, to_json

from chalicelib.features.notifications.log_streams.entities import LogStream
from chalicelib.features.notifications.log_streams.logic.entry_batches import BatchEntry, EntryBatch
from chalicelib.features.notifications.logic import signing_secrets
from chalicelib.kernel.core.clock import after, now, timestamp_ms
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.customer_buckets import UPLOAD_SECONDS, BucketAccess, put_object
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

TEST_EVENT_TYPE: Final = "log_stream.test"
"""Type of the entry that a test sends. It is no entry of the log."""

_JSON: Final = "application/json"
_NDJSON: Final = "application/x-ndjson"
_SOURCE: Final = "atrium"
_DATADOG_MAX_AGE_HOURS: Final = 17
"""Datadog accepts timestamps that are up to 18 hours in the past. Older entries get the time of their arrival."""

_NOT_SPLUNK: Final = "The response is not that of Splunk's HTTP Event Collector."


def send_batch(stream: LogStream, batch: EntryBatch, seconds: float | None = None) -> WebhookResponse:
    """Send a batch to the destination of a stream and return the result, as `webhook_client.post_webhook` does.

    Raises DecryptionError if a stored secret was altered.
    """
    return _SENDERS[stream.destination["type"]](stream, batch, seconds)


def _post_to_https(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    is_array = stream.destination["format"] == "json"
    body = _json_array(batch) if is_array else _json_lines(batch)
    # The same batch has the same id, so a receiver recognizes one that it has received before.
    message_id = f"{stream.id}_{batch.first_sequence}_{batch.last_sequence}"
    content_type = _JSON if is_array else _NDJSON
    headers = signing_secrets.signed_headers(stream, message_id, body, now(), content_type)
    return webhook_client.post_webhook(stream.destination["url"], body, headers, seconds)


def _post_to_splunk(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    metadata = {name: stream.destination[name] for name in ("index", "sourcetype") if stream.destination.get(name)}
    body = b"\n".join(_splunk_event(entry, metadata) for entry in batch.entries)
    headers = {
        "content-type": _JSON,
        "authorization": f"Splunk {_credential(stream)}",
        "x-splunk-request-channel": stream.id,  # Tokens with acknowledgement of indexing require it.
    }
    response = webhook_client.post_webhook(stream.destination["url"], body, headers, seconds)
    if response.succeeded and not _is_splunk_success(response.body):
        return replace(response, status=None, error=_NOT_SPLUNK)
    return response


def _splunk_event(entry: BatchEntry, metadata: Mapping[str, str]) -> bytes:
    seconds, milliseconds = divmod(timestamp_ms(entry.occurred_at), 1000)
    envelope = to_json({"source": _SOURCE, **metadata})
    return b'{"time":%d.%03d,%b,"event":%b}' % (seconds, milliseconds, envelope[1:-1], entry.json)


def _is_splunk_success(body: str) -> bool:
    try:
        answer = from_json(body)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("code") == 0


def _post_to_datadog(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    destination, oldest = stream.destination, after(now(), hours=-_DATADOG_MAX_AGE_HOURS)
    tags = f"organization:{stream.organization_id}"
    logs = [
        {
            "ddsource": _SOURCE,
            "ddtags": tags,
            "service": destination["service"],
            "message": entry.json.decode(),
            **({"timestamp": entry.occurred_at} if entry.occurred_at > oldest else {}),
        }
        for entry in batch.entries
    ]
    url = f"https://http-intake.logs.{destination['site']}/api/v2/logs"
    headers = {"content-type": _JSON, "dd-api-key": _credential(stream)}
    return webhook_client.post_webhook(url, to_json(logs), headers, seconds)


def _put_into_bucket(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    destination = stream.destination
    access = BucketAccess(destination["bucket"], destination["region"], destination["roleArn"], str(stream.external_id))
    # Without a time, so that the same batch has the same bytes.
    body = gzip.compress(_json_lines(batch), mtime=0)
    headers = {"ContentType": _NDJSON, "ContentEncoding": "gzip"}
    return put_object(access, object_key(stream, batch), body, headers, seconds or UPLOAD_SECONDS)


def object_key(stream: LogStream, batch: EntryBatch) -> str:
    """Return the name of the object with a batch, which contains its sequences. A repeated batch replaces it.

    The id of the stream is part of the name, because another stream can have other entries of the same sequences.
    """
    is_test = batch.last_sequence == 0
    name = "test" if is_test else f"{batch.first_sequence:012d}-{batch.last_sequence:012d}"
    return "/".join(filter(None, (stream.destination.get("prefix"), batch.log_id, stream.id, f"{name}.ndjson.gz")))


_SENDERS: Final[Mapping[str, Callable[[LogStream, EntryBatch, float | None], WebhookResponse]]] = {
    "https": _post_to_https,
    "splunk": _post_to_splunk,
    "datadog": _post_to_datadog,
    "s3": _put_into_bucket,
}


def _json_array(batch: EntryBatch) -> bytes:
    return b"[" + b",".join(entry.json for entry in batch.entries) + b"]"


def _json_lines(batch: EntryBatch) -> bytes:
    return b"".join(entry.json + b"\n" for entry in batch.entries)


def _credential(stream: LogStream) -> str:
    return signing_secrets.decrypt_active_secrets(stream, now())[0]


def create_test_batch(stream: LogStream, actor: Mapping[str, Any], timestamp: str, message: str) -> EntryBatch:
    """Return a batch with an entry that is no entry of the log. It has no sequence."""
    entry: dict[str, Any] = {
        "id": stream.id,
        "type": TEST_EVENT_TYPE,
        "occurredAt": timestamp,
        "organizationId": stream.organization_id,
        "actor": actor,
        "target": {"type": stream.kind, "id": stream.id, "name": stream.audit_log_label},
        "context": None,
        "changes": [],
        "data": {"message": message},
        "sequence": None,
        "integrity": None,
    }
    return EntryBatch(stream.organization_id, 0, 0, [BatchEntry(to_json(entry), TEST_EVENT_TYPE, timestamp)])
