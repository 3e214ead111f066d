"""The spaces of a platform that a caller sees."""

from collections.abc import Mapping
from typing import Any

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.space_members.entities import SpaceMember
from chalicelib.features.spaces.entities import Space
from chalicelib.features.spaces.models import SpaceOut
from chalicelib.kernel import table
from chalicelib.kernel.access import sees_private
from chalicelib.kernel.auth import ApiKeyPrincipal
from chalicelib.kernel.context import Context, Records
from chalicelib.kernel.entity import Item, Key, Partition
from chalicelib.kernel.models import ListQuery
from chalicelib.kernel.operation import Page
from chalicelib.kernel.roles import Role
from chalicelib.kernel.standing import departure_key, holds, membership_key
from chalicelib.kernel.tokens import User


def sees_all(ctx: Context) -> bool:
    """Return whether the caller sees the private spaces of the platform at hand, a member of them or not."""
    if ctx.role is None:
        return False
    by_key = isinstance(ctx.principal, ApiKeyPrincipal) and sees_private(Space, ctx.principal)
    return by_key or ctx.role.covers(Role.ADMIN)


def keys_of(ctx: Context, platform: Platform, space_id: str) -> list[Key]:
    """Return where a space is stored, and what decides whether the caller sees it that was not read yet."""
    space = Space.key_of(id=space_id)
    if not isinstance(ctx.principal, User):
        return [space]
    user_id = ctx.principal.id
    return [space, membership_key(space, user_id), departure_key(platform.stored_at, user_id)]


def seen(ctx: Context, platform: Platform, space_id: str, found: Records) -> Space | None:
    """Return a space of a platform if the caller sees it; `found` is what stands at `keys_of` it, and maybe more."""
    space = next((space for space in found.of(Space) if space.id == space_id), None)
    if space is None or space.platform_id != platform.id:
        return None
    if not space.private or sees_all(ctx):
        return space
    items = {**ctx.access.read, **{record.stored_at: {"created_at": record.created_at} for record in found}}
    return space if holds(ctx.principal.id, space.stored_at, space.above.values(), items) else None


def list_seen(ctx: Context, platform: Platform, query: ListQuery) -> Page[SpaceOut]:
    """Return a page of a platform's spaces by position: the open ones, and the private ones that the caller is in."""
    after = ctx.position(query)
    since = f"{after['at']} " if after else None
    everything = sees_all(ctx)
    listed = Space.siblings if everything else Space.by_visibility
    partitions = [listed.partition(platform_id=platform.id, visibility="open")]
    if isinstance(ctx.principal, User) and not everything:
        partitions.append(SpaceMember.of_user.partition(user_id=ctx.principal.id, platform_id=platform.id))

    def ask(partition: Partition) -> table.Found:
        of_spaces = partition is partitions[0]
        words: Mapping[str, Any] = {"limit": query.limit, "since": since} if of_spaces else {}
        return table.query(partition, **words)

    found, *memberships = table.side_by_side(ask, partitions)
    own = _own(ctx, platform, [item for each in memberships for item in each.items])
    spaces = {_sort_key(space): space for space in [*map(Space.from_item, found.items), *own]}
    until = found.last[f"{listed.index}sk"] if found.last else None
    keys = sorted(key for key in spaces if (not since or key > since) and (not until or key <= until))
    page = keys[: query.limit]
    last = {"at": page[-1]} if page and (until or len(page) < len(keys)) else None
    return ctx.page([SpaceOut.of(spaces[key]) for key in page], last, query)


def _own(ctx: Context, platform: Platform, memberships: list[Item]) -> list[Space]:
    """Return the private spaces that memberships lead to, of those that hold still."""
    if not memberships:
        return []
    places = [platform.stored_at, *platform.above.values()]
    departures = [departure_key(place, ctx.principal.id) for place in places]
    spaces = [Space.key_of(id=membership["space_id"]) for membership in memberships]
    # The memberships are an index's, and late: whether they are there still the table says.
    read = table.get_all([*departures, *spaces, *(membership_key(key, ctx.principal.id) for key in spaces)])
    live = [key for key in spaces if key in read and holds(ctx.principal.id, key, places, read)]
    found = [Space.from_item(read[key]) for key in live]
    return [space for space in found if space.private]


def _sort_key(space: Space) -> str:
    return Space.siblings.sk.format_map(space.__dict__)
