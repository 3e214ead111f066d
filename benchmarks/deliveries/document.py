"""`docs/reference/deliveries.md`: the stored results of the delivery benchmarks as tables."""

import json
from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table
from local.paths import ROOT

PAGE_FILE: Final = ROOT / "docs" / "reference" / "deliveries.md"
_RESULTS: Final = ROOT / "benchmarks" / "results"

Results = Mapping[str, Any]

_HEAD: Final = """\
# Delivery latency

The guide to [webhooks](../guides/webhooks.md) describes what the service sends and when it retries. This page shows how
soon events arrive at healthy endpoints while others fail. Each section names the program that generates it.
"""

_HANGING: Final = """\
## Endpoints that never respond

`python -m benchmarks.deliveries.hanging_endpoints` simulates the queues, the workers and {all:,} webhooks,
{hanging:,} of which never respond. Each webhook has an event every {pause:.0f} seconds on average. The rules and the
numbers of workers are the service's own. Two values are assumed: the response time of a healthy endpoint (0.05 to
0.2 s), and the time of a worker's own reads and writes (0.03 s).

The messages of a webhook form a message group, so they do not wait for those of other webhooks. But a worker that
waits for an endpoint, up to {patience:.0f} s, cannot handle other messages. Therefore a webhook that times out has an
open circuit, and one that was never called a half-open one: deliveries are deferred at once, and a queue with workers
of its own probes the endpoint with one event at a time. In the worst case all hanging endpoints have responded until
the start of the simulation, so each must time out once. The table shows the lag of the {healthy} healthy endpoints,
from the event to the response, in seconds, by the time of the event:
"""

_HANGING_CONCLUSION: Final = """\
Hanging endpoints no longer delay others once their circuits are open. The time until then depends on the number of
workers and the rate of events. {hanging:,} endpoints that time out once take {work:,.0f} seconds, and a worker waits
for up to ten webhooks at once. The first event of a new webhook waits with those of the hanging endpoints. After its
first response the webhook is treated like other healthy ones.
"""


_LAG: Final = """\
## Many events, and a tenth of the endpoints dead

`python -m benchmarks.deliveries.lag` runs the whole service, as `make run` does, and changes an organization {events:,}
times, once every {pause:g} s. It has {webhooks} webhooks, {dead} of which have dead endpoints: one never responds, the
other refuses connections. Each of the other {living} received every event, in the order of `sequence`, {repeated}. Lag
from the commit of an event to its arrival, in seconds:
"""

_LAG_CONDITIONS: Final = """\
The emulator, the service, the workers and the receivers shared a machine ({machine}) that
also ran other processes. The local stage has four workers for each queue. In the first minute every webhook is called
for the first time, including those with dead endpoints. Measured on {day}.
"""


_DESIGN_NAMES: Final = {
    "one queue without parking": "one queue, no circuit breaker",
    "as built, webhooks that are new": "as implemented, all webhooks new",
    "as built, all have answered until then": "as implemented, all have responded until the start",
    "the same, with fewer workers": "as implemented, all have responded, fewer workers",
}
"""The names of the designs on the page, by their names in the results."""


def save_results(name: str, results: Results) -> None:
    """Replace the stored results of a benchmark, and write the page."""
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
    PAGE_FILE.write_text(render_page())


def render_page() -> str:
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
    repeated_text = f"{results['repeated']} of them twice" if results["repeated"] else "none of them twice"
    values = {**results, **results["of"], "living": results["webhooks"] - results["dead"], "repeated": repeated_text}
    rows = [[part, *(f"{spread[name]:g}" for name in ("p50", "p99", "max"))] for part, spread in results["lag"].items()]
    lag_table = table(("events", "p50", "p99", "max"), rows)
    return "\n".join((_LAG.format_map(values), f"{lag_table}\n", _LAG_CONDITIONS.format_map(values)))


def render_hanging_endpoints(results: Results) -> str:
    """Return the section about endpoints that never respond."""
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
            _DESIGN_NAMES[d["name"]],
            " + ".join(map(str, d["workers"])),
            *(_percentiles_text(d["lag"][p]) for p in periods),
            f"{d['timeouts']:,}",
        ]
        for d in designs
    ]
    parts = _HANGING.format_map(load | values), table(headings, rows), _HANGING_CONCLUSION.format_map(load | values)
    return "\n".join((parts[0], f"{parts[1]}\n", parts[2]))


def _percentiles_text(percentiles: Mapping[str, float]) -> str:
    return f"p50 {percentiles['p50']:,.1f}, p99 {percentiles['p99']:,.1f}, max {percentiles['max']:,.1f}"


def _load_results(name: str) -> Any:
    return json.loads((_RESULTS / f"{name}.json").read_text())
