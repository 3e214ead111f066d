"""The shape of a taxonomy tree: children by parent, heights, depth limit and cycles. Without I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.features.taxonomy.models import MAX_DEPTH
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem

ChildrenByParent = Mapping[str | None, Sequence[TaxonomyNode]]
"""The children of each node by its id, in their order. The roots have the key None."""


def children_by_parent_with_ancestors(nodes: Iterable[TaxonomyNode]) -> ChildrenByParent:
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
        pending += [(node.id, node.ancestors_and_self) for node in ordered[parent_id] if node.id in unordered]
    return ordered


def subtree_height(children: ChildrenByParent, node_id: str) -> int:
    """Return the number of levels below a node."""
    return max((1 + subtree_height(children, child.id) for child in children.get(node_id, ())), default=0)


def iter_nodes_and_raised_heights(
    ancestors: Sequence[TaxonomyNode], subtree_height: int
) -> Iterator[tuple[TaxonomyNode, int]]:
    """Yield the nodes whose height grows, and their new height, if a subtree is added below the last of `ancestors`.

    `subtree_height` is the number of levels below the root of the subtree.
    """
    for distance, node in enumerate(reversed(ancestors), 1):
        if node.height < distance + subtree_height:
            yield node, distance + subtree_height


def reject_cycle(node: TaxonomyNode, ancestors: Sequence[TaxonomyNode]) -> None:
    """Raise Problem `cycle` if a node is among its new `ancestors`."""
    if any(ancestor.id == node.id for ancestor in ancestors):
        detail = (
            f"{ancestors[-1].path} is {node.path} or below it: a node can't be its own ancestor. Choose another parent."
        )
        raise Problem.create_with_field_error("/parentId", "cycle", detail)


def exceeds_max_depth(ancestors: Sequence[TaxonomyNode], subtree_height: int) -> bool:
    """Return whether a node with `subtree_height` levels below it exceeds the maximum depth under `ancestors`."""
    return len(ancestors) + 1 + subtree_height > MAX_DEPTH


def depth_problem(subtree_height: int) -> Problem:
    """Return the problem for a node that would exceed the maximum depth."""
    subtree = f", and it has {describe_count(subtree_height, 'level')} below" if subtree_height else ""
    detail = f"is too deep: a taxonomy has at most {MAX_DEPTH} levels{subtree}"
    return ValidationProblem([FieldError("/parentId", "too_deep", detail)])
