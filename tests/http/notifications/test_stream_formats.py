"""Test the formats in which log streams send entries to each type of destination."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_core import to_json
from standardwebhooks import Webhook as StandardWebhook

from chalicelib.features.notifications.log_streams.logic import entry_batches
from chalicelib.kernel.outbound import customer_buckets, webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from tests.harness.log_streams import (
    DATADOG_KEY,
    SPLUNK_TOKEN,
    DatadogReceiver,
    SplunkReceiver,
    decode_https_batch,
    listed_entries,
    received_entries,
    received_sequences,
)
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import rename_organization

DATADOG = {"type": "datadog", "site": "datadoghq.eu", "apiKey": DATADOG_KEY}


def redirect_datadog(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    """Send what is for Datadog to a receiver."""
    post = webhook_client.post_webhook

    def post_to_receiver(url: str, *arguments: Any) -> WebhookResponse:
        assert url == "https://http-intake.logs.datadoghq.eu/api/v2/logs"
        return post(receiver.url_at("127.0.0.1", "/api/v2/logs"), *arguments)

    monkeypatch.setattr(webhook_client, "post_webhook", post_to_receiver)


class TestFormats:
    @pytest.mark.parametrize("batch_format", ["json", "ndjson"])
    def test_https_batches_are_signed_and_contain_the_entries_of_the_log(
        self, api, organization, new_stream, receiver, send, batch_format
    ):
        destination = {"type": "https", "url": receiver.url, "format": batch_format}
        stream = new_stream(destination, startAt=1)
        send()
        for request in receiver.requests:
            sent_at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), tz=UTC)
            signature = StandardWebhook(stream.record["secret"]).sign(
                request.headers["webhook-id"], sent_at, request.body.decode()
            )
            assert request.headers["webhook-signature"] == signature
        assert received_entries(receiver) == listed_entries(api, organization)
        first, last = received_sequences(receiver)[0], decode_https_batch(receiver.requests[0])[-1]["sequence"]
        assert receiver.requests[0].headers["webhook-id"] == f"{stream.id}_{first}_{last}_1"
        state = stream.read()
        assert (state["status"], state["lagEntries"], state["lagSeconds"], state["lastError"]) == ("active", 0, 0, None)

    def test_https_batches_are_also_signed_with_the_former_secret_for_a_while(
        self, new_stream, receiver, rename, send, clock
    ):
        stream = new_stream({"type": "https", "url": receiver.url})
        rotated = stream.post("/rotate-secret", {"graceHours": 1}).expect(200).json
        assert rotated["version"] == 2
        secrets = [rotated["secret"], stream.record["secret"]]
        for active_secrets in (secrets, secrets[:1]):
            rename("Looms", "Mills")
            send()
            request = receiver.requests[-1]
            sent_at = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), tz=UTC)
            signed = (request.headers["webhook-id"], sent_at, request.body.decode())
            signatures = [StandardWebhook(secret).sign(*signed) for secret in active_secrets]
            assert request.headers["webhook-signature"].split() == signatures
            clock.shift(minutes=61)

    def test_splunk_receives_events_of_its_event_collector(self, api, organization, new_stream, receiver, send):
        receiver.default_reply = splunk = SplunkReceiver()
        destination = {
            "type": "splunk",
            "url": receiver.url_at("127.0.0.1", ""),
            "token": SPLUNK_TOKEN,
            "index": "audit",
            "sourcetype": "_json",
        }
        stream = new_stream(destination, startAt=1)
        send()
        assert [event["event"] for event in splunk.events] == listed_entries(api, organization)
        assert {(each["source"], each["index"], each["sourcetype"]) for each in splunk.events} == {
            ("atrium", "audit", "_json")
        }
        first = splunk.events[0]
        assert time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(first["time"])) == first["event"]["occurredAt"][:19]
        assert stream.send_test()["delivered"]
        assert splunk.events[-1]["event"]["type"] == "log_stream.test"
        stream.update(destination={"token": "wrong"})
        rejected = stream.send_test()
        assert (rejected["delivered"], rejected["statusCode"]) == (False, 403)
        receiver.default_reply = Reply(200, body=b"<html>Welcome</html>")
        assert "Event Collector" in stream.send_test()["error"]

    def test_datadog_receives_logs_with_a_recent_time(
        self, api, organization, new_stream, receiver, send, clock, monkeypatch
    ):
        receiver.default_reply = datadog = DatadogReceiver()
        redirect_datadog(monkeypatch, receiver)
        clock.shift(hours=20)
        rename_organization(api, organization, "Looms")
        stream = new_stream(DATADOG, startAt=1)
        send()
        entries = listed_entries(api, organization)
        assert [json.loads(log["message"]) for log in datadog.logs] == entries
        assert "timestamp" not in datadog.logs[0]
        assert datadog.logs[-1]["timestamp"] == entries[-1]["occurredAt"]
        assert {log["ddtags"] for log in datadog.logs} == {f"organization:{organization.id}"}
        assert stream.send_test()["delivered"]

    def test_s3_receives_compressed_objects_named_by_their_sequences(self, api, organization, new_stream, bucket, send):
        stream = new_stream(bucket.destination, startAt=1)
        send()
        entries = listed_entries(api, organization)
        name = f"atrium/{organization.id}/{stream.id}/{1:012d}-{len(entries):012d}-v1.ndjson.gz"
        assert bucket.keys() == [name]
        assert bucket.entries(name) == entries
        result = stream.send_test()
        assert (result["delivered"], result["statusCode"], result["error"]) == (True, 200, None)
        test_name = f"atrium/{organization.id}/{stream.id}/test.ndjson.gz"
        assert [entry["type"] for entry in bucket.entries(test_name)] == ["log_stream.test"]
        stream.update(startAt=1)
        send()
        size = len(listed_entries(api, organization))
        restarted_name = f"atrium/{organization.id}/{stream.id}/{1:012d}-{size:012d}-v2.ndjson.gz"
        assert bucket.keys() == [name, restarted_name, test_name]
        stream.update(destination={"bucket": "bucket-that-does-not-exist"})
        result = stream.send_test()
        assert (result["delivered"], result["statusCode"]) == (False, 404)
        assert result["error"] == "Amazon S3 did not accept the object (NoSuchBucket)."

    @pytest.mark.parametrize("destination_type", ["https", "splunk", "datadog", "s3"])
    def test_requests_have_at_most_one_megabyte(
        self, api, organization, new_stream, receiver, bucket, send, monkeypatch, destination_type
    ):
        destination = {
            "https": {"type": "https", "url": receiver.url},
            "splunk": {"type": "splunk", "url": receiver.url_at("127.0.0.1", ""), "token": SPLUNK_TOKEN},
            "datadog": DATADOG,
            "s3": bucket.destination,
        }[destination_type]
        replies: dict[str, Any] = {"splunk": SplunkReceiver(), "datadog": DatadogReceiver()}
        if destination_type == "datadog":
            redirect_datadog(monkeypatch, receiver)
        receiver.default_reply, max_bytes = replies.get(destination_type, Reply()), 3_000
        monkeypatch.setattr(entry_batches, "MAX_BATCH_BYTES", max_bytes)
        for number in range(12):
            rename_organization(api, organization, f'"Looms" {number}')
        stream = new_stream(destination, startAt=1)
        send()
        sizes = [len(request.body) for request in receiver.requests]
        if destination_type == "s3":
            batches = map(bucket.entries, bucket.keys())
            sizes = [sum(len(to_json(entry)) + 1 for entry in batch) for batch in batches]
        assert max_bytes / 2 < max(sizes) <= max_bytes
        assert len(sizes) > 3
        assert stream.read()["lagEntries"] == 0

    def test_a_role_of_the_own_account_is_never_assumed(self, new_stream, monkeypatch, bucket):
        monkeypatch.setattr(customer_buckets, "is_role_of_own_account", lambda _arn: True)
        result = new_stream(bucket.destination).send_test()
        assert result["error"] == "The role belongs to the account of this service."
