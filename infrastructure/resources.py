"""What the service needs of AWS, as literals: the local stage provisions it, and a template can be made of it."""

from collections.abc import Mapping
from typing import Any, Final

INDEXES: Final = ("index1", "index2")
"""Overloaded indexes that carry whole items: `<name>pk`, `<name>sk`."""

FACETS: Final = ("facet1", "facet2", "facet3")
"""Overloaded indexes that carry whole items, one for each filter of a list: `<name>pk`, with `sk` as sort key."""

INDEX_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    **{name: (f"{name}pk", f"{name}sk") for name in INDEXES},
    **{name: (f"{name}pk", "sk") for name in FACETS},
    "due": ("duepk", "duesk"),
}
"""Every index, with the attributes that are its partition key and its sort key; `due` is over what falls due."""

TTL_ATTRIBUTE: Final = "ttl"
"""Seconds since 1970 after which DynamoDB may delete an item."""

QUEUES: Final = {
    "events.fifo": {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "messageGroup",  # with the next: 300 messages a second for each log, not for them all
        "FifoThroughputLimit": "perMessageGroupId",
        "VisibilityTimeout": "60",
    },
    "deliveries.fifo": {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
        "VisibilityTimeout": "120",
    },
    "deliveries-slow": {"VisibilityTimeout": "120"},
    "jobs": {"VisibilityTimeout": "960"},
}
"""Each queue has a dead-letter queue `<name>-dead` (`events-dead.fifo`) after MAX_RECEIVES tries."""

MAX_RECEIVES: Final = 5

DEAD_LETTER_RETENTION_SECONDS: Final = 14 * 24 * 60 * 60

RECOVERY_DAYS: Final = 35
"""For so long the table can be restored as it was in any second; DynamoDB offers no more."""

EXPORT_RETENTION_DAYS: Final = 7
"""What callers are promised of an export, from when it is complete."""

EXPORTS_MADE_WITHIN_DAYS: Final = 7
"""An export that is not complete by then never will be."""

ANCHORS_LOCKED_YEARS: Final = 10

LOG_RETENTION_DAYS: Final = 30


def table(name: str) -> dict[str, Any]:
    """Return the arguments of CreateTable."""
    keys = dict.fromkeys(["pk", "sk", *(key for keys in INDEX_KEYS.values() for key in keys)])
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _schema("pk", "sk"),
        "AttributeDefinitions": [{"AttributeName": k, "AttributeType": "S"} for k in keys],
        "GlobalSecondaryIndexes": [_index(name, *keys) for name, keys in INDEX_KEYS.items()],
    }


def queue_name(prefix: str, queue: str) -> str:
    """Return the full name of one of QUEUES: `atrium-events.fifo`."""
    return f"{prefix}-{queue}"


def dead_letter_queue(queue: str) -> str:
    """Return the short name of a queue's dead-letter queue: `events-dead.fifo`."""
    stem, dot, suffix = queue.partition(".")
    return f"{stem}-dead{dot}{suffix}"


def queue_setting(queue: str) -> str:
    """Return the setting that holds a queue's address: `events_queue_url`."""
    return f"{queue.removesuffix('.fifo').replace('-', '_')}_queue_url"


def exports_bucket(prefix: str) -> str:
    """Return the name of the bucket of audit exports."""
    return f"{prefix}-exports"


def anchors_bucket(prefix: str) -> str:
    """Return the name of the bucket of the logs' anchors; it is made with object lock."""
    return f"{prefix}-anchors"


def _index(name: str, pk: str, sk: str) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": _schema(pk, sk), "Projection": {"ProjectionType": "ALL"}}


def _schema(pk: str, sk: str) -> list[dict[str, str]]:
    return [{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}]
