"""The models of the peers' requests and responses: 120 pydantic models, built at import.

Those of spaces are written out. The others have the usual number of fields, types and constraints of such a service.
They are created in a loop, which takes slightly less time than importing written classes.
"""

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from pydantic.alias_generators import to_camel

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$")]
Text = Annotated[str, StringConstraints(max_length=4000)]
Visibility = Literal["open", "private"]


class Model(BaseModel):
    """A model with fields in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="forbid")


class SpaceCreate(Model):
    """A new space."""

    platform_id: UUID
    name: Name
    slug: Slug | None = None
    description: Text | None = None
    visibility: Visibility = "open"
    position: int | None = Field(None, ge=0, le=999_999_999)


class SpaceOut(Model):
    """A space."""

    id: UUID
    created_at: str
    updated_at: str
    version: int
    platform_id: UUID
    name: str
    slug: str
    description: str | None
    visibility: Visibility
    position: int


class SpacePage(Model):
    """A page of spaces."""

    items: list[SpaceOut]
    next_cursor: str | None


RECORD_TYPES: Final = (
    "Organization",
    "Member",
    "Invitation",
    "ApiKey",
    "AuditEntry",
    "Export",
    "Erasure",
    "Webhook",
    "Delivery",
    "Replay",
    "Channel",
    "Platform",
    "PlatformMember",
    "Domain",
    "Module",
    "ProjectBlock",
    "Capability",
    "SpaceMember",
    "TaxonomyNode",
    "Attachment",
    "Site",
    "Page",
    "Revision",
    "Menu",
    "Redirect",
    "Lead",
    "Researcher",
    "Output",
    "Artefact",
    "Job",
)
"""The other types of records of the service."""

_EMBEDDED_TYPES: Final = ("Theme", "Navigation", "Home", "Robots", "Block", "Consent", "Address", "Schedule", "Status")

CREATE_MODELS: Final[dict[str, type[Model]]] = {
    record_type: create_model(
        f"{record_type}Create",
        __base__=Model,
        name=Name,
        slug=(Slug | None, None),
        description=(Text | None, None),
        position=(int, Field(0, ge=0)),
        starts_at=(datetime | None, None),
        labels=(list[Name], Field([], max_length=40)),
        parent_id=(UUID | None, None),
    )
    for record_type in (*RECORD_TYPES, *_EMBEDDED_TYPES)
}
"""The request models of create operations."""

PATCH_MODELS: Final[dict[str, type[Model]]] = {
    record_type: create_model(
        f"{record_type}Patch",
        __base__=Model,
        name=(Name | None, None),
        slug=(Slug | None, None),
        description=(Text | None, None),
        position=(int | None, Field(None, ge=0)),
        starts_at=(datetime | None, None),
    )
    for record_type in (*RECORD_TYPES, *_EMBEDDED_TYPES)
}
"""The request models of update operations."""

OUTPUT_MODELS: Final[dict[str, type[Model]]] = {
    record_type: create_model(
        f"{record_type}Out",
        __base__=Model,
        id=UUID,
        created_at=str,
        updated_at=str,
        version=int,
        name=str,
        slug=str,
        description=(str | None),
        position=int,
        labels=list[str],
        state=Literal["draft", "published", "archived"],
        parent_id=(UUID | None),
    )
    for record_type in (*RECORD_TYPES, *_EMBEDDED_TYPES)
}
"""The response models."""
