"""List the platforms that a caller can see: those of their organizations, and those of which they are a member."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.members.entities import PlatformMember
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.logic.membership_groups import MembershipGroup, read_membership_group_at_position
from chalicelib.kernel.authorization.effective_role import caller_membership_view
from chalicelib.kernel.authorization.memberships import (
    has_unrevoked_membership,
    membership_key,
    membership_view_keys,
)
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.execution.name_lists import add_rows, options_of_name_query
from chalicelib.kernel.http.models import ListQuery, NamedListQuery, SortedListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Container, Item, ItemKey
from chalicelib.kernel.storage.name_index import key_prefix_of_search, stands_for_record

T = TypeVar("T")

_INDEX_ATTRIBUTES: Final = ("pk", "sk", "kind", "id", "platform_id", "organization_id", "created_at")
"""The attributes that are read of platforms in an index, and of other records that refer to a platform."""

_LOADED_ATTRIBUTES: Final = (*Platform.listed_attributes(), *Organization.listed_attributes(), "role")
"""The attributes that are read of platforms, their organizations, and the records that decide visibility and role."""

MAX_PLATFORMS_OUTSIDE: Final = 100
"""Platforms that a search by name finds among those of which the caller is a member without belonging to their
organization. They are the first ones among the first 1000 platforms of which the caller is a member."""

_MAX_PAGES_OF_PLATFORM_MEMBERSHIPS: Final = 10
"""Pages of 100 memberships that are read to find these platforms."""


def list_visible_platforms(
    ctx: Context,
    collection: Collection,
    query: ListQuery,
    serialize: Callable[[Platform, Role | None], T | None],
    *,
    organization_id: str | None = None,
    make_key_of_required_record: Callable[[str], ItemKey] | None = None,
    **names: str | None,
) -> ListPage[T]:
    """Return a page of the platforms that the caller can see, grouped by organizations.

    Each organization of the group takes one Query, and all of them run in parallel with one for the caller's own
    platform memberships. Platforms of a group are in the order of their creation.

    `collection` lists the platforms of an organization, or records that refer to one by `platform_id` and are sorted by
    it. `serialize` gets a platform and the caller's role in it, and returns None for platforms to omit.
    `make_key_of_required_record` maps a platform id to the key of a record without which the platform is omitted.
    `names` fill the key of the collection.
    """
    group, organization_ids = _load_memberships_at_cursor_and_organization_ids(ctx, query, organization_id)
    partitions = [collection.partition(**names, organization_id=each) for each in organization_ids]
    if isinstance(ctx.principal_or_anonymous, User) and group.is_first_group:
        partitions.append(PlatformMember.of_user.partition(user_id=ctx.principal_or_anonymous.id))
    newest_first = isinstance(query, SortedListQuery) and query.is_newest_first()
    result = group.query_page_with_next_position(
        partitions, limit=query.limit, newest_first=newest_first, attributes=_INDEX_ATTRIBUTES
    )
    page_scope = _ListPageScope(group, organization_ids, organization_id)
    outputs = [
        serialize(platform, role)
        for platform, role in _load_visible_platforms(ctx, result.items, page_scope, make_key_of_required_record)
    ]
    return ctx.build_page([output for output in outputs if output is not None], result.last_evaluated_key, query)


def list_visible_platforms_by_name(
    ctx: Context,
    query: NamedListQuery,
    serialize: Callable[[Platform, Role | None], T | None],
    organization_id: str | None = None,
) -> ListPage[T]:
    """Return a page of the platforms that the caller can see and a query finds by name, grouped by organizations.

    Each organization of the group takes one Query, and all of them run in parallel. Platforms of which the caller is a
    member without belonging to their organization are read before, because no index contains their names together.
    """
    group, organization_ids = _load_memberships_at_cursor_and_organization_ids(ctx, query, organization_id)
    index, prefix = Platform.names_in_organization, key_prefix_of_search(query.q)
    partitions = [partition for each in organization_ids for partition in index.partitions(organization_id=each)]
    rows = table.query_merged(partitions, limit=query.limit, after=group.position, **options_of_name_query(query))
    others = (
        _load_platforms_outside_of_organizations(ctx.principal_or_anonymous.id, organization_ids, organization_id)
        if isinstance(ctx.principal_or_anonymous, User) and group.is_first_group
        else []
    )
    rows = add_rows(rows, [row for each in others for row in index.rows(each)], query, group.position)
    page_scope = _ListPageScope(group, organization_ids, organization_id)
    visible = {platform.id: (platform, role) for platform, role in _load_visible_platforms(ctx, rows.items, page_scope)}
    found = [
        visible[row["id"]]
        for row in rows.items
        if row["id"] in visible and stands_for_record(row, visible[row["id"]][0], [index], prefix)
    ]
    outputs = [output for platform, role in found if (output := serialize(platform, role)) is not None]
    return ctx.build_page(outputs, group.with_next_position(rows).last_evaluated_key, query)


def _load_platforms_outside_of_organizations(
    user_id: str, known_organization_ids: Sequence[str], requested_id: str | None
) -> list[Platform]:
    """Return the first platforms of which a user is a member without belonging to their organization.

    `known_organization_ids`: some organizations to which the user belongs. `requested_id`: the only organization whose
    platforms are returned.
    """
    if requested_id in known_organization_ids:
        return []
    platform_ids: list[str] = []
    pages = table.iter_item_pages(
        PlatformMember.of_user.partition(user_id=user_id), limit=MAX_PLATFORMS_OUTSIDE, attributes=_INDEX_ATTRIBUTES
    )
    for page in islice(pages, _MAX_PAGES_OF_PLATFORM_MEMBERSHIPS):
        possible = [
            item
            for item in page
            if item["organization_id"] not in known_organization_ids and requested_id in (None, item["organization_id"])
        ]
        organizations = {each: Organization.make_item_key(id=each) for each in {i["organization_id"] for i in possible}}
        keys = {each: membership_key(key, user_id) for each, key in organizations.items()}
        own = table.get_all(keys.values(), ("pk", "sk"))
        platform_ids += [item["platform_id"] for item in possible if keys[item["organization_id"]] not in own]
        if len(platform_ids) >= MAX_PLATFORMS_OUTSIDE:
            break
    keys_of_platforms = [Platform.make_item_key(id=each) for each in platform_ids[:MAX_PLATFORMS_OUTSIDE]]
    items = table.get_all(keys_of_platforms, Platform.listed_attributes())
    return [*map(Platform.from_item, items.values())]


@dataclass(frozen=True)
class _ListPageScope:
    """The platforms that belong on a page: those of its organizations, and those of which the caller is a member.

    `requested_id` is the id of the only organization that the caller asked for.
    """

    group: MembershipGroup
    organization_ids: Sequence[str]
    requested_id: str | None

    def is_platform_on_list_page(
        self, organization_id: str, *, is_platform_member: bool, is_organization_member: bool
    ) -> bool:
        """Return whether the page shows a platform of an organization.

        A platform whose organization is in a later group is shown with that group.
        """
        if organization_id in self.organization_ids:
            return is_organization_member
        is_later = is_organization_member and self.group.belongs_to_later_group(organization_id)
        return is_platform_member and self.requested_id in (None, organization_id) and not is_later


def _load_memberships_at_cursor_and_organization_ids(
    ctx: Context, query: ListQuery, requested_organization_id: str | None
) -> tuple[MembershipGroup, Sequence[str]]:
    """Return the group of a page and the ids of its organizations: the caller's own, or the requested one."""
    position = ctx.decode_cursor(query)
    if isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal):
        own_id = ctx.principal_or_anonymous.credential.organization_id
        return MembershipGroup(position=position), [own_id] if requested_organization_id in (None, own_id) else []
    user_id = ctx.user.id
    if requested_organization_id:
        member = table.get(Member.make_item_key(organization_id=requested_organization_id, user_id=user_id))
        return MembershipGroup(position=position), [requested_organization_id] if member else []
    group = read_membership_group_at_position(Member.of_user.partition(user_id=user_id, list_name="active"), position)
    return group, [item["organization_id"] for item in group.memberships]


def _load_visible_platforms(
    ctx: Context,
    index_items: list[Item],
    page_scope: _ListPageScope,
    make_key_of_required_record: Callable[[str], ItemKey] | None = None,
) -> Iterator[tuple[Platform, Role | None]]:
    """Yield the current state of the platforms in some index items that the caller can see, and the caller's role."""
    organization_ids = {str(item.get("platform_id", item["id"])): str(item["organization_id"]) for item in index_items}
    platform_keys = {platform_id: Platform.make_item_key(id=platform_id) for platform_id in organization_ids}
    organization_keys = {each: Organization.make_item_key(id=each) for each in organization_ids.values()}
    required_keys = (
        {platform_id: make_key_of_required_record(platform_id) for platform_id in organization_ids}
        if make_key_of_required_record
        else {}
    )
    # Indexes are eventually consistent, so the caller's memberships are read from the table.
    caller, caller_id = ctx.principal_or_anonymous, ctx.principal_or_anonymous.id
    is_api_key = isinstance(caller, ApiKeyPrincipal)
    membership_keys = [
        key
        for platform_id, organization_id in organization_ids.items()
        if not is_api_key
        for key in membership_view_keys(caller_id, platform_keys[platform_id], [organization_keys[organization_id]])
    ]
    keys = [*platform_keys.values(), *organization_keys.values(), *required_keys.values(), *membership_keys]
    items = table.get_all(keys, _LOADED_ATTRIBUTES)
    for platform_id, organization_id in organization_ids.items():
        platform_key, organization_key = platform_keys[platform_id], organization_keys[organization_id]
        platform, organization = items.get(platform_key), items.get(organization_key)
        is_lacking = make_key_of_required_record is not None and required_keys[platform_id] not in items
        if platform is None or organization is None or is_lacking or Organization.from_item(organization).is_deleted:
            continue
        if page_scope.is_platform_on_list_page(
            organization_id,
            is_platform_member=has_unrevoked_membership(caller_id, platform_key, [organization_key], items),
            is_organization_member=is_api_key or membership_key(organization_key, caller_id) in items,
        ):
            containers: list[Container] = [Organization.from_item(organization), Platform.from_item(platform)]
            yield Platform.from_item(platform), caller_membership_view(containers, caller, items).roles.get(Platform)
