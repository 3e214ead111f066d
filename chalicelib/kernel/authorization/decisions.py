"""Decides whether the caller sees the container of a request, and may perform the operation."""

from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.authorization.effective_role import EffectiveRole
from chalicelib.kernel.authorization.read_plans import ReadPlan
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, CredentialPrincipal, Principal, ServiceKeyPrincipal
from chalicelib.kernel.operations.access_rules import OwnerRestores, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role, general_scopes_that_allow, scopes_allow

_RESTORE_ROLE: Final = Role.OWNER


@dataclass(frozen=True)
class Decision:
    """What a caller may do who sees the container of the request, if there is one.

    `role`: the role by which they see it, None for what everybody sees. `problem`: why they cannot perform the
    operation, or None. It is reported only after missing records are.
    """

    role: Role | None = None
    problem: Problem | None = None


def decide(operation: Operation, principal: Principal) -> Decision:
    """Return what a caller may do with an operation that does not belong to a container."""
    role = principal.role_from_scopes if isinstance(principal, ApiKeyPrincipal) else None
    return Decision(role, _insufficient_scope_or_none(operation, principal))


def decide_in_container(
    plan: ReadPlan, rule: RequireRole, principal: Principal, effective: EffectiveRole
) -> Decision | None:
    """Return what a caller may do in the container of a request, or None if it is *not found* by them."""
    if not effective.loaded.containers or _is_hidden(rule, plan.request, effective):
        return None
    problem = _insufficient_scope_or_none(plan.operation, principal)
    is_public = rule.if_published and effective.loaded.containers[-1].is_published
    # A key without the scope reads published content like everybody.
    role = None if is_public and problem else effective.role
    if rule.if_published and role is None:
        return Decision()
    if not isinstance(principal, CredentialPrincipal):
        problem = _insufficient_role_or_none(rule, effective.role_for_rule)
    return Decision(role, problem)


def _is_hidden(rule: RequireRole, request: Request, effective: EffectiveRole) -> bool:
    """Return whether the container is *not found* by a caller with this role."""
    *ancestors, container = effective.loaded.containers
    is_restored = (
        isinstance(rule.policy, OwnerRestores)
        and effective.role == _RESTORE_ROLE
        and rule.policy.body.items() <= request.unvalidated_json_object_or_empty.items()
    )
    if any(each.is_deleted for each in ancestors) or (container.is_deleted and not is_restored):
        return True
    return effective.role is None and rule.role is not None and not (rule.if_published and container.is_published)


def _insufficient_role_or_none(rule: RequireRole, role: Role | None) -> Problem | None:
    if rule.role is None or rule.is_sufficient(role):
        return None
    yours = f"yours is {role.value!r}" if role else "you have no role there"
    where = rule.role_container_type.kind
    return Problem("insufficient_role", f"This requires the role {rule.role.value!r} in the {where}; {yours}.")


def _insufficient_scope_or_none(operation: Operation, principal: Principal) -> Problem | None:
    """Return the problem of a key whose scopes do not permit the operation. Other principals have no scopes."""
    scope = operation.scope
    if not isinstance(principal, CredentialPrincipal) or scope is None:
        return None
    if scopes_allow(principal.credential.scopes, scope, operation.role_for_general_scopes):
        return None
    if isinstance(principal, ServiceKeyPrincipal):
        return Problem("insufficient_scope", f"The service key needs the scope {scope!r}.")
    general = [repr(each) for each in general_scopes_that_allow(scope, operation.role_for_general_scopes)]
    alternative = f"the general scope {general[0]}" if len(general) == 1 else f"a general scope ({', '.join(general)})"
    return Problem("insufficient_scope", f"The API key needs the scope {scope!r}, or {alternative}.")
