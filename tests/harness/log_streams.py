"""Log streams of an organization, and receivers that check the formats that providers document."""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any, Final

import boto3

from chalicelib.features.notifications.log_streams.entities import LogStream, StreamProgress
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import ReceivedRequest, Receiver, Reply
from tests.harness.record_clients import CreatedRecord, RecordClient

CUSTOMER_ACCOUNT: Final = "210987654321"
ROLE_ARN: Final = f"arn:aws:iam::{CUSTOMER_ACCOUNT}:role/atrium-log-stream-archive"
SPLUNK_TOKEN: Final = "token-of-the-collector"
DATADOG_KEY: Final = "datadog-key-of-the-customer"
_MAX_DATADOG_BYTES: Final = 5_000_000
_MAX_DATADOG_ENTRIES: Final = 1_000
_DATADOG_FIELDS: Final = {"ddsource", "ddtags", "hostname", "message", "service", "timestamp"}
_SPLUNK_FIELDS: Final = {"time", "host", "source", "sourcetype", "index", "fields", "event"}


@dataclass(frozen=True)
class LogStreamClient(RecordClient, CreatedRecord):
    organization: CreatedOrganization

    collection_path = "{organization.path}/log-streams"

    def send_test(self) -> Json:
        return self.post("/test").expect(200).json

    @property
    def stored(self) -> LogStream:
        """The stored settings."""
        item = memory_aws.get_item(*LogStream.make_item_key(organization_id=self.organization.id, id=self.id))
        assert item is not None
        return LogStream.from_item(item)

    @property
    def progress(self) -> StreamProgress:
        """The stored progress."""
        item = memory_aws.get_item(*StreamProgress.make_item_key(id=self.id))
        assert item is not None
        return StreamProgress.from_item(item)


def post_log_stream(api: ApiClient, organization: CreatedOrganization, destination: Json, **fields: Any) -> ApiResponse:
    caller = fields.pop("caller", organization.owner)
    return api.post(f"{organization.path}/log-streams", caller=caller, json={"destination": destination, **fields})


def create_log_stream(
    api: ApiClient, organization: CreatedOrganization, destination: Json, **fields: Any
) -> LogStreamClient:
    answer = post_log_stream(api, organization, destination, **fields).expect(201)
    return LogStreamClient(answer.json, organization, api=api, caller=organization.owner)


def decode_https_batch(request: ReceivedRequest) -> list[Json]:
    """Return the entries of a batch."""
    if request.headers["content-type"] == "application/json":
        entries: list[Json] = json.loads(request.body)
        return entries
    assert request.headers["content-type"] == "application/x-ndjson"
    assert request.body.endswith(b"\n")
    return [json.loads(line) for line in request.body.splitlines()]


def received_entries(receiver: Receiver) -> list[Json]:
    """Return the entries of all batches that an HTTPS endpoint has received."""
    return [entry for request in receiver.requests for entry in decode_https_batch(request)]


def received_sequences(receiver: Receiver) -> list[int]:
    return [entry["sequence"] for entry in received_entries(receiver)]


def decode_message_contents(receiver: Receiver) -> list[tuple[str, list[Json]]]:
    """Return the id of each message of a stream that an HTTPS endpoint has received, with its entries."""
    return [(request.headers["webhook-id"], decode_https_batch(request)) for request in receiver.requests]


def listed_entries(api: ApiClient, organization: CreatedOrganization) -> list[Json]:
    """Return the entries of the log, the oldest first."""
    return api.get_items(f"{organization.path}/audit-log", caller=organization.owner)[::-1]


@dataclass
class SplunkReceiver:
    """The HTTP Event Collector, which answers as Splunk's documentation says."""

    events: list[Json] = field(default_factory=list)

    def __call__(self, request: ReceivedRequest) -> Reply:
        if request.headers["authorization"] != f"Splunk {SPLUNK_TOKEN}":
            return _json_reply(403, {"text": "Invalid token", "code": 4})
        if (request.method, request.path) != ("POST", "/services/collector/event"):
            return _json_reply(404, {"text": "Not Found", "code": 404})
        if "x-splunk-request-channel" not in request.headers:
            return _json_reply(400, {"text": "Data channel is missing", "code": 10})
        events = [*_iter_concatenated(request.body.decode())]
        for number, event in enumerate(events):
            if not (event.keys() <= _SPLUNK_FIELDS and event.get("event") and type(event.get("time")) in (int, float)):
                return _json_reply(400, {"text": "Invalid data format", "code": 6, "invalid-event-number": number})
        self.events += events
        return _json_reply(200, {"text": "Success", "code": 0})


@dataclass
class DatadogReceiver:
    """The log intake of Datadog, which answers as its documentation says."""

    logs: list[Json] = field(default_factory=list)

    def __call__(self, request: ReceivedRequest) -> Reply:
        if request.headers["dd-api-key"] != DATADOG_KEY:
            return _json_reply(403, {"errors": ["Forbidden"]})
        if (request.method, request.path) != ("POST", "/api/v2/logs"):
            return _json_reply(404, {"errors": ["Not found"]})
        logs = json.loads(request.body)
        if len(request.body) > _MAX_DATADOG_BYTES or len(logs) > _MAX_DATADOG_ENTRIES:
            return _json_reply(413, {"errors": ["Payload too large"]})
        valid = all(
            log.keys() <= _DATADOG_FIELDS and all(isinstance(value, str) for value in log.values()) for log in logs
        )
        if not valid or request.headers["content-type"] != "application/json":
            return _json_reply(400, {"errors": ["Bad request"]})
        self.logs += logs
        return _json_reply(202, {})


def _json_reply(status: int, body: Json) -> Reply:
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


def _iter_concatenated(text: str) -> Any:
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        position += len(text[position:]) - len(text[position:].lstrip())


class CustomerBucket:
    """A bucket in another account, in the memory of moto."""

    def __init__(self, name: str = "example-audit-archive") -> None:
        self.name = name
        sts = boto3.client("sts", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        keys = sts.assume_role(RoleArn=ROLE_ARN, RoleSessionName="customer")["Credentials"]
        self._s3 = boto3.client(
            "s3",
            region_name="eu-central-1",
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
        )
        self._s3.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})

    def remove(self) -> None:
        for key in self.keys():
            self._s3.delete_object(Bucket=self.name, Key=key)
        self._s3.delete_bucket(Bucket=self.name)

    @property
    def destination(self) -> Json:
        return {"type": "s3", "bucket": self.name, "region": "eu-central-1", "prefix": "atrium", "roleArn": ROLE_ARN}

    def keys(self) -> list[str]:
        return [each["Key"] for each in self._s3.list_objects_v2(Bucket=self.name).get("Contents", ())]

    def entries(self, key: str) -> list[Json]:
        """Return the entries in an object."""
        stored = self._s3.get_object(Bucket=self.name, Key=key)
        assert stored["ContentEncoding"] == "gzip"
        return [json.loads(line) for line in gzip.decompress(stored["Body"].read()).splitlines()]
