"""`docs/reference/deliveries.md`: what was measured of deliveries, kept in `benchmarks/results/`, as tables."""

import json
from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table
from local.paths import ROOT

FILE: Final = ROOT / "docs" / "reference" / "deliveries.md"
_RESULTS: Final = ROOT / "benchmarks" / "results"

Results = Mapping[str, Any]

_HEAD: Final = """\
# How soon events arrive

The guide to [webhooks](../guides/webhooks.md) says what the service sends and when it retries. This page shows how soon
events arrive at healthy endpoints while others fail. The programs that it names generate it.
"""

_HANGING: Final = """\
## Endpoints that never answer

`python -m benchmarks.deliveries.hanging_endpoints` simulates the queues, the workers and {all:,} webhooks,
{hanging:,} of which give no answer at all. Each has an event every {pause:.0f} seconds on average. The rules and the
numbers of workers are the service's own. Made up is how soon a good endpoint answers (in 0.05 to 0.2 s), and what a
worker's own reads and writes take (0.03 s).

A message is in a group of its webhook, so it waits for nobody else's. But a worker that waits for an endpoint, up to
{patience:.0f} s, is of no use to others meanwhile. So a webhook that gave no answer, or was never asked for one, is
*parked*: its events are put off in an instant, and one at a time is tried on a queue that has workers of its own. The
worst is when all that hang have answered until a moment ago: each has to be waited for once. Lag of the {healthy} good
ones, from the event to their answer, in seconds, by when the event happened:
"""

_HANGING_CONCLUSION: Final = """\
Once those that hang are parked, they cost the others nothing. How long that takes depends on how many workers there
are and how fast events come: {hanging:,} endpoints, each waited for once, are {work:,.0f} seconds, of which a worker
waits for ten at once if they are of ten webhooks. A webhook that is new waits once among all that hang; after its first
answer it is with the good ones.
"""


_LAG: Final = """\
## Many events, and a tenth of the endpoints dead

`python -m benchmarks.deliveries.lag` runs the whole service as `make run` does, and changes an organization {events:,}
times, every {pause:g} s. It has {webhooks} webhooks, {dead} of which lead to dead endpoints: one never answers, at
another nobody listens. Each of the other {living} got every event, in the order of `sequence`, {repeated}. Lag
from the commit of an event until it has arrived, in seconds:
"""

_LAG_CONDITIONS: Final = """\
Emulator, service, workers and receivers shared a machine, {machine}, that had other work to do; the
local stage has four workers for a queue. In the first minute every webhook is asked for the first time, those that are
dead among them. Measured on {day}.
"""


def save_results(name: str, results: Results) -> None:
    """Keep figures in place of former ones, and write the page anew."""
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
    FILE.write_text(document())


def document() -> str:
    """Return the page."""
    return "\n".join(
        (
            _HEAD,
            render_delivery_lag(_load_results("delivery_lag")),
            render_hanging_endpoints(_load_results("hanging_endpoints")),
        )
    )


def render_delivery_lag(results: Results) -> str:
    """Return the section about many events."""
    repeated_text = f"{results['repeated']} of them twice" if results["repeated"] else "none twice"
    values = {**results, **results["of"], "living": results["webhooks"] - results["dead"], "repeated": repeated_text}
    rows = [[part, *(f"{spread[name]:g}" for name in ("p50", "p99", "max"))] for part, spread in results["lag"].items()]
    lag_table = table(("events of", "p50", "p99", "most"), rows)
    return "\n".join((_LAG.format_map(values), f"{lag_table}\n", _LAG_CONDITIONS.format_map(values)))


def render_hanging_endpoints(results: Results) -> str:
    """Return the section about endpoints that never answer."""
    load, designs = results["load"], results["designs"]
    values = {
        "all": load["hanging"] + load["healthy"],
        "pause": 60 / results["eventsAMinute"],
        "patience": results["patience"],
        "work": load["hanging"] * results["patience"],
    }
    periods = list(designs[0]["lag"])
    headings = ["design", "workers", *(f"minutes {period}" for period in periods), "time-outs"]
    rows = [
        [
            d["name"],
            " + ".join(map(str, d["workers"])),
            *(_percentiles_text(d["lag"][p]) for p in periods),
            f"{d['timeouts']:,}",
        ]
        for d in designs
    ]
    shown = _HANGING.format_map(load | values), table(headings, rows), _HANGING_CONCLUSION.format_map(load | values)
    return "\n".join((shown[0], f"{shown[1]}\n", shown[2]))


def _percentiles_text(percentiles: Mapping[str, float]) -> str:
    return f"p50 {percentiles['p50']:,.1f}, p99 {percentiles['p99']:,.1f}, most {percentiles['max']:,.1f}"


def _load_results(name: str) -> Any:
    return json.loads((_RESULTS / f"{name}.json").read_text())
