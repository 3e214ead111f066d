"""The entities that a caller sees, of the types that are the service's own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from chalicelib.features.organizations.entities import Organization
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.research.entities import COMMON, Artefact, ResearchOutput
from chalicelib.features.sites.entities import Site
from chalicelib.features.spaces.entities import Space
from chalicelib.features.spaces.reach import sees_all
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.memberships import departure_key, is_current_membership, membership_key
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

Named = tuple[str, str]
"""An entity, by its type and id."""

KNOWN: Final[Mapping[str, Callable[[str], ItemKey]]] = {
    "platform": lambda platform_id: Platform.make_item_key(id=platform_id),
    "space": lambda space_id: Space.make_item_key(id=space_id),
    "site": lambda site_id: Site.make_item_key(id=site_id),
    "page": ancestor_cache.pointer_key,
    "research-output": lambda output_id: ResearchOutput.make_item_key(id=output_id),
    "research-artefact": lambda artefact_id: Artefact.make_item_key(id=artefact_id),
}
"""The types that are the service's own, and where one is stored by its id.

What is stored there says in which organization it is; of what lies in a platform also in which, of a page its site.
"""

_TELLS: Final = {
    "space": "platform_id",
    "page": "site_id",
    "research-output": "library_id",
    "research-artefact": "library_id",
}
"""What is said of nothing else that may be stored there."""


def stored_at(entity: Named) -> list[ItemKey]:
    """Return where an entity is stored, if its type is the service's own and it can be there."""
    find = KNOWN.get(entity[0])
    return [find(entity[1])] if find else []


def unseen(ctx: Context, entities: Iterable[Named]) -> set[Named]:
    """Return those of some entities that are not there for the caller. Those of the caller's own types all are."""
    known = {one: stored_at(one) for one in entities if one[0] in KNOWN}
    wanted = sorted({key for keys in known.values() for key in keys} - ctx.access.prefetched.keys())
    read = {**ctx.access.prefetched, **(table.get_all(wanted) if wanted else {})}
    found = {one: read[key] for one, keys in known.items() for key in keys if key in read and _is(one, read[key])}
    within = {one: item for one, item in found.items() if _is_within(ctx, one, item)}
    private = {one: item for one, item in within.items() if one[0] == Space.kind and _is_private(ctx, item)}
    return {*known} - ({*within} - {*private}) - _own(ctx, private)


def _is(entity: Named, item: Item) -> bool:
    """Return whether what is stored for an entity is of its type: other records are found by their ids alone too."""
    return _TELLS.get(entity[0], "id") in item


def _is_within(ctx: Context, entity: Named, item: Item) -> bool:
    """Return whether something is in the platform at hand, or elsewhere in an organization that the caller is in."""
    if item.get("library_id") == COMMON:
        return True
    if ctx.container is None or item.get("organization_id") != ctx.container.log:
        return False
    platform_id = {Platform.kind: entity[1], Space.kind: item.get("platform_id")}.get(entity[0])
    return platform_id == ctx.container.id or _role_in_organization(ctx) is not None


def _is_private(ctx: Context, space: Item) -> bool:
    """Return whether a space is there for its members only, and not for the caller as an admin."""
    role = _role_in_organization(ctx)
    here = ctx.container is not None and space["platform_id"] == ctx.container.id
    admin = here or not isinstance(ctx.principal, User) or (role is not None and role.includes(Role.ADMIN))
    return Space.from_item(space).is_private and not (admin and sees_all(ctx))


def _own(ctx: Context, spaces: Mapping[Named, Item]) -> set[Named]:
    """Return those of some spaces that the caller is a member of, and has not left what is above since."""
    if not spaces or not isinstance(ctx.principal, User) or ctx.container is None:
        return set()
    user_id = ctx.user.id
    places = [ctx.container.item_key, *ctx.container.ancestor_keys.values()]
    here = {
        one: Space.make_item_key(id=one[1]) for one, space in spaces.items() if space["platform_id"] == ctx.container.id
    }
    memberships = [membership_key(space, user_id) for space in here.values()]
    read = table.get_all([*(departure_key(place, user_id) for place in places), *memberships]) if here else {}
    return {one for one, space in here.items() if is_current_membership(user_id, space, places, read)}


def _role_in_organization(ctx: Context) -> Role | None:
    return ctx.access.memberships.roles.get(Organization)
