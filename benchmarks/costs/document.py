"""`docs/reference/costs.md`: the figures that were kept, in dollars."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.costs import prices, scale
from benchmarks.costs.classes import CLASSES
from benchmarks.costs.dollars import (
    ACCESS_LOG_BYTES,
    CALL_CPU_MS,
    CALL_LATENCY_MS,
    ENDPOINT_LATENCY_MS,
    OTHER_CALL_LATENCY_MS,
    PLATFORM_LOG_BYTES,
    PROCESSORS,
    count_queue_requests,
    dollars,
    log_bytes,
    sum_fields,
    total_ms,
)
from benchmarks.costs.measuring import CHANGE_WITH_WEBHOOK, LIST_OF_100
from benchmarks.costs.results import operations_of_class, typical
from local.generators.markdown import code, table
from local.paths import ROOT

FILE: Final = ROOT / "docs" / "reference" / "costs.md"
_LIMITS_FILE: Final = Path(__file__).with_name("limits.md")
_LIMITS_POSITION: Final = 5
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
    "$ a million",
)

_HEAD: Final = f"""\
# What Atrium costs on AWS

Measured by `python -m benchmarks.costs`, which writes this page. Dollars are those of {prices.REGION} in {prices.AS_OF}
(below), without any free tier, discount or tax.

**Measured** are, of every operation's example and of all work that follows at once from its answer (append to the log,
fan-out, deliveries, tasks): each call of AWS; the sizes of the items it read and wrote, and from them units; the
functions' processor time; what they log. **Reckoned**, because nothing else tells: units, by DynamoDB's rules from the
sizes. A transaction writes twice, and each index that an item is in is written once more, whole. The last section holds
that against Amazon's own DynamoDB Local.

**Assumed** is what only a network would tell: DynamoDB answers a read in {CALL_LATENCY_MS["GetItem"]} to {CALL_LATENCY_MS["Query"]} ms,
a transaction in {CALL_LATENCY_MS["TransactWriteItems"]} ms, SQS in {CALL_LATENCY_MS["SendMessage"]} ms, S3 in {OTHER_CALL_LATENCY_MS:.0f} ms,
SES in {CALL_LATENCY_MS["SendEmail"]} ms, an endpoint in {ENDPOINT_LATENCY_MS:.0f} ms; HTTP and TLS take {CALL_CPU_MS} ms of processor a
call; a function of 1,024 MB has {PROCESSORS:.2f} of a processor that is as fast as the one here. Each message comes
alone; under load up to ten share a turn, which costs less. Lambda logs {PLATFORM_LOG_BYTES} bytes of a turn, the
gateway's line has {ACCESS_LOG_BYTES}. Not counted: cold starts, data that leaves AWS ($0.09 a GB), what becomes due
later (expiry, retries), and what queries of the log read.
"""

_CLASSES_TEXT: Final = """\
The operation in the middle of each class, by what it costs; the dearest beside it. `functions` are Lambda's
invocations, `ms` how long all of them last together, `SQS` its requests: to send, to receive, to delete.
"""

_SERVICES_TEXT: Final = """\
Dollars a million. Reads cost what the gateway takes; of a change most goes to writing: its entry stands in the table
and in four indexes, and is touched twice: when it is committed, and when it gets its place in the log.
"""

_OPERATIONS_TEXT: Final = """\
As above. Of operations that grow with what they are about, this is what the example takes: a log of some thirty
entries, a site of a few pages.
"""


def document(results: Results) -> str:
    """Return the page."""
    sections = [
        ("By class", _CLASSES_TEXT, _class_table(results)),
        ("Where it goes", _SERVICES_TEXT, _service_table(results)),
        ("A stage that nobody uses", scale.IDLE_TEXT, scale.render_idle_costs(results)),
        ("Storage", scale.STORAGE_TEXT, scale.render_storage_costs(results)),
        ("At 10 and at 1,000 times the load", scale.GROWTH_TEXT, scale.render_load_costs(results)),
        ("By operation", _OPERATIONS_TEXT, _operation_table(results)),
        ("Prices", "Look at the page that is named before you rely on one.\n", _price_table()),
        *([("Compared with DynamoDB Local", *_comparison(results))] if "compared" in results else []),
    ]
    rendered = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections]
    rendered.insert(_LIMITS_POSITION, f"\n{_LIMITS_FILE.read_text()}")
    return f"{_HEAD}{''.join(rendered)}\nMeasured on {', '.join(results['of'].values())}.\n"


def _class_table(results: Results) -> str:
    rows = [_class_row(results, name, text) for name, text in CLASSES.items()]
    other_requests = {
        LIST_OF_100: "A hundred members of an organization; each is read from the table too.",
        CHANGE_WITH_WEBHOOK: "An organization's name, and its webhook.",
    }
    rows += [
        (f"**{name}**: {text}", "", *_measurement_cells(results["others"][name]), "")
        for name, text in other_requests.items()
    ]
    return table(("class", "of", *_MEASUREMENT_HEADINGS, "the dearest"), rows)


def _class_row(results: Results, name: str, text: str) -> tuple[str, ...]:
    members = operations_of_class(results, name)
    _, record = typical(results, name)
    most_expensive = max(members, key=lambda each: dollars(members[each]).total)
    most_expensive_text = f"{code(most_expensive)} {_dollars_per_million(dollars(members[most_expensive]).total)}"
    return f"**{name}**: {text}", str(len(members)), *_measurement_cells(record), most_expensive_text


def _measurement_cells(record: Record) -> tuple[str, ...]:
    return (
        f"{sum_fields(record, 'read'):g}",
        f"{sum_fields(record, 'written'):g}, {sum_fields(record, 'indexed'):g}",
        str(count_queue_requests(record)),
        str(len(record["turns"])),
        f"{total_ms(record):.0f}",
        f"{sum(map(log_bytes, record['turns'])):,}",
        _dollars_per_million(dollars(record).total),
    )


def _service_table(results: Results) -> str:
    records = {name: typical(results, name)[1] for name in CLASSES} | {
        name: results["others"][name] for name in (LIST_OF_100, CHANGE_WITH_WEBHOOK)
    }
    rows = []
    for name, record in records.items():
        cost = dollars(record)
        amounts = (cost.gateway, cost.functions, cost.table, cost.queues, cost.logs, cost.others, cost.total)
        rows.append((name, *map(_dollars_per_million, amounts)))
    return table(("class", "gateway", "Lambda", "DynamoDB", "SQS", "logs", "S3, SES, KMS", "in all"), rows)


def _operation_table(results: Results) -> str:
    rows = [
        (code(of), record["class"], *_measurement_cells(record)) for of, record in sorted(results["operations"].items())
    ]
    return table(("operation", "class", *_MEASUREMENT_HEADINGS), rows)


def _price_table() -> str:
    return table(("of", "page", "dollars"), prices.PRICE_ROWS)


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
The calls of some operations, sent to Amazon's DynamoDB Local, onto the same items: units of the table, and of its
indexes, as they are reckoned here and as it says it consumed. {equal_count} of {len(rows)} are the same. What a transaction
wrote is compared as one plain write an item, half of what a transaction takes of the table: DynamoDB Local (of 2020)
says four units of a transaction with one small item, and also of one with two. And it takes nothing for an item that a
BatchGetItem asks for and that isn't there, which DynamoDB's reference says counts as one unit.
"""
    return text, table(("operation", "call", "reckoned", "DynamoDB Local"), rows)


def _dollars_per_million(dollars_per_request: float) -> str:
    return f"{dollars_per_request * _MILLION:,.2f}"
