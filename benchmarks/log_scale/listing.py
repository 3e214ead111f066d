"""List a log: pages with each filter, and all entries from the newest to the oldest."""

from collections.abc import Mapping
from statistics import median
from typing import Any, Final

from benchmarks.log_scale.logs import Log, actor_id, build_event, occurred_at
from benchmarks.log_scale.meter import Usage, perform_operation
from tests.harness.callers import Person

_REPETITIONS: Final = 15
_MAX_LIMIT: Final = "100"


def filters(log: Log) -> Mapping[str, dict[str, str]]:
    """Return the measured filters by their name on the page. Each matches some entries of the log."""
    middle = log.entries // 2
    target = str(build_event(log.id, middle).target["id"])
    return {
        "none": {},
        "`type`": {"type": "page.published"},
        "`type`, a prefix": {"type": "organization.*"},
        "`actorId`": {"actorId": actor_id(0)},
        "`targetId`": {"targetId": target},
        "`from`, `to`": {"from": occurred_at(middle - 100), "to": occurred_at(middle + 100)},
        "`type`, `actorId`": {"type": "page.published", "actorId": actor_id(0)},
    }


def measure_pages(log: Log, owner: Person) -> list[dict[str, Any]]:
    """Measure the first two pages with each filter."""
    measured = []
    for name, query in filters(log).items():
        first, _ = perform_operation("list_audit_log", log.id, owner, query)
        measured.append({"filter": name, "page": "first", **_measure_page(log, owner, query)})
        if first["nextCursor"]:
            next_query = {**query, "cursor": first["nextCursor"]}
            measured.append({"filter": name, "page": "second", **_measure_page(log, owner, next_query)})
    return measured


def _measure_page(log: Log, owner: Person, query: Mapping[str, str]) -> dict[str, Any]:
    results = [perform_operation("list_audit_log", log.id, owner, query) for _ in range(_REPETITIONS)]
    (page, usage), seconds = results[-1], [usage.seconds for _, usage in results]
    return {"items": len(page["items"]), **_usage_fields(usage), "ms": round(1000 * median(seconds), 1)}


def _usage_fields(usage: Usage) -> dict[str, Any]:
    return {"calls": usage.calls_text, "units": usage.units, "received": usage.received, "sent": usage.sent}


def measure_all_pages(log: Log, owner: Person) -> dict[str, Any]:
    """Measure the whole list, from the newest entry to the oldest, in pages of a hundred."""
    cursor: dict[str, str] = {}
    entry_count, usages = 0, list[Usage]()
    while True:
        page, usage = perform_operation("list_audit_log", log.id, owner, {"limit": _MAX_LIMIT, **cursor})
        entry_count, cursor = entry_count + len(page["items"]), {"cursor": page["nextCursor"]}
        usages.append(usage)
        if not page["nextCursor"]:
            break
    if entry_count < log.entries:
        raise SystemExit(f"The list of {log.entries} entries contains {entry_count}.")
    full_pages = usages[:-1] or usages
    tenth = len(full_pages) // 10 or 1
    return {
        "entries": entry_count,
        "requests": len(usages),
        "calls": sorted({usage.calls_text for usage in full_pages}),
        "mostUnits": max(usage.units for usage in full_pages),
        "msFirst": _median_milliseconds(full_pages[:tenth]),
        "msLast": _median_milliseconds(full_pages[-tenth:]),
        "seconds": round(sum(usage.seconds for usage in usages), 1),
    }


def _median_milliseconds(usages: list[Usage]) -> float:
    return round(1000 * median(each.seconds for each in usages), 1)
