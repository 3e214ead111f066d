"""Convert measurements to dollars, by prices and by assumptions about values that cannot be measured locally."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from benchmarks.costs import prices

Record = Mapping[str, Any]

MEMORY_GB: Final = 1.0
"""The assumed memory of each function. Those with 512 MB (`.chalice/config.json`) run longer at half the price."""

CPU_SHARE: Final = 1024 / 1769
"""The share of a processor that Lambda gives a function with that memory."""

CALL_LATENCY_MS: Final[Mapping[str, float]] = {
    "GetItem": 4,
    "BatchGetItem": 6,
    "Query": 6,
    "TransactWriteItems": 14,
    "DescribeTable": 8,
    "SendMessage": 8,
    "SendMessageBatch": 10,
    "GetQueueAttributes": 8,
    "SendEmail": 60,
}
"""Assumed: milliseconds until the response, by call."""

OTHER_CALL_LATENCY_MS: Final = 25.0
"""Assumed: the same for all other calls, which are those of S3."""

CALL_CPU_MS: Final = 0.5
"""Assumed: processor time of HTTP and TLS for each call. The in-memory AWS needs none."""

ENDPOINT_LATENCY_MS: Final = 100.0
"""Assumed: until the endpoint of a webhook or a channel has responded."""

PLATFORM_LOG_BYTES: Final = 350
"""Assumed: what Lambda itself logs for an invocation (START, END, REPORT)."""

ACCESS_LOG_BYTES: Final = 500
"""Assumed: a record of the gateway's access log."""

_FIFO_CONSUMERS: Final = ("events", "deliveries")
_DELIVERY_FUNCTIONS: Final = ("deliveries", "deliveries_slow")
_API_FUNCTION: Final = "api_handler"


@dataclass
class Cost:
    """The cost of one request with its background work, by service."""

    gateway: float = 0
    functions: float = 0
    table: float = 0
    queues: float = 0
    logs: float = 0
    others: float = 0

    @property
    def total(self) -> float:
        """The sum of all services."""
        return float(sum(getattr(self, field.name) for field in fields(self)))


def calculate_cost(record: Record) -> Cost:
    """Return the cost of a request from its measurements."""
    cost = Cost()
    for invocation in record["turns"]:
        is_api_request, has_messages = invocation["function"] == _API_FUNCTION, bool(invocation["messages"])
        cost.gateway += prices.API_REQUEST * is_api_request
        cost.functions += prices.LAMBDA_REQUEST + invocation_ms(invocation) / 1000 * MEMORY_GB * prices.LAMBDA_GB_SECOND
        cost.table += invocation["read"] * prices.DYNAMODB_READ_UNIT
        cost.table += (invocation["written"] + invocation["indexed"]) * prices.DYNAMODB_WRITE_UNIT
        # A batch is received once and deleted once.
        price = prices.SQS_FIFO if invocation["function"] in _FIFO_CONSUMERS else prices.SQS_STANDARD
        cost.queues += (
            invocation["fifo"] * prices.SQS_FIFO
            + invocation["standard"] * prices.SQS_STANDARD
            + 2 * price * has_messages
        )
        cost.logs += log_bytes(invocation) / 1e9 * prices.LOGS_GB
        cost.others += invocation["puts"] * prices.S3_PUT + invocation["gets"] * prices.S3_GET
        cost.others += invocation["mails"] * prices.SES_MAIL + invocation["keys"] * prices.KMS_REQUEST
    return cost


def invocation_ms(invocation: Mapping[str, Any]) -> float:
    """Return the duration of an invocation in milliseconds."""
    cpu_ms: float = invocation["cpu"] * 1000 + CALL_CPU_MS * len(invocation["waits"])
    wait_ms = sum(
        CALL_LATENCY_MS.get(wait.partition(":")[2].removesuffix(" beside"), OTHER_CALL_LATENCY_MS)
        for wait in invocation["waits"]
    )
    endpoint_calls = int(invocation["messages"]) if invocation["function"] in _DELIVERY_FUNCTIONS else 0
    return cpu_ms / CPU_SHARE + wait_ms + ENDPOINT_LATENCY_MS * endpoint_calls


def total_ms(record: Record) -> float:
    """Return the total duration of all invocations in milliseconds."""
    return sum(map(invocation_ms, record["turns"]))


def log_bytes(invocation: Mapping[str, Any]) -> int:
    """Return the bytes that are logged for an invocation."""
    access_log_bytes = ACCESS_LOG_BYTES if invocation["function"] == _API_FUNCTION else 0
    return int(invocation["logged"]) + PLATFORM_LOG_BYTES + access_log_bytes


def sum_fields(record: Record, *names: str) -> float:
    """Return the sum of some fields over all invocations."""
    return float(sum(invocation[name] for invocation in record["turns"] for name in names))


def count_queue_requests(record: Record) -> int:
    """Return the billed requests of SQS: to send, to receive, to delete."""
    return int(sum_fields(record, "fifo", "standard")) + 2 * sum(
        bool(invocation["messages"]) for invocation in record["turns"]
    )
