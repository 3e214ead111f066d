"""The table, queues and buckets of a stage as literals, for the local stage and for the templates."""

from collections.abc import Mapping
from typing import Any, Final

INDEXES: Final = ("index1", "index2")
"""Overloaded indexes that project all attributes: `<name>pk`, `<name>sk`."""

FACETS: Final = ("facet1", "facet2", "facet3")
"""Overloaded indexes for the filters of lists, which project all attributes: `<name>pk`, with the sort key `sk`."""

INDEX_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    **{name: (f"{name}pk", f"{name}sk") for name in INDEXES},
    **{name: (f"{name}pk", "sk") for name in FACETS},
    "due": ("duepk", "duesk"),
}
"""The partition key and the sort key of each index. `due` contains the scheduled tasks."""

TTL_ATTRIBUTE: Final = "ttl"
"""Seconds since 1970 after which DynamoDB may delete an item."""

QUEUES: Final = {
    "events.fifo": {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "messageGroup",  # with the next line: 300 messages/s per log
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
"""Attributes of each queue. After MAX_RECEIVES attempts, messages go to `<name>-dead` (`events-dead.fifo`)."""

MAX_RECEIVES: Final = 5

RECURSIVE_FUNCTIONS: Final = ("events", "jobs", "deliveries", "deliveries_slow")
"""The functions that Lambda lets run in a loop with a queue. They end their chains of messages themselves."""

DEAD_LETTER_RETENTION_SECONDS: Final = 14 * 24 * 60 * 60

POINT_IN_TIME_RECOVERY_DAYS: Final = 35
"""Period of point-in-time recovery: DynamoDB's maximum."""

EXPORT_RETENTION_DAYS: Final = 7
"""How long a completed export is available."""

MAX_EXPORT_DAYS: Final = 7
"""Time after which an incomplete export has failed."""

ANCHOR_LOCK_YEARS: Final = 10

LOG_RETENTION_DAYS: Final = 30


def table_definition(name: str) -> dict[str, Any]:
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


def queue_setting(queue: str) -> str:
    """Return the setting with a queue's URL: `events_queue_url`."""
    return f"{queue.removesuffix('.fifo').replace('-', '_')}_queue_url"


def exports_bucket(prefix: str) -> str:
    """Return the name of the bucket of audit exports."""
    return f"{prefix}-exports"


def anchors_bucket(prefix: str) -> str:
    """Return the name of the bucket of the logs' anchors, which has object lock."""
    return f"{prefix}-anchors"


def _index(name: str, pk: str, sk: str) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": _schema(pk, sk), "Projection": {"ProjectionType": "ALL"}}


def _schema(pk: str, sk: str) -> list[dict[str, str]]:
    return [{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}]
