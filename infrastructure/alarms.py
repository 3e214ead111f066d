"""The CloudWatch alarms of a stage. docs/operations/running.md describes what to do about each.

Rates require a minimum number of failures, so that a single failure at night raises no alarm. Missing data is healthy,
except for schedules, which always report data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.cfn import TEMPLATE_STAGE, logical_id, ref, sub
from infrastructure.data_stores import Resources
from infrastructure.resources import INDEX_KEYS, QUEUES, queue_name

MINUTE: Final = 60
FIVE_MINUTES: Final = 300
HOUR: Final = 3600

MAX_MESSAGE_AGE_SECONDS: Final = {"events.fifo": 120, "deliveries.fifo": 900, "deliveries-slow": 900, "jobs": 3600}
"""Maximum age of a message in each queue. In `jobs`, a message can be delayed by 15 minutes and run as long."""

_MAIL_RETRY_HOURS: Final = 8
"""Hours within which a mail that cannot be sent is tried again, however often that failed."""

_RARELY_RUN: Final = ("anchor", "migrate")
_REQUEST_CALLS: Final = ("BatchGetItem", "Query", "TransactWriteItems")
"""The calls that requests consist of."""

RATE_PARAMETER: Final = "RequestsPerSecond"
"""Parameter of the template with the rate that API Gateway admits."""

_FAILED_PERCENT: Final = "IF(failed >= 5, 100 * failed / all, 0)"


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

    description: str
    metrics: Mapping[str, Metric]
    threshold: float
    expression: str = ""
    period_seconds: int = MINUTE
    breaching_periods: int = 1
    evaluation_periods: int = 1
    is_minimum: bool = False
    treat_missing_data: str = "notBreaching"
    condition: str = ""


def alarm_resources(functions: Iterable[str]) -> Resources:
    """Return the alarms as template resources. `functions`: the names of the app's functions."""
    return {f"{logical_id(name)}Alarm": _resource(name, alarm) for name, alarm in define_alarms([*functions]).items()}


def define_alarms(functions: list[str]) -> Mapping[str, Alarm]:
    """Return all alarms by their names without the stage's prefix."""
    return {
        **_api_alarms(),
        **_function_alarms(functions),
        **_table_alarms(),
        **_queue_alarms(),
        **_message_alarms(),
        **_schedule_alarms(),
        **_log_integrity_alarms(),
        **_witness_alarms(),
        **_mail_alarms(),
    }


def api_metric(name: str, statistic: str) -> Metric:
    """Return a metric of the API."""
    return Metric("AWS/ApiGateway", name, statistic, {"ApiName": "atrium", "Stage": TEMPLATE_STAGE.name})


def function_metric(function_name: str, name: str, statistic: str = "Sum") -> Metric:
    """Return a metric of one of the app's functions."""
    return Metric("AWS/Lambda", name, statistic, {"FunctionName": TEMPLATE_STAGE.function_name(function_name)})


def queue_metric(queue_name_suffix: str, name: str) -> Metric:
    """Return the maximum of a metric of a queue."""
    return Metric("AWS/SQS", name, "Maximum", {"QueueName": queue_name(TEMPLATE_STAGE.prefix, queue_name_suffix)})


def table_metric(name: str, **more: str) -> Metric:
    """Return a metric of the table, or of one of its indexes or operations."""
    return Metric("AWS/DynamoDB", name, "Sum", {"TableName": TEMPLATE_STAGE.prefix, **more})


def service_metric(name: str, statistic: str, kind: str = "") -> Metric:
    """Return a metric that the service writes itself, optionally only for one kind of log record."""
    return Metric("Atrium", name, statistic, {"stage": TEMPLATE_STAGE.name, **({"kind": kind} if kind else {})})


def _api_alarms() -> dict[str, Alarm]:
    return {
        "api-5xx": Alarm(
            "More than 1 % of requests, and at least 5, failed with a server error.",
            {"failed": api_metric("5XXError", "Sum"), "all": api_metric("Count", "Sum")},
            1,
            _FAILED_PERCENT,
            FIVE_MINUTES,
        ),
        "api-latency": Alarm(
            "The slowest 1 % of at least 100 requests in 5 minutes took more than 3 s.",
            {"p99": api_metric("Latency", "p99"), "all": api_metric("Count", "Sum")},
            3000,
            "IF(all >= 100, p99, 0)",
            FIVE_MINUTES,
            breaching_periods=3,
            evaluation_periods=3,
        ),
        "api-near-limit": Alarm(
            "Traffic exceeds 80 % of the rate that API Gateway admits.",
            {"all": api_metric("Count", "Sum")},
            80,
            f"100 * all / ({MINUTE} * ${{{RATE_PARAMETER}}})",
        ),
    }


def _function_alarms(functions: list[str]) -> dict[str, Alarm]:
    throttled, dropped = (
        {f"f{number}": function_metric(name, metric) for number, name in enumerate(functions)}
        for metric in ("Throttles", "RecursiveInvocationsDropped")
    )
    return {
        "functions-throttled": Alarm(
            "Lambda throttled a function: its reserved or the account's concurrency is exhausted.",
            throttled,
            0,
            _sum_expression(throttled),
            FIVE_MINUTES,
        ),
        "functions-recursive": Alarm(
            "Lambda took a chain of messages for an endless loop, and dropped the last one.",
            dropped,
            0,
            _sum_expression(dropped),
            FIVE_MINUTES,
        ),
        **{_errors_alarm_name(name): _errors_alarm(name) for name in functions},
    }


def _errors_alarm_name(name: str) -> str:
    return f"errors-{name.removesuffix('_handler').replace('_', '-')}"


def _errors_alarm(name: str) -> Alarm:
    means = f"The function {name} crashed, exceeded its time or memory, or did not start."
    times, window = (1, 1) if name in _RARELY_RUN else (2, 3)
    return Alarm(
        means,
        {"errors": function_metric(name, "Errors")},
        0,
        period_seconds=FIVE_MINUTES,
        breaching_periods=times,
        evaluation_periods=window,
    )


def _table_alarms() -> dict[str, Alarm]:
    events = ("ReadThrottleEvents", "WriteThrottleEvents")
    indexes = [table_metric("WriteThrottleEvents", GlobalSecondaryIndexName=index) for index in INDEX_KEYS]
    # Only queries read indexes. This metric covers the table and all indexes, because an expression cannot contain
    # enough metrics for one per index. A throttled query of the table counts twice.
    queries = table_metric("ThrottledRequests", Operation="Query")
    throttled = {f"t{number}": metric for number, metric in enumerate([*map(table_metric, events), *indexes, queries])}
    failed = {f"c{number}": table_metric("SystemErrors", Operation=call) for number, call in enumerate(_REQUEST_CALLS)}
    return {
        "table-throttled": Alarm(
            "DynamoDB repeatedly throttled reads or writes of the table or an index.",
            throttled,
            10,
            _sum_expression(throttled),
            FIVE_MINUTES,
            breaching_periods=2,
            evaluation_periods=3,
        ),
        "table-errors": Alarm(
            "DynamoDB returned server errors.",
            failed,
            10,
            _sum_expression(failed),
            FIVE_MINUTES,
            breaching_periods=2,
            evaluation_periods=3,
        ),
    }


def _queue_alarms() -> dict[str, Alarm]:
    found = {}
    for name in QUEUES:
        short, seconds = name.removesuffix(".fifo"), MAX_MESSAGE_AGE_SECONDS[name]
        found[f"oldest-{short}"] = Alarm(
            f"A message is in the queue {short} for more than {seconds} s.",
            {"age": queue_metric(name, "ApproximateAgeOfOldestMessage")},
            seconds,
            breaching_periods=3,
            evaluation_periods=3,
        )
        found[f"dead-letters-{short}"] = Alarm(
            f"A message of the queue {short} failed at every attempt.",
            {"waiting": queue_metric(dead_letter_queue_name(name), "ApproximateNumberOfMessagesVisible")},
            0,
            treat_missing_data="ignore",  # SQS stops reporting an unused queue after hours; its messages remain.
        )
    return found


def _message_alarms() -> dict[str, Alarm]:
    failed = {
        "failed": service_metric("Errors", "Sum", "message"),
        "all": service_metric("Errors", "SampleCount", "message"),
    }
    return {
        "messages-failing": Alarm(
            "More than 10 % of the messages in all queues, and at least 5, fail.",
            failed,
            10,
            _FAILED_PERCENT,
            FIVE_MINUTES,
            breaching_periods=2,
            evaluation_periods=3,
        ),
        "ledger-lag": Alarm(
            "A committed entry waited more than 2 minutes to be appended to its log.",
            {"lag": service_metric("LedgerLag", "Maximum")},
            120_000,
            breaching_periods=3,
            evaluation_periods=5,
        ),
        "due-lag": Alarm(
            "A scheduled task is overdue by more than 5 minutes.",
            {"lag": service_metric("DueLag", "Maximum")},
            300_000,
            breaching_periods=3,
            evaluation_periods=3,
        ),
    }


def _schedule_alarms() -> dict[str, Alarm]:
    return {
        "sweep-missing": Alarm(
            "No sweep completed for 5 minutes. Scheduled tasks do not run, and lost messages are not recovered.",
            {"sweeps": service_metric("DueLag", "SampleCount")},
            1,
            breaching_periods=5,
            evaluation_periods=5,
            is_minimum=True,
            treat_missing_data="breaching",
        ),
        "anchor-missing": Alarm(
            "The function that anchors the logs was not invoked for 3 hours.",
            {"runs": function_metric("anchor", "Invocations")},
            1,
            period_seconds=HOUR,
            breaching_periods=3,
            evaluation_periods=3,
            is_minimum=True,
            treat_missing_data="breaching",
        ),
    }


def _log_integrity_alarms() -> dict[str, Alarm]:
    return {
        "forged-entries": Alarm(
            "An entry in an outbox was not committed by the service. It was quarantined.",
            {"forged": service_metric("ForgedEntries", "Sum")},
            0,
            period_seconds=FIVE_MINUTES,
        ),
        "records-disagree": Alarm(
            "A reconciliation found records that do not agree with the log of their organization.",
            {"findings": service_metric("ReconciliationFindings", "Sum")},
            0,
            period_seconds=FIVE_MINUTES,
        ),
        "anchors-refused": Alarm(
            "A log is inconsistent with its last anchor, or an anchored checkpoint was altered before its collection.",
            {"refused": service_metric("AnchorsRefused", "Sum")},
            0,
            period_seconds=HOUR,
        ),
        "tiles-refused": Alarm(
            "A log was altered or forked. The tiles from which proofs are computed cannot be built from its entries.",
            {"refused": service_metric("TilesRefused", "Sum")},
            0,
            period_seconds=FIVE_MINUTES,
        ),
        "anchors-rewritten": Alarm(
            "The file of an anchor was written again or hidden. The service reads its first version.",
            {"rewritten": service_metric("AnchorsRewritten", "Sum")},
            0,
            period_seconds=HOUR,
        ),
    }


def _witness_alarms() -> dict[str, Alarm]:
    refused, silent = (service_metric(name, "Sum") for name in ("WitnessesRefused", "WitnessesSilent"))
    refuses = "A witness refuses the log of anchors: it contradicts what it has cosigned."
    is_silent = "A witness has not cosigned the log of anchors for 3 hours."
    return {
        "witnesses-refused": Alarm(refuses, {"refused": refused}, 0, period_seconds=HOUR),
        "witnesses-silent": Alarm(is_silent, {"silent": silent}, 0, period_seconds=HOUR),
    }


def _mail_alarms() -> dict[str, Alarm]:
    options: dict[str, Any] = {"period_seconds": HOUR, "treat_missing_data": "ignore", "condition": "SendsMail"}
    return {
        "mail-failing": Alarm(
            "SES refused a mail, or several attempts to send a mail failed.",
            {"failed": service_metric("MailFailures", "Sum")},
            0,
            period_seconds=HOUR,
            breaching_periods=1,
            evaluation_periods=_MAIL_RETRY_HOURS,
        ),
        "mail-bounces": Alarm(
            "More than 5 % of the account's mail bounces. At 10 %, SES can suspend sending.",
            {"rate": Metric("AWS/SES", "Reputation.BounceRate", "Average")},
            0.05,
            **options,
        ),
        "mail-complaints": Alarm(
            "More than 0.1 % of the account's mail is reported as spam. At 0.5 %, SES can suspend sending.",
            {"rate": Metric("AWS/SES", "Reputation.ComplaintRate", "Average")},
            0.001,
            **options,
        ),
    }


def _sum_expression(metrics: Mapping[str, Metric]) -> str:
    return f"SUM([{','.join(metrics)}])"  # Unlike +, SUM treats missing data as 0.


def _resource(name: str, alarm: Alarm) -> dict[str, Any]:
    properties = {
        "AlarmName": sub(f"{TEMPLATE_STAGE.prefix}-{name}"),
        "AlarmDescription": alarm.description,  # docs/operations/running.md has a section with this name.
        "AlarmActions": [ref("Alarms")],
        "OKActions": [ref("Alarms")],
        "ComparisonOperator": "LessThanThreshold" if alarm.is_minimum else "GreaterThanThreshold",
        "Threshold": alarm.threshold,
        "EvaluationPeriods": alarm.evaluation_periods,
        **(
            {"DatapointsToAlarm": alarm.breaching_periods} if alarm.breaching_periods < alarm.evaluation_periods else {}
        ),
        "TreatMissingData": alarm.treat_missing_data,
        **_metric_properties(alarm),
    }
    condition = {"Condition": alarm.condition} if alarm.condition else {}
    return {"Type": "AWS::CloudWatch::Alarm", **condition, "Properties": properties}


def _metric_properties(alarm: Alarm) -> dict[str, Any]:
    if not alarm.expression:
        (metric,) = alarm.metrics.values()
        return {**_metric(metric), "Statistic": metric.statistic, "Period": alarm.period_seconds}
    stats = [
        {
            "Id": name,
            "ReturnData": False,
            "MetricStat": {"Metric": _metric(metric), "Stat": metric.statistic, "Period": alarm.period_seconds},
        }
        for name, metric in alarm.metrics.items()
    ]
    return {"Metrics": [{"Id": "result", "Expression": _substitute(alarm.expression)}, *stats]}


def _metric(metric: Metric) -> dict[str, Any]:
    dimensions = [{"Name": name, "Value": _substitute(value)} for name, value in metric.dimensions.items()]
    return {"Namespace": metric.namespace, "MetricName": metric.name, "Dimensions": dimensions}


def _substitute(value: str) -> Any:
    return ref("Stage") if value == TEMPLATE_STAGE.name else sub(value) if "$" in value else value
