"""The spaces of a platform that a caller sees."""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space, SpaceMember
from chalicelib.features.platforms.spaces.models import SpaceOut
from chalicelib.kernel.authorization.access import may_see_private
from chalicelib.kernel.authorization.memberships import departure_key, is_current_membership, membership_key
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey, Partition


def sees_all(ctx: Context) -> bool:
    """Return whether the caller sees the private spaces of the platform at hand, a member of them or not."""
    if ctx.role is None:
        return False
    by_key = isinstance(ctx.principal, ApiKeyPrincipal) and may_see_private(Space, ctx.principal)
    return by_key or ctx.role.includes(Role.ADMIN)


def keys_of(ctx: Context, platform: Platform, space_id: str) -> list[ItemKey]:
    """Return where a space is stored, and what decides whether the caller sees it that was not read yet."""
    space = Space.make_item_key(id=space_id)
    if not isinstance(ctx.principal, User):
        return [space]
    user_id = ctx.principal.id
    return [space, membership_key(space, user_id), departure_key(platform.item_key, user_id)]


def seen(ctx: Context, platform: Platform, space_id: str, found: Records) -> Space | None:
    """Return a space of a platform if the caller sees it; `found` is what stands at `keys_of` it, and maybe more."""
    space = next((space for space in found.instances_of(Space) if space.id == space_id), None)
    if space is None or space.platform_id != platform.id:
        return None
    if not space.is_private or sees_all(ctx):
        return space
    items = {**ctx.access.prefetched, **{record.item_key: {"created_at": record.created_at} for record in found}}
    return (
        space if is_current_membership(ctx.principal.id, space.item_key, space.ancestor_keys.values(), items) else None
    )


def list_seen(ctx: Context, platform: Platform, query: ListQuery) -> ListPage[SpaceOut]:
    """Return a page of a platform's spaces by position: the open ones, and the private ones that the caller is in."""
    after = ctx.decode_cursor(query)
    since = f"{after['at']} " if after else None
    everything = sees_all(ctx)
    listed = Space.sibling_index if everything else Space.by_visibility
    partitions = [listed.partition(platform_id=platform.id, visibility="open")]
    if isinstance(ctx.principal, User) and not everything:
        partitions.append(SpaceMember.of_user.partition(user_id=ctx.principal.id, platform_id=platform.id))

    def ask(partition: Partition) -> table.QueryResult:
        of_spaces = partition is partitions[0]
        words: Mapping[str, Any] = {"limit": query.limit, "since": since} if of_spaces else {}
        return table.query(partition, **words)

    found, *memberships = table.gather(ask, partitions)
    spaces = {item[f"{listed.index}sk"]: Space.from_item(item) for item in found.items}
    if not everything:
        own = [item["space_id"] for each in memberships for item in each.items]
        spaces = _open_to(ctx, platform, spaces, own)
    until = found.last_evaluated_key[f"{listed.index}sk"] if found.last_evaluated_key else None
    keys = sorted(key for key in spaces if (not since or key > since) and (not until or key <= until))
    page = keys[: query.limit]
    last = {"at": page[-1]} if page and (until or len(page) < len(keys)) else None
    return ctx.build_page([SpaceOut.of(spaces[key]) for key in page], last, query)


def _open_to(ctx: Context, platform: Platform, listed: Mapping[str, Space], own: Sequence[str]) -> dict[str, Space]:
    """Return the spaces that the caller sees by their sort keys: those listed as open, and private ones of their own.

    `own`: the ids of the spaces that they are a member of. All that is an index's, and late: whether a space is open,
    and a membership holds, the table says.
    """
    places, user_id = [platform.item_key, *platform.ancestor_keys.values()], ctx.principal.id
    departures = [departure_key(place, user_id) for place in places] if own else []
    joined = [Space.make_item_key(id=space_id) for space_id in own]
    memberships = [membership_key(key, user_id) for key in joined]
    read = table.get_all([*(space.item_key for space in listed.values()), *departures, *joined, *memberships])
    there = {sk: Space.from_item(read[s.item_key]) for sk, s in listed.items() if s.item_key in read}
    live = [
        Space.from_item(read[key])
        for key in joined
        if key in read and is_current_membership(user_id, key, places, read)
    ]
    private = {_sort_key(space): space for space in live if space.is_private}
    return {sk: space for sk, space in there.items() if not space.is_private} | private


def _sort_key(space: Space) -> str:
    return Space.sibling_index.sk.format_map(space.__dict__)
