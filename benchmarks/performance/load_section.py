"""The section about the service under load: the results of `load.py`."""

from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table

title: Final = "Throughput on one machine"

_METHOD: Final = """\
`make load` runs the whole service, as `make run` does. autocannon sends requests over 1, 10 and 50 connections for
{seconds} s each. A connection sends its next request as soon as it has received a response. The requests read one
space, list {listed} spaces, rename one of {spaces} spaces in turn, or are a mix: of {all} requests, {read} reads,
{list} lists and {mutation} rename. Latencies are in milliseconds. The column *409* counts changes that were rejected
because of concurrent changes to the same record; the client may repeat them.

The last four columns describe the work after a change, in seconds: the longest time for which an entry was seen
waiting to be appended to the log, sampled twice a second; the time from the end of the load until the log had no
pending entries; and the time from a commit until its event reached a webhook.
"""

_INTERPRETATION: Final = """\
Each of the {changed:,} acknowledged changes has exactly one entry in the log. After the run an external client
verified the log. The webhook received the event of each change, in log order. Only 409 occurred as an error. The
benchmark stores no results if one of these conditions fails.

**How to interpret the results.** They are a lower bound and do not predict the performance on Lambda. One process
serves all connections: Chalice's development server, with one thread for each connection, of which Python runs one at
a time. The emulator of the table and the queues is also a single Python process. Both share a machine ({machine}) with
the workers, the webhook's receiver and autocannon. With 50 connections most of the latency is therefore queueing. On
AWS each request has its own run of the function. What the results do show is that no change is lost or left unfinished
when clients send more requests than the service can process. Measured on {day}.
"""

_REQUEST_NAMES: Final = {"read": "read one", "list": "list", "mutation": "rename one", "mix": "mix"}


def render(results: Mapping[str, Any]) -> str:
    """Return the section."""
    values = {**results, **results["of"], **results["mix"], "all": sum(results["mix"].values())}
    headings = (
        "request",
        "connections",
        "requests per second",
        "p50",
        "p99",
        "409",
        "longest wait for append",
        "all appended after",
        "webhook p50",
        "webhook p99",
    )
    return "\n".join(
        (
            _METHOD.format_map(values),
            f"{table(headings, map(_row, results['rows']))}\n",
            _INTERPRETATION.format_map(values),
        )
    )


def _row(row: Mapping[str, Any]) -> list[str]:
    ledger, delivery = row.get("ledger", {}), row.get("delivery", {})
    background_seconds = (ledger.get("max"), ledger.get("behind"), delivery.get("p50"), delivery.get("p99"))
    return [
        _REQUEST_NAMES[row["kind"]],
        str(row["connections"]),
        f"{row['aSecond']:,.1f}",
        *(f"{row[name]:,.0f}" for name in ("p50", "p99")),
        str(row["putOff"]),
        *("" if seconds is None else f"{seconds:.1f}" for seconds in background_seconds),
    ]
