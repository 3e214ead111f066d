"""The results in `benchmarks/results/costs.json`, with their date and machine."""

import json
from collections.abc import Mapping
from statistics import median_low
from typing import Any, Final

from benchmarks.costs.classes import CLASSES
from benchmarks.costs.cost_model import calculate_cost
from local.paths import ROOT

FILE: Final = ROOT / "benchmarks" / "results" / "costs.json"

Results = dict[str, Any]


def update_results(**updates: Any) -> Results:
    """Replace some of the stored results; return all."""
    results = (load_results() if FILE.exists() else {}) | updates
    FILE.write_text(json.dumps(results, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    return results


def load_results() -> Results:
    """Return all stored results."""
    results: Results = json.loads(FILE.read_text())
    return results


def operations_of_class(results: Mapping[str, Any], class_name: str) -> dict[str, Any]:
    """Return the operations of a class."""
    return {of: record for of, record in results["operations"].items() if record["class"] == class_name}


def typical_operation(results: Mapping[str, Any], class_name: str) -> tuple[str, Mapping[str, Any]]:
    """Return the operation with the median cost of a class, and its measurements."""
    by_price = {
        calculate_cost(record).total: (of, record) for of, record in operations_of_class(results, class_name).items()
    }
    return by_price[median_low(by_price)]


def typical_records(results: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the measurements of each class's typical operation, and of the other requests."""
    return {**{name: typical_operation(results, name)[1] for name in CLASSES}, **results["others"]}
