"""What the operations on members accept and answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.fields import Timestamp, Uuid
from chalicelib.kernel.models import Input, Patch, RecordOutput
from chalicelib.kernel.roles import Role


class MemberPatch(Patch):
    """What of a member can be changed."""

    role: Role = Field(description="At most the caller's own; an owner is made by transferring.", examples=["editor"])


Granted = Literal["member", "editor", "admin"]
"""What somebody can be made: there is one owner, of an organization."""


class RolePatch(Patch):
    """What somebody is to be at a platform or a space."""

    role: Granted = Field(description="At most the caller's own.", examples=["editor"])


class MemberOut(RecordOutput):
    """A member."""

    user_id: Uuid
    username: str | None = Field(examples=["ada"])
    name: str | None = Field(examples=["Ada Lovelace"])
    email: str | None = Field(description="Null but to admins and oneself.", examples=["ada@example.com"])
    role: Role = Field(examples=["editor"])
    joined_at: Timestamp


class OwnershipTransfer(Input):
    """Who becomes the owner."""

    new_owner_id: Uuid = Field(description="A member's user id.")
