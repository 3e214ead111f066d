"""What the operations on attachments accept and answer."""

from pydantic import Field

from chalicelib.kernel.http.fields import Identifier, Uuid
from chalicelib.kernel.http.models import Input, ListQuery, RecordOutput

_TYPES = (
    "`platform`, `space`, `site`, `page`, `research-output` and `research-artefact` are the service's own: what they "
    "name has to be there. All others are the caller's."
)


class AttachmentCreate(Input):
    """What a node is put on."""

    entity_type: Identifier = Field(description=_TYPES, examples=["lesson"])
    entity_id: Uuid


class AttachmentOut(RecordOutput):
    """A node's being put on something."""

    platform_id: Uuid
    node_id: Uuid
    entity_type: str = Field(examples=["lesson"])
    entity_id: Uuid


class AttachmentsQuery(ListQuery):
    """Which attachments."""

    entity_type: Identifier | None = Field(None, examples=["lesson"])
    entity_id: Uuid | None = Field(None, examples=[None])
    node_id: Uuid | None = Field(None, examples=[None])
