"""Finds the caller's role in the container of a request, or in a descendant that a rule accepts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chalicelib.kernel.authorization import descendants
from chalicelib.kernel.authorization.loading import Loaded
from chalicelib.kernel.authorization.memberships import (
    MembershipView,
    membership_key,
    membership_view,
    role_in_container,
)
from chalicelib.kernel.authorization.read_plans import ReadPlan
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, Principal, ServiceKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.identity.signed_links import LinkHolder
from chalicelib.kernel.operations.access_rules import OperatorsToo, RequireRole, RoleInDescendant, ServiceKeysToo
from chalicelib.kernel.permissions.roles import Role, expand_scopes
from chalicelib.kernel.storage.entity import Container, Item, ItemKey


@dataclass(frozen=True)
class EffectiveRole:
    """The caller's memberships and role.

    `role`: the role in the container of the request. `role_for_rule`: the role in the container where the rule requires
    one. If only a descendant grants the required role, both are the role there, and so are the memberships.
    `descendants`: those that were considered, or only those that grant the role. `is_operator_role`: whether the caller
    has the role only as an operator of the service. `loaded`: all that was read.
    """

    loaded: Loaded
    memberships: MembershipView = field(default_factory=MembershipView)
    role: Role | None = None
    role_for_rule: Role | None = None
    descendants: tuple[Container, ...] = ()
    is_operator_role: bool = False


def find_effective_role(plan: ReadPlan, rule: RequireRole, principal: Principal, loaded: Loaded) -> EffectiveRole:
    """Return the caller's role.

    Descendants are read only if the role in the container is insufficient, or if a subject's memberships are needed.
    """
    if not loaded.containers:
        return EffectiveRole(loaded)
    memberships = caller_membership_view(loaded.containers, principal, loaded.items)
    role, role_for_rule = (memberships.roles.get(each) for each in (rule.container_type, rule.role_container_type))
    own = EffectiveRole(loaded, memberships, role, role_for_rule)
    is_sufficient = rule.is_sufficient(role_for_rule)
    if isinstance(rule.policy, OperatorsToo) and not is_sufficient and _is_operator(principal):
        return replace(own, role=rule.role, role_for_rule=rule.role, is_operator_role=True)
    if isinstance(rule.policy, ServiceKeysToo) and isinstance(principal, ServiceKeyPrincipal):
        return replace(own, role=rule.role, role_for_rule=rule.role)
    user_id = principal.id if isinstance(principal, User) and not is_sufficient else ""
    if not isinstance(rule.policy, RoleInDescendant) or not (user_id or loaded.subject_id):
        return own
    loaded, found = descendants.load_descendants(plan, rule.policy, loaded, user_id)
    return _admit_by_descendants(replace(own, loaded=loaded, descendants=found), rule, user_id)


def _admit_by_descendants(own: EffectiveRole, rule: RequireRole, user_id: str) -> EffectiveRole:
    """Return the role in the first descendant where it is sufficient, or else the user's own. It needs a user id."""
    containers, items = own.loaded.containers, own.loaded.items
    views = [(each, membership_view(user_id, (*containers, each), items)) for each in own.descendants if user_id]
    admitting = [
        (each, view, role) for each, view in views if (role := view.roles.get(type(each))) and rule.is_sufficient(role)
    ]
    if not admitting or containers[-1].is_deleted:
        return own
    _, memberships, role = admitting[0]
    return EffectiveRole(own.loaded, memberships, role, role, tuple(each for each, _, _ in admitting))


def _is_operator(principal: Principal) -> bool:
    return isinstance(principal, User) and principal.is_operator


def caller_membership_view(
    containers: Sequence[Container], principal: Principal, items: Mapping[ItemKey, Item]
) -> MembershipView:
    """Return the caller's roles in, and memberships of, containers, outermost first.

    `items`: those at `membership_view_keys`, which only a user needs.
    """
    if isinstance(principal, User):
        return membership_view(principal.id, containers, items)
    if isinstance(principal, LinkHolder):
        return membership_view(
            principal.link.creator_id, containers, _without_later_memberships(principal, containers, items)
        )
    memberships = MembershipView()
    if isinstance(principal, ApiKeyPrincipal):
        for container in containers:
            parent_role = memberships.roles.get(container.parent_type) if container.parent_type else None
            if role := role_in_container(container, _api_key_role_in_container(container, principal), parent_role):
                memberships.roles[type(container)] = role
    return memberships


def _without_later_memberships(
    holder: LinkHolder, containers: Sequence[Container], items: Mapping[ItemKey, Item]
) -> Mapping[ItemKey, Item]:
    """Return items without the memberships that the creator of a link did not have when they created it."""
    keys = (membership_key(each.item_key, holder.link.creator_id) for each in containers)
    later = {key for key in keys if key in items and not holder.has_membership(items[key])}
    return {key: item for key, item in items.items() if key not in later}


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
