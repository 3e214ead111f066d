"""`docs/reference/performance.md`: a section for each figure that is kept, written by the program that measures it.

`python -m benchmarks.performance.document` only writes the page anew. A section is a module `<name>_section` beside
this, with its `title` and `written(results)`; its results are in `benchmarks/results/<name>.json`.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from local.paths import ROOT

FILE: Final = ROOT / "docs" / "reference" / "performance.md"
_RESULTS: Final = ROOT / "benchmarks" / "results"
_ORDER: Final = ("peers", "operations", "load", "noisy_neighbor")

_HEAD: Final = """\
# How fast Atrium is

Each section is written by the program that it names, from figures that are kept in `benchmarks/results`. They were
taken on one machine that had other work to do: look at ratios before you look at milliseconds.
"""


def save_results(name: str, results: Any) -> None:
    """Keep a section's results in place of former ones, and write the page anew."""
    _RESULTS.mkdir(exist_ok=True)
    (_RESULTS / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
    FILE.write_text(document())


def read(name: str) -> Any:
    """Return the results of a section that are kept."""
    return json.loads((_RESULTS / f"{name}.json").read_text())


def document() -> str:
    """Return the page, with the sections that there are."""
    sections = [(name, import_module(f"benchmarks.performance.{name}_section")) for name in sections_made()]
    return "\n".join((_HEAD, *(f"## {module.title}\n\n{module.written(read(name))}" for name, module in sections)))


def sections_made() -> list[str]:
    """Return the names of the sections that there are, in their order."""
    return [name for name in _ORDER if Path(__file__).with_name(f"{name}_section.py").exists()]


if __name__ == "__main__":
    FILE.write_text(document())
