"""HTTP operations on taxonomy attachments."""

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.taxonomy.attachments.entities import (
    MAX_ATTACHMENTS_PER_ENTITY,
    TaxonomyAttachment,
    attachment_ids_by_node,
    entity_attachments_key,
    entity_item_add_attachment_if_unchanged_write,
    entity_item_discard_attachment_write,
)
from chalicelib.features.taxonomy.attachments.logic.attachment_queries import (
    list_attachments_of_node,
    list_attachments_of_platform,
)
from chalicelib.features.taxonomy.attachments.logic.entity_visibility import (
    find_hidden_entities,
    item_keys_if_service_defined_type,
)
from chalicelib.features.taxonomy.attachments.models import AttachmentCreate, AttachmentOut, AttachmentsQuery
from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.features.taxonomy.logic.node_queries import TaxonomyTree
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.operations.access_rules import OfRecord
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Item, ItemKey

routes = RouteGroup("taxonomy")
platform_routes = RouteGroup("platforms", routes.operations)


class EntityItems(Prefetched):
    """The attachments of the entity in the body, and the entity itself if the service defines its type."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the item that lists the attachments, and of the entity."""
        platform_id = values.parameters.get("platform_id")
        entity_type, entity_id = map(values.body_field_or_none, ("entity_type", "entity_id"))
        if not (platform_id and entity_type and entity_id):
            return []
        return [
            entity_attachments_key(platform_id, entity_type, entity_id),
            *item_keys_if_service_defined_type((entity_type, entity_id)),
        ]

    @property
    def attachments_item_or_none(self) -> Item | None:
        """The item that lists the attachments."""
        return self.items.get(self.keys[0]) if self.keys else None


@platform_routes.get(
    "/platforms/{platform_id}/taxonomy-attachments",
    access=require_platform_role(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
)
def list_platform_taxonomy_attachments(
    ctx: Context, platform: Platform, query: AttachmentsQuery, tree: TaxonomyTree
) -> ListPage[AttachmentOut]:
    """List the attachments of all nodes of a platform, in the order of their creation.

    A page may be short if several filters are given. Attachments to private spaces are listed for callers who can see
    the space.
    """
    return list_attachments_of_platform(ctx, platform.id, tree.state_or_none, query)


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments",
    access=require_platform_role(Role.MEMBER, OfRecord(TaxonomyNode)),
    scope="taxonomy:read",
    emits=None,
)
def list_node_attachments(ctx: Context, node: TaxonomyNode, query: ListQuery) -> ListPage[AttachmentOut]:
    """List the attachments of a node in the order of their creation, except those to spaces hidden from the caller.

    Use it to show everything that is filed under a category, such as all lessons about looms. Attachments to the nodes
    below it are not included.
    """
    return list_attachments_of_node(ctx, node.platform_id, node.id, query)


@routes.post(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments",
    access=require_platform_role(Role.EDITOR, OfRecord(TaxonomyNode)),
    scope="taxonomy:write",
    emits="taxonomy.attachment.created",
    existing_status=200,
)
def attach_taxonomy_node(
    ctx: Context, node: TaxonomyNode, body: AttachmentCreate, entity: EntityItems
) -> AttachmentOut:
    """Attach a node to an entity. Returns the existing attachment if there is one (200).

    An entity of the type `platform`, `space`, `site`, `page`, `research-output` or `research-artefact` must be in the
    organization and visible to the caller. At most 50 nodes may be attached to an entity.
    """
    if find_hidden_entities(ctx, [(body.entity_type, body.entity_id)]):
        detail = f"There is no {body.entity_type} with this id in the organization."
        raise ValidationProblem([FieldError("/entityId", "unknown", detail)])
    entity_item = entity.attachments_item_or_none
    attachment_ids = attachment_ids_by_node(entity_item)
    if node.id in attachment_ids and (
        attachment := ctx.find_in_container(TaxonomyAttachment, id=attachment_ids[node.id])
    ):
        ctx.already_existed = True
        return AttachmentOut.of(attachment)
    if len(attachment_ids) >= MAX_ATTACHMENTS_PER_ENTITY:
        detail = f"At most {MAX_ATTACHMENTS_PER_ENTITY} nodes can be attached to one entity. Detach another node first."
        raise Problem("limit_exceeded", detail)
    attachment = ctx.changes.create(
        TaxonomyAttachment(
            **ctx.new_id_and_time_fields(),
            **node.organization_and_platform_id_fields,
            node_id=node.id,
            **body.to_stored_fields_with_defaults(),
        )
    )
    ctx.changes.add_write(entity_item_add_attachment_if_unchanged_write(attachment, entity_item))
    ctx.changes.update_untracked(node, attachment_count=node.attachment_count + 1)
    return AttachmentOut.of(ctx.changes.event(attachment))


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
    access=require_platform_role(Role.MEMBER, OfRecord(TaxonomyNode)),
    scope="taxonomy:read",
    emits=None,
)
def get_taxonomy_attachment(ctx: Context, node: TaxonomyNode, attachment: TaxonomyAttachment) -> AttachmentOut:
    """Get an attachment of a node.

    Use it to check that an entity is still filed under the node. An attachment of another node is not found.
    """
    _require_visible_attachment_of_node(ctx, node, attachment)
    return AttachmentOut.of(attachment)


@routes.delete(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
    access=require_platform_role(Role.EDITOR, OfRecord(TaxonomyNode)),
    scope="taxonomy:write",
    emits="taxonomy.attachment.deleted",
)
def detach_taxonomy_node(ctx: Context, node: TaxonomyNode, attachment: TaxonomyAttachment) -> None:
    """Detach a node from an entity.

    The entity and the node stay. Detaching is needed before a node can be deleted without a strategy.
    """
    _require_visible_attachment_of_node(ctx, node, attachment)
    ctx.changes.delete(attachment)
    ctx.changes.event(attachment)
    ctx.changes.add_write(entity_item_discard_attachment_write(attachment))
    ctx.changes.update_untracked(node, attachment_count=node.attachment_count - 1)


def _require_visible_attachment_of_node(ctx: Context, node: TaxonomyNode, attachment: TaxonomyAttachment) -> None:
    if attachment.node_id != node.id or find_hidden_entities(ctx, [attachment.entity_type_and_id]):
        raise not_found()
