"""What a stage costs in a month: idle, by what it stores, and as its load grows."""

from collections.abc import Mapping
from typing import Any, Final

from app import app
from benchmarks.costs import prices
from benchmarks.costs.classes import CHANGE, LIST, READ, SITE
from benchmarks.costs.dollars import Dollars, dollars, sums, turn_ms
from benchmarks.costs.measuring import ANCHOR, HEARD, SWEEP
from benchmarks.costs.results import typicals
from infrastructure.alarms import known_alarms
from infrastructure.deployed_functions import functions
from infrastructure.resources import QUEUES
from local.generators.markdown import table

Results = Mapping[str, Any]

_MONTH_HOURS: Final = 730
_MONTH_SECONDS: Final = _MONTH_HOURS * 3600
_POLLERS: Final = 5
_POLL_SECONDS: Final = 20
_MEASURES: Final = 3 * 4 + 3
"""Three of each kind of line, and three of the stage: docs/operations/logs.md."""
_KB: Final = 1024
_LOADS: Final = (1, 10, 1_000)
_BASE: Final = 10.0
"""Requests a second."""

_MIX: Final = {READ: 0.60, LIST: 0.25, SITE: 0.05, CHANGE: 0.05, HEARD: 0.05}
_USED: Final = 0.70

IDLE: Final = f"""\
Dollars a month. Assumed: Lambda asks each queue with {_POLLERS} pollers, each of which waits for {_POLL_SECONDS} s; so
many alarms and metrics there are at most. An alarm costs as much as the metrics that it watches.
"""
STORAGE: Final = f"""\
A GB of the table costs ${prices.DYNAMODB_GB_MONTH:.2f} a month, ${prices.DYNAMODB_RECOVERY_GB_MONTH:.2f} more for
point-in-time recovery; indexes are reckoned alike, though AWS takes nothing for the recovery of global ones: what is
below is the most it can be. A restore costs ${prices.DYNAMODB_RESTORE_GB:.2f} a GB, once.
What is left in the table and in its indexes by one request of each kind, after all its work; some of it expires
(deliveries, answers kept for repeated requests), entries of the log never do.
"""
GROWTH: Final = f"""\
The base load is {_BASE:g} requests a second, day and night: {_MIX[READ]:.0%} read one record, {_MIX[LIST]:.0%} a list,
{_MIX[SITE]:.0%} are visits of sites, {_MIX[CHANGE] + _MIX[HEARD]:.0%} change something, and of half of these changes a
webhook hears. Units are per second.
"""


def idle(results: Results) -> str:
    """Return what a month of a stage costs that nobody asks anything."""
    others = results["others"]
    sweeps, anchors = _MONTH_HOURS * 60, _MONTH_HOURS
    polls = {
        queue: _POLLERS * _MONTH_SECONDS / _POLL_SECONDS * (prices.SQS_FIFO if "fifo" in queue else prices.SQS_STANDARD)
        for queue in QUEUES
    }
    alarms = known_alarms(functions(app))
    watched = sum(len(alarm.metrics) for alarm in alarms.values())
    lines = [
        (f"{sweeps:,} sweeps", sweeps * dollars(others[SWEEP]).total),
        (f"{anchors:,} looks for logs to anchor", anchors * dollars(others[ANCHOR]).total),
        (f"polling {len(QUEUES)} queues", sum(polls.values())),
        (f"{len(alarms)} alarms on {watched} metrics", watched * prices.ALARM_METRIC_MONTH),
        ("1 dashboard", prices.DASHBOARD_MONTH),
        (f"{_MEASURES} metrics of its own", _MEASURES * prices.METRIC_MONTH),
        ("1 KMS key", prices.KMS_KEY_MONTH),
    ]
    lines.append(("**in all**", sum(each for _, each in lines)))
    return table(("what", "$ a month"), [(what, f"{each:.2f}") for what, each in lines])


def storage(results: Results) -> str:
    """Return what requests leave in the table."""
    rows = [
        (
            name,
            f"{record['stored'] / _KB:.1f}",
            f"{record['stored'] / 1e3:.1f}",
            f"{_stored_text(record['stored'] * 1e6):.2f}",
        )
        for name, record in typicals(results).items()
        if record["stored"] > 0
    ]
    return table(("kind of request", "KB a request", "GB a million", "$ a month for a million"), rows)


def growth(results: Results) -> str:
    """Return what the base load takes and costs, and so many times of it."""
    figures = typicals(results)
    columns = [_column(figures, times) for times in _LOADS]
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    return table(("", *(f"{_BASE * times:,.0f} requests a second" for times in _LOADS)), rows)


def _column(figures: Mapping[str, Mapping[str, Any]], times: int) -> dict[str, str]:
    rates = {name: share * _BASE * times for name, share in _MIX.items()}
    each = {name: dollars(figures[name]) for name in rates}
    of = Dollars(
        **{
            field: sum(rate * _MONTH_SECONDS * getattr(each[name], field) for name, rate in rates.items())
            for field in vars(Dollars())
        }
    )
    read, written = (_per_second(rates, figures, *names) for names in (("read",), ("written", "indexed")))
    provisioned = (
        (read * prices.DYNAMODB_PROVISIONED_READ_HOUR + written * prices.DYNAMODB_PROVISIONED_WRITE_HOUR)
        * _MONTH_HOURS
        / _USED
    )
    stored_bytes = sum(rate * _MONTH_SECONDS * figures[name]["stored"] for name, rate in rates.items())
    return {
        "read units": f"{read:,.0f}",
        "write units": f"{written:,.0f}",
        "functions busy at once": f"{_busy(rates, figures, *functions(app)):,.1f}",
        "the API's of these": f"{_busy(rates, figures, 'api_handler'):,.1f}",
        "those of `events`": f"{_busy(rates, figures, 'events'):,.1f}",
        "gateway, $ a month": f"{of.gateway:,.0f}",
        "Lambda": f"{of.functions:,.0f}",
        "DynamoDB, on demand": f"{of.table:,.0f}",
        f"the same provisioned, {_USED:.0%} used": f"{provisioned:,.0f}",
        "SQS": f"{of.queues:,.0f}",
        "logs": f"{of.logs:,.0f}",
        "S3, SES, KMS": f"{of.others:,.0f}",
        "storage, for each month that is kept": f"{_stored_text(stored_bytes):,.0f}",
        "**in all, without storage**": f"**{of.total:,.0f}**",
    }


def _busy(rates: Mapping[str, float], figures: Mapping[str, Any], *names: str) -> float:
    """Return how many runs of these functions there are at once on average."""
    return sum(
        rate * turn_ms(turn) / 1000
        for of, rate in rates.items()
        for turn in figures[of]["turns"]
        if turn["function"] in names
    )


def _per_second(rates: Mapping[str, float], figures: Mapping[str, Any], *names: str) -> float:
    return sum(rate * sums(figures[name], *names) for name, rate in rates.items())


def _stored_text(size: float) -> float:
    return size / 1e9 * (prices.DYNAMODB_GB_MONTH + prices.DYNAMODB_RECOVERY_GB_MONTH)
