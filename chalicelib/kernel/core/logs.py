"""Structured logs: one record for each request, message and tick, which also contains its metrics.

Powertools writes the records. The metrics are in the same object (CloudWatch's Embedded Metric Format), so each record
is stored and paid for once. docs/operations/logs.md describes all fields.

Records contain only the fields that are added here, and never secrets, bodies or queries.
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
_MAX_REQUEST_IDS: Final = 100
_IN_MILLISECONDS: Final = frozenset({"Latency", "LedgerLag", "DueLag"})


@dataclass(frozen=True)
class _LogRecord:
    fields: dict[str, Any]
    metrics: dict[str, float] = field(default_factory=dict)


_current_record: Final[ContextVar[_LogRecord | None]] = ContextVar("line", default=None)
_current_request_ids: Final[ContextVar[tuple[str, ...]]] = ContextVar("requests", default=())
_record_counter: Final = count()


@cache
def logger() -> Logger:
    """Return the service's logger."""
    config = settings()
    return Logger(
        service=_SERVICE,
        level=config.log_level,
        location=None,
        use_rfc3339=True,
        utc=True,
        serialize_stacktrace=False,
        stage=config.stage,
    )


def add_invocation_id(invocation_id: str) -> None:
    """Add the id of Lambda's invocation to all records in this context.

    Lambda's own lines, such as for time-outs, have only this id.
    """
    logger().thread_safe_append_keys(invocationId=invocation_id)


def add_fields(**facts: Any) -> None:
    """Add fields to the record of the current request or message."""
    if line := _current_record.get():
        line.fields.update(facts)


def add_metrics(**values: float) -> None:
    """Add metrics of the stage to the current record: counts, or milliseconds for lags."""
    if line := _current_record.get():
        line.metrics.update(values)


@contextmanager
def best_effort(field_name: str) -> Iterator[None]:
    """Continue if an AWS call in the block fails, and add the reason to the record in `field_name`.

    Use it only if the work is repeated otherwise. For example, the sweep finds tasks that could not be queued.
    """
    try:
        yield
    except (Problem, ClientError, BotoCoreError) as error:
        add_fields(**{field_name: error.code if isinstance(error, Problem) else type(error).__name__})


def add_request_ids(request_ids: Iterable[str]) -> None:
    """Add the ids of the requests behind the current record, up to a hundred. Records of requests have one."""
    line = _current_record.get()
    if line is None or "requestId" in line.fields:
        return
    if named := dict.fromkeys([*line.fields.get("requestIds", ()), *request_ids]):
        line.fields["requestIds"] = [*named][:_MAX_REQUEST_IDS]


@contextmanager
def correlate(*request_ids: str | None) -> Iterator[None]:
    """Add the ids of the requests that caused the block to its record, and to the messages that it queues."""
    named = tuple(filter(None, request_ids))
    add_request_ids(named)
    token = _current_request_ids.set(named)
    try:
        yield
    finally:
        _current_request_ids.reset(token)


def log_event(name: str, **facts: Any) -> None:
    """Write a separate record about something other than a request, message or tick."""
    request_ids = _current_request_ids.get()
    logger().info(name, extra={"requestId": request_ids[0], **facts} if request_ids else facts)


def current_request_ids() -> tuple[str, ...]:
    """Return the ids of the requests for which the current work is done. They are empty for scheduled work."""
    return _current_request_ids.get()


@contextmanager
def log_scope(kind: str, operation: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """Write one record about the block, with its duration and its AWS calls.

    A block that raises an exception is logged as an error with the traceback.
    """
    at_hand = _LogRecord({"kind": kind, "operation": operation, **facts})
    known, token, began = at_hand.fields, _current_record.set(at_hand), time.perf_counter()
    try:
        with aws.count_calls() as usage:
            yield known
    except Exception as error:
        known["error"] = type(error).__name__
        raise
    finally:
        _current_record.reset(token)
        latency = round((time.perf_counter() - began) * 1000, 1)
        failed = known.get("status", 200) >= _SERVER_ERROR or "error" in known
        known |= {"awsCalls": len(usage.calls), "awsActions": Counter(usage.calls)}
        if next(_record_counter) == 0:
            known["coldStart"] = True
        own = {"Latency": latency, "Errors": int(failed), "Throttles": usage.throttles}
        _write(known, _build_metrics(known["kind"], own, at_hand.metrics), failed=failed)


def _write(facts: dict[str, Any], measures: dict[str, Any], *, failed: bool) -> None:
    if failed or logger().log_level <= INFO:
        write = logger().error if failed else logger().info
        write(facts["kind"], extra=facts | measures, exc_info="error" in facts)
    else:  # Alarms need the metrics at any log level.
        sys.stdout.write(json.dumps(measures) + "\n")


def _build_metrics(
    kind: str, record_metrics: Mapping[str, float], stage_metrics: Mapping[str, float]
) -> dict[str, Any]:
    """Return the metrics in the Embedded Metric Format.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html.

    Powertools' own class takes as long as the rest of the record, and supports only one set of dimensions.
    """
    directives = [
        _directive(["stage", "kind"], record_metrics),
        *([_directive(["stage"], stage_metrics)] if stage_metrics else []),
    ]
    described = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": directives}
    return {"_aws": described, "stage": settings().stage, "kind": kind, **record_metrics, **stage_metrics}


def _directive(dimensions: list[str], values: Mapping[str, float]) -> dict[str, Any]:
    units = [{"Name": name, "Unit": "Milliseconds" if name in _IN_MILLISECONDS else "Count"} for name in values]
    return {"Namespace": _NAMESPACE, "Dimensions": [dimensions], "Metrics": units}
