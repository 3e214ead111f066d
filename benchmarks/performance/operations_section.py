"""The section about what each operation asks of AWS: what `operations.py` measured."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from local.generators.markdown import code, table

Measurement = Mapping[str, float]

title: Final = "What each operation asks of AWS, beside 10, 1,000 and 10,000 neighbours"

_FIELD_NAMES: Final = {
    "calls": "calls",
    "trips": "round trips",
    "read": "read units",
    "written": "write units",
    "indexed": "of indexes",
}

_METHOD: Final = """\
`python -m benchmarks.performance.operations` calls each operation's example on AWS in memory, by who has just the right
to it and as a process does that has met its places. Neighbours are as many more records as stand beside whatever the
examples of its feature look at, in the same organization, platform, space, site or page, and under ids of their own;
beside everything else there are 10. A list is asked for a page of the size that it has unless somebody says otherwise.

**round trips** is how often a request waits: for calls that are made side by side once. Units are reckoned by
DynamoDB's rules from the sizes of the items; a transaction writes twice, and each index that an item is in once more.
What workers do afterwards is in [costs.md](costs.md).
"""

_SUMMARY: Final = """\
**{same} of {all} operations ask for the same at all sizes**: as many calls, round trips and units. {filled} more are
the same at 1,000 and at 10,000, and read another number of units beside 10: a page that was not full, or full of
records of other sizes. {more} differ between 1,000 and 10,000{which}: a whole tree,
or the sitemap of a whole site, is read where one is asked for, and both are bounded.

Not grown to 10,000 are the {logs} operations on logs, which are asked beside 1,000 entries here and beside 1,000,000
in [scale.md](scale.md): a page of a log and a window of its verification are bounded, whatever the log's length. As
many neighbours as they may have, 10 here, have operations on sets that are bounded (modules, capabilities) and on
migrations, of which there are as many as the program has. Lists over all organizations that the caller belongs to
(platforms, research) ask each of these, side by side: here 11.
"""


def written(results: Mapping[str, Any]) -> str:
    """Return the section."""
    found: Mapping[str, Sequence[Measurement]] = results["operations"]
    grown = {name: sizes for name, sizes in found.items() if len(sizes) == max(map(len, found.values()))}
    more = sorted(name for name, sizes in grown.items() if sizes[-1] != sizes[1])
    same = sum(all(figures == sizes[0] for figures in sizes) for sizes in grown.values())
    known = {
        "same": same,
        "all": len(found),
        "filled": len(grown) - same - len(more),
        "more": len(more),
        "which": f": {', '.join(map(code, more))}" if more else "",
        "logs": len(found) - len(grown),
    }
    heads = ("operation", "calls", "round trips", "read units", "write units: table, indexes", "beside more neighbours")
    rows = [_row(name, found[name]) for name in sorted(found)]
    measured = "Measured on {day}, {machine}.\n".format_map(results["of"])
    return "\n".join((_METHOD, _SUMMARY.format_map(known), f"{table(heads, rows)}\n", measured))


def _row(name: str, sizes: Sequence[Measurement]) -> list[str]:
    first = sizes[0]
    units = f"{first['written']:g}, {first['indexed']:g}" if first["written"] else ""
    return [code(name), *(f"{first[kind]:g}" for kind in ("calls", "trips", "read")), units, _differences_text(sizes)]


def _differences_text(sizes: Sequence[Measurement]) -> str:
    """Return in words what is another number beside more neighbours."""
    names, last = [], sizes[0]
    for number, figures in zip(("1,000", "10,000"), sizes[1:], strict=False):
        if changed := [
            f"{figures[kind]:g} {word}" for kind, word in _FIELD_NAMES.items() if figures[kind] != last[kind]
        ]:
            names.append(f"{number}: {', '.join(changed)}")
        last = figures
    return "; ".join(names)
