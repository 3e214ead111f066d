"""`docs/scale.md`: the figures that were kept, as tables."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.log_scale.logs import KINDS, ONE_LONG_IN, PEOPLE, TARGETS
from benchmarks.log_scale.results import Results
from local.folders import ROOT
from local.markdown import table

FILE: Final = ROOT / "docs" / "scale.md"

_HEAD: Final = f"""\
# What a log costs as it grows

Measured by `python -m benchmarks.log_scale`, which writes this page. Each log is an organization's, filled with made-up
entries by the ledger's own code: {len(KINDS)} types, {PEOPLE} actors, {TARGETS:,} targets, 1.6 KB each on average; one
in {ONE_LONG_IN} has 12 KB, and stands in an item of its own. All logs are in one table.

**How to read it.** Calls, read units and bytes are what DynamoDB would be asked for as well: they are counted at the
client, and units as the emulator reports them, one for 4 KB read consistently and half of one from an index. They hold
anywhere. **Seconds do not**: the table is in an emulator on the same machine, which had other work to do meanwhile, and
nothing is on the way. They show whether time grows with the log, and not how fast the service is. Memory is that of a
process (Linux's resident set): when the work began, with all that the benchmark itself needs, and at most.
"""

_PAGES: Final = """\
The first page and the second by each filter, of 25 entries, for a user. What a page takes depends on which entries are
on it, not on how many there are: a long one is an item more to read. A filter for which there is no index of its own
looks through a hundred entries, so its page may be short.
"""

_WALK: Final = """\
The whole list, from the newest entry to the oldest, in pages of a hundred: the last pages cost what the first do.
"""

_VERIFY: Final = """\
`verify-integrity` from the first entry to the last; each request verifies up to 5,000 entries and hands out the cursor
for the next.
"""

_EXPORT: Final = """\
An export in the background, of the whole log as NDJSON, in one process: read in order, compressed, put into S3 (of the
emulator) part by part, read back once for its SHA-256.
"""

_VERIFIER: Final = """\
Each file, fetched by its URL, was then verified by `python -m chalicelib.features.audit.verify`.
"""


def document(results: Results) -> str:
    """Return the page; a measure that was not taken of a log is not on it."""
    sections = [
        ("Listing a page", _PAGES, _pages(results)),
        ("Listing all", _WALK, _rows(results, "walk", _WALK_COLUMNS)),
        ("Verifying", _VERIFY, _rows(results, "verify", _VERIFY_COLUMNS)),
        ("Exporting", _EXPORT, _rows(results, "export", _EXPORT_COLUMNS)),
        ("Verifying offline", _VERIFIER, _rows(results, "export", _VERIFIER_COLUMNS)),
    ]
    shown = [f"\n## {title}\n\n{text}\n{rows}\n" for title, text, rows in sections if rows]
    return _HEAD + "".join(shown) + f"\n## Where and when\n\n{_circumstances(results)}\n"


def _pages(results: Results) -> str:
    measured = _of(results, "pages")
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


def _rows(results: Results, measure: str, columns: Mapping[str, str]) -> str:
    rows = [[shape.format_map(figures) for shape in columns.values()] for figures in _of(results, measure).values()]
    return table(list(columns), rows) if rows else ""


def _of(results: Results, measure: str) -> dict[str, Any]:
    return {entries: kept[measure]["figures"] for entries, kept in results.items() if measure in kept}


def _circumstances(results: Results) -> str:
    measured: dict[tuple[str, ...], list[str]] = {}
    for entries, kept in results.items():
        for measure, taken in kept.items():
            of = taken["of"]
            where = (of["day"], of["machine"], of["python"], of["table"])
            measured.setdefault(where, []).append(f"{measure} of {int(entries):,}")
    rows = [[*where, ", ".join(what)] for where, what in measured.items()]
    return table(("on", "machine", "Python", "table", "measured"), rows)
