"""Choose the mutants to measure: `make mutants` (SEED=24).

Cosmic Ray's operators define the candidates. A place in the code is chosen first, then one of the operators that apply
to it, so that places with many operators are not chosen more often. Left out are changes that no test could notice
(annotations, `==` instead of `is`) or that no module could be imported with (missing decorators).
"""

import ast
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators import provider

from benchmarks.mutation.mutants import GROUPS, Mutant, group_of, named_blocks, occurrences, save_mutants
from local.paths import ROOT

DEFAULT_SEED: Final = 24
MAX_PER_GROUP: Final = {"features": 620, "other kernel": 300}
MAX_PER_CRITICAL_GROUP: Final = 130

_EXCLUDED: Final = ("RemoveDecorator", "VariableReplacer", "VariableInserter")
_EQUIVALENT: Final = tuple(
    f"_{before}_{after}" for pair in (("Is", "Eq"), ("IsNot", "NotEq")) for before, after in (pair, pair[::-1])
)

Position = tuple[tuple[int, int], tuple[int, int]]


def main(seed: int) -> None:
    """Choose the mutants and store them."""
    generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
    places = defaultdict(list)
    for root in ("chalicelib/kernel", "chalicelib/features"):
        for file in sorted((ROOT / root).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            for position, operators in sorted(find_places(file.read_text()).items()):
                places[group_of(path)].append((path, position, operators))
    chosen = [mutant for name in GROUPS for mutant in _choose(generator, name, places[name])]
    save_mutants(sorted(chosen, key=lambda mutant: (mutant.path, mutant.function, mutant.before, mutant.operator)))
    print(f"{len(chosen)} mutants of {sum(map(len, places.values()))} places")


def find_places(source: str) -> dict[Position, list[tuple[str, int]]]:
    """Return the operators, each with its number of occurrence, that apply to each place of a module."""
    skipped = _annotation_lines(ast.parse(source))
    places: dict[Position, list[tuple[str, int]]] = defaultdict(list)
    nodes = list(ast_nodes(get_ast(source)))
    for name in provider.OperatorProvider():
        if name in _EXCLUDED or name.endswith(_EQUIVALENT):
            continue
        operator: Any = provider.OperatorProvider()[name]()
        positions = (position for node in nodes for position in operator.mutation_positions(node))
        for occurrence, position in enumerate(positions):
            if not any(start <= position[0] < end for start, end in skipped):
                places[position].append((name, occurrence))
    return places


def _annotation_lines(tree: ast.Module) -> list[Position]:
    annotations = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in annotations
        if isinstance(node, ast.expr)
    ]


def _choose(generator: random.Random, group: str, places: list[Any]) -> Iterator[Mutant]:
    wanted = MAX_PER_GROUP.get(group, MAX_PER_CRITICAL_GROUP)
    seen = set()
    for path, _, operators in generator.sample(places, len(places)):
        mutant = _mutant_or_none(path, *generator.choice(operators))
        if mutant is None or mutant in seen:
            continue
        seen.add(mutant)
        yield mutant
        if len(seen) == wanted:
            return


def _mutant_or_none(path: str, operator_name: str, occurrence: int) -> Mutant | None:
    """Return the mutant, or None if its code does not compile or is the same code."""
    source = (ROOT / path).read_text()
    try:
        mutated = mutate_code(source, provider.OperatorProvider()[operator_name](), occurrence)
        if mutated is None or _without_positions(mutated) == _without_positions(source):
            return None
    except (AttributeError, SyntaxError):  # Cosmic Ray cannot replace a dotted exception.
        return None
    before, after = source.split("\n"), mutated.split("\n")
    first = next(i for i, line in enumerate(before) if after[i] != line)
    after_end = next(i for i in range(len(after) + 1) if before[len(before) - i :] != after[len(after) - i :]) - 1
    old, new = tuple(before[first : len(before) - after_end]), tuple(after[first : len(after) - after_end])
    blocks = named_blocks(ast.parse(source))
    function = min(
        (name for name, block in blocks.items() if first in block or not name), key=lambda name: len(blocks[name])
    )
    mutant = Mutant(path, function, operator_name, old, new, 0)
    return replace(mutant, occurrence=occurrences(before, old, blocks[function]).index(first))


def _without_positions(source: str) -> str:
    return ast.dump(ast.parse(source))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SEED)
