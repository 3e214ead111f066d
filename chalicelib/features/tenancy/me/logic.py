"""What the service knows about a caller, with a bounded number of reads."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, Literal

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.invitations.entities import Invitation, address_partition
from chalicelib.features.tenancy.invitations.logic.invitation_rules import is_inviter_valid
from chalicelib.features.tenancy.invitations.logic.token_resolution import (
    ResolvedInvitation,
    deciding_item_keys,
    resolved_invitation_or_none,
)
from chalicelib.features.tenancy.invitations.models import PlaceOffered
from chalicelib.features.tenancy.me.models import (
    CredentialOut,
    IdDerivation,
    InvitationOfCaller,
    Me,
    OrganizationOfCaller,
)
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
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import QueryResult

MAX_ORGANIZATIONS: Final = 25
"""Organizations in the overview of a user."""

MAX_INVITATIONS: Final = 10
"""Invitations in the overview of a user."""

MAX_CHECKED_INVITATIONS: Final = 200
"""Maximum number of invitations of which it is checked whether they can be accepted."""
INVITATIONS_PER_READ: Final = 20
"""Invitations that are read and checked together. With what decides about them, they fit in one BatchGetItem."""

_NONE: Final = QueryResult([], None)


def describe_user(ctx: Context, user: User) -> Me:
    """Return a user with their first organizations and latest invitations.

    It takes two queries in parallel, a read of what they find, and with invitations a read of what decides about them.
    If too few of the first invitations can be accepted, the next ones take two reads more, up to the maximum.
    """
    claims = read_verified_claims(bearer_credential_or_none(ctx.request) or "")
    memberships, pointers = _query_memberships_and_invitation_pointers(user)
    organization_keys = [Organization.make_item_key(id=item["organization_id"]) for item in memberships.items]
    invitation_keys = [
        Invitation.make_item_key(organization_id=item["organization_id"], id=item["sk"])
        for item in pointers.items
        if not table.is_expired(item)
    ]
    first_keys, next_keys = invitation_keys[:INVITATIONS_PER_READ], invitation_keys[INVITATIONS_PER_READ:]
    membership_keys = [membership_key(key, user.id) for key in organization_keys]
    items = table.get_all([*organization_keys, *membership_keys, *first_keys])
    invitations, has_more = _load_acceptable_invitations([items[key] for key in first_keys if key in items], next_keys)
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


def _load_acceptable_invitations(
    items: Iterable[Item], next_keys: Sequence[ItemKey]
) -> tuple[list[InvitationOfCaller], bool]:
    """Return the first invitations that can be accepted now, and whether there may be more of them.

    `items`: the first invitations; `next_keys`: the keys of the others, which are read only if they are needed.
    """
    found = _describe_acceptable_invitations(items)
    while next_keys and len(found) < MAX_INVITATIONS:
        batch, next_keys = next_keys[:INVITATIONS_PER_READ], next_keys[INVITATIONS_PER_READ:]
        items_by_key = table.get_all(batch)
        found += _describe_acceptable_invitations(items_by_key[key] for key in batch if key in items_by_key)
    return found[:MAX_INVITATIONS], bool(next_keys or found[MAX_INVITATIONS:])


def _describe_acceptable_invitations(items: Iterable[Item]) -> list[InvitationOfCaller]:
    """Return the pending ones of some invitations whose inviters are still able to grant the role. Takes one read."""
    pending = [each for each in map(Invitation.from_item, items) if each.status == "pending"]
    deciding_items = table.get_all(key for each in pending for key in deciding_item_keys(each)) if pending else {}
    resolved = [(each, resolved_invitation_or_none(each, deciding_items)) for each in pending]
    return [
        _describe_invitation(each)
        for invitation, each in resolved
        if each and is_inviter_valid(invitation, each.inviter_memberships)
    ]


def _describe_invitation(resolved: ResolvedInvitation) -> InvitationOfCaller:
    invitation = resolved.invitation
    return InvitationOfCaller(
        id=invitation.id,
        organization=PlaceOffered.of(resolved.organization),
        platform=PlaceOffered.of(resolved.container) if invitation.platform_id else None,
        role=invitation.role,
        invited_by=invitation.invited_by,
        inviter_name=resolved.inviter_name,
        expires_at=invitation.expires_at,
    )


def _timestamp_or_none(seconds: float) -> str | None:
    """Return a NumericDate (RFC 7519) as a timestamp, or None after the year 9999."""
    try:
        return timestamp(round(seconds * 1000))
    except (ValueError, OverflowError):
        return None
