"""AWS in memory: the table, queues and buckets of `infrastructure/resources.py`, created once and emptied often."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from moto import mock_aws
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.table import Table
from moto.s3.models import s3_backends
from moto.sqs.models import Queue, sqs_backends

from chalicelib.features.admin.status import logic
from chalicelib.features.reference.logic import cache
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core import threads
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.identity import auth, last_used, userinfo
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json, item_to_dynamodb_json
from chalicelib.kernel.work import dead_letters
from local.server.provisioning import provision
from tests.harness import aws_calls
from tests.harness.fast_moto import fast_moto
from tests.harness.transactions import atomic_transactions
from tests.harness.version_listing import exact_key_markers

PREFIX: Final = "atrium"
REGION: Final = "us-east-1"

Item = dict[str, Any]


@contextmanager
def aws_in_memory() -> Iterator[None]:
    """Replace AWS by moto within the block, and create the resources at the first use."""
    aws = mock_aws()
    aws.start(reset=False)
    try:
        # However slow the machine is, a response waits for all work in its background.
        # A queue in memory hides no message, so a long poll of an empty queue would only waste time.
        with (
            atomic_transactions(),
            fast_moto(),
            exact_key_markers(),
            patch.object(threads, "MAX_BACKGROUND_SECONDS", 60),
            patch.object(dead_letters, "_WAIT_SECONDS", 0),
        ):
            if PREFIX not in dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].tables:
                settings.cache_clear()
                aws_calls.watch_clients()
                os.environ.update({name.upper(): value for name, value in provision(PREFIX).items()})
            yield
    finally:
        aws.stop(remove_data=False)


def reset() -> None:
    """Empty the table, the queues and the buckets, and reset the caches of the process."""
    settings.cache_clear()
    aws_calls.watch_clients()
    get_table().items.clear()
    discard_queued_messages()
    for queue in get_queues():
        queue._pending_messages.clear()  # noqa: SLF001
        queue.deleted_messages.clear()
    for bucket in s3_backends[DEFAULT_ACCOUNT_ID]["global"].buckets.values():
        bucket.keys.clear()
        bucket.multiparts.clear()
    auth._records_by_digest.clear()  # noqa: SLF001
    auth._accepted_keys.clear()  # noqa: SLF001
    userinfo.reset_userinfo()
    ancestor_cache.reset()
    email_hashes.cache_hash_key(bytes(32))
    request_quota.reset()
    last_used._written_minutes.clear()  # noqa: SLF001
    logic._cached_checks.clear()  # noqa: SLF001
    keyrings._load_listed_key.cache_clear()  # noqa: SLF001
    cache.reset_cache()


def get_table(name: str = PREFIX) -> Table:
    """Return a table as moto's object."""
    model: Table = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].tables[name]
    return model


def get_queues() -> list[Queue]:
    """Return the queues as moto's objects."""
    return list(sqs_backends[DEFAULT_ACCOUNT_ID][REGION].queues.values())


def discard_queued_messages() -> None:
    for queue in get_queues():
        queue._messages.clear()  # noqa: SLF001 - moto's purge allows one call per minute


def all_items() -> list[Item]:
    """Return all items of the table as plain values."""
    partitions: Any = get_table().items.values()
    return [dict(_plain(item)) for partition in partitions for item in partition.values()]


def get_item(pk: str, sk: str) -> Item | None:
    """Return the item with a key as plain values, or None."""
    item = get_table().items.get(DynamoType({"S": pk}), {}).get(DynamoType({"S": sk}))
    return _plain(item) if item else None


def get_only_item_key(kind: str) -> tuple[str, str]:
    """Return the key of the only record of a kind."""
    (record,) = (item for item in all_items() if item.get("kind") == kind)
    return record["pk"], record["sk"]


def to_wire_json(item: Item) -> dict[str, Any]:
    """Return an item in DynamoDB's JSON format."""
    wire: dict[str, Any] = aws_calls.to_json(item_to_dynamodb_json(item))
    return wire


def _plain(item: Any) -> Item:
    """Return an item as plain values. They are cached in moto's item, which no write changes."""
    if "plain" not in vars(item):
        item.plain = item_from_dynamodb_json(item.to_json()["Attributes"])
    plain: Item = item.plain
    return plain


def put_item(item: Item) -> None:
    """Write an item into the table, bypassing the service."""
    get_table().put_item(item_to_dynamodb_json(item))


def delete_item(item: Item) -> None:
    """Delete an item from the table, bypassing the service."""
    get_table().delete_item(*(DynamoType({"S": item[name]}) for name in ("pk", "sk")))
