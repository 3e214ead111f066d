"""The figures: kept in `benchmarks/results/costs.json`, with the day and the machine they are of."""

import json
from collections.abc import Mapping
from statistics import median_low
from typing import Any, Final

from benchmarks.costs.classes import CLASSES
from benchmarks.costs.dollars import dollars
from local.paths import ROOT

FILE: Final = ROOT / "benchmarks" / "results" / "costs.json"

Results = dict[str, Any]


def update_results(**updates: Any) -> Results:
    """Keep what was found beside what is kept, in place of former figures of the same name; return all."""
    results = (read() if FILE.exists() else {}) | updates
    FILE.write_text(json.dumps(results, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    return results


def read() -> Results:
    """Return all that is kept."""
    results: Results = json.loads(FILE.read_text())
    return results


def operations_of_class(results: Mapping[str, Any], class_name: str) -> dict[str, Any]:
    """Return the operations of a class."""
    return {of: record for of, record in results["operations"].items() if record["class"] == class_name}


def typical(results: Mapping[str, Any], class_name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the operation of a class that costs as much as half of them at most, and what it takes."""
    by_price = {dollars(record).total: (of, record) for of, record in operations_of_class(results, class_name).items()}
    return by_price[median_low(by_price)]


def typical_records(results: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what the typical operation of each class takes, and what was measured besides."""
    return {**{name: typical(results, name)[1] for name in CLASSES}, **results["others"]}
