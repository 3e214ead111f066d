"""The shape of a taxonomy tree: children by parent, heights, depth limit and cycles. Without I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.features.taxonomy.models import MOST_DEPTH
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem

Siblings = Mapping[str | None, Sequence[TaxonomyNode]]
"""The children of each node by its id, in their order. The roots have the key None."""


def siblings(nodes: Iterable[TaxonomyNode]) -> Siblings:
    """Return nodes with their ancestors, grouped by parent. Nodes that are not below a root are omitted."""
    unordered: defaultdict[str | None, list[TaxonomyNode]] = defaultdict(list)
    for node in nodes:
        if node.listed:
            unordered[node.parent_id].append(node)
    ordered: dict[str | None, list[TaxonomyNode]] = {}
    pending: list[tuple[str | None, tuple[TaxonomyNode, ...]]] = [(None, ())]
    while pending:
        parent_id, ancestors = pending.pop()
        children = sorted(unordered[parent_id], key=lambda node: (node.position, node.id))
        ordered[parent_id] = [node.replace(ancestors=ancestors) for node in children]
        pending += [(node.id, node.line) for node in ordered[parent_id] if node.id in unordered]
    return ordered


def height(below: Siblings, node_id: str) -> int:
    """Return the number of levels below a node."""
    return max((1 + height(below, child.id) for child in below.get(node_id, ())), default=0)


def heights(line: Sequence[TaxonomyNode], below: int) -> Iterator[tuple[TaxonomyNode, int]]:
    """Yield the nodes whose height grows, and their new height, if a subtree is added below the last of `ancestors`.

    `subtree_height` is the number of levels below the root of the subtree.
    """
    for distance, node in enumerate(reversed(line), 1):
        if node.height < distance + below:
            yield node, distance + below


def refuse_cycle(node: TaxonomyNode, line: Sequence[TaxonomyNode]) -> None:
    """Raise Problem `cycle` if a node is among its new `ancestors`."""
    if any(ancestor.id == node.id for ancestor in line):
        detail = f"{line[-1].path} is {node.path} or below it: a node can't be its own ancestor. Choose another parent."
        raise Problem.for_field("/parentId", "cycle", detail)


def is_too_deep(line: Sequence[TaxonomyNode], below: int) -> bool:
    """Return whether a node with `subtree_height` levels below it exceeds the maximum depth under `ancestors`."""
    return len(line) + 1 + below > MOST_DEPTH


def too_deep(below: int) -> Problem:
    """Return the problem for a node that would exceed the maximum depth."""
    subtree = f", and it has {below} levels below" if below else ""
    detail = f"is too deep: a taxonomy has at most {MOST_DEPTH} levels{subtree}"
    return ValidationProblem([FieldError("/parentId", "too_deep", detail)])
