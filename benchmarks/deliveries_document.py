"""`docs/deliveries.md`: what was measured of deliveries, kept in `benchmarks/results/`, as tables."""

import json
from collections.abc import Mapping
from typing import Any, Final

from local.folders import ROOT
from local.markdown import table

FILE: Final = ROOT / "docs" / "deliveries.md"
_RESULTS: Final = ROOT / "benchmarks" / "results"

Figures = Mapping[str, Any]

_HEAD: Final = """\
# How soon events arrive

What a webhook is sent, and when again, is told in [webhooks.md](webhooks.md). This page is about those whose endpoints
are well, while others are not. It is written by the programs that it names.
"""

_HANGING: Final = """\
## Endpoints that never answer

`python -m benchmarks.hanging_endpoints` simulates the queues, the workers and {all:,} webhooks, {hanging:,} of which
give no answer at all. Each has an event every {pause:.0f} seconds on average. The rules and the numbers of workers are
the service's own. Made up is how soon a good endpoint answers (in 0.05 to 0.2 s), and what a worker's own reads and
writes take (0.03 s).

A message is in a group of its webhook, so it waits for nobody else's. But a worker that waits for an endpoint, up to
{patience:.0f} s, is of no use to others meanwhile. So a webhook that gave no answer is *parked*: its events are put off
in an instant, and one at a time is tried on a queue that has workers of its own. The worst is the beginning, when all
hang and none is known to: each has to be waited for once. Lag of the {healthy} good ones, from the event to their
answer, by when the event happened:
"""

_READ: Final = """\
Once those that hang are parked, they cost the others nothing. How long that takes depends on how many workers there
are and how fast events come: {hanging:,} endpoints, each waited for once, are {work:,.0f} seconds, of which a worker
waits for ten at once if they are of ten webhooks.
"""


def keep(name: str, figures: Figures) -> None:
    """Keep figures in place of former ones, and write the page anew."""
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n")
    FILE.write_text(document())


def document() -> str:
    """Return the page."""
    return f"{_HEAD}\n{hanging_endpoints(_read('hanging_endpoints'))}"


def hanging_endpoints(figures: Figures) -> str:
    """Return the section about endpoints that never answer."""
    load, designs = figures["load"], figures["designs"]
    known = {
        "all": load["hanging"] + load["healthy"], "pause": 60 / figures["eventsAMinute"],
        "patience": figures["patience"], "work": load["hanging"] * figures["patience"],
    }  # fmt: skip
    periods = list(designs[0]["lag"])
    heads = ["design", "workers", *(f"minutes {period}" for period in periods), "time-outs"]
    rows = [
        [d["name"], " + ".join(map(str, d["workers"])), *(_lag(d["lag"][p]) for p in periods), f"{d['timeouts']:,}"]
        for d in designs
    ]
    shown = _HANGING.format_map(load | known), table(heads, rows), _READ.format_map(load | known)
    return "\n".join((shown[0], f"{shown[1]}\n", shown[2]))


def _lag(spread: Mapping[str, float]) -> str:
    return f"p50 {spread['p50']:,.1f}, p99 {spread['p99']:,.1f}, most {spread['max']:,.1f}"


def _read(name: str) -> Any:
    return json.loads((_RESULTS / f"{name}.json").read_text())
