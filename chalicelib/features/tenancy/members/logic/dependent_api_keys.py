"""API keys of a member who loses the right to grant their scopes."""

from chalicelib.features.tenancy.api_keys.logic.key_creation import (
    caller_api_key_or_member,
    mark_issuance_and_merge_grantor_ids,
)
from chalicelib.features.tenancy.api_keys.logic.key_revocation import (
    MAX_KEYS_PER_TRANSACTION,
    KeyRevocationPlan,
    plan_revocation_by_member,
)
from chalicelib.features.tenancy.api_keys.models import RevocationReason
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.models.memberships import KeysQuery
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.permissions.roles import Role, unexpanded_grantable_scopes


def transfer_retained_keys_or_plan_revocation(
    ctx: Context, member: Member, query: KeysQuery, reason: RevocationReason, new_role: Role | None
) -> KeyRevocationPlan:
    """Return the API keys to revoke when a member gets another role or leaves: those that the new role can't grant.

    With `keys=keep` the caller takes responsibility for them, and none is revoked. Raises Problem 403 if the caller may
    not decide that.
    """
    empty_plan = KeyRevocationPlan(member.organization_id, (), {})
    if query.keys == "keep":
        _require_caller_is_another_user(ctx, member)
    if member.last_key_issuance_id is None:
        return empty_plan
    grantable = unexpanded_grantable_scopes(new_role) if new_role else ()
    plan = plan_revocation_by_member(member.organization_id, member.user_id, grantable, reason)
    if query.keys == "revoke":
        return plan
    _make_caller_grantor(ctx, member, plan)
    return empty_plan


def _require_caller_is_another_user(ctx: Context, member: Member) -> None:
    if isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal) or ctx.principal_or_anonymous.id == member.user_id:
        detail = "Only another admin can keep the keys of this member. Omit `keys` to revoke them."
        raise Problem.create_with_field_error("query/keys", "forbidden", detail)


def _make_caller_grantor(ctx: Context, member: Member, plan: KeyRevocationPlan) -> None:
    """Make the caller the grantor of a member's API keys. An admin can grant every scope that a key can have."""
    if len(plan.keys) > MAX_KEYS_PER_TRANSACTION:
        detail = (
            f"{len(plan.keys)} API keys depend on this member, and at most {MAX_KEYS_PER_TRANSACTION} can be kept. "
            "Revoke some first."
        )
        raise Problem.create_with_field_error("query/keys", "limit_exceeded", detail)
    if plan.keys:
        plan.replace_grantor(
            ctx.changes, member.user_id, mark_issuance_and_merge_grantor_ids(ctx, caller_api_key_or_member(ctx))
        )
