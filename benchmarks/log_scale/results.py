"""The results in `benchmarks/results/log_scale.json`, each with its date and machine."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from local.paths import ROOT

FILE: Final = ROOT / "benchmarks" / "results" / "log_scale.json"
_GIB: Final = 1024**3

SQLITE: Final = "stand-in"
DYNAMODB_LOCAL: Final = "DynamoDB Local"

Results = dict[str, Any]


def save_measurement(table_name: str, entries: int, measurement: str, measured: Any) -> None:
    """Replace one measurement of the log with this number of entries in this table."""
    results = load_results()
    results.setdefault(table_name, {}).setdefault(str(entries), {})[measurement] = {
        "of": describe_environment(),
        "figures": measured,
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(results, indent=2) + "\n")


def load_results() -> Results:
    """Return all results: by table, number of entries and measurement."""
    results: Results = json.loads(FILE.read_text()) if FILE.exists() else {}
    return results


def describe_environment() -> dict[str, str]:
    """Return the date, the machine and the Python version."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores of {_processor_name()}, {memory:.0f} GiB",
        "python": platform.python_version(),
    }


def _processor_name() -> str:
    cpu_info = Path("/proc/cpuinfo")
    lines = cpu_info.read_text().splitlines() if cpu_info.exists() else []
    model_names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return model_names[0] if model_names else platform.machine()
