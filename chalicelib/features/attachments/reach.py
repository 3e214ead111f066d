"""The entities that a caller sees, of the types that are the service's own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from chalicelib.features.organizations.entities import Organization
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.spaces.entities import Space
from chalicelib.features.spaces.reach import sees_all
from chalicelib.kernel import table
from chalicelib.kernel.context import Context
from chalicelib.kernel.entity import Item, Key
from chalicelib.kernel.roles import Role
from chalicelib.kernel.standing import departure_key, holds, membership_key
from chalicelib.kernel.tokens import User

Named = tuple[str, str]
"""An entity, by its type and id."""

KNOWN: Final[Mapping[str, Callable[[str], Key] | None]] = {
    "platform": lambda platform_id: Platform.key_of(id=platform_id),
    "space": lambda space_id: Space.key_of(id=space_id),
    "site": None,
    "page": None,
    "research-output": None,
    "research-artefact": None,
}
"""The types that are the service's own, and where one is stored by its id; None as long as there can be none.

What is stored there says in which organization and platform it is.
"""


def stored_at(entity: Named) -> list[Key]:
    """Return where an entity is stored, if its type is the service's own and it can be there."""
    find = KNOWN.get(entity[0])
    return [find(entity[1])] if find else []


def unseen(ctx: Context, entities: Iterable[Named]) -> set[Named]:
    """Return those of some entities that are not there for the caller. Those of the caller's own types all are."""
    known = {one: stored_at(one) for one in entities if one[0] in KNOWN}
    wanted = sorted({key for keys in known.values() for key in keys} - ctx.access.read.keys())
    read = {**ctx.access.read, **(table.get_all(wanted) if wanted else {})}
    found = {one: read[key] for one, keys in known.items() for key in keys if key in read}
    within = {one: item for one, item in found.items() if _is_within(ctx, item)}
    private = {one: item for one, item in within.items() if item["kind"] == Space.kind and _is_private(ctx, item)}
    return {*known} - ({*within} - {*private}) - _own(ctx, private)


def _is_within(ctx: Context, item: Item) -> bool:
    """Return whether something is in the platform at hand, or in another of an organization that the caller is in."""
    if ctx.place is None or item["organization_id"] != ctx.place.log:
        return False
    return item.get("platform_id", item["id"]) == ctx.place.id or _role_in_organization(ctx) is not None


def _is_private(ctx: Context, space: Item) -> bool:
    """Return whether a space is there for its members only, and not for the caller as an admin."""
    role = _role_in_organization(ctx)
    here = ctx.place is not None and space["platform_id"] == ctx.place.id
    admin = here or not isinstance(ctx.principal, User) or (role is not None and role.covers(Role.ADMIN))
    return Space.from_item(space).private and not (admin and sees_all(ctx))


def _own(ctx: Context, spaces: Mapping[Named, Item]) -> set[Named]:
    """Return those of some spaces that the caller is a member of, and has not left what is above since."""
    if not spaces or not isinstance(ctx.principal, User) or ctx.place is None:
        return set()
    user_id = ctx.user.id
    places = [ctx.place.stored_at, *ctx.place.above.values()]
    here = {one: Space.key_of(id=one[1]) for one, space in spaces.items() if space["platform_id"] == ctx.place.id}
    memberships = [membership_key(space, user_id) for space in here.values()]
    read = table.get_all([*(departure_key(place, user_id) for place in places), *memberships]) if here else {}
    return {one for one, space in here.items() if holds(user_id, space, places, read)}


def _role_in_organization(ctx: Context) -> Role | None:
    return ctx.access.standing.roles.get(Organization)
