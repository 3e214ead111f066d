"""`docs/reference/scale.md`: the stored results as tables."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.log_scale.logs import ACTOR_COUNT, ENTRIES_PER_LONG_ENTRY, EVENT_TYPE_WEIGHTS, TARGET_COUNT
from benchmarks.log_scale.results import DYNAMODB_LOCAL, SQLITE, Results
from local.generators.markdown import table
from local.paths import ROOT

PAGE_FILE: Final = ROOT / "docs" / "reference" / "scale.md"

Logs = Mapping[str, Any]
"""The results of the logs in one table, by number of entries."""

_TABLE_NAMES: Final = {SQLITE: "SQLite", DYNAMODB_LOCAL: "DynamoDB Local"}
"""The names of the tables on the page, by their names in the results."""

_HEAD: Final = f"""\
# Cost of an audit log as it grows

`python -m benchmarks.log_scale` measures the results and writes this page. Each log belongs to an organization. The
ledger's own code fills it with synthetic entries: {len(EVENT_TYPE_WEIGHTS)} types, {ACTOR_COUNT} actors and
{TARGET_COUNT:,} targets. An entry has 1.6 KB on average. One in {ENTRIES_PER_LONG_ENTRY} has 12 KB and is stored as an
item of its own. All logs are in one table.

**The replacement for DynamoDB.** `benchmarks/log_scale/disk_table.py` is a client that stores the table in SQLite. The
emulator of `make run` sorts a whole log to return one page of it. Amazon's DynamoDB Local appended 100 to 400 entries
a second on this machine, so a million would take hours. The replacement runs in the service's process. It implements
the four calls that the service makes, with DynamoDB's JSON and its rules for pages and transactions. S3 and SQS are
those of the emulator.

**How to interpret the results.** The calls, their number and the amount of data that they read depend only on the
service. Read units are calculated from item sizes: one for 4 KB of a consistent read, half of one for 4 KB of an
index. **Milliseconds are not DynamoDB's**, because there is no network, and the machine also ran other processes. They
show whether the time grows with the log, not how fast the service is. Memory is the resident set of the process, which
includes the SQLite table. *Before* is the memory at the start of the work, with everything that the benchmark needs.
"""

_PAGES: Final = """\
The first two pages of 25 entries with each filter, requested by a user. The read units of a page depend on the entries
on it, not on the length of the log: each long entry is one more item. A filter without an index examines at most a
hundred entries, so its page may be short.
"""

_WALK: Final = """\
The whole list, from the newest entry to the oldest, in pages of a hundred. The last page needs the same calls as the
first: one Query, and a read of the long entries.
"""

_VERIFY: Final = """\
`verify-integrity` from the first entry to the last. Each request verifies up to 5,000 entries and returns the cursor
of the next request. A request that took many times the median was waiting for a processor, which other processes used.
"""

_EXPORT: Final = """\
A background export of the whole log as NDJSON, in one process. It reads the entries in order, compresses them, and
uploads them to S3 (of the emulator) in parts. Then it reads the file once to calculate its SHA-256.
"""

_COMPARED: Final = """\
The same logs in Amazon's DynamoDB Local, except for the longest. DynamoDB Local calculates units with Amazon's code.
"""

_VERIFY_OFFLINE: Final = """\
Each file was downloaded from its URL and verified with `python -m chalicelib.features.audit.exports.logic.verify`.
"""


def render_page(results: Results) -> str:
    """Return the page. It omits measurements without results."""
    logs = results.get(SQLITE, {})
    sections = [
        ("List a page", _PAGES, _page_table(logs)),
        ("List all entries", _WALK, _measurement_table(logs, "walk", _WALK_COLUMNS)),
        ("Verify", _VERIFY, _measurement_table(logs, "verify", _VERIFY_COLUMNS)),
        ("Export", _EXPORT, _measurement_table(logs, "export", _EXPORT_COLUMNS)),
        ("Verify offline", _VERIFY_OFFLINE, _measurement_table(logs, "export", _VERIFY_OFFLINE_COLUMNS)),
        ("Compared with DynamoDB Local", _COMPARED, _comparison_table(logs, results.get(DYNAMODB_LOCAL, {}))),
    ]
    rendered = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections if rows]
    return _HEAD + "".join(rendered) + f"\n## Environments\n\n{_conditions_table(results)}\n"


def _page_table(logs: Logs) -> str:
    measured = _measured_logs(logs, "pages")
    by_page: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for entries, measured_pages in measured.items():
        for page in measured_pages:
            by_page.setdefault((page["filter"], page["page"]), {})[entries] = page
    headings = ["filter", "page", *(f"{int(entries):,} entries" for entries in measured)]
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
    "max units per page": "{mostUnits:g}",
    "ms per page, first tenth": "{msFirst}",
    "ms per page, last tenth": "{msLast}",
    "total seconds": "{seconds:g}",
}

_VERIFY_COLUMNS: Final = {
    "entries": "{entries:,}",
    "requests": "{requests:,}",
    "max calls per request": "{mostCalls}",
    "max units": "{mostUnits:,.0f}",
    "seconds per request: first, median, max": "{secondsFirst:g}, {secondsMedian:g}, {secondsMost:g}",
    "total seconds": "{seconds:g}",
    "MiB: before, peak": "{memory[before]}, {memory[most]}",
}

_EXPORT_COLUMNS: Final = {
    "entries": "{entries:,}",
    "file size, bytes": "{bytes:,}",
    "parts": "{parts}",
    "seconds": "{seconds:g}",
    "MiB: before, peak": "{memory[before]}, {memory[most]}",
    "calls": "{calls}",
}

_VERIFY_OFFLINE_COLUMNS: Final = {
    "entries": "{entries:,}",
    "seconds": "{verifier[seconds]:g}",
    "peak MiB": "{verifier[mostMiB]}",
    "output": "{verifier[said]}",
}


def _measurement_table(logs: Logs, measurement: str, columns: Mapping[str, str]) -> str:
    rows = [
        [template.format_map(values) for template in columns.values()]
        for values in _measured_logs(logs, measurement).values()
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
    return (
        table(("entries", "max read units", _TABLE_NAMES[SQLITE], _TABLE_NAMES[DYNAMODB_LOCAL]), rows) if rows else ""
    )


def _max_read_units(logs: Logs, entries: str) -> list[tuple[str, float]]:
    log = logs[entries]
    return [
        ("page with a filter", max(page["units"] for page in log["pages"]["figures"])),
        ("page of 100", log["walk"]["figures"]["mostUnits"]),
        ("verification request", log["verify"]["figures"]["mostUnits"]),
    ]


def _conditions_table(results: Results) -> str:
    measured: dict[tuple[str, ...], list[str]] = {}
    for name, logs in results.items():
        for entries, log in logs.items():
            for measurement in log.values():
                conditions = (
                    measurement["of"]["day"],
                    measurement["of"]["machine"],
                    measurement["of"]["python"],
                    _TABLE_NAMES[name],
                )
                logs_there = measured.setdefault(conditions, [])
                logs_there += [] if f"{int(entries):,}" in logs_there else [f"{int(entries):,}"]
    rows = [[*conditions, "; ".join(entries)] for conditions, entries in measured.items()]
    return table(("date", "machine", "Python", "table", "entries"), rows)
