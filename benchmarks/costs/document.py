"""`docs/reference/costs.md`: the figures that were kept, in dollars."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.costs import prices, scale
from benchmarks.costs.classes import CLASSES
from benchmarks.costs.dollars import (
    ACCESS_LOG_BYTES,
    CALL_CPU_MS,
    ENDPOINT_MS,
    OTHER_WAIT_MS,
    PLATFORM_LOG_BYTES,
    PROCESSORS,
    WAIT_MS,
    all_ms,
    dollars,
    log_bytes,
    queue_requests,
    sums,
)
from benchmarks.costs.measuring import HEARD, LIST_OF_100
from benchmarks.costs.results import of_class, typical
from local.generators.markdown import code, table
from local.paths import ROOT

FILE: Final = ROOT / "docs" / "reference" / "costs.md"
_LIMITS: Final = Path(__file__).with_name("limits.md")
_BEFORE_LIMITS: Final = 5
Results = Mapping[str, Any]
Record = Mapping[str, Any]

_MILLION: Final = 1_000_000
_HEADS: Final = ("read units", "write units: table, indexes", "SQS", "functions", "ms", "log, bytes", "$ a million")

_HEAD: Final = f"""\
# What Atrium costs on AWS

Measured by `python -m benchmarks.costs`, which writes this page. Dollars are those of {prices.REGION} in {prices.AS_OF}
(below), without any free tier, discount or tax.

**Measured** are, of every operation's example and of all work that follows at once from its answer (append to the log,
fan-out, deliveries, tasks): each call of AWS; the sizes of the items it read and wrote, and from them units; the
functions' processor time; what they log. **Reckoned**, because nothing else tells: units, by DynamoDB's rules from the
sizes. A transaction writes twice, and each index that an item is in is written once more, whole. The last section holds
that against Amazon's own DynamoDB Local.

**Assumed** is what only a network would tell: DynamoDB answers a read in {WAIT_MS["GetItem"]} to {WAIT_MS["Query"]} ms,
a transaction in {WAIT_MS["TransactWriteItems"]} ms, SQS in {WAIT_MS["SendMessage"]} ms, S3 in {OTHER_WAIT_MS:.0f} ms,
SES in {WAIT_MS["SendEmail"]} ms, an endpoint in {ENDPOINT_MS:.0f} ms; HTTP and TLS take {CALL_CPU_MS} ms of processor a
call; a function of 1,024 MB has {PROCESSORS:.2f} of a processor that is as fast as the one here. Each message comes
alone; under load up to ten share a turn, which costs less. Lambda logs {PLATFORM_LOG_BYTES} bytes of a turn, the
gateway's line has {ACCESS_LOG_BYTES}. Not counted: cold starts, data that leaves AWS ($0.09 a GB), what becomes due
later (expiry, retries), and what queries of the log read.
"""

_CLASSES: Final = """\
The operation in the middle of each class, by what it costs; the dearest beside it. `functions` are Lambda's
invocations, `ms` how long all of them last together, `SQS` its requests: to send, to receive, to delete.
"""

_PARTS: Final = """\
Dollars a million. Reads cost what the gateway takes; of a change most goes to writing: its entry stands in the table
and in four indexes, and is touched twice: when it is committed, and when it gets its place in the log.
"""

_OPERATIONS: Final = """\
As above. Of operations that grow with what they are about, this is what the example takes: a log of some thirty
entries, a site of a few pages.
"""


def document(results: Results) -> str:
    """Return the page."""
    sections = [
        ("By class", _CLASSES, _classes(results)),
        ("Where it goes", _PARTS, _parts(results)),
        ("A stage that nobody uses", scale.IDLE, scale.idle(results)),
        ("Storage", scale.STORAGE, scale.storage(results)),
        ("At 10 and at 1,000 times the load", scale.GROWTH, scale.growth(results)),
        ("By operation", _OPERATIONS, _operations(results)),
        ("Prices", "Look at the page that is named before you rely on one.\n", _prices()),
        *([("Compared with DynamoDB Local", *_compared(results))] if "compared" in results else []),
    ]
    shown = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections]
    shown.insert(_BEFORE_LIMITS, f"\n{_LIMITS.read_text()}")
    return f"{_HEAD}{''.join(shown)}\nMeasured on {', '.join(results['of'].values())}.\n"


def _classes(results: Results) -> str:
    rows = [_class(results, name, text) for name, text in CLASSES.items()]
    more = {
        LIST_OF_100: "A hundred members of an organization; each is read from the table too.",
        HEARD: "An organization's name, and its webhook.",
    }
    rows += [(f"**{name}**: {text}", "", *_figures(results["others"][name]), "") for name, text in more.items()]
    return table(("class", "of", *_HEADS, "the dearest"), rows)


def _class(results: Results, name: str, text: str) -> tuple[str, ...]:
    members = of_class(results, name)
    _, record = typical(results, name)
    dearest = max(members, key=lambda each: dollars(members[each]).total)
    most = f"{code(dearest)} {_money(dollars(members[dearest]).total)}"
    return f"**{name}**: {text}", str(len(members)), *_figures(record), most


def _figures(record: Record) -> tuple[str, ...]:
    return (
        f"{sums(record, 'read'):g}",
        f"{sums(record, 'written'):g}, {sums(record, 'indexed'):g}",
        str(queue_requests(record)),
        str(len(record["turns"])),
        f"{all_ms(record):.0f}",
        f"{sum(map(log_bytes, record['turns'])):,}",
        _money(dollars(record).total),
    )


def _parts(results: Results) -> str:
    records = {name: typical(results, name)[1] for name in CLASSES} | {
        name: results["others"][name] for name in (LIST_OF_100, HEARD)
    }
    rows = []
    for name, record in records.items():
        of = dollars(record)
        parts = (of.gateway, of.functions, of.table, of.queues, of.logs, of.others, of.total)
        rows.append((name, *map(_money, parts)))
    return table(("class", "gateway", "Lambda", "DynamoDB", "SQS", "logs", "S3, SES, KMS", "in all"), rows)


def _operations(results: Results) -> str:
    rows = [(code(of), record["class"], *_figures(record)) for of, record in sorted(results["operations"].items())]
    return table(("operation", "class", *_HEADS), rows)


def _prices() -> str:
    return table(("of", "page", "dollars"), prices.LISTED)


def _compared(results: Results) -> tuple[str, str]:
    rows = [
        (code(operation), name, *(f"{table_units:g}, {index_units:g}" for table_units, index_units in (ours, theirs)))
        for operation, name, ours, theirs in results["compared"]
    ]
    same = sum(row[2] == row[3] for row in rows)
    text = f"""\
The calls of some operations, sent to Amazon's DynamoDB Local, onto the same items: units of the table, and of its
indexes, as they are reckoned here and as it says it consumed. {same} of {len(rows)} are the same. What a transaction
wrote is compared as one plain write an item, half of what a transaction takes of the table: DynamoDB Local (of 2020)
says four units of a transaction with one small item, and also of one with two. And it takes nothing for an item that a
BatchGetItem asks for and that isn't there, which DynamoDB's reference says counts as one unit.
"""
    return text, table(("operation", "call", "reckoned", "DynamoDB Local"), rows)


def _money(each: float) -> str:
    return f"{each * _MILLION:,.2f}"
