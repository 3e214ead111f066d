"""Attachments: put a node on something, take it off, and list what it is on, and what is on what."""

import re

from chalicelib.features.attachments.entities import (
    MOST_ATTACHMENTS,
    Attachment,
    attach,
    attached,
    detach,
    entity_key,
)
from chalicelib.features.attachments.finding import of_node, of_platform
from chalicelib.features.attachments.models import AttachmentCreate, AttachmentOut, AttachmentsQuery
from chalicelib.features.attachments.reach import stored_at, unseen
from chalicelib.features.platforms.entities import Platform, at_platform
from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.features.taxonomy.finding import state_of, tree_beside
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN, UUID_PATTERN
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("taxonomy")
in_platforms = RouteGroup("platforms", routes.operations)


def entity_beside(request: Request) -> list[ItemKey]:
    """Return where the entity stands that the body names, and what is attached to it."""
    platform_id, said = request.parameters.get("platform_id"), request.unvalidated_body
    entity_type, entity_id = (str(said.get(name)).strip() for name in ("entityType", "entityId"))
    named = re.fullmatch(IDENTIFIER_PATTERN, entity_type) and re.fullmatch(UUID_PATTERN, ascii_lower(entity_id))
    if not (platform_id and named):
        return []
    return [
        entity_key(platform_id, entity_type, ascii_lower(entity_id)),
        *stored_at((entity_type, ascii_lower(entity_id))),
    ]


@in_platforms.get(
    "/platforms/{platform_id}/taxonomy-attachments",
    access=at_platform(Role.MEMBER),
    scope="taxonomy:read",
    emits=None,
    prefetch=tree_beside,
)
def list_platform_taxonomy_attachments(
    ctx: Context, platform: Platform, query: AttachmentsQuery
) -> ListPage[AttachmentOut]:
    """List what the nodes of a platform are put on, in the order that was done.

    With several filters a page may be short. What is on a private space shows to those who see it.
    """
    return of_platform(ctx, platform.id, state_of(ctx, platform.id), query)


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments",
    access=at_platform(Role.MEMBER, via_record=TaxonomyNode),
    scope="taxonomy:read",
    emits=None,
)
def list_node_attachments(ctx: Context, node: TaxonomyNode, query: ListQuery) -> ListPage[AttachmentOut]:
    """List what a node is put on, in the order that was done; private spaces show to those who see them."""
    return of_node(ctx, node.platform_id, node.id, query)


@routes.post(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments",
    access=at_platform(Role.EDITOR, via_record=TaxonomyNode),
    scope="taxonomy:write",
    emits="taxonomy.attachment.created",
    prefetch=entity_beside,
    existing_status=200,
)
def attach_taxonomy_node(ctx: Context, node: TaxonomyNode, body: AttachmentCreate) -> AttachmentOut:
    """Put a node on something; where it is already, that answers.

    What is the service's own by its type (`platform`, `space`, `site`, `page`, `research-output`, `research-artefact`)
    has to be in the organization, and seen by the caller. An entity has at most 50 nodes.
    """
    if unseen(ctx, [(body.entity_type, body.entity_id)]):
        detail = f"There is no {body.entity_type} with this id in the organization."
        raise ValidationProblem([FieldError("/entityId", "unknown", detail)])
    entity = ctx.access.prefetched.get(entity_key(node.platform_id, body.entity_type, body.entity_id))
    there = attached(entity)
    if node.id in there and (attachment := ctx.find(Attachment, id=there[node.id])):
        ctx.already_existed = True
        return AttachmentOut.of(attachment)
    if len(there) >= MOST_ATTACHMENTS:
        detail = f"At most {MOST_ATTACHMENTS} nodes are put on one entity. Take another off first."
        raise Problem("limit_exceeded", detail)
    new = Attachment(**ctx.new_record_fields(), **node.ids, node_id=node.id, **body.fields())
    attachment = ctx.changes.create(new)
    ctx.changes.add_write(attach(attachment, entity))
    ctx.changes.update_untracked(node, attachment_count=node.attachment_count + 1)
    return AttachmentOut.of(attachment)


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
    access=at_platform(Role.MEMBER, via_record=TaxonomyNode),
    scope="taxonomy:read",
    emits=None,
)
def get_taxonomy_attachment(ctx: Context, node: TaxonomyNode, attachment: Attachment) -> AttachmentOut:
    """Get an attachment of a node."""
    _refuse_unseen(ctx, node, attachment)
    return AttachmentOut.of(attachment)


@routes.delete(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
    access=at_platform(Role.EDITOR, via_record=TaxonomyNode),
    scope="taxonomy:write",
    emits="taxonomy.attachment.deleted",
)
def detach_taxonomy_node(ctx: Context, node: TaxonomyNode, attachment: Attachment) -> None:
    """Take a node off what it is put on."""
    _refuse_unseen(ctx, node, attachment)
    ctx.changes.delete(attachment)
    ctx.changes.add_write(detach(attachment))
    ctx.changes.update_untracked(node, attachment_count=node.attachment_count - 1)


def _refuse_unseen(ctx: Context, node: TaxonomyNode, attachment: Attachment) -> None:
    if attachment.node_id != node.id or unseen(ctx, [attachment.entity]):
        raise not_found()
