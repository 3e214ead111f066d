"""The section about the AWS calls of each operation: the results of `operations.py`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from local.generators.markdown import code, table

Measurement = Mapping[str, float]

title: Final = "AWS calls of each operation, with 10, 1,000 and 10,000 neighbors"

_FIELD_NAMES: Final = {
    "calls": "calls",
    "trips": "round trips",
    "read": "read units",
    "written": "write units of the table",
    "indexed": "write units of indexes",
}

_METHOD: Final = """\
`python -m benchmarks.performance.operations` calls the example of each operation on an in-memory AWS. The caller has
exactly the required rights, and the process has cached the containers in the path. *Neighbors* are additional records
of the same kind in the same organization, platform, space, site or page as the records of the example, with different
ids. Every other feature has 10 of them. List operations return a page of the default size.

A **round trip** is a time that the request waits for AWS; concurrent calls count once. Capacity units are calculated
from item sizes by DynamoDB's rules: a transaction doubles the write units, and each index that contains the item adds
another write. The work of workers after the response is in [costs.md](costs.md).
"""

_SUMMARY: Final = """\
**{same} of {all} operations need the same calls, round trips and units at all sizes.** {filled} more need the same
at 1,000 and 10,000 neighbors, but a different number of units at 10, because the page was not full or its records had
other sizes. {more} differ between 1,000 and 10,000 neighbors{which}. A whole tree and
the sitemap of a whole site have a maximum size. Lists differ only in the sizes of the records on the page.

The {logs} operations on logs were measured with 1,000 entries here, and with 1,000,000 in [scale.md](scale.md). A page
of a log and a window of its verification have a maximum size, whatever the length of the log. Operations on bounded
sets (modules, capabilities) and on migrations have 10 neighbors at all sizes. Lists over all organizations of the
caller (platforms, research) query each organization concurrently, here 11.
"""


def render(results: Mapping[str, Any]) -> str:
    """Return the section."""
    measurements: Mapping[str, Sequence[Measurement]] = results["operations"]
    grown = {name: sizes for name, sizes in measurements.items() if len(sizes) == max(map(len, measurements.values()))}
    more = sorted(name for name, sizes in grown.items() if sizes[-1] != sizes[1])
    equal_count = sum(all(measurement == sizes[0] for measurement in sizes) for sizes in grown.values())
    values = {
        "same": equal_count,
        "all": len(measurements),
        "filled": len(grown) - equal_count - len(more),
        "more": len(more),
        "which": f": {', '.join(map(code, more))}" if more else "",
        "logs": len(measurements) - len(grown),
    }
    headings = ("operation", "calls", "round trips", "read units", "write units: table, indexes", "with more neighbors")
    rows = [_row(name, measurements[name]) for name in sorted(measurements)]
    conditions = "Measured on {day}, {machine}.\n".format_map(results["of"])
    return "\n".join((_METHOD, _SUMMARY.format_map(values), f"{table(headings, rows)}\n", conditions))


def _row(name: str, sizes: Sequence[Measurement]) -> list[str]:
    first = sizes[0]
    units = f"{first['written']:g}, {first['indexed']:g}" if first["written"] else ""
    return [code(name), *(f"{first[kind]:g}" for kind in ("calls", "trips", "read")), units, _differences_text(sizes)]


def _differences_text(sizes: Sequence[Measurement]) -> str:
    """Describe which values change with more neighbors."""
    differences, previous = [], sizes[0]
    for number, measurement in zip(("1,000", "10,000"), sizes[1:], strict=False):
        if changed := [
            f"{measurement[kind]:g} {word}"
            for kind, word in _FIELD_NAMES.items()
            if measurement[kind] != previous[kind]
        ]:
            differences.append(f"{number}: {', '.join(changed)}")
        previous = measurement
    return "; ".join(differences)
