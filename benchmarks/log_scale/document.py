"""`docs/reference/scale.md`: the figures that were kept, as tables."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.log_scale.logs import KINDS, ONE_LONG_IN, PEOPLE, TARGETS
from benchmarks.log_scale.results import DYNAMODB_LOCAL, STAND_IN, Results
from local.generators.markdown import table
from local.paths import ROOT

FILE: Final = ROOT / "docs" / "reference" / "scale.md"

Logs = Mapping[str, Any]
"""What was kept of the logs in one table, by the number of entries."""

_HEAD: Final = f"""\
# What a log costs as it grows

Measured by `python -m benchmarks.log_scale`, which writes this page. Each log is an organization's, filled with made-up
entries by the ledger's own code: {len(KINDS)} types, {PEOPLE} actors, {TARGETS:,} targets, 1.6 KB each on average; one
in {ONE_LONG_IN} has 12 KB, and stands in an item of its own. All logs are in one table.

**What stood in for DynamoDB.** The table is a client of our own on SQLite, `benchmarks/log_scale/disk_table.py`. The
emulator of `make run` sorts a whole log to answer a page of it, and Amazon's DynamoDB Local appended 100 to 400
entries a second here: up to hours for a million. The stand-in answers the four calls that the service makes, in
DynamoDB's JSON and by its rules of pages and transactions, in the service's own process. S3 and SQS are the emulator
of `make run`.

**How to read it.** Which calls are made, how many there are and how much they read is the service's own doing, and the
same anywhere; read units are reckoned from the sizes of items, one for 4 KB read consistently and half of one from an
index. **Milliseconds are not DynamoDB's**: no network lies between, and the machine had other work to do meanwhile.
They show whether time grows with the log, not how fast the service is. Memory is that of a process (Linux's resident
set), the stand-in's own included: when the work began, with all that the benchmark itself needs, and at most.
"""

_PAGES: Final = """\
The first page and the second by each filter, of 25 entries, for a user. What a page takes depends on which entries are
on it, not on how many there are: a long one is an item more to read. A filter for which there is no index of its own
looks through a hundred entries, so its page may be short.
"""

_WALK: Final = """\
The whole list, from the newest entry to the oldest, in pages of a hundred. The last page asks for what the first does:
one Query, and the long entries beside it.
"""

_VERIFY: Final = """\
`verify-integrity` from the first entry to the last; each request verifies up to 5,000 entries and hands out the cursor
for the next. One that took many times the median was waiting for a processor, which others had.
"""

_EXPORT: Final = """\
An export in the background, of the whole log as NDJSON, in one process: read in order, compressed, put into S3 (of the
emulator) part by part, read back once for its SHA-256.
"""

_COMPARED: Final = """\
The same logs in Amazon's DynamoDB Local, but for the longest: it reckons units by Amazon's own code.
"""

_VERIFIER: Final = """\
Each file, fetched by its URL, was then verified by `python -m chalicelib.features.audit.exports.logic.verify`.
"""


def document(results: Results) -> str:
    """Return the page; a measure that was not taken of a log is not on it."""
    logs = results.get(STAND_IN, {})
    sections = [
        ("Listing a page", _PAGES, _pages(logs)),
        ("Listing all", _WALK, _rows(logs, "walk", _WALK_COLUMNS)),
        ("Verifying", _VERIFY, _rows(logs, "verify", _VERIFY_COLUMNS)),
        ("Exporting", _EXPORT, _rows(logs, "export", _EXPORT_COLUMNS)),
        ("Verifying offline", _VERIFIER, _rows(logs, "export", _VERIFIER_COLUMNS)),
        ("Compared with DynamoDB Local", _COMPARED, _compared(logs, results.get(DYNAMODB_LOCAL, {}))),
    ]
    shown = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections if rows]
    return _HEAD + "".join(shown) + f"\n## Where and when\n\n{_circumstances(results)}\n"


def _pages(logs: Logs) -> str:
    measured = _of(logs, "pages")
    by_page: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for entries, figures in measured.items():
        for page in figures:
            by_page.setdefault((page["filter"], page["page"]), {})[entries] = page
    heads = ["filter", "page", *(f"of {int(entries):,}" for entries in measured)]
    rows = [[*named, *(_page(pages.get(entries)) for entries in measured)] for named, pages in by_page.items()]
    return table(heads, rows) if measured else ""


def _page(page: Mapping[str, Any] | None) -> str:
    if page is None:
        return ""
    calls = sum(int(call.split()[0]) for call in page["calls"].split(", "))
    return f"{page['items']} in {calls} calls, {page['units']:g} units, {page['received'] // 1000} KB, {page['ms']} ms"


_WALK_COLUMNS: Final = {
    "entries": "{entries:,}",
    "requests": "{requests:,}",
    "most units a page": "{mostUnits:g}",
    "ms a page, the first tenth": "{msFirst}",
    "ms a page, the last tenth": "{msLast}",
    "seconds in all": "{seconds:g}",
}

_VERIFY_COLUMNS: Final = {
    "entries": "{entries:,}",
    "requests": "{requests:,}",
    "most calls a request": "{mostCalls}",
    "most units": "{mostUnits:,.0f}",
    "seconds a request: first, median, most": "{secondsFirst:g}, {secondsMedian:g}, {secondsMost:g}",
    "seconds in all": "{seconds:g}",
    "MiB: before, at most": "{memory[before]}, {memory[most]}",
}

_EXPORT_COLUMNS: Final = {
    "entries": "{entries:,}",
    "file, bytes": "{bytes:,}",
    "parts": "{parts}",
    "seconds": "{seconds:g}",
    "MiB: before, at most": "{memory[before]}, {memory[most]}",
    "calls": "{calls}",
}

_VERIFIER_COLUMNS: Final = {
    "entries": "{entries:,}",
    "seconds": "{verifier[seconds]:g}",
    "MiB at most": "{verifier[mostMiB]}",
    "what it said": "{verifier[said]}",
}


def _rows(logs: Logs, measure: str, columns: Mapping[str, str]) -> str:
    rows = [[shape.format_map(figures) for shape in columns.values()] for figures in _of(logs, measure).values()]
    return table(list(columns), rows) if rows else ""


def _of(logs: Logs, measure: str) -> dict[str, Any]:
    return {entries: log[measure]["figures"] for entries, log in logs.items() if measure in log}


def _compared(logs: Logs, others: Logs) -> str:
    rows = [
        [f"{int(entries):,}", what, f"{ours:g}", f"{theirs:g}"]
        for entries in others
        for (what, ours), (_, theirs) in zip(_spent(logs, entries), _spent(others, entries), strict=True)
    ]
    return table(("entries", "most read units", STAND_IN, DYNAMODB_LOCAL), rows) if rows else ""


def _spent(logs: Logs, entries: str) -> list[tuple[str, float]]:
    log = logs[entries]
    return [
        ("a page by any filter", max(page["units"] for page in log["pages"]["figures"])),
        ("a page of a hundred", log["walk"]["figures"]["mostUnits"]),
        ("a request that verifies", log["verify"]["figures"]["mostUnits"]),
    ]


def _circumstances(results: Results) -> str:
    measured: dict[tuple[str, ...], list[str]] = {}
    for name, logs in results.items():
        for entries, log in logs.items():
            for taken in log.values():
                where = (taken["of"]["day"], taken["of"]["machine"], taken["of"]["python"], name)
                logs_there = measured.setdefault(where, [])
                logs_there += [] if f"{int(entries):,}" in logs_there else [f"{int(entries):,}"]
    rows = [[*where, "; ".join(what)] for where, what in measured.items()]
    return table(("on", "machine", "Python", "table", "logs of"), rows)
