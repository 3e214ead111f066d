"""A user's current memberships of a container and its ancestors."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container, Item, ItemKey


@dataclass(frozen=True)
class MembershipView:
    """A user's roles in, and current memberships of, a container and its ancestors.

    `left_at`: when the user last left one of the ancestors; earlier memberships below it are revoked.
    `expired_membership`: such a membership of the container itself that is still stored.
    """

    roles: dict[type[Container], Role] = field(default_factory=dict)
    memberships: dict[type[Container], Item] = field(default_factory=dict)
    left_at: str = ""
    expired_membership: Item | None = None


def membership_view_keys(user_id: str, container: ItemKey | None, ancestors: Iterable[ItemKey]) -> Iterator[ItemKey]:
    """Yield the item keys that determine a user's memberships of a container and its ancestors."""
    if container:
        yield membership_key(container, user_id)
    for outer in ancestors:
        yield membership_key(outer, user_id)
        yield descendant_revocation_marker_key(outer, user_id)


def membership_key(container: ItemKey, user_id: str) -> ItemKey:
    """Return the item key of a user's membership of a container."""
    return container[0], f"M#{user_id}"


def descendant_revocation_marker_key(container: ItemKey, user_id: str) -> ItemKey:
    """Return the key of the marker that a user has left a container, which revokes memberships below it."""
    return container[0], f"G#{user_id}"


def membership_view(user_id: str, containers: Iterable[Container], items: Mapping[ItemKey, Item]) -> MembershipView:
    """Return a user's memberships of containers, outermost first. `items`: the items at `membership_view_keys`."""
    roles: dict[type[Container], Role] = {}
    memberships: dict[type[Container], Item] = {}
    parent_role, left_at, expired = None, "", None
    for container in containers:
        own_role, expired = None, items.get(membership_key(container.item_key, user_id))
        if expired and expired["created_at"] > left_at:
            memberships[type(container)], own_role, expired = expired, Role(expired["role"]), None
        if parent_role := role_in_container(container, own_role, parent_role):
            roles[type(container)] = parent_role
        left_at = max(left_at, last_revocation_at_or_empty(user_id, [container.item_key], items))
    return MembershipView(roles, memberships, left_at, expired)


def has_unrevoked_membership(
    user_id: str, container: ItemKey, ancestors: Iterable[ItemKey], items: Mapping[ItemKey, Item]
) -> bool:
    """Return whether a user's membership of a container exists and is not revoked. `items` as in `membership_view`."""
    joined_at = items.get(membership_key(container, user_id), {}).get("created_at", "")
    return bool(joined_at > last_revocation_at_or_empty(user_id, ancestors, items))


def last_revocation_at_or_empty(user_id: str, containers: Iterable[ItemKey], items: Mapping[ItemKey, Item]) -> str:
    """Return when a user last left one of the containers, or an empty text if they did not."""
    markers = (items.get(descendant_revocation_marker_key(container, user_id), {}) for container in containers)
    return max((str(marker.get("created_at", "")) for marker in markers), default="")


def role_in_container(container: Container, own_role: Role | None, parent_role: Role | None) -> Role | None:
    """Return the role in a container that follows from the user's role there and the role in the parent container."""
    if container.parent_type and parent_role and parent_role.includes(Role.ADMIN):
        return Role.ADMIN
    return own_role or (Role.MEMBER if parent_role and not container.is_private else None)
