"""What the operations on members accept and answer."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from chalicelib.kernel.http.fields import Timestamp, Uuid, matching, require_visible
from chalicelib.kernel.http.models import Input, Output, Patch, Query, RecordOutput
from chalicelib.kernel.identity.jwt import MAX_LABEL_CHARACTERS
from chalicelib.kernel.permissions.roles import Role

Username = Annotated[str, *matching(r"^[\s\S]{1,255}$", "must be 1 to 255 characters")]
"""A username in a path."""


class MemberPatch(Patch):
    """What of a member can be changed."""

    role: Role = Field(description="At most the caller's own; an owner is made by transferring.", examples=["editor"])


class KeysQuery(Query):
    """What becomes of the API keys that somebody made who may give less from now on, or nothing."""

    keys: Literal["revoke", "keep"] = Field(
        "revoke", description="`keep`: they rest on the caller instead, an admin who is not that person."
    )


Granted = Literal["member", "editor", "admin"]
"""What somebody can be made: there is one owner, of an organization."""


class RolePatch(Patch):
    """What somebody is to be at a platform or a space."""

    role: Granted = Field(description="At most the caller's own.", examples=["editor"])


class PlatformMemberPatch(RolePatch):
    """What of a member of a platform can be changed."""

    username: (
        Annotated[str, Field(min_length=1, max_length=MAX_LABEL_CHARACTERS), AfterValidator(require_visible)] | None
    ) = Field(
        None,
        description="What they are found by on this platform, in whatever letters; nobody else's.",
        examples=["ada"],
    )


class RevokedKeyOut(Output):
    """An API key that was revoked because of another change."""

    id: Uuid
    name: str = Field(examples=["Nightly export"])


class MemberOut(RecordOutput):
    """A member."""

    user_id: Uuid
    username: str | None = Field(examples=["ada"])
    name: str | None = Field(examples=["Ada Lovelace"])
    email: str | None = Field(description="Null but to admins and oneself.", examples=["ada@example.com"])
    role: Role = Field(examples=["editor"])
    joined_at: Timestamp
    revoked_keys: list[RevokedKeyOut] | None = Field(
        None,
        description="The API keys that a change of the role revoked, in its answer and entry; else null.",
        examples=[None],
    )


class OwnershipTransfer(Input):
    """Who becomes the owner."""

    new_owner_id: Uuid = Field(description="A member's user id.")
