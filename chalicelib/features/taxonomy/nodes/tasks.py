"""The removal of deleted nodes and their subtrees."""

import time
from typing import Any, Final

from chalicelib.features.taxonomy.attachments.logic.attachment_removal import remove_attachments_and_return_node_or_none
from chalicelib.features.taxonomy.entities.nodes import NodeRemovalJob, Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.nodes.logic.node_changes import delete_leaf
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.trees.reading import scan_tree_for_children
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task

_BATCH_SIZE: Final = 25


@task(NodeRemovalJob.task)
def remove_deleted_subtree(message: dict[str, Any]) -> None:
    """Remove the subtree of a deleted node bottom up, with all attachments, and finally the node itself.

    Each removal is a transaction that keeps the counts correct, so the task can resume at any point.
    """
    job, deadline = jobs.claim(NodeRemovalJob, message), jobs.slice_deadline_monotonic()
    if job is None:
        return
    try:
        node = _load_nodes_by_id(job.platform_id, [job.node_id]).get(job.node_id)
        is_complete = node is None or _remove_contents(node, deadline)
        if is_complete:
            _delete_node_and_job(job)
    except ConcurrentModification:  # A request that began before the node was deleted has changed the subtree.
        is_complete = False
    if not is_complete and time.monotonic() > deadline:
        jobs.release(job, turns=job.turns + 1)
    elif not is_complete:
        jobs.release_with_growing_delay(job)


def _remove_contents(node: TaxonomyNode, deadline: float) -> bool:
    """Remove the descendants and attachments of a node. Return False if time is up or the index lags."""
    updated_node = remove_attachments_and_return_node_or_none(node, deadline)
    if updated_node is None:
        return False
    node = updated_node
    while node.child_count:
        child_nodes = _load_some_children(node)
        if not child_nodes:
            return False
        for child in child_nodes:
            if not _remove_contents(child, deadline):
                return False
            node = _delete_emptied_child_and_return_parent(child, node)
            if time.monotonic() > deadline:
                return False
    return True


def _load_some_children(node: TaxonomyNode) -> list[TaxonomyNode]:
    """Return some children of a node: from the index or, if it has none that exist, from a scan of the tree."""
    partition = TaxonomyNode.among_siblings.partition(platform_id=node.platform_id, sibling_list=node.id)
    listed_ids = [item["id"] for item in table.query(partition, limit=_BATCH_SIZE).items]
    existing_children = [
        child for child in _load_nodes_by_id(node.platform_id, listed_ids).values() if child.parent_id == node.id
    ]
    return existing_children or [
        *map(
            TaxonomyNode.from_item,
            scan_tree_for_children(node.tree, node.id)[:_BATCH_SIZE],
        )
    ]


def _delete_emptied_child_and_return_parent(child: TaxonomyNode, parent: TaxonomyNode) -> TaxonomyNode:
    """Delete a child without descendants and attachments. Return the parent with the lower child count."""
    changes = UnitOfWork(now())
    delete_leaf(changes, child.replace(child_count=0, attachment_count=0))
    changes.update_untracked(parent, child_count=parent.child_count - 1)
    changes.commit()
    return parent.replace(child_count=parent.child_count - 1)


def _delete_node_and_job(job: NodeRemovalJob) -> None:
    """Delete the node of a job and the job itself."""
    node = _load_nodes_by_id(job.platform_id, [job.node_id]).get(job.node_id)
    tree_item = table.get(Taxonomy.make_item_key(platform_id=job.platform_id))
    changes = UnitOfWork(now())
    if node:
        delete_leaf(changes, node)
    if node and tree_item:
        tree = Taxonomy.from_item(tree_item)
        changes.update_untracked(tree, pending_removals=tree.pending_removals - 1)
    changes.delete(job)
    changes.commit()


def _load_nodes_by_id(platform_id: str, node_ids: list[str]) -> dict[str, TaxonomyNode]:
    items = table.get_all(TaxonomyNode.make_item_key(platform_id=platform_id, id=node_id) for node_id in node_ids)
    return {item["id"]: TaxonomyNode.from_item(item) for item in items.values()}
