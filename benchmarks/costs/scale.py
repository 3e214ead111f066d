"""The monthly cost of a stage: idle, by stored data, and as the load grows."""

from collections.abc import Mapping
from typing import Any, Final

from app import app
from benchmarks.costs import prices
from benchmarks.costs.bench import CHANGE_WITH_WEBHOOK, EMPTY_ANCHORING, EMPTY_SWEEP
from benchmarks.costs.classes import CHANGE, LIST, READ, SITE
from benchmarks.costs.cost_model import Cost, calculate_cost, invocation_ms, sum_fields
from benchmarks.costs.results import typical_records
from infrastructure.alarms import define_alarms
from infrastructure.backups import BACKUP_RETENTION_DAYS, COPY_RETENTION_DAYS
from infrastructure.deployed_functions import function_names
from infrastructure.resources import QUEUES
from local.generators.markdown import table

Results = Mapping[str, Any]

_MONTH_HOURS: Final = 730
_MONTH_SECONDS: Final = _MONTH_HOURS * 3600
_POLLERS_PER_QUEUE: Final = 5
_LONG_POLL_SECONDS: Final = 20
_CUSTOM_METRICS: Final = 3 * 4 + 3
"""Three for each kind of log record, and three of the stage: docs/operations/logs.md."""
_KB_BYTES: Final = 1024
_LOAD_FACTORS: Final = (1, 10, 1_000)
_BASE_REQUESTS_PER_SECOND: Final = 10.0
_FLOOD_REQUESTS_PER_SECOND: Final = 1_000

_REQUEST_MIX: Final = {READ: 0.60, LIST: 0.25, SITE: 0.05, CHANGE: 0.05, CHANGE_WITH_WEBHOOK: 0.05}
_UTILIZATION: Final = 0.70

IDLE_TEXT: Final = f"""\
Dollars per month. Assumed: Lambda polls each queue with {_POLLERS_PER_QUEUE} pollers, with long polls of
{_LONG_POLL_SECONDS} s. The numbers of alarms and metrics are the maximum. The cost of an alarm is that of its metrics.
"""
STORAGE_TEXT: Final = f"""\
A GB of the table costs ${prices.DYNAMODB_GB_MONTH:.2f} per month, and ${prices.DYNAMODB_RECOVERY_GB_MONTH:.2f} more for
point-in-time recovery. Indexes are calculated in the same way, although AWS does not charge for the recovery of global
indexes, so the values are upper bounds. A restore costs ${prices.DYNAMODB_RESTORE_GB:.2f} per GB, once.

The table shows what one request of each kind has stored in the table and its indexes after all its work. Some of it
expires (deliveries, responses for repeated requests). Log entries never expire.
"""
GROWTH_TEXT: Final = f"""\
The base load is {_BASE_REQUESTS_PER_SECOND:g} requests per second, day and night: {_REQUEST_MIX[READ]:.0%} read one
record, {_REQUEST_MIX[LIST]:.0%} read a list, {_REQUEST_MIX[SITE]:.0%} are visits of sites, and
{_REQUEST_MIX[CHANGE] + _REQUEST_MIX[CHANGE_WITH_WEBHOOK]:.0%} are changes, half of which are delivered to a webhook.
Units are per second.
"""
SAFEGUARDS_TEXT: Final = f"""\
[Optional safeguards](../guides/deployment.md#safeguards). The flood consists of {_FLOOD_REQUESTS_PER_SECOND:,} visits
of a site per second from one address, for an hour. For a refused request, the gateway's price is counted too, because
AWS does not say that it is free. A backup of a table is complete each day, so the copies cost the size of the table for
each of {COPY_RETENTION_DAYS} days in the other vault and {BACKUP_RETENTION_DAYS} days in the stage's own. Further
backups of the anchors contain only what is new.
"""


def render_idle_costs(results: Results) -> str:
    """Return the monthly cost of a stage without requests."""
    lines = idle_cost_lines(results)
    lines.append(("**total**", sum(dollars for _, dollars in lines)))
    return table(("item", "$ per month"), [(item, f"{dollars_per_month:.2f}") for item, dollars_per_month in lines])


def idle_cost_lines(results: Results) -> list[tuple[str, float]]:
    """Return the items that a stage without requests pays for, and their dollars per month."""
    others = results["others"]
    sweeps, anchors = _MONTH_HOURS * 60, _MONTH_HOURS
    poll_costs = {
        queue: _POLLERS_PER_QUEUE
        * _MONTH_SECONDS
        / _LONG_POLL_SECONDS
        * (prices.SQS_FIFO if "fifo" in queue else prices.SQS_STANDARD)
        for queue in QUEUES
    }
    alarms = define_alarms(function_names(app))
    metric_count = sum(len(alarm.metrics) for alarm in alarms.values())
    return [
        (f"{sweeps:,} sweeps", sweeps * calculate_cost(others[EMPTY_SWEEP]).total),
        (f"{anchors:,} searches for logs to anchor", anchors * calculate_cost(others[EMPTY_ANCHORING]).total),
        (f"polling {len(QUEUES)} queues", sum(poll_costs.values())),
        (f"{len(alarms)} alarms on {metric_count} metrics", metric_count * prices.ALARM_METRIC_MONTH),
        ("1 dashboard", prices.DASHBOARD_MONTH),
        (f"{_CUSTOM_METRICS} custom metrics", _CUSTOM_METRICS * prices.METRIC_MONTH),
        ("1 KMS key", prices.KMS_KEY_MONTH),
    ]


def render_safeguard_costs(results: Results) -> str:
    """Return the monthly cost of the optional safeguards, and what a flood costs with and without the rate rule."""
    firewall = prices.WAF_ACL_MONTH + prices.WAF_RULE_MONTH
    flood = _FLOOD_REQUESTS_PER_SECOND * 3600
    visit = calculate_cost(typical_records(results)[SITE]).total
    refused = prices.API_REQUEST + prices.WAF_REQUEST
    base = _BASE_REQUESTS_PER_SECOND * _MONTH_SECONDS
    lines = [
        ("WAF's rate rule, per month without requests", firewall),
        ("WAF's rate rule, per month at the base load", firewall + base * prices.WAF_REQUEST),
        ("the flood without the rule", flood * visit),
        ("the flood with the rule", flood * refused),
        ("a budget", 0.0),
        ("copies of 10 GB of the table, per month", _copies_dollars(10)),
    ]
    return table(("item", "$"), [(item, f"{dollars:,.2f}") for item, dollars in lines])


def _copies_dollars(table_gb: float) -> float:
    return table_gb * prices.BACKUP_TABLE_GB_MONTH * (COPY_RETENTION_DAYS + BACKUP_RETENTION_DAYS)


def render_storage_costs(results: Results) -> str:
    """Return the data that requests store."""
    rows = [
        (
            name,
            f"{record['stored'] / _KB_BYTES:.1f}",
            f"{record['stored'] / 1e3:.1f}",
            f"{monthly_storage_dollars(record['stored'] * 1e6):.2f}",
        )
        for name, record in typical_records(results).items()
        if record["stored"] > 0
    ]
    return table(("kind of request", "KB per request", "GB per million", "$ per month for a million"), rows)


def render_load_costs(results: Results) -> str:
    """Return the usage and cost of the base load and of multiples of it."""
    records = typical_records(results)
    columns = [_column(records, times) for times in _LOAD_FACTORS]
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    return table(
        ("", *(f"{_BASE_REQUESTS_PER_SECOND * times:,.0f} requests per second" for times in _LOAD_FACTORS)), rows
    )


def _column(records: Mapping[str, Mapping[str, Any]], factor: int) -> dict[str, str]:
    rates = {name: share * _BASE_REQUESTS_PER_SECOND * factor for name, share in _REQUEST_MIX.items()}
    costs = {name: calculate_cost(records[name]) for name in rates}
    total = Cost(
        **{
            field: sum(rate * _MONTH_SECONDS * getattr(costs[name], field) for name, rate in rates.items())
            for field in vars(Cost())
        }
    )
    read_units, write_units = (_per_second(rates, records, *names) for names in (("read",), ("written", "indexed")))
    provisioned = (
        (read_units * prices.DYNAMODB_PROVISIONED_READ_HOUR + write_units * prices.DYNAMODB_PROVISIONED_WRITE_HOUR)
        * _MONTH_HOURS
        / _UTILIZATION
    )
    stored_bytes = sum(rate * _MONTH_SECONDS * records[name]["stored"] for name, rate in rates.items())
    return {
        "read units": f"{read_units:,.0f}",
        "write units": f"{write_units:,.0f}",
        "concurrent functions": f"{_average_concurrency(rates, records, *function_names(app)):,.1f}",
        "of which the API": f"{_average_concurrency(rates, records, 'api_handler'):,.1f}",
        "of which `events`": f"{_average_concurrency(rates, records, 'events'):,.1f}",
        "gateway, $ per month": f"{total.gateway:,.0f}",
        "Lambda": f"{total.functions:,.0f}",
        "DynamoDB, on demand": f"{total.table:,.0f}",
        f"DynamoDB, provisioned, {_UTILIZATION:.0%} utilization": f"{provisioned:,.0f}",
        "SQS": f"{total.queues:,.0f}",
        "logs": f"{total.logs:,.0f}",
        "S3, SES, KMS": f"{total.others:,.0f}",
        "storage, for each month of retention": f"{monthly_storage_dollars(stored_bytes):,.0f}",
        "**total without storage**": f"**{total.total:,.0f}**",
    }


def _average_concurrency(rates: Mapping[str, float], records: Mapping[str, Any], *names: str) -> float:
    """Return the average number of concurrent runs of these functions."""
    return sum(
        rate * invocation_ms(invocation) / 1000
        for of, rate in rates.items()
        for invocation in records[of]["turns"]
        if invocation["function"] in names
    )


def _per_second(rates: Mapping[str, float], records: Mapping[str, Any], *names: str) -> float:
    return sum(rate * sum_fields(records[name], *names) for name, rate in rates.items())


def monthly_storage_dollars(size: float) -> float:
    """Return the cost of storing a number of bytes for a month, with point-in-time recovery."""
    return size / 1e9 * (prices.DYNAMODB_GB_MONTH + prices.DYNAMODB_RECOVERY_GB_MONTH)
