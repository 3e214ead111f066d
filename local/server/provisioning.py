"""Create the resources of `infrastructure/resources.py` in the emulator. Existing ones stay."""

import json
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parseaddr
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.resources import (
    DEAD_LETTER_RETENTION_SECONDS,
    MAX_RECEIVES,
    QUEUES,
    TTL_ATTRIBUTE,
    anchors_bucket,
    exports_bucket,
    queue_name,
    queue_setting,
    table_definition,
)

_WAITER_CONFIG: Final = {"Delay": 1, "MaxAttempts": 60}


def provision(prefix: str) -> Mapping[str, str]:
    """Create the table, queues and buckets of a prefix, and return the settings that name them.

    If a sender of mail is set, its SES identity is created.
    """
    _provision_table(prefix)
    exports, anchors = exports_bucket(prefix), anchors_bucket(prefix)
    _provision_bucket(exports, lock=False)
    _provision_bucket(anchors, lock=True)
    _provision_sender(parseaddr(settings().mail_from)[1])
    addresses = {queue_setting(queue): _provision_queue(prefix, queue) for queue in QUEUES}
    return {"table_name": prefix, "exports_bucket": exports, "anchors_bucket": anchors, **addresses}


def _provision_table(name: str) -> None:
    dynamodb, wanted = client("dynamodb"), table_definition(name)
    try:
        dynamodb.create_table(**wanted)
    except dynamodb.exceptions.ResourceInUseException:
        _add_missing_indexes(wanted)
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig=_WAITER_CONFIG)
    described = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if described["TimeToLiveStatus"] not in ("ENABLED", "ENABLING"):
        ttl = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=ttl)


def _add_missing_indexes(wanted: Mapping[str, Any]) -> None:
    dynamodb, name = client("dynamodb"), wanted["TableName"]
    found = dynamodb.describe_table(TableName=name)["Table"].get("GlobalSecondaryIndexes", [])
    known = {index["IndexName"] for index in found}
    for index in wanted["GlobalSecondaryIndexes"]:
        if index["IndexName"] not in known:  # DynamoDB creates one index at a time.
            dynamodb.update_table(
                TableName=name,
                AttributeDefinitions=wanted["AttributeDefinitions"],
                GlobalSecondaryIndexUpdates=[{"Create": index}],
            )
            dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig=_WAITER_CONFIG)


def _provision_queue(prefix: str, queue: str) -> str:
    attributes = QUEUES[queue]
    retention = {"MessageRetentionPeriod": str(DEAD_LETTER_RETENTION_SECONDS)}
    fifo = {"FifoQueue": "true"} if "FifoQueue" in attributes else {}
    dead = _queue(queue_name(prefix, dead_letter_queue_name(queue)), fifo | retention)
    target = client("sqs").get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = {"deadLetterTargetArn": target, "maxReceiveCount": MAX_RECEIVES}
    return _queue(queue_name(prefix, queue), attributes | {"RedrivePolicy": json.dumps(redrive)})


def _queue(name: str, attributes: Mapping[str, str]) -> str:
    sqs = client("sqs")
    try:
        address = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        address = sqs.create_queue(QueueName=name, Attributes=dict(attributes))["QueueUrl"]
    else:
        changeable = {key: value for key, value in attributes.items() if key != "FifoQueue"}
        sqs.set_queue_attributes(QueueUrl=address, Attributes=changeable)
    # The URL of a stored queue contains the host and port of the run that created it.
    return f"{sqs.meta.endpoint_url}{urlsplit(address).path}"


def _provision_bucket(name: str, *, lock: bool) -> None:
    s3 = client("s3")
    try:
        s3.head_bucket(Bucket=name)
    except ClientError as error:
        if error.response["Error"]["Code"] != "404":
            raise
        s3.create_bucket(Bucket=name, ObjectLockEnabledForBucket=lock)


def _provision_sender(address: str) -> None:
    ses = client("sesv2")
    if address:
        with suppress(ses.exceptions.AlreadyExistsException):
            ses.create_email_identity(EmailIdentity=address)
