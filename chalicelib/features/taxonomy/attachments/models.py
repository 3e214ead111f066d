"""Request and response models of the taxonomy attachment operations."""

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, RecordOutput

_ENTITY_TYPE_DESCRIPTION = (
    "Entities of the types `platform`, `space`, `site`, `page`, `research-output` and `research-artefact` must exist. "
    "Callers may use any other type for their own entities."
)


class AttachmentCreate(Input):
    """The entity to which a node is attached.

    Known types, such as `page`, have to exist in the organization; any other type is your own.
    """

    entity_type: Identifier = Field(description=_ENTITY_TYPE_DESCRIPTION, examples=["lesson"])
    entity_id: Uuid


class AttachmentOut(RecordOutput):
    """The assignment of a taxonomy node to an entity.

    The entity is a record of the organization, or one of your own systems that Atrium knows only by type and id.
    """

    platform_id: Uuid
    node_id: Uuid
    entity_type: str = Field(examples=["lesson"])
    entity_id: Uuid


class AttachmentsQuery(ListQuery):
    """Filters of the list of attachments."""

    entity_type: Identifier | None = Field(None, examples=["lesson"])
    entity_id: Uuid | None = Field(None, examples=[None])
    node_id: Uuid | None = Field(None, examples=[None])
