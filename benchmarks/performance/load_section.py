"""The section about the service under load: what `load.py` measured."""

from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table

title: Final = "Under load, on one machine"

_METHOD: Final = """\
`make load` runs the whole service as `make run` does. autocannon asks as fast as it is answered, over 1, 10 and 50
connections, {seconds} s each: for a space, for a page of {listed}, for another name of one of {spaces} spaces in turn,
and for a mix: of {all} requests {read} read, {list} list, {mutation} changes. Latency is in milliseconds; *409* counts
changes that were to be tried again, since others kept changing the same. What comes behind a change is in seconds: the
longest that an entry was seen waiting for its place in the log, looked at twice a second; how long after the load the
last one had it; and from the commit until a webhook was told.
"""

_INTERPRETATION: Final = """\
Each of the {changed:,} changes that were acknowledged has its one entry, the log was proved from outside when all was
done, and the webhook was told of each, in the order of the log; nothing failed in another way than by 409: the program
keeps no figures otherwise.

**What it shows, and what not.** This is a floor, and not what Lambda does. One process serves all connections:
Chalice's server for development, a thread a connection, and Python runs one of these at a time. The table and the
queues are an emulator written in Python, one process as well. Both share a machine with the workers, the webhook's
receiver and autocannon ({machine}). So what 50 connections ask mostly waits for its turn; on AWS
each request has a run of the function to itself. What the figures are good for is that nothing is lost or left behind
when more is asked than can be done at once. Measured on {day}.
"""

_REQUEST_NAMES: Final = {"read": "read one", "list": "list", "mutation": "change one", "mix": "mix"}


def written(results: Mapping[str, Any]) -> str:
    """Return the section."""
    known = {**results, **results["of"], **results["mix"], "all": sum(results["mix"].values())}
    heads = (
        "request",
        "connections",
        "a second",
        "p50",
        "p99",
        "409",
        "entry waits",
        "all placed after",
        "told p50",
        "told p99",
    )
    return "\n".join(
        (_METHOD.format_map(known), f"{table(heads, map(_row, results['rows']))}\n", _INTERPRETATION.format_map(known))
    )


def _row(row: Mapping[str, Any]) -> list[str]:
    ledger, delivery = row.get("ledger", {}), row.get("delivery", {})
    behind = (ledger.get("max"), ledger.get("behind"), delivery.get("p50"), delivery.get("p99"))
    return [
        _REQUEST_NAMES[row["kind"]],
        str(row["connections"]),
        f"{row['aSecond']:,.1f}",
        *(f"{row[name]:,.0f}" for name in ("p50", "p99")),
        str(row["putOff"]),
        *("" if figure is None else f"{figure:.1f}" for figure in behind),
    ]
