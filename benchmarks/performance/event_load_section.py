"""The section about application events under load: the results of `event_load.py`."""

from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table

title: Final = "Application events on one machine"

_METHOD: Final = """\
`make load` also runs the whole service without the limits of volume, and lets 1 and 4 writers send batches of {batch}
events for {seconds} s each, as fast as they receive responses. All events belong to one organization, and have the same
type, actor and target. Their entries have almost 2 KB. Latencies are in milliseconds, and the other times in seconds.
"""

_INTERPRETATION: Final = """\
Each of the {events:,} events has exactly one entry, the events of a batch are in the log in their order, and the whole
log is valid. The benchmark stores no results otherwise. The emulator of the table is a single Python process on the
same machine ({machine}), so this is a lower bound. [ADR 43](../adr/0043-application-events.md) calculates what
DynamoDB allows. Measured on {day}.
"""


def render(results: Mapping[str, Any]) -> str:
    """Return the section."""
    values = {**results, **results["of"]}
    headings = ("writers", "events per second", "p50", "p99", "longest wait for append", "all appended after")
    rows = [
        [
            str(row["writers"]),
            f"{row['aSecond']:,.1f}",
            f"{row['p50']:,}",
            f"{row['p99']:,}",
            f"{row['ledger']['max']:.1f}",
            f"{row['ledger']['behind']:.1f}",
        ]
        for row in results["rows"]
    ]
    return "\n".join((_METHOD.format_map(values), f"{table(headings, rows)}\n", _INTERPRETATION.format_map(values)))
