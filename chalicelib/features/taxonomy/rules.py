"""What a tree may be, and how its nodes become one: pure decisions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.features.taxonomy.models import MOST_DEPTH
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem

Siblings = Mapping[str | None, Sequence[TaxonomyNode]]
"""The nodes right below each node, by its id, in their order; the roots by None."""


def siblings(nodes: Iterable[TaxonomyNode]) -> Siblings:
    """Return nodes by their parents, each with its ancestors; what is below none of the roots is left out."""
    below: defaultdict[str | None, list[TaxonomyNode]] = defaultdict(list)
    for node in nodes:
        if node.listed:
            below[node.parent_id].append(node)
    placed: dict[str | None, list[TaxonomyNode]] = {}
    waiting: list[tuple[str | None, tuple[TaxonomyNode, ...]]] = [(None, ())]
    while waiting:
        above, line = waiting.pop()
        placed[above] = [n.replace(ancestors=line) for n in sorted(below[above], key=lambda n: (n.position, n.id))]
        waiting += [(node.id, node.line) for node in placed[above] if node.id in below]
    return placed


def height(below: Siblings, node_id: str) -> int:
    """Return how many levels there are below a node."""
    return max((1 + height(below, child.id) for child in below.get(node_id, ())), default=0)


def heights(line: Sequence[TaxonomyNode], below: int) -> Iterator[tuple[TaxonomyNode, int]]:
    """Yield the nodes of a line that become higher, and how high, if what has so many levels below comes to its end."""
    for distance, node in enumerate(reversed(line), 1):
        if node.height < distance + below:
            yield node, distance + below


def refuse_cycle(node: TaxonomyNode, line: Sequence[TaxonomyNode]) -> None:
    """Raise Problem `cycle` if a node is to be below itself."""
    if any(above.id == node.id for above in line):
        detail = f"{line[-1].path} is {node.path} or below it: a node can't be its own ancestor. Choose another parent."
        raise Problem.for_field("/parentId", "cycle", detail)


def is_too_deep(line: Sequence[TaxonomyNode], below: int) -> bool:
    """Return whether what has so many levels below comes too deep at the end of a line."""
    return len(line) + 1 + below > MOST_DEPTH


def too_deep(below: int) -> Problem:
    """Return what to say of that."""
    deeper = f", and it has {below} levels below" if below else ""
    detail = f"is too deep: a taxonomy has at most {MOST_DEPTH} levels{deeper}"
    return ValidationProblem([FieldError("/parentId", "too_deep", detail)])
