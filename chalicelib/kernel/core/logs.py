"""Structured logs: one record for each request, message and scheduled run, which also contains its metrics.

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


_current_record: Final[ContextVar[_LogRecord | None]] = ContextVar("log_record", default=None)
_current_request_ids: Final[ContextVar[tuple[str, ...]]] = ContextVar("request_ids", default=())
_record_counter: Final = count()


@cache
def powertools_logger() -> Logger:
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

    The log lines of Lambda itself, such as those about time-outs, contain no other id.
    """
    powertools_logger().thread_safe_append_keys(invocationId=invocation_id)


def add_fields(**fields: Any) -> None:
    """Add fields to the record of the current request or message."""
    if record := _current_record.get():
        record.fields.update(fields)


def add_metrics(**stage_metrics: float) -> None:
    """Add metrics of the stage to the current record: counts, or milliseconds for lags."""
    if record := _current_record.get():
        record.metrics.update(stage_metrics)


@contextmanager
def log_and_ignore_aws_errors(log_field_name: str) -> Iterator[None]:
    """Ignore the failure of an AWS call in the block, and add the reason to the record in the field `log_field_name`.

    Use it only for work that is repeated anyway. For example, the sweep finds tasks that could not be queued.
    """
    try:
        yield
    except aws.AWS_ERRORS as error:
        add_fields(**{log_field_name: error.code if isinstance(error, Problem) else type(error).__name__})


def add_request_ids(request_ids: Iterable[str]) -> None:
    """Add the ids of requests to the record of the work that they caused, up to a hundred.

    The record of a request stays unchanged, because it contains only the request's own id.
    """
    record = _current_record.get()
    if record is None or "requestId" in record.fields:
        return
    if ids := dict.fromkeys([*record.fields.get("requestIds", ()), *request_ids]):
        record.fields["requestIds"] = [*ids][:_MAX_REQUEST_IDS]


@contextmanager
def originating_request_ids_scope(*request_ids: str | None) -> Iterator[None]:
    """Add the ids of the requests that caused the block's work to its record and to the messages that it queues."""
    ids = tuple(filter(None, request_ids))
    add_request_ids(ids)
    token = _current_request_ids.set(ids)
    try:
        yield
    finally:
        _current_request_ids.reset(token)


def log_event(name: str, **fields: Any) -> None:
    """Write a separate record about something other than a request, message or scheduled run."""
    request_ids = _current_request_ids.get()
    powertools_logger().info(name, extra={"requestId": request_ids[0], **fields} if request_ids else fields)


def originating_request_ids() -> tuple[str, ...]:
    """Return the ids of the requests for which the current work is done. There are none for scheduled work."""
    return _current_request_ids.get()


@contextmanager
def write_log_record_of_block(kind: str, operation: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """Write one record about the block, with its duration and its AWS calls.

    A block that raises an exception is logged as an error with the traceback.
    """
    record = _LogRecord({"kind": kind, "operation": operation, **fields})
    log_fields, token, started_at = record.fields, _current_record.set(record), time.perf_counter()
    try:
        with aws.counting_aws_calls() as usage:
            yield log_fields
    except Exception as error:
        log_fields["error"] = type(error).__name__
        raise
    finally:
        _current_record.reset(token)
        latency = round((time.perf_counter() - started_at) * 1000, 1)
        failed = log_fields.get("status", 200) >= _SERVER_ERROR or "error" in log_fields
        log_fields |= {"awsCalls": len(usage.calls), "awsActions": Counter(usage.calls)}
        if next(_record_counter) == 0:
            log_fields["coldStart"] = True
        record_metrics = {"Latency": latency, "Errors": int(failed), "Throttles": usage.throttles}
        _write_record_or_only_metrics(
            log_fields, _build_metrics(log_fields["kind"], record_metrics, record.metrics), failed=failed
        )


def _write_record_or_only_metrics(fields: dict[str, Any], metrics: dict[str, Any], *, failed: bool) -> None:
    if failed or powertools_logger().log_level <= INFO:
        write = powertools_logger().error if failed else powertools_logger().info
        write(fields["kind"], extra=fields | metrics, exc_info="error" in fields)
    else:  # Alarms need the metrics at any log level.
        sys.stdout.write(json.dumps(metrics) + "\n")


def _build_metrics(
    kind: str, record_metrics: Mapping[str, float], stage_metrics: Mapping[str, float]
) -> dict[str, Any]:
    """Return the metrics in the Embedded Metric Format.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html.

    Powertools' own class takes as long as the rest of the record, and supports only one set of dimensions.
    """
    directives = [
        _build_metric_directive(["stage", "kind"], record_metrics),
        *([_build_metric_directive(["stage"], stage_metrics)] if stage_metrics else []),
    ]
    metadata = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": directives}
    return {"_aws": metadata, "stage": settings().stage, "kind": kind, **record_metrics, **stage_metrics}


def _build_metric_directive(dimensions: list[str], metrics: Mapping[str, float]) -> dict[str, Any]:
    units = [{"Name": name, "Unit": "Milliseconds" if name in _IN_MILLISECONDS else "Count"} for name in metrics]
    return {"Namespace": _NAMESPACE, "Dimensions": [dimensions], "Metrics": units}
