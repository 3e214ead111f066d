"""The caller's role in the container of a request, or in a descendant of it that the operation accepts."""

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.kernel.authorization import descendants
from chalicelib.kernel.authorization.memberships import MembershipView, membership_view, role_in_container
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, Principal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role, expand_scopes
from chalicelib.kernel.storage.entity import Container, Item, ItemKey


@dataclass(frozen=True)
class EffectiveRole:
    """The caller's memberships and roles, and the descendants that were considered.

    `role`: the role in the container of the request. `scope_role`: the role in the container where the operation
    requires one (`role_container_type`). If only a descendant grants the required role, both are the role there.
    `is_operator_role`: whether the caller has the role only as an operator of the service.
    """

    memberships: MembershipView
    role: Role | None
    scope_role: Role | None
    descendants: tuple[Container, ...]
    is_operator_role: bool = False


def load_caller_role_and_memberships(
    rule: RequireRole,
    operation: Operation,
    request: Request,
    principal: Principal,
    containers: list[Container],
    records: list[Item],
    subject_id: str,
    items: dict[ItemKey, Item],
) -> EffectiveRole:
    """Return the caller's role in the last container or, if the operation allows it, in a descendant of it.

    Descendants are read only if the role in the container is insufficient, or if a subject's memberships are needed.
    """
    memberships = caller_membership_view(containers, principal, items)
    role, scope_role = memberships.roles.get(type(containers[-1])), memberships.roles.get(rule.role_container_type)
    if rule.allow_operators and _is_operator(principal) and not _is_role_sufficient(scope_role, rule):
        return EffectiveRole(memberships, rule.role, rule.role, (), is_operator_role=True)
    user_id_without_role = (
        principal.id if isinstance(principal, User) and not _is_role_sufficient(scope_role, rule) else ""
    )
    if rule.allow_descendant_role is None or not (user_id_without_role or subject_id):
        return EffectiveRole(memberships, role, scope_role, ())
    user_ids = [user_id for user_id in (user_id_without_role, subject_id) if user_id]
    ids = descendants.find_requested_or_joined_descendant_ids(
        rule.allow_descendant_role, operation, request, containers[-1], records, user_id_without_role
    )
    descendant_containers = (
        descendants.load_descendants(rule.allow_descendant_role, containers[-1], ids, user_ids, items)
        if ids or subject_id
        else []
    )
    memberships_below = [
        (each, membership_view(user_id_without_role, [*containers, each], items))
        for each in descendant_containers
        if user_id_without_role
    ]
    admitting = [
        (each, own_memberships)
        for each, own_memberships in memberships_below
        if _is_role_sufficient(own_memberships.roles.get(type(each)), rule)
    ]
    if not admitting or containers[-1].is_deleted:
        return EffectiveRole(memberships, role, scope_role, tuple(descendant_containers))
    nearest, memberships = admitting[0]
    role = memberships.roles[type(nearest)]
    return EffectiveRole(memberships, role, role, tuple(each for each, _ in admitting))


def _is_operator(principal: Principal) -> bool:
    return isinstance(principal, User) and principal.is_operator


def _is_role_sufficient(role: Role | None, rule: RequireRole) -> bool:
    return rule.role is None or (role is not None and role.includes(rule.role))


def caller_membership_view(
    containers: list[Container], principal: Principal, items: Mapping[ItemKey, Item]
) -> MembershipView:
    """Return the caller's roles in, and memberships of, containers, outermost first.

    `items`: those at `membership_view_keys`, which only a user needs.
    """
    if isinstance(principal, User):
        return membership_view(principal.id, containers, items)
    memberships = MembershipView()
    if isinstance(principal, ApiKeyPrincipal):
        for container in containers:
            parent_role = memberships.roles.get(container.parent_type) if container.parent_type else None
            if role := role_in_container(container, _api_key_role_in_container(container, principal), parent_role):
                memberships.roles[type(container)] = role
    return memberships


def _api_key_role_in_container(container: Container, principal: ApiKeyPrincipal) -> Role | None:
    """Return the role of an API key in a container: the same in its whole organization, except private containers."""
    if container.audit_log_id != principal.credential.organization_id:
        return None
    return (
        None
        if container.is_private and not can_see_private_containers(type(container), principal)
        else principal.role_from_scopes
    )


def can_see_private_containers(container_type: type[Container], principal: ApiKeyPrincipal) -> bool:
    """Return whether an API key sees private containers of a type: with `admin`, or with the scope of that type."""
    return f"{container_type.scope_area}:read" in expand_scopes(principal.credential.scopes)
