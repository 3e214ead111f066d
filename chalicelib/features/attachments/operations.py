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
from chalicelib.kernel.core.problems import FieldError, Invalid, Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import HANDLE_PATTERN, UUID_PATTERN
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import Page, RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Key

routes = RouteGroup("taxonomy")
in_platforms = RouteGroup("platforms", routes.operations)


def entity_beside(request: Request) -> list[Key]:
    """Return where the entity stands that the body names, and what is attached to it."""
    platform_id, said = request.parameters.get("platform_id"), request.said
    entity_type, entity_id = (str(said.get(name)).strip() for name in ("entityType", "entityId"))
    named = re.fullmatch(HANDLE_PATTERN, entity_type) and re.fullmatch(UUID_PATTERN, ascii_lower(entity_id))
    if not (platform_id and named):
        return []
    return [
        entity_key(platform_id, entity_type, ascii_lower(entity_id)),
        *stored_at((entity_type, ascii_lower(entity_id))),
    ]


@in_platforms.get(
    "/platforms/{platform_id}/taxonomy-attachments",
    needs=at_platform(Role.MEMBER), scope="taxonomy:read", emits=None, also=tree_beside,
)  # fmt: skip
def list_platform_taxonomy_attachments(
    ctx: Context, platform: Platform, query: AttachmentsQuery
) -> Page[AttachmentOut]:
    """List what the nodes of a platform are put on, in the order that was done.

    With several filters a page may be short. What is on a private space shows to those who see it.
    """
    return of_platform(ctx, platform.id, state_of(ctx, platform.id), query)


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments",
    needs=at_platform(Role.MEMBER, through=TaxonomyNode), scope="taxonomy:read", emits=None,
)  # fmt: skip
def list_node_attachments(ctx: Context, node: TaxonomyNode, query: ListQuery) -> Page[AttachmentOut]:
    """List what a node is put on, in the order that was done; private spaces show to those who see them."""
    return of_node(ctx, node.platform_id, node.id, query)


@routes.post(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments",
    needs=at_platform(Role.EDITOR, through=TaxonomyNode), scope="taxonomy:write", emits="taxonomy.attachment.created",
    also=entity_beside, again=200,
)  # fmt: skip
def attach_taxonomy_node(ctx: Context, node: TaxonomyNode, body: AttachmentCreate) -> AttachmentOut:
    """Put a node on something; where it is already, that answers.

    What is the service's own by its type (`platform`, `space`, `site`, `page`, `research-output`, `research-artefact`)
    has to be in the organization, and seen by the caller. An entity has at most 50 nodes.
    """
    if unseen(ctx, [(body.entity_type, body.entity_id)]):
        detail = f"There is no {body.entity_type} with this id in the organization."
        raise Invalid([FieldError("/entityId", "unknown", detail)])
    entity = ctx.access.read.get(entity_key(node.platform_id, body.entity_type, body.entity_id))
    there = attached(entity)
    if node.id in there and (attachment := ctx.find(Attachment, id=there[node.id])):
        ctx.again = True
        return AttachmentOut.of(attachment)
    if len(there) >= MOST_ATTACHMENTS:
        detail = f"At most {MOST_ATTACHMENTS} nodes are put on one entity. Take another off first."
        raise Problem("limit_exceeded", detail)
    new = Attachment(**ctx.new(), **node.ids, node_id=node.id, **body.fields())
    attachment = ctx.changes.create(new)
    ctx.changes.also(attach(attachment, entity))
    ctx.changes.settle(node, attachment_count=node.attachment_count + 1)
    return AttachmentOut.of(attachment)


@routes.get(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
    needs=at_platform(Role.MEMBER, through=TaxonomyNode), scope="taxonomy:read", emits=None,
)  # fmt: skip
def get_taxonomy_attachment(ctx: Context, node: TaxonomyNode, attachment: Attachment) -> AttachmentOut:
    """Get an attachment of a node."""
    _refuse_unseen(ctx, node, attachment)
    return AttachmentOut.of(attachment)


@routes.delete(
    "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
    needs=at_platform(Role.EDITOR, through=TaxonomyNode), scope="taxonomy:write", emits="taxonomy.attachment.deleted",
)  # fmt: skip
def detach_taxonomy_node(ctx: Context, node: TaxonomyNode, attachment: Attachment) -> None:
    """Take a node off what it is put on."""
    _refuse_unseen(ctx, node, attachment)
    ctx.changes.delete(attachment)
    ctx.changes.also(detach(attachment))
    ctx.changes.settle(node, attachment_count=node.attachment_count - 1)


def _refuse_unseen(ctx: Context, node: TaxonomyNode, attachment: Attachment) -> None:
    if attachment.node_id != node.id or unseen(ctx, [attachment.entity]):
        raise not_found()
