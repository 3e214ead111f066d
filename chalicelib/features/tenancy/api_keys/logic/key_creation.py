"""What an API key may be that another one makes or rotates, and what it rests on."""

from collections.abc import Sequence
from typing import Any

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.api_keys.models import ApiKeyCreate
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.ip_networks import networks_outside as networks_beyond
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.permissions.roles import ungrantable_scopes


def maker(ctx: Context) -> ApiKey | Member:
    """Return who makes or rotates a key: the calling key, or the caller's membership of the organization at hand."""
    if isinstance(ctx.principal, ApiKeyPrincipal):
        return ApiKey.from_item(ctx.access.prefetched[ctx.principal.record])
    return Member.from_item(ctx.access.membership or {})


def fields_within(maker: ApiKey | Member, body: ApiKeyCreate) -> dict[str, Any]:
    """Return the fields of a new key. What the body leaves out of its bounds is its maker's, if that is a key.

    Raises Problem 403 for the first of them that lies beyond its maker's.
    """
    fields = body.fields()
    if isinstance(maker, Member):
        return fields
    fields["expires_at"] = fields["expires_at"] or maker.expires_at
    fields["allowed_ips"] = fields["allowed_ips"] or maker.allowed_ips
    refuse_beyond(maker, fields["scopes"], fields["expires_at"], fields["allowed_ips"])
    return fields


def refuse_beyond(maker: ApiKey, scopes: list[str], expires_at: str | None, allowed_ips: Sequence[str]) -> None:
    """Raise Problem 403 if what a key is to be, or to have a new secret of, lies beyond what its maker is."""
    if excess := ungrantable_scopes(scopes, maker.scopes):
        detail = f"An API key can't give what it doesn't hold: {', '.join(excess)}."
        raise Problem.for_field("/scopes", "insufficient_scope", detail)
    if maker.expires_at and (expires_at is None or expires_at > maker.expires_at):
        detail = f"Your API key expires at {maker.expires_at}, and so does, at the latest, what it makes."
        raise Problem.for_field("/expiresAt", "forbidden", detail)
    if maker.allowed_ips and (not allowed_ips or networks_beyond(allowed_ips, maker.allowed_ips)):
        detail = f"Your API key works from {', '.join(maker.allowed_ips)}, and what it makes from nowhere else."
        raise Problem.for_field("/allowedIps", "forbidden", detail)


def rest_on(ctx: Context, maker: ApiKey | Member, lineage: Sequence[str] | None = None) -> list[str]:
    """Let a key rest on its maker, and return its lineage: as long as the maker's own doesn't end before the commit.

    `lineage`: what it rested on before.
    """
    ctx.changes.mark(maker, keys_mark=new_id(ctx.now))
    own = [maker.user_id] if isinstance(maker, Member) else [*(maker.lineage or ()), maker.id]
    return [*dict.fromkeys([*(lineage or ()), *own])]
