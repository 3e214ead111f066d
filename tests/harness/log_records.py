"""Captures the log records of the service."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from chalicelib.kernel.core.logs import powertools_logger

Json = dict[str, Any]

SECRET_PATTERN: Final = re.compile(
    r"\beyJ|(?i:Bearer |whsec_|PRIVATE KEY|Authorization|[\w.+-]+@[\w-]+\.[a-z]{2,}|token=)"
)
"""What no log record may contain: credentials, secrets, e-mail addresses and links with tokens."""


class _CapturingHandler(logging.Handler):
    def __init__(self, records: list[Json]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(json.loads(powertools_logger().registered_formatter.format(record)))


@contextmanager
def capture_log_records() -> Iterator[list[Json]]:
    """Yield a list to which every log record of the block is appended."""
    records: list[Json] = []
    handler, service = _CapturingHandler(records), logging.getLogger(powertools_logger().name)
    service.addHandler(handler)
    try:
        yield records
    finally:
        service.removeHandler(handler)


def embedded_metrics(log_record: Json, *dimensions: str) -> Json:
    """Return the values of the metrics with these dimensions in a log record (CloudWatch Embedded Metric Format)."""
    directives = log_record["_aws"]["CloudWatchMetrics"]
    matching = [
        directive
        for directive in directives
        if directive["Dimensions"] == [[*dimensions]] and directive["Namespace"] == "Atrium"
    ]
    return {metric["Name"]: log_record[metric["Name"]] for directive in matching for metric in directive["Metrics"]}
