"""`docs/reference/scale.md`: the figures that were kept, as tables."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.log_scale.logs import ACTOR_COUNT, ENTRIES_PER_LONG_ENTRY, EVENT_TYPE_WEIGHTS, TARGET_COUNT
from benchmarks.log_scale.results import DYNAMODB_LOCAL, SQLITE, Results
from local.generators.markdown import table
from local.paths import ROOT

FILE: Final = ROOT / "docs" / "reference" / "scale.md"

Logs = Mapping[str, Any]
"""What was kept of the logs in one table, by the number of entries."""

_HEAD: Final = f"""\
# What a log costs as it grows

Measured by `python -m benchmarks.log_scale`, which writes this page. Each log is an organization's, filled with made-up
entries by the ledger's own code: {len(EVENT_TYPE_WEIGHTS)} types, {ACTOR_COUNT} actors, {TARGET_COUNT:,} targets, 1.6 KB each on average; one
in {ENTRIES_PER_LONG_ENTRY} has 12 KB, and stands in an item of its own. All logs are in one table.

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

_VERIFY_OFFLINE: Final = """\
Each file, fetched by its URL, was then verified by `python -m chalicelib.features.audit.exports.logic.verify`.
"""


def document(results: Results) -> str:
    """Return the page; a measure that was not taken of a log is not on it."""
    logs = results.get(SQLITE, {})
    sections = [
        ("Listing a page", _PAGES, _page_table(logs)),
        ("Listing all", _WALK, _measurement_table(logs, "walk", _WALK_COLUMNS)),
        ("Verifying", _VERIFY, _measurement_table(logs, "verify", _VERIFY_COLUMNS)),
        ("Exporting", _EXPORT, _measurement_table(logs, "export", _EXPORT_COLUMNS)),
        ("Verifying offline", _VERIFY_OFFLINE, _measurement_table(logs, "export", _VERIFY_OFFLINE_COLUMNS)),
        ("Compared with DynamoDB Local", _COMPARED, _comparison_table(logs, results.get(DYNAMODB_LOCAL, {}))),
    ]
    rendered = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections if rows]
    return _HEAD + "".join(rendered) + f"\n## Where and when\n\n{_conditions_table(results)}\n"


def _page_table(logs: Logs) -> str:
    measured = _measured_logs(logs, "pages")
    by_page: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for entries, figures in measured.items():
        for page in figures:
            by_page.setdefault((page["filter"], page["page"]), {})[entries] = page
    headings = ["filter", "page", *(f"of {int(entries):,}" for entries in measured)]
    rows = [[*named, *(_page_text(pages.get(entries)) for entries in measured)] for named, pages in by_page.items()]
    return table(headings, rows) if measured else ""


def _page_text(page: Mapping[str, Any] | None) -> str:
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

_VERIFY_OFFLINE_COLUMNS: Final = {
    "entries": "{entries:,}",
    "seconds": "{verifier[seconds]:g}",
    "MiB at most": "{verifier[mostMiB]}",
    "what it said": "{verifier[said]}",
}


def _measurement_table(logs: Logs, measurement: str, columns: Mapping[str, str]) -> str:
    rows = [
        [template.format_map(figures) for template in columns.values()]
        for figures in _measured_logs(logs, measurement).values()
    ]
    return table(list(columns), rows) if rows else ""


def _measured_logs(logs: Logs, measurement: str) -> dict[str, Any]:
    return {entries: log[measurement]["figures"] for entries, log in logs.items() if measurement in log}


def _comparison_table(logs: Logs, dynamodb_logs: Logs) -> str:
    rows = [
        [f"{int(entries):,}", description, f"{sqlite_units:g}", f"{dynamodb_units:g}"]
        for entries in dynamodb_logs
        for (description, sqlite_units), (_, dynamodb_units) in zip(
            _max_read_units(logs, entries), _max_read_units(dynamodb_logs, entries), strict=True
        )
    ]
    return table(("entries", "most read units", SQLITE, DYNAMODB_LOCAL), rows) if rows else ""


def _max_read_units(logs: Logs, entries: str) -> list[tuple[str, float]]:
    log = logs[entries]
    return [
        ("a page by any filter", max(page["units"] for page in log["pages"]["figures"])),
        ("a page of a hundred", log["walk"]["figures"]["mostUnits"]),
        ("a request that verifies", log["verify"]["figures"]["mostUnits"]),
    ]


def _conditions_table(results: Results) -> str:
    measured: dict[tuple[str, ...], list[str]] = {}
    for name, logs in results.items():
        for entries, log in logs.items():
            for measurement in log.values():
                conditions = (measurement["of"]["day"], measurement["of"]["machine"], measurement["of"]["python"], name)
                logs_there = measured.setdefault(conditions, [])
                logs_there += [] if f"{int(entries):,}" in logs_there else [f"{int(entries):,}"]
    rows = [[*where, "; ".join(what)] for where, what in measured.items()]
    return table(("on", "machine", "Python", "table", "logs of"), rows)
