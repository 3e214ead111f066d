"""Identifiers contain no everyday words in a private sense, and prose names only identifiers that exist.

CONTRIBUTING.md asks for the standard terms of the field. The banned words had meanings that only this project knew.
"""

import ast
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from local.paths import ROOT

BANNED_WORDS: Final = {
    "afresh": "is_new, replaces",
    "also": "extra_keys, companion_keys",
    "begun": "started, new_record_fields",
    "beside": "extra_keys, metadata",
    "judged": "verify, validate",
    "kept": "stored, retained",
    "moment": "timestamp, now",
    "purse": "bucket",
    "said": "values, payload, content",
    "seat": "position",
    "told": "public_fields, reported",
    "uproot": "delete",
    "whose": "subject",
}
"""Each word with terms to use instead."""

SOURCES: Final = ("app.py", "benchmarks", "chalicelib", "infrastructure", "local")

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_QUOTED_NAME: Final = re.compile(r"`(?:\w+\.)*(_?[a-z][a-z0-9]*_\w+|_[a-z]\w*)(?:\(\))?`")
"""A name in code style in docstrings and documents. Names of one word are left out: many are no identifiers."""

_LOADING_VERBS: Final = ("load_", "locate_", "normalize_", "parse_", "reissue_", "resolve_")


def source_files() -> Iterator[Path]:
    for source in SOURCES:
        path = ROOT / source
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def identifiers_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names that a source defines, with their lines."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def banned_words_in(source: str) -> list[str]:
    """Return a finding for each identifier of a source that contains a banned word."""
    return [
        f"line {line}: {name} contains {word!r}; use terms such as {BANNED_WORDS[word]}"
        for line, name in identifiers_in(source)
        for word in {part.lower() for part in _WORD.findall(name)} & BANNED_WORDS.keys()
    ]


def test_no_identifier_contains_a_banned_word():
    findings = [
        f"{path.relative_to(ROOT)}, {finding}"
        for path in source_files()
        for finding in banned_words_in(path.read_text())
    ]
    assert findings == []


def test_a_banned_word_is_found_wherever_a_name_is_defined():
    functions = ("def said(): ...", "class KeptThing: ...", "def read(*, beside): ...")
    for source in (*functions, "what_was_told = 1", "self._purse = 1", "for moment in (): ...", "SEAT = 1"):
        assert len(banned_words_in(source)) == 1, source
    assert banned_words_in("seating_plan = unsaid = keptness = 1") == []


def test_names_tell_whether_nothing_may_be_found():
    """A reader expects a call such as load_page() to return a page or to raise."""
    unclear_names = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in source_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and returns_none_without_telling(node)
    ]
    assert unclear_names == []


def returns_none_without_telling(function: ast.FunctionDef) -> bool:
    """Return whether a function may return None, but its name promises a value."""
    return_type = ast.unparse(function.returns).strip("'\"") if function.returns else ""
    return (
        return_type.endswith(" | None")
        and function.name.lstrip("_").startswith(_LOADING_VERBS)
        and not re.search(r"_or_none|_if_", function.name)
    )


def test_names_in_prose_exist():
    paths = [
        *source_files(),
        *sorted(path for path in (ROOT / "tests").rglob("*.py") if "node_modules" not in str(path)),
    ]
    prose = {path: path.read_text() for path in [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]}
    existing_names = {path.stem for path in paths}
    for path in paths:
        names, docstrings = names_and_docstrings_in(path.read_text())
        existing_names |= names
        prose[path] = "\n".join(docstrings)
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in prose.items()
        for name in _QUOTED_NAME.findall(text)
        if name not in existing_names and f"_{name}" not in existing_names
    }
    assert sorted(missing) == []


def names_and_docstrings_in(source: str) -> tuple[set[str], list[str]]:
    """Return the names that a source defines or uses, with the words of its strings, and its docstrings.

    Strings after the definition of a constant or a field count as docstrings.
    """
    names, docstrings = set[str](), list[str]()
    nodes = deque[ast.AST]([ast.parse(source)])
    while nodes:
        node = nodes.popleft()
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                docstrings.append(text)
                continue
            case ast.Constant(value=str(text)):
                names.update(re.findall(r"\w+", text))
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.arg(arg=name) | ast.keyword(arg=str(name)):
                names.add(name)
            case ast.alias(name=name):
                names.update(name.split("."))
        nodes.extend(ast.iter_child_nodes(node))
    return names, docstrings


def test_a_name_that_only_prose_has_is_found():
    names, docstrings = names_and_docstrings_in('def f(a_b):\n    """Use `a_b` of `c_d`."""\n    return {"e_f": g.h_i}')
    assert _QUOTED_NAME.findall("".join(docstrings)) == ["a_b", "c_d"]
    assert names == {"f", "a_b", "e_f", "g", "h_i"}
