"""What is written about each request and message: one structured line, and its measures (EMF), through Powertools.

Never a secret, a body or a query: a line holds what is reported here, and nothing else.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from chalicelib.kernel import aws
from chalicelib.kernel.settings import settings

_SERVICE: Final = "atrium"
_SERVER_ERROR: Final = 500
_facts: ContextVar[dict[str, Any] | None] = ContextVar("facts", default=None)


@cache
def logger() -> Logger:
    """Return the service's logger."""
    return Logger(service=_SERVICE, level=settings().log_level)


def report(**facts: Any) -> None:
    """Add facts to the line of the request or message at hand."""
    known = _facts.get()
    if known is not None:
        known.update(facts)


@contextmanager
def line(what: str, operation: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """Write one line about the block, with how long it took and what it asked of AWS; and measure it.

    A block that ends in an exception is an error, and its line holds the trace.
    """
    known: dict[str, Any] = {"operation": operation, **facts}
    token, began = _facts.set(known), time.perf_counter()
    try:
        with aws.counted() as usage:
            yield known
    except Exception as error:
        known["error"] = type(error).__name__
        raise
    finally:
        _facts.reset(token)
        duration = round((time.perf_counter() - began) * 1000, 1)
        known |= {"durationMs": duration, "awsCalls": usage.calls, "throttles": usage.throttles}
        failed = known.get("status", 200) >= _SERVER_ERROR or "error" in known
        (logger().error if failed else logger().info)(what, extra=known, exc_info="error" in known)
        measure(known["operation"], Latency=duration, Errors=int(failed), Throttles=usage.throttles)


def measure(operation: str, **values: float) -> None:
    """Write measures of an operation (CloudWatch Embedded Metric Format); Latency and LedgerLag in milliseconds."""
    metrics = EphemeralMetrics(namespace="Atrium", service=_SERVICE)
    metrics.add_dimension("operation", operation)
    for name, value in values.items():
        unit = MetricUnit.Milliseconds if name in ("Latency", "LedgerLag") else MetricUnit.Count
        metrics.add_metric(name=name, unit=unit, value=value)
    metrics.flush_metrics()
