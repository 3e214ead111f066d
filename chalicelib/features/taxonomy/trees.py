"""A taxonomy as a tree."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.features.taxonomy.finding import all_nodes, state_of
from chalicelib.features.taxonomy.models import MOST_DEPTH, BranchOut, TreeOut, TreeQuery
from chalicelib.features.taxonomy.rules import Siblings, siblings
from chalicelib.kernel.context import Context
from chalicelib.kernel.problems import FieldError, Invalid, not_found

_MOST_BYTES: Final = 5_000_000
"""What an answer of AWS Lambda holds, and some more for how that is wrapped: 6 MB."""


def tree(ctx: Context, platform_id: str, query: TreeQuery) -> TreeOut:
    """Return a platform's tree, or a part of it. Raises Problem if its root isn't there, or it is too large."""
    below = siblings(all_nodes(platform_id, state_of(ctx, platform_id)))
    roots: Sequence[TaxonomyNode] = below.get(None, ())
    if query.root_id:
        roots = [node for nodes in below.values() for node in nodes if node.id == query.root_id]
        if not roots:
            raise not_found()
    answer = TreeOut(items=_branches(below, roots, query.depth or MOST_DEPTH))
    size = len(answer.model_dump_json(by_alias=True).encode())
    if size > _MOST_BYTES:
        detail = f"The tree would have {size:,} bytes, at most {_MOST_BYTES:,} are answered: ask for fewer levels"
        raise Invalid([FieldError("query/depth", "too_large", f"{detail}, or for a part of it by `rootId`.")])
    return answer


def _branches(below: Siblings, nodes: Sequence[TaxonomyNode], levels: int) -> list[BranchOut]:
    return [
        BranchOut.of(node, children=_branches(below, below.get(node.id, ()), levels - 1) if levels > 1 else [])
        for node in nodes
    ]
