"""Files and functions are short enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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


def find_oversized(path: Path) -> Iterator[str]:
    """Yield what exceeds a limit in a file."""
    name = path.relative_to(ROOT)
    if path.read_text().count("\n") > MAX_FILE_LINES:
        yield f"{name}"
    for function in functions_in(path):
        if count_lines(function) > MAX_FUNCTION_LINES or count_parameters(function) > MAX_PARAMETERS:
            yield f"{name}: {function.name}"


def test_files_and_functions_are_short():
    assert [each for path in _FILES for each in find_oversized(path)] == []


def test_sizes_are_counted():
    source = 'def wide(self, a, *, b=1):\n    """Text\n\n    of a docstring.\n    """\n    return a\n'
    (function,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    assert (count_lines(function), count_parameters(function)) == (2, 2)
