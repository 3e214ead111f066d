"""Rules for the creation and rotation of API keys: the bounds of an issuing key, and the grantors of a key."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from typing import Any

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.api_keys.models import ApiKeyCreate
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.ip_networks import parse_ip_network
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.permissions.roles import ungrantable_scopes


def caller_api_key_or_member(ctx: Context) -> ApiKey | Member:
    """Return the issuer of a key: the calling API key, or the caller's membership of the organization."""
    if isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal):
        return ApiKey.from_item(ctx.access.credential_item)
    return Member.from_item(ctx.access.own_membership_item or {})


def validate_and_build_key_fields(issuer: ApiKey | Member, body: ApiKeyCreate) -> dict[str, Any]:
    """Return the fields of a new key. Bounds that the body omits are taken from an issuing key.

    Raises Problem 403 for the first field that exceeds the issuer.
    """
    fields = body.to_stored_fields_with_defaults()
    if isinstance(issuer, Member):
        return fields
    fields["expires_at"] = fields["expires_at"] or issuer.expires_at
    fields["allowed_ips"] = fields["allowed_ips"] or issuer.allowed_ips
    reject_excess_rights(issuer, fields["scopes"], fields["expires_at"], fields["allowed_ips"])
    return fields


def reject_excess_rights(issuer: ApiKey, scopes: list[str], expires_at: str | None, allowed_ips: Sequence[str]) -> None:
    """Raise Problem 403 if a key to be created or rotated would exceed the issuing key."""
    if excess := ungrantable_scopes(scopes, issuer.scopes):
        detail = f"Your API key lacks these scopes and cannot grant them: {', '.join(excess)}."
        raise Problem.create_with_field_error("/scopes", "insufficient_scope", detail)
    if issuer.expires_at and (expires_at is None or expires_at > issuer.expires_at):
        detail = f"Your API key expires at {issuer.expires_at}. Keys that it creates cannot expire later."
        raise Problem.create_with_field_error("/expiresAt", "forbidden", detail)
    if issuer.allowed_ips and (not allowed_ips or _has_network_outside(allowed_ips, issuer.allowed_ips)):
        networks = ", ".join(issuer.allowed_ips)
        detail = f"Your API key works from {networks}. Keys that it creates cannot work from other networks."
        raise Problem.create_with_field_error("/allowedIps", "forbidden", detail)


def _has_network_outside(networks: Sequence[str], allowed: Sequence[str]) -> bool:
    """Return whether a network is not completely within the allowed ones."""
    allowed_networks = [parse_ip_network(each) for each in allowed]
    merged: list[IPv4Network | IPv6Network] = [
        *collapse_addresses(each for each in allowed_networks if isinstance(each, IPv4Network)),
        *collapse_addresses(each for each in allowed_networks if isinstance(each, IPv6Network)),
    ]
    return not all(any(_contains_network(outer, parse_ip_network(each)) for outer in merged) for each in networks)


def _contains_network(outer: IPv4Network | IPv6Network, inner: IPv4Network | IPv6Network) -> bool:
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


def mark_issuance_and_merge_grantor_ids(
    ctx: Context, issuer: ApiKey | Member, earlier_grantor_ids: Sequence[str] | None = None
) -> list[str]:
    """Record on the issuer that it issues a key, and return the key's grantors.

    The transaction fails if the issuer is revoked concurrently. `earlier_grantor_ids`: the key's grantors so far.
    """
    ctx.changes.update_untracked(issuer, is_unconditional=True, last_key_issuance_id=new_id(ctx.now))
    issuer_ids = [issuer.user_id] if isinstance(issuer, Member) else [*(issuer.grantor_ids or ()), issuer.id]
    return [*dict.fromkeys([*(earlier_grantor_ids or ()), *issuer_ids])]
