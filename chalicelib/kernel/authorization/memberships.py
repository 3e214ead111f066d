"""Standing: what somebody is at a place and at those above it, by the memberships that hold."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container, Item, ItemKey


@dataclass(frozen=True)
class MembershipView:
    """What somebody is at a place and at those above it, by the memberships that hold.

    `left`: when they last left one of those above; what they were below it until then holds no longer, and `ended` is
    the record of such a membership of the place itself, if it is still there.
    """

    roles: dict[type[Container], Role] = field(default_factory=dict)
    memberships: dict[type[Container], Item] = field(default_factory=dict)
    left_at: str = ""
    expired_membership: Item | None = None


def membership_view_keys(user_id: str, place: ItemKey | None, above: Iterable[ItemKey]) -> Iterator[ItemKey]:
    """Yield where it stands what a user is at a place and at those above it."""
    if place:
        yield membership_key(place, user_id)
    for outer in above:
        yield membership_key(outer, user_id)
        yield revocation_marker_key(outer, user_id)


def membership_key(place: ItemKey, user_id: str) -> ItemKey:
    """Return where a user's membership of a place stands."""
    return place[0], f"M#{user_id}"


def revocation_marker_key(place: ItemKey, user_id: str) -> ItemKey:
    """Return where it stands that a user has left a place: their memberships below it hold no longer."""
    return place[0], f"G#{user_id}"


def membership_view(user_id: str, chain: list[Container], items: Mapping[ItemKey, Item]) -> MembershipView:
    """Return what a user is at each place of a chain, the outermost first. `items`: what `standing_keys` led to."""
    roles: dict[type[Container], Role] = {}
    memberships: dict[type[Container], Item] = {}
    above, left, ended = None, "", None
    for place in chain:
        own, ended = None, items.get(membership_key(place.item_key, user_id))
        if ended and ended["created_at"] > left:
            memberships[type(place)], own, ended = ended, Role(ended["role"]), None
        if above := role_at(place, own, above):
            roles[type(place)] = above
        left = max(left, last_revocation_at(user_id, [place.item_key], items))
    return MembershipView(roles, memberships, left, ended)


def is_current_membership(
    user_id: str, place: ItemKey, above: Iterable[ItemKey], items: Mapping[ItemKey, Item]
) -> bool:
    """Return whether a user's own membership of a place is there and holds; `items` are as in `standing_of`."""
    joined = items.get(membership_key(place, user_id), {}).get("created_at", "")
    return bool(joined > last_revocation_at(user_id, above, items))


def last_revocation_at(user_id: str, places: Iterable[ItemKey], items: Mapping[ItemKey, Item]) -> str:
    """Return when a user last left one of some places: what they were below it until then holds no longer.

    It is an empty text where nothing of that is left to be known.
    """
    departures = (items.get(revocation_marker_key(place, user_id), {}) for place in places)
    return max((str(departure.get("created_at", "")) for departure in departures), default="")


def role_at(place: Container, own: Role | None, above: Role | None) -> Role | None:
    """Return the role of somebody at a place, by their own membership there and their role at the place above."""
    if place.parent_type and above and above.includes(Role.ADMIN):
        return Role.ADMIN
    return own or (Role.MEMBER if above and not place.is_private else None)
