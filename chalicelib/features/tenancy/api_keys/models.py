"""Requests and responses of the operations on API keys."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from chalicelib.features.tenancy.models.memberships import RevokedKeyOut
from chalicelib.kernel.http.fields import Name, deduplicate
from chalicelib.kernel.http.models import Input, Output
from chalicelib.kernel.identity.key_models import FutureDateTime, KeyOut, KeyRotation, Network
from chalicelib.kernel.permissions.roles import all_scopes

RevocationReason = Literal["parent_revoked", "member_removed", "member_left", "member_demoted", "person_erased"]

_SCOPES: Final = all_scopes()
Scope = Literal[_SCOPES]  # type: ignore[valid-type]


class ApiKeyCreate(Input):
    """A new API key: its name, what it may do, until when and from which networks.

    Give a key only the scopes that its program needs.
    """

    name: Name = Field(examples=["Nightly export"])
    scopes: Annotated[list[Scope], AfterValidator(deduplicate)] = Field(
        ["read"], min_length=1, max_length=40, description="At most the scopes of the creator.", examples=[["read"]]
    )
    expires_at: FutureDateTime | None = Field(
        None,
        description="RFC 3339 with an offset. At most, and by default, the expiry of the API key that creates it.",
        examples=["2030-01-01T00:00:00.000Z"],
    )
    allowed_ips: list[Network] = Field(
        default_factory=list,
        max_length=40,
        description="Networks (CIDR) from which it works. Default: any, or those of the API key that creates it.",
        examples=[["192.0.2.0/24"]],
    )


class ApiKeyRotation(KeyRotation):
    """How long the former secret continues to work.

    Use the time to replace the secret in the program's settings; 0 ends it at once.
    """


class RevokedBecauseOut(Output):
    """Why an API key was revoked automatically.

    `id` names the person or the other key on which it depended. Create another key for the program that used it.
    """

    reason: RevocationReason = Field(examples=["parent_revoked"])
    id: str | None = Field(
        description="Id of that key or user. Null after the person was erased.",
        examples=["01a1f84a-95c0-76c7-8936-95171e793d7d"],
    )


class ApiKeyOut(KeyOut):
    """A credential of a program, which has access to one organization within its scopes.

    Only the responses that create or rotate it contain the secret in `key`.
    """

    scopes: list[str] = Field(
        description="Keys that were created earlier may have `audit-log:write`, which is equal to `audit-log:read`.",
        examples=[["read"]],
    )
    revoked_because: RevokedBecauseOut | None = Field(
        description="The user or key whose change revoked it, and the reason. Null if the key itself was revoked.",
        examples=[None],
    )
    revoked_keys: list[RevokedKeyOut] | None = Field(
        description="The keys that were revoked with it. Null except in the log entry of its revocation.",
        examples=[None],
    )
