"""From what was metered to dollars, by the prices and by what is assumed of what can't be measured here."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from benchmarks.costs import prices

Record = Mapping[str, Any]

MEMORY_GB: Final = 1.0
"""Reckoned of each function: 1,024 MB. Those that `.chalice/config.json` gives 512 take longer for the half."""

PROCESSORS: Final = 1024 / 1769
"""What share of a processor Lambda gives a function of that memory."""

WAIT_MS: Final[Mapping[str, float]] = {
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
"""Assumed: milliseconds until an answer is there, by the call."""

OTHER_WAIT_MS: Final = 25.0
"""Assumed: the same of every other call, which are those of S3."""

CALL_CPU_MS: Final = 0.5
"""Assumed: processor time of HTTP and TLS for each call, which memory needs none of."""

ENDPOINT_MS: Final = 100.0
"""Assumed: until a webhook's endpoint, or a channel's, has answered."""

PLATFORM_LOG_BYTES: Final = 350
"""Assumed: what Lambda itself logs of an invocation (START, END, REPORT)."""

ACCESS_LOG_BYTES: Final = 500
"""Assumed: a line of the gateway's access log."""

_FIFO: Final = ("events", "deliveries")
_DELIVERING: Final = ("deliveries", "deliveries_slow")
_API: Final = "api_handler"


@dataclass
class Dollars:
    """What one request costs, with the work behind it, by service."""

    gateway: float = 0
    functions: float = 0
    table: float = 0
    queues: float = 0
    logs: float = 0
    others: float = 0

    @property
    def total(self) -> float:
        """All of it."""
        return float(sum(getattr(self, field.name) for field in fields(self)))


def dollars(record: Record) -> Dollars:
    """Return what was metered in dollars."""
    of = Dollars()
    for turn in record["turns"]:
        by_api, taken = turn["function"] == _API, bool(turn["messages"])
        of.gateway += prices.API_REQUEST * by_api
        of.functions += prices.LAMBDA_REQUEST + turn_ms(turn) / 1000 * MEMORY_GB * prices.LAMBDA_GB_SECOND
        of.table += turn["read"] * prices.DYNAMODB_READ_UNIT
        of.table += (turn["written"] + turn["indexed"]) * prices.DYNAMODB_WRITE_UNIT
        # A batch is received once and deleted once.
        price = prices.SQS_FIFO if turn["function"] in _FIFO else prices.SQS_STANDARD
        of.queues += turn["fifo"] * prices.SQS_FIFO + turn["standard"] * prices.SQS_STANDARD + 2 * price * taken
        of.logs += log_bytes(turn) / 1e9 * prices.LOGS_GB
        of.others += turn["puts"] * prices.S3_PUT + turn["gets"] * prices.S3_GET
        of.others += turn["mails"] * prices.SES_MAIL + turn["keys"] * prices.KMS_REQUEST
    return of


def turn_ms(turn: Mapping[str, Any]) -> float:
    """Return how long an invocation lasts, in milliseconds."""
    cpu: float = turn["cpu"] * 1000 + CALL_CPU_MS * len(turn["waits"])
    waited = sum(WAIT_MS.get(wait.partition(":")[2].removesuffix(" beside"), OTHER_WAIT_MS) for wait in turn["waits"])
    endpoints = int(turn["messages"]) if turn["function"] in _DELIVERING else 0
    return cpu / PROCESSORS + waited + ENDPOINT_MS * endpoints


def all_ms(record: Record) -> float:
    """Return how long all invocations last together."""
    return sum(map(turn_ms, record["turns"]))


def log_bytes(turn: Mapping[str, Any]) -> int:
    """Return what is logged of an invocation."""
    lines = ACCESS_LOG_BYTES if turn["function"] == _API else 0
    return int(turn["logged"]) + PLATFORM_LOG_BYTES + lines


def sums(record: Record, *names: str) -> float:
    """Return the sum of what the invocations took."""
    return float(sum(turn[name] for turn in record["turns"] for name in names))


def queue_requests(record: Record) -> int:
    """Return the billed requests of SQS: to send, to receive, to delete."""
    return int(sums(record, "fifo", "standard")) + 2 * sum(bool(turn["messages"]) for turn in record["turns"])
