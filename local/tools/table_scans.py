"""Scans of the table by operators' commands, which leave read capacity for requests."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings

MAX_SCANNED_UNITS_PER_SECOND: Final = 1_000
"""Read units that a scan uses per second, by default: 4 MB. A partition of the table has 3,000."""


@dataclass
class RateLimit:
    """A limit of reads per second. Time that passes without reads does not allow more of them later."""

    max_per_second: float
    _waited_until: float = field(default_factory=time.monotonic)

    def wait_after(self, count: float) -> None:
        """Sleep until the next reads are allowed. `count`: the reads since the last call."""
        time.sleep(max(0, count / self.max_per_second - (time.monotonic() - self._waited_until)))
        self._waited_until = time.monotonic()


def iter_scanned_items(
    parameters: Mapping[str, Any], *, max_units_per_second: float = MAX_SCANNED_UNITS_PER_SECOND
) -> Iterator[dict[str, Any]]:
    """Yield the items of a consistent scan of the table as DynamoDB's JSON, within a limit of read units per second.

    `parameters`: those of the scan, without the table.
    """
    options = {"TableName": settings().table_name, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
    limit = RateLimit(max_units_per_second)
    for page in aws.client("dynamodb").get_paginator("scan").paginate(**options, **parameters):
        yield from page["Items"]
        limit.wait_after(page["ConsumedCapacity"]["CapacityUnits"])
