"""Every regular expression of the service, found in its source, with how it is put to a text."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Final

import chalicelib

_FUNCTIONS: Final = ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")
_ALSO_OF_TEXT: Final = ("compile", "split")
_WHOLE: Final = ("fullmatch",)
_FROM_ITS_START: Final = ("fullmatch", "match")


@dataclass(frozen=True)
class Pattern:
    """A regular expression. `ways`: the methods that put it to a text; `where`: the module and the line."""

    where: str
    source: str
    flags: int
    ways: frozenset[str]

    def __str__(self) -> str:
        return f"{self.where} {self.source!r}"

    @property
    def anchored(self) -> str:
        """What it searches a text for, whatever the way."""
        before = "^" if self.ways and self.ways <= {*_FROM_ITS_START} else ""
        after = "$" if self.ways and self.ways <= {*_WHOLE} else ""
        return f"{before}(?:{self.source}){after}" if before else self.source


@dataclass(frozen=True)
class Unknown:
    """A regular expression that only a call knows, as the source has it."""

    module: str
    expression: str


@cache
def found() -> tuple[frozenset[Pattern], frozenset[Unknown]]:
    """Return all that stand in the source, and where some do that don't."""
    names = [each.name for each in walk_packages(chalicelib.__path__, "chalicelib.")]
    modules = [import_module(name) for name in names if not name.endswith("__main__")]
    trees = {module: ast.parse(Path(str(module.__file__)).read_text()) for module in modules}
    ways = _ways(trees)
    patterns, unknown = set(), set()
    for module, tree in trees.items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            for way, expression in _expressions(call):
                try:
                    value = _value(module, expression)
                except NameError:
                    unknown.add(Unknown(module.__name__, ast.unparse(expression)))
                    continue
                compiled = re.compile(value, _flags(module, call))
                by = ways.get(compiled) or _ways_of_any(tree) if way == "compile" else {way}
                where = f"{module.__name__}:{call.lineno}"
                patterns.add(Pattern(where, _text(value), compiled.flags, frozenset(by)))
    return frozenset(patterns), frozenset(unknown)


def _expressions(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the regular expressions among the arguments of a call, each with how it is put to a text."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        if function.attr in _FUNCTIONS:
            yield function.attr, call.args[0]
    elif isinstance(function, ast.Name) and function.id == "shape":
        yield "fullmatch", call.args[0]
    yield from (("search", word.value) for word in call.keywords if word.arg == "pattern")


def _ways(trees: Mapping[ModuleType, ast.Module]) -> dict[re.Pattern[Any], set[str]]:
    """Return by which methods each compiled expression that has a name is put to a text."""
    ways: dict[re.Pattern[Any], set[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS and isinstance(node.value, ast.Name):
                holder = vars(module).get(node.value.id)
                if isinstance(holder, re.Pattern):
                    ways.setdefault(holder, set()).add(node.attr)
    return ways


def _ways_of_any(tree: ast.Module) -> set[str]:
    """Return by which methods a module puts to a text what it calls by no constant's name."""
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = [each for each in called if isinstance(each, ast.Attribute) and each.attr not in _ALSO_OF_TEXT]
    return {each.attr for each in methods if each.attr in _FUNCTIONS and ast.unparse(each.value) != "re"}


def _value(module: ModuleType, expression: ast.expr) -> Any:
    value: Any = eval(compile(ast.Expression(expression), module.__name__, "eval"), vars(module))  # noqa: S307 - the project's own source
    return value


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _flags(module: ModuleType, call: ast.Call) -> int:
    said = [*call.args[1:], *(word.value for word in call.keywords if word.arg == "flags")]
    return sum(_value(module, each) for each in said if ast.unparse(each).startswith("re."))
