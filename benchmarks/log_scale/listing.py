"""Listing a log: pages by each filter, and all of it from the newest entry to the oldest."""

from collections.abc import Mapping
from statistics import median
from typing import Any, Final

from benchmarks.log_scale.logs import Log, actor_id, at, event
from benchmarks.log_scale.meter import Taken, ask
from tests.harness.callers import Person

_TIMES: Final = 15
_MOST: Final = "100"


def filters(log: Log) -> Mapping[str, dict[str, str]]:
    """Return the filters that are tried, by what the document calls them; each lets something of the log through."""
    middle = log.entries // 2
    about = str(event(log.id, middle).target["id"])
    return {
        "none": {},
        "`type`": {"type": "page.published"},
        "`type`, a prefix": {"type": "organization.*"},
        "`actorId`": {"actorId": actor_id(0)},
        "`targetId`": {"targetId": about},
        "`from`, `to`": {"from": at(middle - 100), "to": at(middle + 100)},
        "`type`, `actorId`": {"type": "page.published", "actorId": actor_id(0)},
    }


def pages(log: Log, owner: Person) -> list[dict[str, Any]]:
    """Ask for the first page by each filter, and for the second; return what each took."""
    measured = []
    for name, wanted in filters(log).items():
        first, _ = ask("list_audit_log", log.id, owner, wanted)
        measured.append({"filter": name, "page": "first", **_asked(log, owner, wanted)})
        if first["nextCursor"]:
            following = {**wanted, "cursor": first["nextCursor"]}
            measured.append({"filter": name, "page": "second", **_asked(log, owner, following)})
    return measured


def _asked(log: Log, owner: Person, query: Mapping[str, str]) -> dict[str, Any]:
    answers = [ask("list_audit_log", log.id, owner, query) for _ in range(_TIMES)]
    (answer, taken), seconds = answers[-1], [taken.seconds for _, taken in answers]
    return {"items": len(answer["items"]), **_figures(taken), "ms": round(1000 * median(seconds), 1)}


def _figures(taken: Taken) -> dict[str, Any]:
    return {"calls": taken.called, "units": taken.units, "received": taken.received, "sent": taken.sent}


def walk(log: Log, owner: Person) -> dict[str, Any]:
    """Follow the list from the newest entry to the oldest, in pages of a hundred; return what that took."""
    cursor: dict[str, str] = {}
    listed, all_taken = 0, list[Taken]()
    while True:
        answer, taken = ask("list_audit_log", log.id, owner, {"limit": _MOST, **cursor})
        listed, cursor = listed + len(answer["items"]), {"cursor": answer["nextCursor"]}
        all_taken.append(taken)
        if not answer["nextCursor"]:
            break
    if listed < log.entries:
        raise SystemExit(f"The list of {log.entries} entries held {listed}.")
    full = all_taken[:-1] or all_taken
    tenth = len(full) // 10 or 1
    return {
        "entries": listed,
        "requests": len(all_taken),
        "calls": sorted({taken.called for taken in full}),
        "mostUnits": max(taken.units for taken in full),
        "msFirst": _milliseconds(full[:tenth]),
        "msLast": _milliseconds(full[-tenth:]),
        "seconds": round(sum(taken.seconds for taken in all_taken), 1),
    }


def _milliseconds(taken: list[Taken]) -> float:
    return round(1000 * median(each.seconds for each in taken), 1)
