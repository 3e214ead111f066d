"""Generates `docs/reference/limits.md`: the numbers that the service's code names and explains by a docstring.

A number without a docstring is an implementation detail of its module, so its name has to begin with an underscore.
Statuses of HTTP are no limits.
"""

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from local.generators.markdown import code, table
from local.paths import ROOT, module_name

_HEAD: Final = """\
# Limits

The limits and other numbers of the service: sizes, counts, times and rates. `make generate` reads them from the code.
Lengths, sizes and counts are maximums, unless the meaning says something else.
[Settings](settings.md) lists those that a stage can change.
"""

_MAX_LISTED_VALUES: Final = 12
_MIN_SEPARATED: Final = 10_000  # A smaller number has no separators: it can be a year.


def limits_page() -> str:
    """Return the page."""
    rows_by_package: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for file in sorted((ROOT / "chalicelib").rglob("*.py")):
        package, module = _split(file)
        rows_by_package[package] += [(*row, module) for row in _iter_rows(file)]
    sections = [
        f"## {package}\n\n{table(('Name', 'Value', 'Meaning', 'Module'), rows)}\n"
        for package, rows in sorted(rows_by_package.items())
        if rows
    ]
    return "\n".join((_HEAD, *sections))


def _split(file: Path) -> tuple[str, str]:
    """Return the package of a file, such as `features/audit/exports`, and its module, such as `logic.verify`."""
    folders = file.relative_to(ROOT / "chalicelib").parent.parts
    package = [folder for folder in folders if folder not in ("logic", "entities", "models")]
    return "/".join(package), ".".join((*folders[len(package) :], file.stem))


def _iter_rows(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the name, value and meaning of each numeric constant of a file that has a docstring."""
    for name, value, meaning in numeric_constants(file):
        if meaning:
            yield code(name.removeprefix("_")), code(_format(value)), meaning


def numeric_constants(file: Path) -> Iterator[tuple[str, Any, str]]:
    """Yield the name, value and docstring of each numeric constant of a file, without statuses of HTTP."""
    if constants := _constants(file):
        module = importlib.import_module(module_name(file))
        for name, meaning in constants.items():
            if _is_numeric(value := getattr(module, name)):
                yield name, value, meaning


def _constants(file: Path) -> dict[str, str]:
    """Return the names of the constants that a file defines, with their docstrings."""
    pairs = pairwise([*ast.parse(file.read_text()).body, ast.Pass()])
    return {
        statement.target.id: _docstring(following)
        for statement, following in pairs
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and _is_constant(statement.target.id)
    }


def _is_constant(name: str) -> bool:
    return name.isupper() and "EXAMPLE" not in name


def _docstring(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).partition("\n\n")[0].split())
    return ""


def _is_numeric(value: Any) -> bool:
    values = [*value.values()] if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    return 0 < len(values) <= _MAX_LISTED_VALUES and all(
        _is_number(each) or (isinstance(each, tuple) and _is_numeric(each)) for each in values
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool | HTTPStatus)


def _format(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key or 'default'}: {_format(each)}" for key, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_format, value))
    return f"{value:,}" if isinstance(value, int) and value >= _MIN_SEPARATED else repr(value)
