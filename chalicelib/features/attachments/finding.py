"""Attachments as they are listed."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.attachments.entities import Attachment
from chalicelib.features.attachments.models import AttachmentOut, AttachmentsQuery
from chalicelib.features.attachments.reach import unseen
from chalicelib.features.spaces.reach import sees_all
from chalicelib.features.taxonomy.entities import Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.finding import known
from chalicelib.features.taxonomy.trails import tree_of
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.operation import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import QueryResult
from chalicelib.kernel.storage.trees import TreeReader

_MOST_LOOKED_AT: Final = 100


def of_node(ctx: Context, platform_id: str, node_id: str, query: ListQuery) -> ListPage[AttachmentOut]:
    """Return a page of the attachments of a node that is there."""
    listed = Attachment.of_node.partition(platform_id=platform_id, node_id=node_id)
    found = table.query(listed, after=ctx.decode_cursor(query), limit=query.limit)
    return _page(ctx, found, [Attachment.from_item(item) for item in found.items], query)


def seen_at(ctx: Context, node: TaxonomyNode) -> int:
    """Return how many of a node's attachments the caller sees, of the first hundred: a Query, and what they are on."""
    if sees_all(ctx) or not node.attachment_count:
        return node.attachment_count
    listed = Attachment.of_node.partition(platform_id=node.platform_id, node_id=node.id)
    found = table.query(listed, limit=_MOST_LOOKED_AT).items
    entities = [Attachment.from_item(item).entity for item in found]
    hidden = unseen(ctx, {*entities})
    return sum(entity not in hidden for entity in entities)


def of_platform(
    ctx: Context, platform_id: str, tree: Taxonomy | None, query: AttachmentsQuery
) -> ListPage[AttachmentOut]:
    """Return a page of a platform's attachments: one Query, of the index of the first filter there is.

    Those are the entity, the node, the type. What does not pass the others is left out of its page.
    """
    found = _found(ctx, platform_id, query)
    filters = query.model_dump(include={"entity_id", "node_id", "entity_type"}, exclude_none=True)
    attachments = [Attachment.from_item(item) for item in found.items]
    passing = [one for one in attachments if all(getattr(one, name) == value for name, value in filters.items())]
    if tree and tree.felled:
        passing = _of_standing(platform_id, passing)
    return _page(ctx, found, passing, query)


def _found(ctx: Context, platform_id: str, query: AttachmentsQuery) -> QueryResult:
    after, limit = ctx.decode_cursor(query), query.limit
    if query.entity_id:
        listed = Attachment.of_entity.partition(entity_id=query.entity_id)
        return table.query(listed, prefix=f"{platform_id}#", after=after, limit=limit)
    if not (query.node_id or query.entity_type):
        listed = Attachment.in_platform.partition(platform_id=platform_id)
        return table.query(listed, prefix=Attachment.sk.partition("{")[0], after=after, limit=limit)
    facet = Attachment.of_node if query.node_id else Attachment.of_type
    listed = facet.partition(platform_id=platform_id, node_id=query.node_id, entity_type=query.entity_type)
    return table.query(listed, after=after, limit=limit)


def _of_standing(platform_id: str, attachments: Sequence[Attachment]) -> list[Attachment]:
    """Return the attachments of nodes that are there: those of deleted ones are being removed."""
    nodes = [*dict.fromkeys(one.node_id for one in attachments)]
    standing = {node.id for node in known(TreeReader(tree_of(platform_id)), nodes)}
    return [one for one in attachments if one.node_id in standing]


def _page(
    ctx: Context, found: QueryResult, attachments: Sequence[Attachment], query: ListQuery
) -> ListPage[AttachmentOut]:
    hidden = unseen(ctx, {one.entity for one in attachments})
    return ctx.build_page(
        [AttachmentOut.of(one) for one in attachments if one.entity not in hidden], found.last_evaluated_key, query
    )
