"""All regular expressions of the service take linear time.

The tests find every expression in the source, and the methods that apply it. Two methods test them: recheck analyses
the expressions, and Python's own engine is timed. Expressions of Pydantic fields (`pattern=`) are compiled by Rust's
engine, which guarantees linear time.
"""

import ast
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Final

import pytest

import chalicelib
from chalicelib.entrypoints.catalogue import all_operations, list_record_types
from chalicelib.features.audit.exports.logic import verify
from chalicelib.features.audit.reconciliations.logic import comparison
from chalicelib.features.audit.reconciliations.logic.comparison import key_pattern
from chalicelib.features.notifications.channels.logic import provider_rules
from chalicelib.features.privacy.erasures.logic.named_actors import NamedActor
from chalicelib.kernel.http import fields
from chalicelib.kernel.http.fields import pattern_validator_and_schema
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.pii import PersonIdentifiers
from local.tools.node import find_node
from tests.harness.conformance import openapi_document

_FUNCTIONS: Final = ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


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
        if not self.methods or not self.methods <= {"fullmatch", "match"}:
            return self.source
        return f"^(?:{self.source})" + ("$" if self.methods == {"fullmatch"} else "")


DynamicPattern = tuple[str, str]
"""A regular expression that is computed at run time: its module and its source code."""


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
                    dynamic_patterns.add((module.__name__, ast.unparse(expression)))
                    continue
                compiled = re.compile(value, _flags(module, call))
                pattern_methods = methods.get(compiled) or _methods_of_module(tree) if method == "compile" else {method}
                location = f"{module.__name__}:{call.lineno}"
                source = value if isinstance(value, str) else value.decode("latin-1")
                patterns.add(Pattern(location, source, compiled.flags, frozenset(pattern_methods)))
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
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    methods = [f for f in called if isinstance(f, ast.Attribute) and f.attr in {*_FUNCTIONS} - {"compile", "split"}]
    return {method.attr for method in methods if ast.unparse(method.value) != "re"}


def _value(module: ModuleType, expression: ast.expr) -> Any:
    value: Any = eval(compile(ast.Expression(expression), module.__name__, "eval"), vars(module))  # noqa: S307 - the project's own source
    return value


def _flags(module: ModuleType, call: ast.Call) -> int:
    arguments = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "flags")]
    return sum(_value(module, item) for item in arguments if ast.unparse(item).startswith("re."))


ANALYSER: Final = Path(__file__).parent / "analyser"
ANALYSED_PATTERNS: Final = Path(__file__).parent / "analysed_patterns.json"
"""The expressions that the analyser found to be safe, and their flags. The analysis of all takes half a minute."""
SHORT_LENGTH: Final = 2_000
LONG_LENGTH: Final = 8_000
MAX_RATIO: Final = 9
"""The maximum ratio of the times for the long and the short text. Linear time gives 4, quadratic time 16."""
MIN_SECONDS: Final = 0.0004
"""Times below this are not measurable."""
REPEATED_TEXTS: Final = (
    *("a", "A", "0", "-", ".", "_", ":", "/", "@", "'", '"', "\\", " ", "\t", "\n", "[", "(", "<", "&", "é", "\u0301"),
    *("a.", "a-", "0.", "a@", "@.", '\\"', "a:", "//", ".a-", "a a", "%2", "mailto:!@", "://a", "doi.org/"),
    *("arxiv.org/abs/"),
)
PREFIXES: Final = ("", "https://", "mailto:", '"', "— ", "atr_", "a@", "A")
SUFFIX: Final = "\x00<"


def dynamic_pattern_sources() -> dict[DynamicPattern, set[str]]:
    """Return the expressions that are computed at run time: all of them, or an example."""
    uuid = "01939d3c-0000-7000-8000-0000000000ff"
    ada = PersonIdentifiers(frozenset({uuid}), frozenset({"ada@example.com"}))
    return {
        (verify.__name__, "(_ERASED_ENTRY_PATTERN % organization).encode()"): {verify._ERASED_ENTRY_PATTERN % uuid},  # noqa: SLF001
        (provider_rules.__name__, "hosts"): {hosts for hosts, _ in provider_rules._PROVIDER_URLS.values()},  # noqa: SLF001
        (fields.__name__, "pattern"): set(),  # The parameter of `pattern_validator_and_schema`, whose calls are found.
        (Operation.__module__, "pattern"): {p for o in all_operations() for p in o.path_parameter_patterns.values()},
        (comparison.__name__, "pattern"): {
            key_pattern(f"{each.pk}\n{each.sk}").pattern for each in list_record_types() if hasattr(each, "pk")
        },
        (NamedActor.__module__, r"f'(?<!\\w)(?<!\\w-){re.escape(self.id)}(?!\\w)(?!-\\w)'"): {
            NamedActor(uuid, "customer", uuid)._id_pattern.pattern  # noqa: SLF001
        },
        (PersonIdentifiers.__module__, "'|'.join(patterns) or _NOTHING"): {ada._user_id_or_email_pattern.pattern},  # noqa: SLF001
    }


@cache
def all_patterns() -> list[Pattern]:
    """Return the distinct expressions."""
    searched, matched = frozenset({"search"}), frozenset({"fullmatch"})
    patterns = [
        *find_patterns()[0],
        *(
            Pattern(module, source, 0, searched if module == PersonIdentifiers.__module__ else matched)
            for (module, _), sources in dynamic_pattern_sources().items()
            for source in sources
        ),
        *(Pattern("openapi.json", source, 0, searched) for source in patterns_in_document(openapi_document())),
    ]
    return [*{(pattern.anchored_source, pattern.flags): pattern for pattern in sorted(patterns, key=str)}.values()]


def patterns_in_document(node: Any) -> Iterator[str]:
    """Yield the expressions of the OpenAPI document, which clients apply."""
    if isinstance(node, dict) and isinstance(node.get("pattern"), str):
        yield node["pattern"]
    members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for member in members:
        yield from patterns_in_document(member)


def takes_linear_time(function: Callable[[str], object], text: Callable[[int], str]) -> bool:
    """Return whether the time is linear in the length of the text, in the best of three attempts."""

    def seconds(length: int) -> float:
        started_at = time.process_time()
        function(text(length))
        return time.process_time() - started_at

    return any(seconds(LONG_LENGTH) <= MAX_RATIO * max(seconds(SHORT_LENGTH), MIN_SECONDS) for _ in range(3))


def test_all_patterns_are_found():
    static_patterns, dynamic_patterns = find_patterns()
    assert len(static_patterns) > 100
    field_patterns = {p.source for p in static_patterns if p.location.startswith(f"{fields.__name__}:")}
    assert {fields.SLUG_PATTERN, fields.UUID_PATTERN} <= field_patterns
    assert dynamic_patterns == dynamic_pattern_sources().keys()


def test_each_pattern_takes_linear_time():
    assert [description for pattern in all_patterns() for description in find_slow_texts(pattern)] == []


def test_superlinear_time_is_detected():
    for source in (r"[a-z]+@", r"^(?:[^\s]+@[^\s<]*)$", r"^(?:\s*a?\s*b)"):
        pattern = Pattern("here", source, 0, frozenset({"search"}))
        assert next(find_slow_texts(pattern), None), source


def find_slow_texts(pattern: Pattern) -> Iterator[str]:
    """Yield descriptions of the texts for which an expression takes more than linear time."""
    compiled = re.compile(pattern.anchored_source, pattern.flags)
    for prefix, repeated_text in product(PREFIXES, REPEATED_TEXTS):
        if not takes_linear_time(compiled.search, lambda n, b=prefix, p=repeated_text: b + p * (n // len(p)) + SUFFIX):  # type: ignore[misc]
            yield f"{pattern}: {prefix + repeated_text + repeated_text}…"


@pytest.mark.exhaustive
def test_analyser_finds_no_vulnerable_pattern():
    assert find_unsafe(all_patterns()) == {}


def test_each_pattern_was_analysed():
    analysed = json.loads(ANALYSED_PATTERNS.read_text())
    current = [[pattern.anchored_source, *["i"] * is_case_insensitive(pattern.flags)] for pattern in all_patterns()]
    new = [pattern for pattern, key in zip(all_patterns(), current, strict=True) if key not in analysed]
    assert find_unsafe(new) == {}
    expected = sorted({json.dumps(key) for key in current})
    assert new == [], f"These are safe. Write to {ANALYSED_PATTERNS}: [\n" + ",\n".join(expected) + "\n]"


def find_unsafe(patterns: list[Pattern]) -> dict[str, Any]:
    """Return the analyser's verdicts on the patterns that are not safe."""
    verdicts = analyse([(pattern.anchored_source, pattern.flags) for pattern in patterns]) if patterns else []
    return {str(p): verdict for p, verdict in zip(patterns, verdicts, strict=True) if verdict["status"] != "safe"}


def is_case_insensitive(flags: int) -> bool:
    return bool(flags & re.IGNORECASE)


def test_analyser_detects_vulnerable_patterns():
    verdicts = analyse([(r"^(?:(a|a)*b)$", 0), (r"^(?:\s*a?\s*b)$", 0), (r"[a-z]+@", 0), (r"[^\s<>,]+@[^\s<>,]+", 0)])
    assert [verdict["status"] for verdict in verdicts] == ["vulnerable"] * 4


def test_pydantic_uses_the_rust_regex_engine():
    models = {
        model for o in all_operations() for model in (o.body_model, o.query_model, o.response_or_item_model) if model
    }
    assert {model.model_config.get("regex_engine", "rust-regex") for model in models} == {"rust-regex"}


def analyse(expressions: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return the analyser's verdicts on Python expressions with their flags."""
    expressions_as_json = [
        {"source": to_javascript(source), "flags": "i" * is_case_insensitive(flags)} for source, flags in expressions
    ]
    command = [find_node().program, "check.js"]
    result = subprocess.run(
        command, cwd=ANALYSER, input=json.dumps(expressions_as_json), check=True, capture_output=True, text=True
    )
    verdicts: list[dict[str, Any]] = json.loads(result.stdout)
    return verdicts


def to_javascript(source: str) -> str:
    """Return an expression in JavaScript's syntax, equivalent but for characters beyond 16 bits."""
    return re.sub(r"\(\?P<", "(?<", source)
