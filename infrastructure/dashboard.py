"""The CloudWatch dashboard of a stage: requests, functions, table, queues and lags."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.alarms import Metric, api_metric, function_metric, queue_metric, service_metric, table_metric
from infrastructure.cfn import TEMPLATE_STAGE, sub
from infrastructure.data_stores import Resources
from infrastructure.resources import QUEUES

RECORD_KINDS: Final = ("request", "message", "schedule")

_WIDTH: Final = 8
_HEIGHT: Final = 6
_COLUMNS: Final = 24 // _WIDTH


def dashboard_resource(functions: Iterable[str]) -> Resources:
    """Return the dashboard as a template resource. `functions`: the names of the app's functions."""
    widgets = [
        _widget(title, metrics, number) for number, (title, metrics) in enumerate(define_graphs([*functions]).items())
    ]
    body = json.dumps({"start": "-PT6H", "widgets": widgets}, separators=(",", ":"))
    properties = {"DashboardName": sub(TEMPLATE_STAGE.prefix), "DashboardBody": sub(body)}
    return {"Dashboard": {"Type": "AWS::CloudWatch::Dashboard", "Properties": properties}}


def define_graphs(functions: list[str]) -> Mapping[str, list[Metric]]:
    """Return the metrics of each graph by its title."""
    dead = [dead_letter_queue_name(name) for name in QUEUES]
    return {
        "Requests": [api_metric("Count", "Sum"), api_metric("4XXError", "Sum"), api_metric("5XXError", "Sum")],
        "Latency of requests, ms": [
            api_metric("Latency", "p50"),
            api_metric("Latency", "p99"),
            api_metric("IntegrationLatency", "p99"),
        ],
        "Errors by kind": [service_metric("Errors", "Sum", kind) for kind in RECORD_KINDS],
        "Lags, ms": [
            service_metric("LedgerLag", "p99"),
            service_metric("LedgerLag", "Maximum"),
            service_metric("DueLag", "Maximum"),
        ],
        "Oldest message, s": [queue_metric(name, "ApproximateAgeOfOldestMessage") for name in QUEUES],
        "Dead letters": [queue_metric(name, "ApproximateNumberOfMessagesVisible") for name in dead],
        "Messages waiting": [queue_metric(name, "ApproximateNumberOfMessagesVisible") for name in QUEUES],
        "Invocations": [function_metric(name, "Invocations") for name in functions],
        "Concurrent executions": [function_metric(name, "ConcurrentExecutions", "Maximum") for name in functions],
        "Errors and throttles of functions": [
            function_metric(name, metric) for metric in ("Errors", "Throttles") for name in functions
        ],
        "Capacity of the table": [
            table_metric("ConsumedReadCapacityUnits"),
            table_metric("ConsumedWriteCapacityUnits"),
        ],
        "Throttles counted by the service": [service_metric("Throttles", "Sum", kind) for kind in RECORD_KINDS],
    }


def _widget(title: str, metrics: list[Metric], number: int) -> dict[str, Any]:
    row, column = divmod(number, _COLUMNS)
    statistics = {metric.statistic for metric in metrics}
    common = {"stat": statistics.pop()} if len(statistics) == 1 else {}
    return {
        "type": "metric",
        "x": column * _WIDTH,
        "y": row * _HEIGHT,
        "width": _WIDTH,
        "height": _HEIGHT,
        "properties": {
            "title": title,
            "region": TEMPLATE_STAGE.region,
            **common,
            "metrics": [
                [*_metric_row(metric, former), *([] if common else [{"stat": metric.statistic}])]
                for metric, former in zip(metrics, [None, *metrics[:-1]], strict=True)
            ],
        },
    }


def _metric_row(metric: Metric, former: Metric | None) -> list[str]:
    """Return a metric as in dashboard JSON, where a dot repeats the value of the previous metric."""
    words = _metric_values(metric)
    return [("." if former and word == _metric_values(former)[at] else word) for at, word in enumerate(words)]


def _metric_values(metric: Metric) -> list[str]:
    return [metric.namespace, metric.name, *(part for pair in metric.dimensions.items() for part in pair)]
