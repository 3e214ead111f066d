"""What becomes of the API keys of a member who may give less from now on, or nothing."""

from chalicelib.features.tenancy.api_keys.logic.key_creation import maker, rest_on
from chalicelib.features.tenancy.api_keys.logic.key_revocation import MOST_AT_ONCE, Ending, ending_with_person
from chalicelib.features.tenancy.api_keys.models import Reason
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.models.memberships import KeysQuery
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.permissions.roles import Role, grantable_scopes


def keys_ending(ctx: Context, member: Member, query: KeysQuery, reason: Reason, role: Role | None) -> Ending:
    """Return the API keys that end when a member gets another role, or none: those that exceed what it may give.

    Where they are to be kept, none ends. Raises Problem 403 if the caller is not who may say so.
    """
    none = Ending(member.organization_id, (), {})
    if query.keys == "keep":
        _refuse_to_keep(ctx, member)
    if member.keys_mark is None:
        return none
    held = grantable_scopes(role) if role else ()
    ending = ending_with_person(member.organization_id, member.user_id, held, reason)
    if query.keys == "revoke":
        return ending
    _keep(ctx, member, ending)
    return none


def _refuse_to_keep(ctx: Context, member: Member) -> None:
    if isinstance(ctx.principal, ApiKeyPrincipal) or ctx.principal.id == member.user_id:
        detail = "Another admin, who is not that person, can let the keys be kept. Leave `keys` out to revoke them."
        raise Problem.for_field("query/keys", "forbidden", detail)


def _keep(ctx: Context, member: Member, ending: Ending) -> None:
    """Let keys rest on the caller in a member's stead: an admin holds every scope that a key can have."""
    if len(ending.keys) > MOST_AT_ONCE:
        detail = f"{len(ending.keys)} API keys rest on this member, and {MOST_AT_ONCE} can be kept. Revoke some first."
        raise Problem.for_field("query/keys", "limit_exceeded", detail)
    if ending.keys:
        ending.pass_on(ctx.changes, member.user_id, rest_on(ctx, maker(ctx)))
