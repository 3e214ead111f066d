"""What is written about each request, message and tick: one structured line, which is its measures as well.

Powertools writes the line. Its measures stand in the same object (CloudWatch's Embedded Metric Format), so each is kept
and paid for once. docs/operations/logs.md says what every field means.

Never a secret, a body or a query: a line holds what is reported here, and nothing else.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from logging import INFO
from typing import Any, Final

from aws_lambda_powertools.logging import Logger
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings

_SERVICE: Final = "atrium"
_NAMESPACE: Final = "Atrium"
_SERVER_ERROR: Final = 500
_MOST_REQUESTS: Final = 100
_IN_MILLISECONDS: Final = frozenset({"Latency", "LedgerLag", "DueLag"})


@dataclass(frozen=True)
class _Line:
    facts: dict[str, Any]
    measures: dict[str, float] = field(default_factory=dict)


_line: Final[ContextVar[_Line | None]] = ContextVar("line", default=None)
_requests: Final[ContextVar[tuple[str, ...]]] = ContextVar("requests", default=())
_written: Final = count()


@cache
def logger() -> Logger:
    """Return the service's logger."""
    known = settings()
    return Logger(
        service=_SERVICE,
        level=known.log_level,
        location=None,
        use_rfc3339=True,
        utc=True,
        serialize_stacktrace=False,
        stage=known.stage,
    )


def name_invocation(invocation_id: str) -> None:
    """Let all lines in this context name Lambda's own request: its lines, as those of a time-out, name no other."""
    logger().thread_safe_append_keys(invocationId=invocation_id)


def add_fields(**facts: Any) -> None:
    """Add facts to the line of the request or message at hand."""
    if line := _line.get():
        line.facts.update(facts)


def add_metrics(**values: float) -> None:
    """Add measures of the stage to the line at hand: counts, or milliseconds if they are a lag."""
    if line := _line.get():
        line.measures.update(values)


@contextmanager
def best_effort(what: str) -> Iterator[None]:
    """Go on if AWS does not do what the block asks, for whatever reason: by the name `what` the line says why.

    It is for what is made up for elsewhere: what could not be queued is due, so the sweep finds it.
    """
    try:
        yield
    except (Problem, ClientError, BotoCoreError) as error:
        add_fields(**{what: error.code if isinstance(error, Problem) else type(error).__name__})


def add_request_ids(requests: Iterable[str]) -> None:
    """Let the line at hand name more requests that it is about, up to a hundred; a request's own names no other."""
    line = _line.get()
    if line is None or "requestId" in line.facts:
        return
    if named := dict.fromkeys([*line.facts.get("requestIds", ()), *requests]):
        line.facts["requestIds"] = [*named][:_MOST_REQUESTS]


@contextmanager
def correlate(*requests: str | None) -> Iterator[None]:
    """Let the line at hand name the requests that the block is done for, and what it queues tell them on."""
    named = tuple(filter(None, requests))
    add_request_ids(named)
    token = _requests.set(named)
    try:
        yield
    finally:
        _requests.reset(token)


def log_event(what: str, **facts: Any) -> None:
    """Write a line of its own about what is no request, message or tick, but was done for one."""
    request_ids = _requests.get()
    logger().info(what, extra={"requestId": request_ids[0], **facts} if request_ids else facts)


def current_request_ids() -> tuple[str, ...]:
    """Return the ids of the requests that the work at hand is done for; of what nobody asked for there are none."""
    return _requests.get()


@contextmanager
def log_scope(kind: str, operation: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """Write one line about the block, with how long it took and what it asked of AWS.

    A block that ends in an exception is an error, and its line holds the trace.
    """
    at_hand = _Line({"kind": kind, "operation": operation, **facts})
    known, token, began = at_hand.facts, _line.set(at_hand), time.perf_counter()
    try:
        with aws.count_calls() as usage:
            yield known
    except Exception as error:
        known["error"] = type(error).__name__
        raise
    finally:
        _line.reset(token)
        latency = round((time.perf_counter() - began) * 1000, 1)
        failed = known.get("status", 200) >= _SERVER_ERROR or "error" in known
        known |= {"awsCalls": len(usage.calls), "awsActions": Counter(usage.calls)}
        if next(_written) == 0:
            known["coldStart"] = True
        own = {"Latency": latency, "Errors": int(failed), "Throttles": usage.throttles}
        _write(known, _embedded(known["kind"], own, at_hand.measures), failed=failed)


def _write(facts: dict[str, Any], measures: dict[str, Any], *, failed: bool) -> None:
    if failed or logger().log_level <= INFO:
        write = logger().error if failed else logger().info
        write(facts["kind"], extra=facts | measures, exc_info="error" in facts)
    else:  # Whoever wants fewer lines still wants the alarms.
        sys.stdout.write(json.dumps(measures) + "\n")


def _embedded(kind: str, own: Mapping[str, float], stages: Mapping[str, float]) -> dict[str, Any]:
    """Return the measures in the Embedded Metric Format.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html.
    Made by hand: Powertools' class takes as long for it as for the rest of the line, and knows one set of dimensions.
    """
    directives = [_directive(["stage", "kind"], own), *([_directive(["stage"], stages)] if stages else [])]
    described = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": directives}
    return {"_aws": described, "stage": settings().stage, "kind": kind, **own, **stages}


def _directive(dimensions: list[str], values: Mapping[str, float]) -> dict[str, Any]:
    units = [{"Name": name, "Unit": "Milliseconds" if name in _IN_MILLISECONDS else "Count"} for name in values]
    return {"Namespace": _NAMESPACE, "Dimensions": [dimensions], "Metrics": units}
