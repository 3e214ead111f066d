"""The monthly bill of an example: a hundred organizations of twenty people each."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from benchmarks.costs import prices, scale
from benchmarks.costs.bench import CHANGE_WITH_WEBHOOK, LIST_OF_100
from benchmarks.costs.classes import CHANGE, LIST, MAILED, READ, SITE, VERIFY, WORK
from benchmarks.costs.cost_model import calculate_cost
from benchmarks.costs.results import typical_records
from local.generators.markdown import table

Results = Mapping[str, Any]

ORGANIZATIONS: Final = 100
PEOPLE: Final = 20
"""People of each organization."""

WORKING_DAYS: Final = 21
DAYS: Final = 30
RETENTION_MONTHS: Final = 12
RESPONSE_KB: Final = 5
"""Assumed average size of a response."""


class Usage(NamedTuple):
    """How often a kind of request occurs: `times` in a month by each of `callers`: people or organizations."""

    kind: str
    callers: int
    times: int
    text: str


_EVERYBODY: Final = ORGANIZATIONS * PEOPLE

USAGES: Final = (
    Usage(READ, _EVERYBODY, 60 * WORKING_DAYS, "60 by each person and working day"),
    Usage(LIST, _EVERYBODY, 40 * WORKING_DAYS, "40 by each person and working day"),
    Usage(LIST_OF_100, _EVERYBODY, 2 * WORKING_DAYS, "2 by each person and working day"),
    Usage(CHANGE, _EVERYBODY, 5 * WORKING_DAYS, "5 by each person and working day"),
    Usage(CHANGE_WITH_WEBHOOK, _EVERYBODY, 5 * WORKING_DAYS, "5 by each person and working day"),
    Usage(MAILED, ORGANIZATIONS, 10, "10 invitations of each organization"),
    Usage(WORK, ORGANIZATIONS, 20, "20 of each organization, such as exports"),
    Usage(VERIFY, ORGANIZATIONS, DAYS, "each organization verifies its log once a day"),
    Usage(SITE, ORGANIZATIONS, 1_000 * DAYS, "1,000 visits of each organization's site and day"),
)
"""The assumed requests of a month."""

_SERVICES: Final = {
    "gateway": "API Gateway",
    "functions": "Lambda",
    "table": "DynamoDB, requests",
    "queues": "SQS",
    "logs": "CloudWatch, logs",
    "others": "S3, SES, KMS",
}

EXAMPLE_TEXT: Final = f"""\
{ORGANIZATIONS} organizations with {PEOPLE} people each, who work on {WORKING_DAYS} of {DAYS} days. Their requests are
assumed. The price of each kind is that of its [class](#by-class), so a log is verified at the price of a short one.
"""
_BILL_TEXT: Final = f"""
The bill of a month, in dollars. The stored data is that of {RETENTION_MONTHS} months of such use, although some of it
expires. A response has {RESPONSE_KB} KB on average, without compression. All visits are assumed to reach the API:
CloudFront and its cache are not included. Free tiers are not deducted.
"""


def render_example(results: Results) -> str:
    """Return the assumed requests, and the bill by service."""
    requests = [(usage.kind, f"{usage.callers * usage.times:,}", usage.text) for usage in USAGES]
    bill = monthly_bill(results)
    total = sum(bill.values())
    rows = [
        *((name, f"{dollars:,.2f}") for name, dollars in bill.items()),
        (f"**total**, after {RETENTION_MONTHS} months", f"**{total:,.2f}**"),
    ]
    tables = [table(("requests", "in a month", "assumed"), requests), table(("service", "$ per month"), rows)]
    share = (
        f"This is ${total / ORGANIZATIONS:,.2f} for each organization, and ${total / _EVERYBODY:,.3f} for each person."
    )
    return f"\n{_BILL_TEXT}\n".join(tables) + f"\n\n{share}"


def monthly_bill(results: Results) -> dict[str, float]:
    """Return the dollars of a month by service."""
    records = typical_records(results)
    costs = [(usage.callers * usage.times, calculate_cost(records[usage.kind])) for usage in USAGES]
    by_service = {
        title: sum(requests * getattr(cost, field) for requests, cost in costs) for field, title in _SERVICES.items()
    }
    stored_bytes = sum(usage.callers * usage.times * records[usage.kind]["stored"] for usage in USAGES)
    return {
        **by_service,
        "DynamoDB, storage and recovery": scale.monthly_storage_dollars(stored_bytes * RETENTION_MONTHS),
        "Data transfer out": sum(requests for requests, _ in costs) * RESPONSE_KB / 1e6 * prices.TRANSFER_OUT_GB,
        "What an idle stage costs": sum(dollars for _, dollars in scale.idle_cost_lines(results)),
    }
