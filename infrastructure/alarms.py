"""What wakes somebody up: each alarm, with what it means. docs/operations/running.md says what to do about it.

A rate has a floor of what it is made of: one failure of two requests at night is no alarm. Where nothing is measured,
nothing is wrong, but for schedules, which always measure.
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
"""How old a message of each queue may get. One of `jobs` may be held back for 15 minutes, and take as long."""

_ONCE_A_WHILE: Final = ("anchor", "migrate")
_CALLS: Final = ("BatchGetItem", "Query", "TransactWriteItems")
"""What requests are made of."""

_PERCENT: Final = "IF(failed >= 5, 100 * failed / all, 0)"


@dataclass(frozen=True)
class Metric:
    """A statistic of a metric of CloudWatch; names in its dimensions may hold what `sub` fills in."""

    namespace: str
    name: str
    statistic: str
    dimensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Alarm:
    """When more than `threshold` (or less, if `below`) is measured in `times` of `window` periods, of so many seconds.

    Several metrics are put together by the expression, by their names.
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
    """Return the alarms as resources of the template; `functions` are the app's."""
    return {f"{titled(name)}Alarm": _resource(name, alarm) for name, alarm in known_alarms([*functions]).items()}


def known_alarms(functions: list[str]) -> Mapping[str, Alarm]:
    """Return all alarms by their names, to which the stage's prefix is put."""
    return {**_of_api(), **_of_functions(functions), **_of_table(), **_of_queues(), **_of_work(), **_of_mail()}


def api(name: str, statistic: str) -> Metric:
    """Return a metric of the API."""
    return Metric("AWS/ApiGateway", name, statistic, {"ApiName": "atrium", "Stage": HERE.name})


def function(of: str, name: str, statistic: str = "Sum") -> Metric:
    """Return a metric of one of the app's functions."""
    return Metric("AWS/Lambda", name, statistic, {"FunctionName": HERE.function(of)})


def queue(of: str, name: str) -> Metric:
    """Return a metric of a queue: at its greatest."""
    return Metric("AWS/SQS", name, "Maximum", {"QueueName": queue_name(HERE.prefix, of)})


def table(name: str, **more: str) -> Metric:
    """Return a metric of the table, or of one of its indexes or operations."""
    return Metric("AWS/DynamoDB", name, "Sum", {"TableName": HERE.prefix, **more})


def ours(name: str, statistic: str, kind: str = "") -> Metric:
    """Return a measure that the service writes itself: of the stage, or of one kind of its lines."""
    return Metric("Atrium", name, statistic, {"stage": HERE.name, **({"kind": kind} if kind else {})})


def _of_api() -> dict[str, Alarm]:
    most = THROTTLE["ThrottlingRateLimit"]
    return {
        "api-5xx": Alarm(
            "More than 1 % of requests failed for a reason of ours, and at least 5.",
            {"failed": api("5XXError", "Sum"), "all": api("Count", "Sum")},
            1,
            _PERCENT,
            FIVE_MINUTES,
        ),
        "api-latency": Alarm(
            "The slowest 1 % of requests took more than 3 s, of at least 100 in 5 minutes.",
            {"p99": api("Latency", "p99"), "all": api("Count", "Sum")},
            3000,
            "IF(all >= 100, p99, 0)",
            FIVE_MINUTES,
            times=3,
            window=3,
        ),
        "api-near-limit": Alarm(
            f"More than 80 % of the {most} requests a second that the API lets through.",
            {"all": api("Count", "Sum")},
            0.8 * most * MINUTE,
        ),
    }


def _of_functions(functions: list[str]) -> dict[str, Alarm]:
    throttled = {f"f{number}": function(name, "Throttles") for number, name in enumerate(functions)}
    return {
        "functions-throttled": Alarm(
            "Lambda refused to run a function: the account, or what is reserved for it, is used up.",
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
    means = f"The function {name} crashed, ran out of time or memory, or did not start."
    times, window = (1, 1) if name in _ONCE_A_WHILE else (2, 3)
    return Alarm(means, {"errors": function(name, "Errors")}, 0, period=FIVE_MINUTES, times=times, window=window)


def _of_table() -> dict[str, Alarm]:
    events = ("ReadThrottleEvents", "WriteThrottleEvents")
    indexes = [table("WriteThrottleEvents", GlobalSecondaryIndexName=index) for index in INDEX_KEYS]
    # Nothing but queries reads an index, and this is of the table and its indexes in one: a metric for the reads of
    # each would be more than a formula may have. A query of the table counts twice.
    queries = table("ThrottledRequests", Operation="Query")
    throttled = {f"t{number}": metric for number, metric in enumerate([*map(table, events), *indexes, queries])}
    failed = {f"c{number}": table("SystemErrors", Operation=call) for number, call in enumerate(_CALLS)}
    return {
        "table-throttled": Alarm(
            "DynamoDB put off reads or writes of the table or of an index, again and again.",
            throttled,
            10,
            _sum(throttled),
            FIVE_MINUTES,
            times=2,
            window=3,
        ),
        "table-errors": Alarm("DynamoDB itself fails.", failed, 10, _sum(failed), FIVE_MINUTES, times=2, window=3),
    }


def _of_queues() -> dict[str, Alarm]:
    found = {}
    for name in QUEUES:
        short, seconds = name.removesuffix(".fifo"), OLDEST_SECONDS[name]
        found[f"oldest-{short}"] = Alarm(
            f"A message waits in the queue {short} for more than {seconds} s.",
            {"age": queue(name, "ApproximateAgeOfOldestMessage")},
            seconds,
            times=3,
            window=3,
        )
        found[f"dead-letters-{short}"] = Alarm(
            f"A message of the queue {short} was tried in vain and put aside.",
            {"waiting": queue(dead_letter_queue(name), "ApproximateNumberOfMessagesVisible")},
            0,
            missing="ignore",  # SQS stops measuring a queue that nobody touches for hours; its letters still wait.
        )
    return found


def _of_work() -> dict[str, Alarm]:
    failed = {"failed": ours("Errors", "Sum", "message"), "all": ours("Errors", "SampleCount", "message")}
    return {
        "messages-failing": Alarm(
            "More than 10 % of the messages of all queues fail, and at least 5. They are tried again, then put aside.",
            failed,
            10,
            _PERCENT,
            FIVE_MINUTES,
            times=2,
            window=3,
        ),
        "ledger-lag": Alarm(
            "A committed entry waited for its place in its log for more than 2 minutes.",
            {"lag": ours("LedgerLag", "Maximum")},
            120_000,
            times=3,
            window=5,
        ),
        "due-lag": Alarm(
            "Something is overdue by more than 5 minutes.",
            {"lag": ours("DueLag", "Maximum")},
            300_000,
            times=3,
            window=3,
        ),
        "sweep-missing": Alarm(
            "The sweep did not come to its end for 5 minutes: what was lost is not found, what is due does not happen.",
            {"sweeps": ours("DueLag", "SampleCount")},
            1,
            times=5,
            window=5,
            below=True,
            missing="breaching",
        ),
        "anchor-missing": Alarm(
            "For 3 hours the function that has the logs anchored was not called.",
            {"runs": function("anchor", "Invocations")},
            1,
            period=HOUR,
            times=3,
            window=3,
            below=True,
            missing="breaching",
        ),
        "forged-entries": Alarm(
            "Something lay in a log's outbox that no function of the service had committed, and was set aside.",
            {"forged": ours("ForgedEntries", "Sum")},
            0,
            period=FIVE_MINUTES,
        ),
        "anchors-refused": Alarm(
            "A log does not lead on from its last anchor: it was cut off, forked or altered.",
            {"refused": ours("AnchorsRefused", "Sum")},
            0,
            period=HOUR,
        ),
    }


def _of_mail() -> dict[str, Alarm]:
    words: dict[str, Any] = {"period": HOUR, "missing": "ignore", "condition": "SendsMail"}
    return {
        "mail-bounces": Alarm(
            "More than 5 % of the account's mail can't be delivered; at 10 % SES may stop sending.",
            {"rate": Metric("AWS/SES", "Reputation.BounceRate", "Average")},
            0.05,
            **words,
        ),
        "mail-complaints": Alarm(
            "More than 0.1 % of the account's mail is called spam; at 0.5 % SES may stop sending.",
            {"rate": Metric("AWS/SES", "Reputation.ComplaintRate", "Average")},
            0.001,
            **words,
        ),
    }


def _sum(metrics: Mapping[str, Metric]) -> str:
    return f"SUM([{','.join(metrics)}])"  # Unlike +, it takes what was not measured for nothing.


def _resource(name: str, alarm: Alarm) -> dict[str, Any]:
    properties = {
        "AlarmName": sub(f"{HERE.prefix}-{name}"),
        "AlarmDescription": alarm.means,  # docs/operations/running.md has a section of the alarm's name.
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
