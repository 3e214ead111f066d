"""Files and functions are short enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from local.paths import ROOT

MAX_FILE_LINES: Final = 400
MAX_FUNCTION_LINES: Final = 40
"""Lines of a function without its docstring and decorators."""
MAX_PARAMETERS: Final = 8
"""Parameters of a function, without `self` and `cls`."""

_GENERATED: Final = ("chalicelib/entrypoints/routes.py",)
_FILES: Final = [
    path
    for folder in ("chalicelib", "infrastructure", "local")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if str(path.relative_to(ROOT)) not in _GENERATED
]


def functions_in(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the functions and methods of a file."""
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))


def count_lines(function: ast.FunctionDef) -> int:
    """Return the number of lines without the docstring."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    docstring_lines = (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring_lines


def count_parameters(function: ast.FunctionDef) -> int:
    """Return the number of parameters."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for number, name in enumerate(names) if number or name not in ("self", "cls")])


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_and_its_functions_are_short(path):
    assert path.read_text().count("\n") <= MAX_FILE_LINES
    for function in functions_in(path):
        assert count_lines(function) <= MAX_FUNCTION_LINES, function.name
        assert count_parameters(function) <= MAX_PARAMETERS, function.name
