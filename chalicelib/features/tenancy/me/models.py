"""The response that describes the caller."""

from typing import ClassVar, Literal

from pydantic import Field

from chalicelib.features.tenancy.invitations.models import InvitableRole, PlaceOffered
from chalicelib.kernel.http.fields import Timestamp, Uuid
from chalicelib.kernel.http.models import Output
from chalicelib.kernel.permissions.roles import Role


class IdDerivation(Output):
    """How a user's id follows from the claims `iss` and `sub` of their token.

    With it, other programs can compute the ids that members and log entries contain.
    """

    method: Literal["sub", "uuid5"] = Field(
        description=(
            "`sub`: the subject is a UUID, and is the id in lower case. `uuid5`: the id is"
            " UUIDv5(UUIDv5(NAMESPACE_URL, issuer), subject) (RFC 9562)."
        ),
        examples=["uuid5"],
    )
    issuer: str = Field(description="The token's `iss`.", examples=["https://login.example.com"])
    subject: str = Field(description="The token's `sub`.", examples=["auth0|64f0c2"])


class CredentialOut(Output):
    """What the service knows about the token or key of the request.

    It shows how long the credential is valid, and what limits an API key or service key. It never contains the secret.
    """

    type: Literal["user", "api_key", "service_key"] = Field(
        description="As the type of the actor in log entries.", examples=["user"]
    )
    expires_at: Timestamp | None = Field(
        description="When it stops working: the token's `exp`, or the expiry of the key or of its former secret."
    )
    audiences: list[str] | None = Field(description="The token's `aud`. Null for a key.", examples=[["atrium"]])
    scopes: list[str] | None = Field(description="The key's scopes. Null for a user.", examples=[None])
    allowed_ips: list[str] | None = Field(
        description="The networks (CIDR) from which the key works; empty if from any. Null for a user.",
        examples=[None],
    )
    created_by: str | None = Field(
        description="Id of the user or API key that created the key. Null for a user.", examples=[None]
    )


class OrganizationOfCaller(Output):
    """An organization of the caller, and their role in it.

    It has what a menu for choosing an organization shows. `GET /organizations/{organization_id}` returns all fields.
    """

    id: Uuid
    name: str = Field(examples=["Analytical Engines"])
    slug: str = Field(examples=["analytical-engines"])
    role: Role = Field(description="An API key has the role of its general scopes.", examples=["admin"])


class InvitationOfCaller(Output):
    """A pending invitation to the verified e-mail address of the caller.

    They accept or decline it with `POST /me/invitations/{invitation_id}`, or with the link in the mail. An invitation
    to a platform can also be accepted with `join`.
    """

    id: Uuid
    organization: PlaceOffered = Field(description="The organization, or the one that has the platform.")
    platform: PlaceOffered | None = Field(description="Null if the invitation is to the organization.", examples=[None])
    role: InvitableRole = Field(examples=["editor"])
    invited_by: str | None = Field(description="Id of the user or API key. Null after the person was erased.")
    inviter_name: str | None = Field(description="The inviter's name, if they are a member.", examples=["Grace"])
    expires_at: Timestamp


class Me(Output):
    """The caller as the service sees them: a user by their token, or an API key or service key by its record.

    Use it to show who is signed in, and to find out why a request is refused: which address counts as verified, and
    which role or scopes the caller has.
    """

    no_store: ClassVar[bool] = True

    id: str = Field(
        description="The id of the user or key, as in members and log entries.",
        examples=["4c1a2b5e-0000-4000-8000-000000000002"],
    )
    id_derivation: IdDerivation | None = Field(description="How a user's id follows from the token. Null for a key.")
    username: str | None = Field(description="Null if the token has none, and for a key.", examples=["ada"])
    name: str | None = Field(description="The user's or the key's name.", examples=["Ada Lovelace"])
    email: str | None = Field(description="Null if the token has none, and for a key.", examples=["ada@example.com"])
    email_verified: bool = Field(
        description="Whether the issuer says that the address is the user's. Only then can they accept invitations.",
        examples=[True],
    )
    is_operator: bool = Field(description="Whether the user is an operator of the service.", examples=[False])
    credential: CredentialOut
    organizations: list[OrganizationOfCaller] = Field(
        description="The first 25 organizations of a user, or the organization of an API key. Empty for a service key."
    )
    has_more_organizations: bool = Field(
        description="Whether the user has further organizations. `GET /organizations` lists all.", examples=[False]
    )
    pending_invitations: list[InvitationOfCaller] = Field(
        description=(
            "The latest 10 invitations to the user's verified address that can be accepted now, without their tokens."
            " They are searched for among the latest 200 invitations to the address. `GET /me/invitations` lists all."
        )
    )
    has_more_pending_invitations: bool = Field(
        description=("Whether there may be further invitations to the address. `GET /me/invitations` lists all."),
        examples=[False],
    )
