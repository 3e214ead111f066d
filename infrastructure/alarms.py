"""The CloudWatch alarms of a stage. docs/operations/running.md describes what to do about each.

Rates require a minimum number of failures, so that a single failure at night raises no alarm. Missing data is healthy,
except for schedules, which always report data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from infrastructure.cfn import HERE, ref, sub, titled
from infrastructure.data_stores import Resources
from infrastructure.gateway import THROTTLE
from infrastructure.resources import INDEX_KEYS, QUEUES, dead_letter_queue, queue_name

MINUTE: Final = 60
FIVE_MINUTES: Final = 300
HOUR: Final = 3600

OLDEST_SECONDS: Final = {"events.fifo": 120, "deliveries.fifo": 900, "deliveries-slow": 900, "jobs": 3600}
"""Maximum age of a message in each queue. In `jobs`, a message can be delayed by 15 minutes and run as long."""

_ONCE_A_WHILE: Final = ("anchor", "migrate")
_CALLS: Final = ("BatchGetItem", "Query", "TransactWriteItems")
"""The calls that requests consist of."""

_PERCENT: Final = "IF(failed >= 5, 100 * failed / all, 0)"


@dataclass(frozen=True)
class Metric:
    """A statistic of a CloudWatch metric. Its dimensions can contain variables that `sub` substitutes."""

    namespace: str
    name: str
    statistic: str
    dimensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Alarm:
    """An alarm on more than `threshold` (less if `below`) in `times` of `window` periods of `period` seconds.

    `expression` combines several metrics by their names in `metrics`.
    """

    means: str
    metrics: Mapping[str, Metric]
    threshold: float
    expression: str = ""
    period: int = MINUTE
    times: int = 1
    window: int = 1
    below: bool = False
    missing: str = "notBreaching"
    condition: str = ""


def alarms(functions: Iterable[str]) -> Resources:
    """Return the alarms as template resources. `functions`: the names of the app's functions."""
    return {f"{titled(name)}Alarm": _resource(name, alarm) for name, alarm in known_alarms([*functions]).items()}


def known_alarms(functions: list[str]) -> Mapping[str, Alarm]:
    """Return all alarms by their names without the stage's prefix."""
    return {**_of_api(), **_of_functions(functions), **_of_table(), **_of_queues(), **_of_work(), **_of_mail()}


def api(name: str, statistic: str) -> Metric:
    """Return a metric of the API."""
    return Metric("AWS/ApiGateway", name, statistic, {"ApiName": "atrium", "Stage": HERE.name})


def function(of: str, name: str, statistic: str = "Sum") -> Metric:
    """Return a metric of one of the app's functions."""
    return Metric("AWS/Lambda", name, statistic, {"FunctionName": HERE.function(of)})


def queue(of: str, name: str) -> Metric:
    """Return the maximum of a metric of a queue."""
    return Metric("AWS/SQS", name, "Maximum", {"QueueName": queue_name(HERE.prefix, of)})


def table(name: str, **more: str) -> Metric:
    """Return a metric of the table, or of one of its indexes or operations."""
    return Metric("AWS/DynamoDB", name, "Sum", {"TableName": HERE.prefix, **more})


def ours(name: str, statistic: str, kind: str = "") -> Metric:
    """Return a metric that the service writes itself, optionally only for one kind of log record."""
    return Metric("Atrium", name, statistic, {"stage": HERE.name, **({"kind": kind} if kind else {})})


def _of_api() -> dict[str, Alarm]:
    most = THROTTLE["ThrottlingRateLimit"]
    return {
        "api-5xx": Alarm(
            "More than 1 % of requests, and at least 5, failed with a server error.",
            {"failed": api("5XXError", "Sum"), "all": api("Count", "Sum")},
            1,
            _PERCENT,
            FIVE_MINUTES,
        ),
        "api-latency": Alarm(
            "The slowest 1 % of at least 100 requests in 5 minutes took more than 3 s.",
            {"p99": api("Latency", "p99"), "all": api("Count", "Sum")},
            3000,
            "IF(all >= 100, p99, 0)",
            FIVE_MINUTES,
            times=3,
            window=3,
        ),
        "api-near-limit": Alarm(
            f"Traffic exceeds 80 % of the API's limit of {most} requests per second.",
            {"all": api("Count", "Sum")},
            0.8 * most * MINUTE,
        ),
    }


def _of_functions(functions: list[str]) -> dict[str, Alarm]:
    throttled = {f"f{number}": function(name, "Throttles") for number, name in enumerate(functions)}
    return {
        "functions-throttled": Alarm(
            "Lambda throttled a function: its reserved or the account's concurrency is exhausted.",
            throttled,
            0,
            _sum(throttled),
            FIVE_MINUTES,
        ),
        **{_errors(name): _of_errors(name) for name in functions},
    }


def _errors(name: str) -> str:
    return f"errors-{name.removesuffix('_handler').replace('_', '-')}"


def _of_errors(name: str) -> Alarm:
    means = f"The function {name} crashed, exceeded its time or memory, or did not start."
    times, window = (1, 1) if name in _ONCE_A_WHILE else (2, 3)
    return Alarm(means, {"errors": function(name, "Errors")}, 0, period=FIVE_MINUTES, times=times, window=window)


def _of_table() -> dict[str, Alarm]:
    events = ("ReadThrottleEvents", "WriteThrottleEvents")
    indexes = [table("WriteThrottleEvents", GlobalSecondaryIndexName=index) for index in INDEX_KEYS]
    # Only queries read indexes. This metric covers the table and all indexes, because an expression cannot contain
    # enough metrics for one per index. A throttled query of the table counts twice.
    queries = table("ThrottledRequests", Operation="Query")
    throttled = {f"t{number}": metric for number, metric in enumerate([*map(table, events), *indexes, queries])}
    failed = {f"c{number}": table("SystemErrors", Operation=call) for number, call in enumerate(_CALLS)}
    return {
        "table-throttled": Alarm(
            "DynamoDB repeatedly throttled reads or writes of the table or an index.",
            throttled,
            10,
            _sum(throttled),
            FIVE_MINUTES,
            times=2,
            window=3,
        ),
        "table-errors": Alarm(
            "DynamoDB returned server errors.", failed, 10, _sum(failed), FIVE_MINUTES, times=2, window=3
        ),
    }


def _of_queues() -> dict[str, Alarm]:
    found = {}
    for name in QUEUES:
        short, seconds = name.removesuffix(".fifo"), OLDEST_SECONDS[name]
        found[f"oldest-{short}"] = Alarm(
            f"A message is in the queue {short} for more than {seconds} s.",
            {"age": queue(name, "ApproximateAgeOfOldestMessage")},
            seconds,
            times=3,
            window=3,
        )
        found[f"dead-letters-{short}"] = Alarm(
            f"A message of the queue {short} failed at every attempt.",
            {"waiting": queue(dead_letter_queue(name), "ApproximateNumberOfMessagesVisible")},
            0,
            missing="ignore",  # SQS stops reporting an unused queue after hours; its messages remain.
        )
    return found


def _of_work() -> dict[str, Alarm]:
    failed = {"failed": ours("Errors", "Sum", "message"), "all": ours("Errors", "SampleCount", "message")}
    return {
        "messages-failing": Alarm(
            "More than 10 % of the messages in all queues, and at least 5, fail.",
            failed,
            10,
            _PERCENT,
            FIVE_MINUTES,
            times=2,
            window=3,
        ),
        "ledger-lag": Alarm(
            "A committed entry waited more than 2 minutes to be appended to its log.",
            {"lag": ours("LedgerLag", "Maximum")},
            120_000,
            times=3,
            window=5,
        ),
        "due-lag": Alarm(
            "A scheduled task is overdue by more than 5 minutes.",
            {"lag": ours("DueLag", "Maximum")},
            300_000,
            times=3,
            window=3,
        ),
        "sweep-missing": Alarm(
            "No sweep completed for 5 minutes. Scheduled tasks do not run, and lost messages are not recovered.",
            {"sweeps": ours("DueLag", "SampleCount")},
            1,
            times=5,
            window=5,
            below=True,
            missing="breaching",
        ),
        "anchor-missing": Alarm(
            "The function that anchors the logs was not invoked for 3 hours.",
            {"runs": function("anchor", "Invocations")},
            1,
            period=HOUR,
            times=3,
            window=3,
            below=True,
            missing="breaching",
        ),
        "forged-entries": Alarm(
            "An entry in an outbox was not committed by the service. It was quarantined.",
            {"forged": ours("ForgedEntries", "Sum")},
            0,
            period=FIVE_MINUTES,
        ),
        "anchors-refused": Alarm(
            "A log is inconsistent with its last anchor: it was truncated, forked or altered.",
            {"refused": ours("AnchorsRefused", "Sum")},
            0,
            period=HOUR,
        ),
    }


def _of_mail() -> dict[str, Alarm]:
    words: dict[str, Any] = {"period": HOUR, "missing": "ignore", "condition": "SendsMail"}
    return {
        "mail-bounces": Alarm(
            "More than 5 % of the account's mail bounces. At 10 %, SES can suspend sending.",
            {"rate": Metric("AWS/SES", "Reputation.BounceRate", "Average")},
            0.05,
            **words,
        ),
        "mail-complaints": Alarm(
            "More than 0.1 % of the account's mail is reported as spam. At 0.5 %, SES can suspend sending.",
            {"rate": Metric("AWS/SES", "Reputation.ComplaintRate", "Average")},
            0.001,
            **words,
        ),
    }


def _sum(metrics: Mapping[str, Metric]) -> str:
    return f"SUM([{','.join(metrics)}])"  # Unlike +, SUM treats missing data as 0.


def _resource(name: str, alarm: Alarm) -> dict[str, Any]:
    properties = {
        "AlarmName": sub(f"{HERE.prefix}-{name}"),
        "AlarmDescription": alarm.means,  # docs/operations/running.md has a section with this name.
        "AlarmActions": [ref("Alarms")],
        "OKActions": [ref("Alarms")],
        "ComparisonOperator": "LessThanThreshold" if alarm.below else "GreaterThanThreshold",
        "Threshold": alarm.threshold,
        "EvaluationPeriods": alarm.window,
        **({"DatapointsToAlarm": alarm.times} if alarm.times < alarm.window else {}),
        "TreatMissingData": alarm.missing,
        **_measured(alarm),
    }
    condition = {"Condition": alarm.condition} if alarm.condition else {}
    return {"Type": "AWS::CloudWatch::Alarm", **condition, "Properties": properties}


def _measured(alarm: Alarm) -> dict[str, Any]:
    if not alarm.expression:
        (metric,) = alarm.metrics.values()
        return {**_named(metric), "Statistic": metric.statistic, "Period": alarm.period}
    stats = [
        {
            "Id": name,
            "ReturnData": False,
            "MetricStat": {"Metric": _named(metric), "Stat": metric.statistic, "Period": alarm.period},
        }
        for name, metric in alarm.metrics.items()
    ]
    return {"Metrics": [{"Id": "result", "Expression": alarm.expression}, *stats]}


def _named(metric: Metric) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": _filled(value)} for name, value in metric.dimensions.items()]
    return {"Namespace": metric.namespace, "MetricName": metric.name, "Dimensions": dimensions}


def _filled(value: str) -> Any:
    if value == HERE.name:
        return ref("Stage")
    return sub(value) if "$" in value else value
