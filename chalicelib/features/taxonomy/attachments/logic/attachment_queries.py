"""List and count the taxonomy attachments that are visible to the caller."""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.platforms.spaces.logic import can_see_all_private_spaces
from chalicelib.features.taxonomy.attachments.entities import TaxonomyAttachment
from chalicelib.features.taxonomy.attachments.logic.entity_visibility import find_hidden_entities
from chalicelib.features.taxonomy.attachments.models import AttachmentOut, AttachmentsQuery
from chalicelib.features.taxonomy.entities.nodes import Taxonomy, TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import taxonomy_tree
from chalicelib.features.taxonomy.logic.node_queries import load_existing_nodes
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.query_results import QueryResult
from chalicelib.kernel.trees.reading import TreeReader

_MAX_COUNTED: Final = 100


def list_attachments_of_node(ctx: Context, platform_id: str, node_id: str, query: ListQuery) -> ListPage[AttachmentOut]:
    """Return a page of the attachments of an existing node."""
    partition = TaxonomyAttachment.of_node.partition(platform_id=platform_id, node_id=node_id)
    result = table.query(partition, after=ctx.decode_cursor(query), limit=query.limit)
    return _page_of_visible_attachments(
        ctx, result, [TaxonomyAttachment.from_item(item) for item in result.items], query
    )


def count_visible_attachments_up_to_limit(ctx: Context, node: TaxonomyNode) -> int:
    """Return how many attachments of a node the caller can see.

    For callers who don't see everything, only the first hundred are read and counted.
    """
    if can_see_all_private_spaces(ctx) or not node.attachment_count:
        return node.attachment_count
    partition = TaxonomyAttachment.of_node.partition(platform_id=node.platform_id, node_id=node.id)
    items = table.query(partition, limit=_MAX_COUNTED).items
    entities = [TaxonomyAttachment.from_item(item).entity_type_and_id for item in items]
    hidden = find_hidden_entities(ctx, {*entities})
    return sum(entity not in hidden for entity in entities)


def list_attachments_of_platform(
    ctx: Context, platform_id: str, tree: Taxonomy | None, query: AttachmentsQuery
) -> ListPage[AttachmentOut]:
    """Return a page of the attachments of a platform.

    One Query reads the index of the first filter given: entity, node, entity type. Attachments that fail the other
    filters are omitted from the page.
    """
    result = _query_attachments(ctx, platform_id, query)
    filters = query.model_dump(include={"entity_id", "node_id", "entity_type"}, exclude_none=True)
    attachments = [TaxonomyAttachment.from_item(item) for item in result.items]
    matching = [each for each in attachments if all(getattr(each, name) == value for name, value in filters.items())]
    if tree and tree.pending_removals:
        matching = _filter_by_existing_nodes(platform_id, matching)
    return _page_of_visible_attachments(ctx, result, matching, query)


def _query_attachments(ctx: Context, platform_id: str, query: AttachmentsQuery) -> QueryResult:
    after, limit = ctx.decode_cursor(query), query.limit
    if query.entity_id:
        partition = TaxonomyAttachment.of_entity.partition(entity_id=query.entity_id)
        return table.query(partition, prefix=f"{platform_id}#", after=after, limit=limit)
    if not (query.node_id or query.entity_type):
        partition = TaxonomyAttachment.in_platform.partition(platform_id=platform_id)
        return table.query(partition, prefix=TaxonomyAttachment.sk.partition("{")[0], after=after, limit=limit)
    facet = TaxonomyAttachment.of_node if query.node_id else TaxonomyAttachment.of_type
    partition = facet.partition(platform_id=platform_id, node_id=query.node_id, entity_type=query.entity_type)
    return table.query(partition, after=after, limit=limit)


def _filter_by_existing_nodes(platform_id: str, attachments: Sequence[TaxonomyAttachment]) -> list[TaxonomyAttachment]:
    """Return the attachments whose node is not deleted. Those of deleted nodes are removed in the background."""
    node_ids = [*dict.fromkeys(each.node_id for each in attachments)]
    existing_ids = {node.id for node in load_existing_nodes(TreeReader(taxonomy_tree(platform_id)), node_ids)}
    return [each for each in attachments if each.node_id in existing_ids]


def _page_of_visible_attachments(
    ctx: Context, result: QueryResult, attachments: Sequence[TaxonomyAttachment], query: ListQuery
) -> ListPage[AttachmentOut]:
    hidden = find_hidden_entities(ctx, {each.entity_type_and_id for each in attachments})
    visible = [each for each in attachments if each.entity_type_and_id not in hidden]
    return ctx.build_page([AttachmentOut.of(each) for each in visible], result.last_evaluated_key, query)
