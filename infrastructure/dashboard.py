"""The CloudWatch dashboard of a stage: requests, functions, table, queues and lags."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from infrastructure.alarms import Metric, api, function, ours, queue, table
from infrastructure.cfn import HERE, sub
from infrastructure.data_stores import Resources
from infrastructure.resources import QUEUES, dead_letter_queue

KINDS: Final = ("request", "message", "schedule")

_WIDTH: Final = 8
_HEIGHT: Final = 6
_COLUMNS: Final = 24 // _WIDTH


def dashboard(functions: Iterable[str]) -> Resources:
    """Return the dashboard as a template resource. `functions`: the names of the app's functions."""
    widgets = [
        _widget(title, metrics, number) for number, (title, metrics) in enumerate(known_graphs([*functions]).items())
    ]
    body = json.dumps({"start": "-PT6H", "widgets": widgets}, separators=(",", ":"))
    properties = {"DashboardName": sub(HERE.prefix), "DashboardBody": sub(body)}
    return {"Dashboard": {"Type": "AWS::CloudWatch::Dashboard", "Properties": properties}}


def known_graphs(functions: list[str]) -> Mapping[str, list[Metric]]:
    """Return the metrics of each graph by its title."""
    dead = [dead_letter_queue(name) for name in QUEUES]
    return {
        "Requests": [api("Count", "Sum"), api("4XXError", "Sum"), api("5XXError", "Sum")],
        "Latency of requests, ms": [api("Latency", "p50"), api("Latency", "p99"), api("IntegrationLatency", "p99")],
        "Errors by kind": [ours("Errors", "Sum", kind) for kind in KINDS],
        "Lags, ms": [ours("LedgerLag", "p99"), ours("LedgerLag", "Maximum"), ours("DueLag", "Maximum")],
        "Oldest message, s": [queue(name, "ApproximateAgeOfOldestMessage") for name in QUEUES],
        "Dead letters": [queue(name, "ApproximateNumberOfMessagesVisible") for name in dead],
        "Messages waiting": [queue(name, "ApproximateNumberOfMessagesVisible") for name in QUEUES],
        "Invocations": [function(name, "Invocations") for name in functions],
        "Concurrent executions": [function(name, "ConcurrentExecutions", "Maximum") for name in functions],
        "Errors and throttles of functions": [
            function(name, metric) for metric in ("Errors", "Throttles") for name in functions
        ],
        "Capacity of the table": [table("ConsumedReadCapacityUnits"), table("ConsumedWriteCapacityUnits")],
        "Throttles counted by the service": [ours("Throttles", "Sum", kind) for kind in KINDS],
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
            "region": HERE.region,
            **common,
            "metrics": [
                [*_named(metric, former), *([] if common else [{"stat": metric.statistic}])]
                for metric, former in zip(metrics, [None, *metrics[:-1]], strict=True)
            ],
        },
    }


def _named(metric: Metric, former: Metric | None) -> list[str]:
    """Return a metric as in dashboard JSON, where a dot repeats the value of the previous metric."""
    words = _words(metric)
    return [("." if former and word == _words(former)[at] else word) for at, word in enumerate(words)]


def _words(metric: Metric) -> list[str]:
    return [metric.namespace, metric.name, *(part for pair in metric.dimensions.items() for part in pair)]
