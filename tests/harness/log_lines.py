"""The lines that the service writes, as its log keeps them."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from chalicelib.kernel.core.logs import logger

Json = dict[str, Any]

UNSPEAKABLE: Final = re.compile(
    r"Bearer |whsec_|\beyJ|PRIVATE KEY|Authorization|[\w.+-]+@[\w-]+\.[a-z]{2,}|token=", re.IGNORECASE
)
"""What no line holds: credentials, secrets, addresses of people, links with a token in them."""


class _Keeping(logging.Handler):
    def __init__(self, lines: list[Json]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(json.loads(logger().registered_formatter.format(record)))


@contextmanager
def written() -> Iterator[list[Json]]:
    """Give a list that each line of the block is added to."""
    lines: list[Json] = []
    handler, service = _Keeping(lines), logging.getLogger(logger().name)
    service.addHandler(handler)
    try:
        yield lines
    finally:
        service.removeHandler(handler)


def measures(line: Json, *dimensions: str) -> Json:
    """Return what CloudWatch measures by a line with these dimensions, by its Embedded Metric Format."""
    directives = line["_aws"]["CloudWatchMetrics"]
    found = [one for one in directives if one["Dimensions"] == [[*dimensions]] and one["Namespace"] == "Atrium"]
    return {metric["Name"]: line[metric["Name"]] for one in found for metric in one["Metrics"]}
