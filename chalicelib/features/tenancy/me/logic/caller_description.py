"""What the service knows about a caller, with a bounded number of reads."""

from collections.abc import Iterator
from functools import partial
from typing import Final, Literal

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.features.tenancy.me.logic.pending_invitations import (
    INVITATIONS_PER_READ,
    list_invitation_keys,
    load_first_acceptable_invitations,
)
from chalicelib.features.tenancy.me.models import CredentialOut, IdDerivation, Me, OrganizationOfCaller
from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import timestamp
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.api_key_format import digest_api_key
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, ServiceKeyPrincipal, bearer_credential_or_none
from chalicelib.kernel.identity.jwt import User, read_verified_claims
from chalicelib.kernel.identity.token_claims import TokenClaims
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.query_results import QueryResult

MAX_ORGANIZATIONS: Final = 25
"""Organizations in the overview of a user."""

MAX_CHECKED_INVITATIONS: Final = 200
"""Maximum number of invitations of which it is checked whether they can be accepted."""

_NONE: Final = QueryResult([], None)


def describe_user(ctx: Context, user: User) -> Me:
    """Return a user with their first organizations and latest invitations.

    It takes two queries in parallel, a read of what they find, and with invitations a read of what decides about them.
    If too few of the first invitations can be accepted, the next ones take two reads more, up to the maximum.
    """
    claims = read_verified_claims(bearer_credential_or_none(ctx.request) or "")
    memberships, pointers = _query_memberships_and_invitation_pointers(user)
    organization_keys = [Organization.make_item_key(id=item["organization_id"]) for item in memberships.items]
    invitation_keys = list_invitation_keys(pointers.items)
    first_keys, next_keys = invitation_keys[:INVITATIONS_PER_READ], invitation_keys[INVITATIONS_PER_READ:]
    membership_keys = [membership_key(key, user.id) for key in organization_keys]
    items = table.get_all([*organization_keys, *membership_keys, *first_keys])
    first_items = [items[key] for key in first_keys if key in items]
    invitations, has_more = load_first_acceptable_invitations(first_items, next_keys)
    return Me(
        id=user.id,
        id_derivation=_id_derivation(user, claims),
        username=user.username,
        name=user.name,
        email=user.email,
        email_verified=user.email_verified,
        is_operator=user.is_operator,
        credential=CredentialOut(
            type="user",
            expires_at=_timestamp_or_none(claims.exp),
            audiences=[*claims.audiences],
            scopes=None,
            allowed_ips=None,
            created_by=None,
        ),
        organizations=[
            each
            for organization, member in zip(organization_keys, membership_keys, strict=True)
            if organization in items and member in items
            for each in _organization_with_role(items[organization], Role(items[member]["role"]))
        ],
        has_more_organizations=memberships.last_evaluated_key is not None,
        pending_invitations=invitations,
        has_more_pending_invitations=has_more or pointers.last_evaluated_key is not None,
    )


def _id_derivation(user: User, claims: TokenClaims) -> IdDerivation:
    method: Literal["sub", "uuid5"] = "sub" if ascii_lower(claims.sub) == user.id else "uuid5"
    return IdDerivation(method=method, issuer=claims.iss, subject=claims.sub)


def describe_key(ctx: Context, principal: ApiKeyPrincipal | ServiceKeyPrincipal) -> Me:
    """Return an API key with its organization, or a service key."""
    key = principal.credential
    secret_expires_at = key.digests[digest_api_key(bearer_credential_or_none(ctx.request) or "")]
    return Me(
        id=key.id,
        id_derivation=None,
        username=None,
        name=key.name,
        email=None,
        email_verified=False,
        is_operator=False,
        credential=CredentialOut(
            type=key.actor_type,
            expires_at=min(filter(None, (secret_expires_at, key.expires_at)), default=None),
            audiences=None,
            scopes=key.scopes,
            allowed_ips=key.allowed_ips,
            created_by=key.created_by,
        ),
        organizations=[*_organization_of_api_key(principal)] if isinstance(principal, ApiKeyPrincipal) else [],
        has_more_organizations=False,
        pending_invitations=[],
        has_more_pending_invitations=False,
    )


def _organization_of_api_key(principal: ApiKeyPrincipal) -> Iterator[OrganizationOfCaller]:
    """Yield the organization of an API key, unless it is deleted."""
    if organization := table.get(Organization.make_item_key(id=principal.credential.organization_id)):
        yield from _organization_with_role(organization, principal.role_from_scopes)


def _query_memberships_and_invitation_pointers(user: User) -> tuple[QueryResult, QueryResult]:
    queries = [
        partial(table.query, Member.of_user.partition(user_id=user.id, list_name="active"), limit=MAX_ORGANIZATIONS)
    ]
    if user.email and user.email_verified:
        queries.append(
            partial(table.query, address_partition(user.email), limit=MAX_CHECKED_INVITATIONS, newest_first=True)
        )
    memberships, *pointers = table.gather(lambda run: run(), queries)
    return memberships, next(iter(pointers), _NONE)


def _organization_with_role(item: Item, role: Role) -> Iterator[OrganizationOfCaller]:
    """Yield the organization of an item, unless it is deleted."""
    organization = Organization.from_item(item)
    if not organization.is_deleted:
        yield OrganizationOfCaller(id=organization.id, name=organization.name, slug=organization.slug, role=role)


def _timestamp_or_none(seconds: float) -> str | None:
    """Return a NumericDate (RFC 7519) as a timestamp, or None after the year 9999."""
    try:
        return timestamp(round(seconds * 1000))
    except (ValueError, OverflowError):
        return None
