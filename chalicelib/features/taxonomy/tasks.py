"""The removal of what is below a deleted node."""

import time
from typing import Any, Final

from chalicelib.features.attachments.clearing import clear_node
from chalicelib.features.taxonomy.entities import Felling, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.placing import uproot
from chalicelib.features.taxonomy.trails import tree_of
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.trees import children
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_AT_ONCE: Final = 25


@task(Felling.task)
def remove_felled(message: dict[str, Any]) -> None:
    """Remove all that is below a deleted node, the deepest first, what they are attached to, and itself at last.

    Each removal is a transaction that leaves the counts right, so it goes on wherever it was.
    """
    job, until = jobs.claim(Felling, message), jobs.slice_ends_at()
    if job is None:
        return
    try:
        node = _fresh(job.platform_id, [job.node_id]).get(job.node_id)
        gone = node is None or _clear(node, until)
        if gone:
            _end(job)
    except ConcurrentModification:  # What somebody had begun before the node was deleted came in between.
        gone = False
    if not gone and time.monotonic() > until:
        jobs.release(job, turns=job.turns + 1)
    elif not gone:
        jobs.retry_later(job)


def _clear(node: TaxonomyNode, until: float) -> bool:
    """Remove all that is below a node and attached to it; False if the time is over, or the index late."""
    bare = clear_node(node, until)
    if bare is None:
        return False
    node = bare
    while node.child_count:
        below = _below(node)
        if not below:
            return False
        for child in below:
            if not _clear(child, until):
                return False
            node = _remove(child, node)
            if time.monotonic() > until:
                return False
    return True


def _below(node: TaxonomyNode) -> list[TaxonomyNode]:
    """Return some children of a node: of those that the index shows or, if none of them is there, of all."""
    listed = TaxonomyNode.among_siblings.partition(platform_id=node.platform_id, shelf=node.id)
    found = _fresh(node.platform_id, [item["id"] for item in table.query(listed, limit=_AT_ONCE).items]).values()
    present = [child for child in found if child.parent_id == node.id]
    return present or [*map(TaxonomyNode.from_item, children(tree_of(node.platform_id), node.id)[:_AT_ONCE])]


def _remove(child: TaxonomyNode, parent: TaxonomyNode) -> TaxonomyNode:
    """Remove a child that is empty by now; return its parent, with one child less."""
    changes = UnitOfWork(now())
    uproot(changes, child.replace(child_count=0, attachment_count=0))
    changes.update_untracked(parent, child_count=parent.child_count - 1)
    changes.commit()
    return parent.replace(child_count=parent.child_count - 1)


def _end(job: Felling) -> None:
    """Remove the deleted node itself, and the job with it."""
    node = _fresh(job.platform_id, [job.node_id]).get(job.node_id)
    tree = table.get(Taxonomy.make_item_key(platform_id=job.platform_id))
    changes = UnitOfWork(now())
    if node:
        uproot(changes, node)
    if node and tree:
        known = Taxonomy.from_item(tree)
        changes.update_untracked(known, felled=known.felled - 1)
    changes.delete(job)
    changes.commit()


def _fresh(platform_id: str, nodes: list[str]) -> dict[str, TaxonomyNode]:
    found = table.get_all(TaxonomyNode.make_item_key(platform_id=platform_id, id=node_id) for node_id in nodes)
    return {item["id"]: TaxonomyNode.from_item(item) for item in found.values()}
