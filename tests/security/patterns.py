"""Find every regular expression in the service's source, and the methods that apply it."""

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
from chalicelib.kernel.http.fields import pattern_validator_and_schema

_FUNCTIONS: Final = ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")
_AMBIGUOUS_METHODS: Final = ("compile", "split")
_FULL_MATCH_METHODS: Final = ("fullmatch",)
_START_ANCHORED_METHODS: Final = ("fullmatch", "match")


@dataclass(frozen=True)
class Pattern:
    """A regular expression, the methods that apply it, and its location (module and line)."""

    location: str
    source: str
    flags: int
    methods: frozenset[str]

    def __str__(self) -> str:
        return f"{self.location} {self.source!r}"

    @property
    def anchored_source(self) -> str:
        """The equivalent expression for `search`, with anchors if the methods imply them."""
        prefix = "^" if self.methods and self.methods <= {*_START_ANCHORED_METHODS} else ""
        after = "$" if self.methods and self.methods <= {*_FULL_MATCH_METHODS} else ""
        return f"{prefix}(?:{self.source}){after}" if prefix else self.source


@dataclass(frozen=True)
class DynamicPattern:
    """A regular expression that is computed at run time, as its source code."""

    module: str
    expression: str


@cache
def find_patterns() -> tuple[frozenset[Pattern], frozenset[DynamicPattern]]:
    """Return the literal regular expressions of the source, and the source code of those computed at run time."""
    names = [item.name for item in walk_packages(chalicelib.__path__, "chalicelib.")]
    modules = [import_module(name) for name in names if not name.endswith("__main__")]
    trees = {module: ast.parse(Path(str(module.__file__)).read_text()) for module in modules}
    methods = _methods_by_pattern(trees)
    patterns, dynamic_patterns = set(), set()
    for module, tree in trees.items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            for method, expression in _expressions(call):
                try:
                    value = _value(module, expression)
                except NameError:
                    dynamic_patterns.add(DynamicPattern(module.__name__, ast.unparse(expression)))
                    continue
                compiled = re.compile(value, _flags(module, call))
                pattern_methods = methods.get(compiled) or _methods_of_module(tree) if method == "compile" else {method}
                location = f"{module.__name__}:{call.lineno}"
                patterns.add(Pattern(location, _decode(value), compiled.flags, frozenset(pattern_methods)))
    return frozenset(patterns), frozenset(dynamic_patterns)


def _expressions(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the regular expressions among the arguments of a call, with the method that applies them."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        if function.attr in _FUNCTIONS:
            yield function.attr, call.args[0]
    elif isinstance(function, ast.Name) and function.id == pattern_validator_and_schema.__name__:
        yield "fullmatch", call.args[0]
    yield from (("search", keyword.value) for keyword in call.keywords if keyword.arg == "pattern")


def _methods_by_pattern(trees: Mapping[ModuleType, ast.Module]) -> dict[re.Pattern[Any], set[str]]:
    """Return the methods that apply each compiled expression that is a module's variable."""
    methods: dict[re.Pattern[Any], set[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS and isinstance(node.value, ast.Name):
                pattern = vars(module).get(node.value.id)
                if isinstance(pattern, re.Pattern):
                    methods.setdefault(pattern, set()).add(node.attr)
    return methods


def _methods_of_module(tree: ast.Module) -> set[str]:
    """Return the methods that a module calls on compiled expressions that are not constants."""
    called_functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = [
        item for item in called_functions if isinstance(item, ast.Attribute) and item.attr not in _AMBIGUOUS_METHODS
    ]
    return {item.attr for item in methods if item.attr in _FUNCTIONS and ast.unparse(item.value) != "re"}


def _value(module: ModuleType, expression: ast.expr) -> Any:
    value: Any = eval(compile(ast.Expression(expression), module.__name__, "eval"), vars(module))  # noqa: S307 - the project's own source
    return value


def _decode(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _flags(module: ModuleType, call: ast.Call) -> int:
    arguments = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "flags")]
    return sum(_value(module, item) for item in arguments if ast.unparse(item).startswith("re."))
