"""Requests and responses of the operations on members."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from chalicelib.kernel.http.fields import Timestamp, Uuid, pattern_validator_and_schema, require_visible_character
from chalicelib.kernel.http.models import Input, Output, Patch, Query, RecordOutput
from chalicelib.kernel.http.principal_ids import UserId
from chalicelib.kernel.identity.claims import MAX_LABEL_CHARACTERS
from chalicelib.kernel.permissions.roles import Role

Username = Annotated[str, *pattern_validator_and_schema(r"^[\s\S]{1,255}$", "must be 1 to 255 characters")]
"""A username in a path."""


class MemberPatch(Patch):
    """The new role of a member of an organization.

    The role `owner` cannot be given here: transfer the ownership instead.
    """

    role: Role = Field(
        description="At most the caller's own role. Use transfer-ownership to change the owner.", examples=["editor"]
    )


class KeysQuery(Query):
    """What happens to the API keys of a member who loses the right to grant their scopes."""

    keys: Literal["revoke", "keep"] = Field(
        "revoke", description="`revoke` them, or `keep` them: the caller, another admin, takes responsibility for them."
    )


GrantableRole = Literal["member", "editor", "admin"]
"""A role that can be granted. An organization has one owner, who can only transfer the ownership."""


class RolePatch(Patch):
    """The role of a user in a platform or a space.

    Nobody can grant a role above their own.
    """

    role: GrantableRole = Field(description="At most the caller's own role.", examples=["editor"])


class PlatformMemberPatch(RolePatch):
    """The new role, and optionally the new username, of a platform member.

    Usernames are unique on a platform, ignoring case, and appear in the addresses of profiles.
    """

    username: (
        Annotated[str, Field(min_length=1, max_length=MAX_LABEL_CHARACTERS), AfterValidator(require_visible_character)]
        | None
    ) = Field(
        None,
        description="Unique on this platform, whatever the case of its letters.",
        examples=["ada"],
    )


class RevokedKeyOut(Output):
    """An API key that another change revoked, such as the removal of a member.

    Replace it in the program that uses it.
    """

    id: Uuid
    name: str = Field(examples=["Nightly export"])


class MemberOut(RecordOutput):
    """A person with a role in an organization, a platform or a space.

    Only admins and the person themselves see the e-mail address.
    """

    user_id: UserId
    username: str | None = Field(examples=["ada"])
    name: str | None = Field(examples=["Ada Lovelace"])
    email: str | None = Field(
        description="Null unless the caller is an admin or the member.", examples=["ada@example.com"]
    )
    role: Role = Field(examples=["editor"])
    joined_at: Timestamp
    platform_id: Uuid | None = Field(None, description="The platform, or null in an organization.", examples=[None])
    space_id: Uuid | None = Field(None, description="The space, or null outside of spaces.", examples=[None])
    revoked_keys: list[RevokedKeyOut] | None = Field(
        None,
        description="API keys that a change of the role revoked. Null except in its response and its log entry.",
        examples=[None],
    )


class CallerRoleOut(Output):
    """The role of the caller at a place, whether it is their own there or follows from one above.

    Use it to show people what they can change, before they try.
    """

    role: Role = Field(description="An API key has the role of its scopes.", examples=["editor"])


class OwnershipTransfer(Input):
    """The new owner of an organization, who has to be a member already.

    The former owner becomes an admin and can leave afterwards.
    """

    new_owner_id: Uuid = Field(description="User id of a member.")
