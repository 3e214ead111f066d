"""No regular expression of the service takes longer than in proportion to the text it is put to.

Two look for those that do, each in its own way: recheck, which reads the expression, and Python's own engine, which is
timed. Expressions that Pydantic is given (`pattern=`) are compiled by Rust's engine, which has no other kind.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

from chalicelib.entrypoints.catalogue import operations
from chalicelib.features.audit.exports.logic import verify
from chalicelib.features.notifications.channels.logic import provider_rules
from chalicelib.kernel.storage.pii import PersonalData
from tests.harness.conformance import document
from tests.security.patterns import Pattern, Unknown, found

ANALYSER: Final = Path(__file__).parent / "analyser"
SHORT: Final = 2_000
LONG: Final = 8_000
MOST_OF_SHORT: Final = 9
"""Times that the long text may take of what the short one takes: in proportion it is 4, as the square 16."""
UNNOTICED: Final = 0.0004
"""Seconds that say nothing."""
PUMPS: Final = (
    "a",
    "A",
    "0",
    "-",
    ".",
    "_",
    ":",
    "/",
    "@",
    "'",
    '"',
    "\\",
    " ",
    "\t",
    "\n",
    "[",
    "(",
    "<",
    "&",
    "é",
    "\u0301",
    "a.",
    "a-",
    "0.",
    "a@",
    "@.",
    '\\"',
    "a:",
    "//",
    ".a-",
    "a a",
    "%2",
    "mailto:!@",
    "://a",
    "doi.org/",
    "arxiv.org/abs/",
)
BEFORE: Final = ("", "https://", "mailto:", '"', "— ", "atr_", "a@", "A")
BEHIND: Final = "\x00<"


def made_by_calls() -> dict[Unknown, tuple[str, ...]]:
    """Return what only calls know of expressions: all of them, or an example."""
    uuid = "01939d3c-0000-7000-8000-0000000000ff"
    ada = PersonalData(frozenset({uuid}), frozenset({"ada@example.com"}))
    of_paths = {pattern for operation in operations() for pattern in operation.path_patterns.values()}
    return {
        Unknown("chalicelib.features.audit.exports.logic.verify", "(_ERASED % organization).encode()"): (
            verify._ERASED % uuid,  # noqa: SLF001
        ),
        Unknown("chalicelib.features.notifications.channels.logic.provider_rules", "hosts"): tuple(
            hosts
            for hosts, _ in provider_rules._PROVIDER_URLS.values()  # noqa: SLF001
        ),
        Unknown("chalicelib.kernel.http.fields", "pattern"): (),  # Of `shape`: where that is called, it is found.
        Unknown("chalicelib.kernel.operations.operation", "pattern"): tuple(of_paths),
        Unknown("chalicelib.kernel.storage.pii", "'|'.join(patterns) or _NOTHING"): (ada._named.pattern,),  # noqa: SLF001
    }


@cache
def all_of_them() -> list[Pattern]:
    """Return every expression once, also where several places say the same."""
    known, _ = found()
    made = [
        Pattern(unknown.module, source, 0, frozenset({"search" if unknown.module.endswith("person") else "fullmatch"}))
        for unknown, sources in made_by_calls().items()
        for source in sources
    ]
    told = [Pattern("openapi.json", source, 0, frozenset({"search"})) for source in documented(document())]
    once = {(each.anchored, each.flags): each for each in sorted([*known, *made, *told], key=str)}
    return [*once.values()]


def documented(within: Any) -> Iterator[str]:
    """Yield the expressions of the document, which its readers put to what they send and get."""
    if isinstance(within, dict) and isinstance(within.get("pattern"), str):
        yield within["pattern"]
    members = within.values() if isinstance(within, dict) else within if isinstance(within, list) else ()
    for member in members:
        yield from documented(member)


def in_proportion(work: Callable[[str], object], text: Callable[[int], str]) -> bool:
    """Return whether four times the text takes no more than in proportion; of three tries the best one counts."""

    def seconds(length: int) -> float:
        began = time.process_time()
        work(text(length))
        return time.process_time() - began

    return any(seconds(LONG) <= MOST_OF_SHORT * max(seconds(SHORT), UNNOTICED) for _ in range(3))


def test_all_patterns_are_found() -> None:
    known, unknown = found()
    assert len(known) > 100
    assert unknown == made_by_calls().keys()


def test_each_pattern_takes_linear_time() -> None:
    assert [slow for pattern in all_of_them() for slow in slow_texts(pattern)] == []


def test_superlinear_time_is_detected() -> None:
    for source in (r"[a-z]+@", r"^(?:[^\s]+@[^\s<]*)$", r"^(?:\s*a?\s*b)"):
        noticed = Pattern("here", source, 0, frozenset({"search"}))
        assert next(slow_texts(noticed), None), source


def slow_texts(pattern: Pattern) -> Iterator[str]:
    """Yield which texts an expression takes longer for."""
    compiled = re.compile(pattern.anchored, pattern.flags)
    for before, pump in product(BEFORE, PUMPS):
        if not in_proportion(compiled.search, lambda n, b=before, p=pump: b + p * (n // len(p)) + BEHIND):  # type: ignore[misc]
            yield f"{pattern}: {before + pump + pump}…"


def test_analyser_finds_no_vulnerable_pattern() -> None:
    verdicts = analysed([(each.anchored, each.flags) for each in all_of_them()])
    others = {str(each): verdict for each, verdict in zip(all_of_them(), verdicts, strict=True) if not safe(verdict)}
    assert others == {}


def test_analyser_detects_vulnerable_patterns() -> None:
    verdicts = analysed([(r"^(?:(a|a)*b)$", 0), (r"^(?:\s*a?\s*b)$", 0), (r"[a-z]+@", 0), (r"[^\s<>,]+@[^\s<>,]+", 0)])
    assert [verdict["status"] for verdict in verdicts] == ["vulnerable"] * 4


def test_pydantic_uses_the_rust_regex_engine() -> None:
    models = {model for o in operations() for model in (o.body, o.query, o.response_model) if model}
    assert {model.model_config.get("regex_engine", "rust-regex") for model in models} == {"rust-regex"}


def safe(verdict: dict[str, Any]) -> bool:
    return bool(verdict["status"] == "safe")


def analysed(expressions: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return what the analyser says of expressions of Python with their flags."""
    node = shutil.which("node")
    assert node, "Node is needed; see README.md"
    asked = [
        {"source": in_javascript(source), "flags": "i" * bool(flags & re.IGNORECASE)} for source, flags in expressions
    ]
    command = [node, "check.js"]
    ran = subprocess.run(command, cwd=ANALYSER, input=json.dumps(asked), check=True, capture_output=True, text=True)
    verdicts: list[dict[str, Any]] = json.loads(ran.stdout)
    return verdicts


def in_javascript(source: str) -> str:
    """Return an expression as JavaScript writes it: what it matches is the same, but for letters beyond 16 bits."""
    return re.sub(r"\(\?P<", "(?<", source)
