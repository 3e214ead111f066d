"""The requests that send batches to destinations, in the formats that their providers document.

- HTTPS: a JSON array or lines of JSON, signed as Standard Webhooks define it.
- Splunk: events of the HTTP Event Collector.
- Datadog: an array for the logs API, version 2.
- S3: objects with lines of JSON, compressed by gzip.

An HTTPS request has an id, and an object has a name. Both consist of the sequences of the batch and the version of the
stream. So a repeated batch has the same one, and a batch that a changed stream sends has another one.
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic_core import from_json, to_json

from chalicelib.features.notifications.log_streams.entities import LogStream
from chalicelib.features.notifications.log_streams.logic.destination_formats import (
    entry_formatter,
    json_array,
    json_lines,
)
from chalicelib.features.notifications.log_streams.logic.entry_batches import EntryBatch
from chalicelib.features.notifications.logic import signing_secrets
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.crypto.symmetric import DecryptionError
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.customer_buckets import UPLOAD_SECONDS, BucketAccess, put_object
from chalicelib.kernel.outbound.webhook_client import WebhookResponse

TEST_EVENT_TYPE: Final = "log_stream.test"
"""Type of the entry that a test sends. It is no entry of the log."""

_JSON: Final = "application/json"
_NDJSON: Final = "application/x-ndjson"
_NOT_SPLUNK: Final = "The response is not that of Splunk's HTTP Event Collector."
_UNREADABLE_CREDENTIAL: Final = (
    "The stored credential of the stream cannot be decrypted. Set it again, or rotate it with `graceHours` 0. Or ask "
    "the operator of the service to restore the key with which it was encrypted (`DATA_KEY`)."
)


def send_batch(stream: LogStream, batch: EntryBatch, seconds: float | None = None) -> WebhookResponse:
    """Send a batch to the destination of a stream and return the result, as `webhook_client.post_webhook` does.

    A stored credential that cannot be decrypted is a failure too. The result says what to do.
    """
    try:
        return _SENDERS[stream.destination["type"]](stream, batch, seconds)
    except DecryptionError:
        return WebhookResponse.of_unsent_request(_UNREADABLE_CREDENTIAL)


def _post_to_https(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    is_array = stream.destination["format"] == "json"
    body = json_array(batch.entries) if is_array else json_lines(batch.entries)
    content_type = _JSON if is_array else _NDJSON
    headers = signing_secrets.signed_headers(stream, _message_id(stream, batch), body, now(), content_type)
    return webhook_client.post_webhook(stream.destination["url"], body, headers, seconds)


def _message_id(stream: LogStream, batch: EntryBatch) -> str:
    if batch.is_test:  # Each test is another message.
        return new_id(now())
    return f"{stream.id}_{batch.first_sequence}_{batch.last_sequence}_{stream.version}"


def _post_to_splunk(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    headers = {
        "content-type": _JSON,
        "authorization": f"Splunk {_credential(stream)}",
        "x-splunk-request-channel": stream.id,  # Tokens with acknowledgement of indexing require it.
    }
    response = webhook_client.post_webhook(stream.destination["url"], b"\n".join(batch.entries), headers, seconds)
    if response.succeeded and not _is_splunk_success(response.body):
        return replace(response, status=None, error=_NOT_SPLUNK)
    return response


def _is_splunk_success(body: str) -> bool:
    try:
        answer = from_json(body)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("code") == 0


def _post_to_datadog(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    url = f"https://http-intake.logs.{stream.destination['site']}/api/v2/logs"
    headers = {"content-type": _JSON, "dd-api-key": _credential(stream)}
    return webhook_client.post_webhook(url, json_array(batch.entries), headers, seconds)


def _put_into_bucket(stream: LogStream, batch: EntryBatch, seconds: float | None) -> WebhookResponse:
    destination = stream.destination
    access = BucketAccess(destination["bucket"], destination["region"], destination["roleArn"], str(stream.external_id))
    # Without a time, so that the same batch has the same bytes.
    body = gzip.compress(json_lines(batch.entries), mtime=0)
    headers = {"ContentType": _NDJSON, "ContentEncoding": "gzip"}
    return put_object(access, object_key(stream, batch), body, headers, seconds or UPLOAD_SECONDS)


def object_key(stream: LogStream, batch: EntryBatch) -> str:
    """Return the name of the object with a batch, which contains its sequences. A repeated batch replaces it.

    The id of the stream is part of the name, because another stream can have other entries of the same sequences.
    """
    name = f"{batch.first_sequence:012d}-{batch.last_sequence:012d}-v{stream.version}"
    file_name = f"{'test' if batch.is_test else name}.ndjson.gz"
    return "/".join(filter(None, (stream.destination.get("prefix"), stream.organization_id, stream.id, file_name)))


_SENDERS: Final[Mapping[str, Callable[[LogStream, EntryBatch, float | None], WebhookResponse]]] = {
    "https": _post_to_https,
    "splunk": _post_to_splunk,
    "datadog": _post_to_datadog,
    "s3": _put_into_bucket,
}


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
    return EntryBatch(0, 0, [entry_formatter(stream)(to_json(entry), timestamp)])
