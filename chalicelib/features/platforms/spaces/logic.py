"""Which spaces of a platform a caller can see."""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space, SpaceMember
from chalicelib.features.platforms.spaces.models import SpaceOut
from chalicelib.kernel.authorization.effective_role import can_see_private_containers
from chalicelib.kernel.authorization.memberships import (
    descendant_revocation_marker_key,
    has_unrevoked_membership,
    membership_key,
)
from chalicelib.kernel.execution.context import Context, Records
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey, Partition
from chalicelib.kernel.storage.query_results import QueryResult


def can_see_all_private_spaces(ctx: Context) -> bool:
    """Return whether the caller sees all private spaces of the current platform."""
    if ctx.role is None:
        return False
    has_key_access = isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal) and can_see_private_containers(
        Space, ctx.principal_or_anonymous
    )
    return has_key_access or ctx.role.includes(Role.ADMIN)


def space_visibility_keys(ctx: Context, platform: Platform, space_id: str) -> list[ItemKey]:
    """Return the item keys of a space and of the items that determine whether the caller sees it."""
    space_key = Space.make_item_key(id=space_id)
    if not isinstance(ctx.principal_or_anonymous, User):
        return [space_key]
    user_id = ctx.principal_or_anonymous.id
    return [space_key, membership_key(space_key, user_id), descendant_revocation_marker_key(platform.item_key, user_id)]


def visible_space_or_none(ctx: Context, platform: Platform, space_id: str, records: Records) -> Space | None:
    """Return a space of a platform if the caller sees it. `records` holds those at `space_visibility_keys`."""
    space = next((space for space in records.instances_of(Space) if space.id == space_id), None)
    if space is None or space.platform_id != platform.id:
        return None
    if not space.is_private or can_see_all_private_spaces(ctx):
        return space
    items = {**ctx.access.items, **{record.item_key: {"created_at": record.created_at} for record in records}}
    return (
        space
        if has_unrevoked_membership(
            ctx.principal_or_anonymous.id, space.item_key, space.ancestor_keys_by_type.values(), items
        )
        else None
    )


def list_visible_spaces(ctx: Context, platform: Platform, query: ListQuery) -> ListPage[SpaceOut]:
    """Return a page of a platform's spaces by position: the open ones, and the private ones that the caller sees."""
    after = ctx.decode_cursor(query)
    previous_key = f"{after['at']} " if after else None
    sees_private = can_see_all_private_spaces(ctx)
    collection = Space.sibling_index if sees_private else Space.by_visibility
    partitions = [collection.partition(platform_id=platform.id, visibility="open")]
    if isinstance(ctx.principal_or_anonymous, User) and not sees_private:
        partitions.append(SpaceMember.of_user.partition(user_id=ctx.principal_or_anonymous.id, platform_id=platform.id))

    def run_query(partition: Partition) -> QueryResult:
        lists_spaces = partition is partitions[0]
        options: Mapping[str, Any] = {"limit": query.limit, "since": previous_key} if lists_spaces else {}
        return table.query(partition, **options)

    page_result, *memberships = table.gather(run_query, partitions)
    spaces = {item[f"{collection.index}sk"]: Space.from_item(item) for item in page_result.items}
    if not sees_private:
        own_space_ids = [item["space_id"] for each in memberships for item in each.items]
        spaces = _load_visible_spaces_by_sort_key(ctx, platform, spaces, own_space_ids)
    last_key = page_result.last_evaluated_key[f"{collection.index}sk"] if page_result.last_evaluated_key else None
    keys = sorted(
        key for key in spaces if (not previous_key or key > previous_key) and (not last_key or key <= last_key)
    )
    page_keys = keys[: query.limit]
    cursor = {"at": page_keys[-1]} if page_keys and (last_key or len(page_keys) < len(keys)) else None
    return ctx.build_page([SpaceOut.of(spaces[key]) for key in page_keys], cursor, query)


def _load_visible_spaces_by_sort_key(
    ctx: Context, platform: Platform, open_spaces: Mapping[str, Space], own_space_ids: Sequence[str]
) -> dict[str, Space]:
    """Return the open spaces, and the private spaces of which the caller is a member, by sort key.

    `open_spaces` holds the spaces that an index lists as open, by sort key. `own_space_ids` are the ids of the spaces
    of which an index lists the caller as a member. Indexes lag, so the current state is read from the table.
    """
    container_keys, user_id = (
        [platform.item_key, *platform.ancestor_keys_by_type.values()],
        ctx.principal_or_anonymous.id,
    )
    marker_keys = [descendant_revocation_marker_key(key, user_id) for key in container_keys] if own_space_ids else []
    space_keys = [Space.make_item_key(id=space_id) for space_id in own_space_ids]
    membership_keys = [membership_key(key, user_id) for key in space_keys]
    items = table.get_all(
        [*(space.item_key for space in open_spaces.values()), *marker_keys, *space_keys, *membership_keys]
    )
    current = {
        sk: Space.from_item(items[space.item_key]) for sk, space in open_spaces.items() if space.item_key in items
    }
    joined_spaces = [
        Space.from_item(items[key])
        for key in space_keys
        if key in items and has_unrevoked_membership(user_id, key, container_keys, items)
    ]
    private = {_sort_key(space): space for space in joined_spaces if space.is_private}
    return {sk: space for sk, space in current.items() if not space.is_private} | private


def _sort_key(space: Space) -> str:
    return Space.sibling_index.sk.format_map(space.__dict__)
