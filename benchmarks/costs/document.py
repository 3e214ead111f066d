"""`docs/reference/costs.md`: the stored measurements, in dollars."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.costs import example_bill, prices, scale
from benchmarks.costs.bench import CHANGE_WITH_WEBHOOK, LIST_OF_100
from benchmarks.costs.classes import CLASSES
from benchmarks.costs.cost_model import (
    ACCESS_LOG_BYTES,
    CALL_CPU_MS,
    CALL_LATENCY_MS,
    CPU_SHARE,
    ENDPOINT_LATENCY_MS,
    OTHER_CALL_LATENCY_MS,
    PLATFORM_LOG_BYTES,
    calculate_cost,
    count_queue_requests,
    log_bytes,
    sum_fields,
    total_ms,
)
from benchmarks.costs.results import operations_of_class, typical_operation
from local.generators.markdown import code, table
from local.paths import ROOT

PAGE_FILE: Final = ROOT / "docs" / "reference" / "costs.md"
_LIMITS_FILE: Final = Path(__file__).with_name("limits.md")
_LIMITS_POSITION: Final = 7
Results = Mapping[str, Any]
Record = Mapping[str, Any]

_MILLION: Final = 1_000_000
_MEASUREMENT_HEADINGS: Final = (
    "read units",
    "write units: table, indexes",
    "SQS",
    "functions",
    "ms",
    "log, bytes",
    "$ per million",
)

_HEAD: Final = f"""\
# Costs on AWS

`python -m benchmarks.costs` measures the results and writes this page. Prices are in dollars, for {prices.REGION} in
{prices.AS_OF} ([below](#prices)), without free tier, discounts and tax.

**Measured**, for the example of every operation and all work that directly follows its response (appending to the log,
fan-out, deliveries, tasks): the AWS calls, the sizes of the items that they read and write, the processor time of the
functions, and the amount of log data. **Calculated**: capacity units, from item sizes by DynamoDB's rules, because no
emulator reports them. A transaction doubles the write units, and each index that contains the item adds another write
of the whole item. [The last section](#compared-with-dynamodb-local) compares the calculation with DynamoDB Local.

**Assumed**, because only a real network can show it: DynamoDB responds to a read in {CALL_LATENCY_MS["GetItem"]} to
{CALL_LATENCY_MS["Query"]} ms and to a transaction in {CALL_LATENCY_MS["TransactWriteItems"]} ms, SQS in
{CALL_LATENCY_MS["SendMessage"]} ms, S3 in {OTHER_CALL_LATENCY_MS:.0f} ms, SES in {CALL_LATENCY_MS["SendEmail"]} ms, and
an endpoint in {ENDPOINT_LATENCY_MS:.0f} ms. HTTP and TLS take {CALL_CPU_MS} ms of processor time for each call. A
function with 1,024 MB has {CPU_SHARE:.2f} of a processor that is as fast as the one of the benchmark. Each invocation
handles one message; under load it handles up to ten, which costs less. Lambda logs {PLATFORM_LOG_BYTES} bytes for each
invocation, and the gateway's access log has {ACCESS_LOG_BYTES} bytes for each request. Not included: cold starts, data
transfer out of AWS (${prices.TRANSFER_OUT_GB:.2f} per GB), work that becomes due
later (expiry, retries), and queries of the logs.
"""

_CLASSES_TEXT: Final = """\
The operation with the median cost of each class, and the most expensive one. *functions* are Lambda invocations, *ms*
is their total duration, and *SQS* is the number of requests to send, receive and delete messages.
"""

_SERVICES_TEXT: Final = """\
Dollars per million requests. The largest part of a read is the gateway. The largest part of a change is writing its
log entry: the entry is an item of the table and of four indexes, and is written twice, when it is committed and when it
is appended to the log.
"""

_OPERATIONS_TEXT: Final = """\
The columns are the same as above. For operations whose cost depends on the size of their target, the values are those
of the example: a log of about thirty entries, a site of a few pages.
"""


def render_page(results: Results) -> str:
    """Return the page."""
    sections = [
        ("By class", _CLASSES_TEXT, _class_table(results)),
        ("By service", _SERVICES_TEXT, _service_table(results)),
        ("A worked example", example_bill.EXAMPLE_TEXT, example_bill.render_example(results)),
        ("An idle stage", scale.IDLE_TEXT, scale.render_idle_costs(results)),
        ("Safeguards", scale.SAFEGUARDS_TEXT, scale.render_safeguard_costs(results)),
        ("Storage", scale.STORAGE_TEXT, scale.render_storage_costs(results)),
        ("At 10 and at 1,000 times the load", scale.GROWTH_TEXT, scale.render_load_costs(results)),
        ("By operation", _OPERATIONS_TEXT, _operation_table(results)),
        ("Prices", "Check the pricing page before you rely on a price.\n", _price_table()),
        *([("Compared with DynamoDB Local", *_comparison(results))] if "compared" in results else []),
    ]
    rendered = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections]
    rendered.insert(_LIMITS_POSITION, f"\n{_LIMITS_FILE.read_text()}")
    return f"{_HEAD}{''.join(rendered)}\nMeasured on {', '.join(results['of'].values())}.\n"


def _class_table(results: Results) -> str:
    rows = [_class_row(results, name, text) for name, text in CLASSES.items()]
    other_requests = {
        LIST_OF_100: "A hundred members of an organization. Each is also read from the table.",
        CHANGE_WITH_WEBHOOK: "A change of an organization's name, with one webhook.",
    }
    rows += [
        (f"**{name}**: {text}", "", *_measurement_cells(results["others"][name]), "")
        for name, text in other_requests.items()
    ]
    return table(("class", "operations", *_MEASUREMENT_HEADINGS, "most expensive"), rows)


def _class_row(results: Results, name: str, text: str) -> tuple[str, ...]:
    members = operations_of_class(results, name)
    _, record = typical_operation(results, name)
    most_expensive = max(members, key=lambda each: calculate_cost(members[each]).total)
    most_expensive_text = (
        f"{code(most_expensive)} {_dollars_per_million(calculate_cost(members[most_expensive]).total)}"
    )
    return f"**{name}**: {text}", str(len(members)), *_measurement_cells(record), most_expensive_text


def _measurement_cells(record: Record) -> tuple[str, ...]:
    return (
        f"{sum_fields(record, 'read'):g}",
        f"{sum_fields(record, 'written'):g}, {sum_fields(record, 'indexed'):g}",
        str(count_queue_requests(record)),
        str(len(record["turns"])),
        f"{total_ms(record):.0f}",
        f"{sum(map(log_bytes, record['turns'])):,}",
        _dollars_per_million(calculate_cost(record).total),
    )


def _service_table(results: Results) -> str:
    records = {name: typical_operation(results, name)[1] for name in CLASSES} | {
        name: results["others"][name] for name in (LIST_OF_100, CHANGE_WITH_WEBHOOK)
    }
    rows = []
    for name, record in records.items():
        cost = calculate_cost(record)
        amounts = (cost.gateway, cost.functions, cost.table, cost.queues, cost.logs, cost.others, cost.total)
        rows.append((name, *map(_dollars_per_million, amounts)))
    return table(("class", "gateway", "Lambda", "DynamoDB", "SQS", "logs", "S3, SES, KMS", "total"), rows)


def _operation_table(results: Results) -> str:
    rows = [
        (code(of), record["class"], *_measurement_cells(record)) for of, record in sorted(results["operations"].items())
    ]
    return table(("operation", "class", *_MEASUREMENT_HEADINGS), rows)


def _price_table() -> str:
    return table(("service", "pricing page", "dollars"), prices.PRICE_ROWS)


def _comparison(results: Results) -> tuple[str, str]:
    rows = [
        (
            code(operation),
            name,
            *(f"{table_units:g}, {index_units:g}" for table_units, index_units in (calculated, consumed)),
        )
        for operation, name, calculated, consumed in results["compared"]
    ]
    equal_count = sum(row[2] == row[3] for row in rows)
    text = f"""\
The calls of some operations, repeated in Amazon's DynamoDB Local on the same items: units of the table and of its
indexes, as calculated here and as reported there. {equal_count} of {len(rows)} are equal. For the comparison, each item
that a transaction writes is written by one plain write, which consumes half as many units of the table: DynamoDB Local
(of 2020) reports four units for a transaction with one small item, and also for one with two. It reports nothing for a
missing item of a BatchGetItem. DynamoDB's reference counts one unit for it.
"""
    return text, table(("operation", "call", "calculated", "DynamoDB Local"), rows)


def _dollars_per_million(dollars_per_request: float) -> str:
    return f"{dollars_per_request * _MILLION:,.2f}"
