"""The measured mutants: small changes of the code that a test should notice.

A mutant is stored with the lines that it replaces, not with their numbers, so that later versions of the code can be
measured with the same mutants as long as they contain these lines.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from local.paths import ROOT

FILE: Final = Path(__file__).with_name("mutants.jsonl")

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "transactions": (
        "chalicelib/kernel/transactions/",
        "chalicelib/kernel/storage/table.py",
        "chalicelib/kernel/storage/writes.py",
    ),
    "authorization": (
        "chalicelib/kernel/authorization/",
        "chalicelib/kernel/permissions/",
        "chalicelib/kernel/operations/access_rules.py",
    ),
    "ledger": ("chalicelib/kernel/audit_log/",),
    "proofs": ("chalicelib/features/audit/log/logic/", "chalicelib/features/audit/exports/logic/"),
    "idempotency": (
        "chalicelib/kernel/execution/idempotency.py",
        "chalicelib/kernel/execution/conditions.py",
        "chalicelib/kernel/execution/attempts.py",
        "chalicelib/kernel/execution/commits.py",
    ),
    "crypto": ("chalicelib/kernel/crypto/",),
    "other kernel": ("chalicelib/kernel/",),
    "features": ("chalicelib/features/",),
}
"""The files of each group, as beginnings of paths. A file belongs to the first group that matches."""


_CONSTANT: Final = re.compile(r"\s*(_?[A-Z][A-Z0-9_]+)(?:: [^=]+)? = ")


@dataclass(frozen=True)
class Mutant:
    """A mutant. `function`: the qualified name of the function or class around it, or "" for the module itself.

    `before` and `after` are the replaced lines and their replacement. `occurrence`: how often `before` occurs in the
    function before the place that is meant.
    """

    path: str
    function: str
    operator: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    occurrence: int

    @property
    def group(self) -> str:
        """The group of its file."""
        return group_of(self.path)


@dataclass(frozen=True)
class Placement:
    """Where a mutant is in the current code.

    `source`: the file's changed source. `lines`: the numbers of the changed statement's lines. `constant`: the name of
    the constant that the statement defines, or "". `related_lines`: the numbers of the lines that mention it, and of
    the function or class around or below the statement, whose name is `function`. `body_lines`: those of the body of
    the outermost function around it.
    """

    source: str
    lines: range
    related_lines: frozenset[int]
    constant: str
    function: str
    body_lines: range

    def runs_at_import(self, lines_run_at_import: AbstractSet[int]) -> bool:
        """Tell whether the changed function runs at import, or the changed code is outside of functions."""
        return not self.body_lines or not lines_run_at_import.isdisjoint(self.body_lines)


def group_of(path: str) -> str:
    """Return the group of a file."""
    return next(name for name, prefixes in GROUPS.items() if path.startswith(prefixes))


def save_mutants(mutants: Iterable[Mutant]) -> None:
    """Replace the stored list."""
    FILE.write_text("".join(json.dumps(asdict(mutant), ensure_ascii=False) + "\n" for mutant in mutants))


def load_mutants() -> list[Mutant]:
    """Return the stored list."""
    return [
        Mutant(**{**fields, "before": tuple(fields["before"]), "after": tuple(fields["after"])})
        for fields in map(json.loads, FILE.read_text().splitlines())
    ]


def place_or_none(mutant: Mutant) -> Placement | None:
    """Find a mutant's place in the current code. Returns None if the code has no such lines any more."""
    file = ROOT / mutant.path
    if not file.exists():
        return None
    source = file.read_text()
    lines, tree = source.split("\n"), ast.parse(source)
    blocks = named_blocks(tree)
    if mutant.function not in blocks:
        return None
    starts = occurrences(lines, mutant.before, blocks[mutant.function])
    if len(starts) <= mutant.occurrence:
        return None
    start = starts[mutant.occurrence]
    changed = [*lines[:start], *mutant.after, *lines[start + len(mutant.before) :]]
    statement = statement_lines(tree, start + 1, start + len(mutant.before))
    constant = defined_constant(lines[statement.start - 1])
    function, related = decorated_block(tree, statement)
    mentions = {i + 1 for i, line in enumerate(lines) if constant and re.search(rf"\b{constant}\b", line)}
    return Placement(
        "\n".join(changed),
        statement,
        frozenset({*related, *mentions}),
        constant,
        function,
        outermost_body(tree, statement),
    )


def decorated_block(tree: ast.Module, lines: range) -> tuple[str, range]:
    """Return the name and the line numbers of the smallest function or class that contains some lines.

    Its decorators belong to it.
    """
    blocks = [
        (node.name, range(min(each.lineno for each in (node, *node.decorator_list)), (node.end_lineno or 0) + 1))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    around = [block for block in blocks if _contains(block[1], lines)]
    return min(around, key=lambda block: len(block[1]), default=("", range(0)))


def defined_constant(line: str) -> str:
    """Return the name of the constant whose definition starts with a line, or ""."""
    found = _CONSTANT.match(line)
    return found[1] if found else ""


def occurrences(lines: list[str], searched: tuple[str, ...], within: range) -> list[int]:
    """Return the indexes within a range of lines at which the searched lines start."""
    return [i for i in within if tuple(lines[i : i + len(searched)]) == searched]


def named_blocks(tree: ast.Module) -> dict[str, range]:
    """Return the indexes of the lines of each function and class by qualified name, and of the module as ""."""
    blocks = {"": range(max((node.end_lineno or 0 for node in tree.body), default=0))}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                blocks[f"{prefix}{child.name}"] = range(child.lineno - 1, child.end_lineno or child.lineno)
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(tree, "")
    return blocks


def statement_lines(tree: ast.Module, first: int, last: int) -> range:
    """Return the line numbers of the smallest statement, without its body, around some lines."""
    spans = [span for node in _statements(tree) if (span := _own_lines(node)).start <= first and last < span.stop]
    return min(spans, key=len, default=range(first, last + 1))


def outermost_body(tree: ast.Module, lines: range) -> range:
    """Return the line numbers of the body of the outermost function whose body contains some lines, or none."""
    bodies = [
        range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    return max((body for body in bodies if _contains(body, lines)), key=len, default=range(0))


def _contains(block: range, lines: range) -> bool:
    return lines.start in block and lines[-1] in block


def _statements(tree: ast.Module) -> Iterator[ast.stmt | ast.excepthandler]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.excepthandler))


def _own_lines(node: ast.stmt | ast.excepthandler) -> range:
    body = getattr(node, "body", None)
    return range(node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1)
