"""The platforms that a caller reaches: those of their organizations, and those they are a member of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from chalicelib.features.members.entities import Member
from chalicelib.features.organizations.entities import Organization
from chalicelib.features.platform_members.entities import PlatformMember
from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel.authorization.memberships import departure_key, is_current_membership, membership_key
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.identity.auth import ApiKeyPrincipal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.operation import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Item, ItemKey
from chalicelib.kernel.storage.membership_lists import MembershipGroup, read_membership_group

T = TypeVar("T")

_POINTING: Final = ("pk", "sk", "kind", "id", "platform_id", "organization_id", "created_at")
"""What is read of the records that lead to platforms."""

_SHOWN: Final = (*Platform.listed_attributes(), *Organization.listed_attributes())
"""What is read of platforms, of their organizations, and of what decides who sees them."""


def within_reach(
    ctx: Context,
    listed: Collection,
    query: ListQuery,
    show: Callable[[Platform], T | None],
    *,
    organization_id: str | None = None,
    having: Callable[[str], ItemKey] | None = None,
    **names: str | None,
) -> ListPage[T]:
    """Return a page of the platforms that the caller reaches, by groups of organizations.

    Those of a group come in the order they were created. `listed`: a list of an organization's platforms, or of records
    that name one by `platform_id`, sorted by that. Each organization of the group takes a Query, all at the same time;
    so do the caller's own memberships, which may lead to platforms that `show` has to leave out. `having`: where a
    record stands without which a platform is left out.
    """
    group, organizations = _organizations(ctx, query, organization_id)
    sources = [listed.partition(**names, organization_id=organization) for organization in organizations]
    if isinstance(ctx.principal, User) and group.is_first:
        sources.append(PlatformMember.of_user.partition(user_id=ctx.principal.id))
    found = group.query_merged(sources, limit=query.limit, attributes=_POINTING)
    reach = _Reach(group, organizations, organization_id)
    shown = [show(platform) for platform in _open(ctx, found.items, reach, having)]
    return ctx.build_page([item for item in shown if item is not None], found.last_evaluated_key, query)


@dataclass(frozen=True)
class _Reach:
    """What a page may show: the platforms of some organizations of a group, and those the caller is a member of.

    `wanted`: the one organization that was asked for.
    """

    group: MembershipGroup
    organizations: Sequence[str]
    wanted: str | None

    def holds(self, organization: str, *, joined: bool, belongs: bool) -> bool:
        """Return whether a platform of an organization is shown. `joined`: the caller is a member of the platform.

        `belongs`: of its organization, too; where that is in a later group the platform is shown there.
        """
        if organization in self.organizations:
            return belongs
        later = belongs and self.group.belongs_to_later_group(organization)
        return joined and self.wanted in (None, organization) and not later


def _organizations(ctx: Context, query: ListQuery, wanted: str | None) -> tuple[MembershipGroup, Sequence[str]]:
    """Return the group that a page is about, and its organizations: of those the caller belongs to, or the wanted."""
    position = ctx.decode_cursor(query)
    if isinstance(ctx.principal, ApiKeyPrincipal):
        own = ctx.principal.credential.organization_id
        return MembershipGroup(position=position), [own] if wanted in (None, own) else []
    user_id = ctx.user.id
    if wanted:
        member = table.get(Member.make_item_key(organization_id=wanted, user_id=user_id))
        return MembershipGroup(position=position), [wanted] if member else []
    group = read_membership_group(Member.of_user.partition(user_id=user_id, shelf="active"), position)
    return group, [item["organization_id"] for item in group.memberships]


def _open(
    ctx: Context, found: list[Item], reach: _Reach, having: Callable[[str], ItemKey] | None
) -> Iterator[Platform]:
    """Yield the platforms that were found and are there for the caller, as they are now."""
    memberships = {item["platform_id"]: item for item in found if item["kind"] == PlatformMember.kind}
    places = {str(item.get("platform_id", item["id"])): str(item["organization_id"]) for item in found}
    keys = {platform_id: Platform.make_item_key(id=platform_id) for platform_id in places}
    above = {organization: Organization.make_item_key(id=organization) for organization in places.values()}
    caller = ctx.principal.id or ""
    left = [departure_key(key, caller) for key in above.values()]
    needed = {platform_id: having(platform_id) for platform_id in places} if having else {}
    # What the caller is a member of was listed by indexes, which are late: whether they are the table says.
    own = {each: Member.make_item_key(organization_id=each, user_id=caller) for each in above}
    joined_at = [membership_key(keys[platform_id], caller) for platform_id in memberships]
    read = table.get_all([*keys.values(), *above.values(), *left, *needed.values(), *own.values(), *joined_at], _SHOWN)
    by_key = isinstance(ctx.principal, ApiKeyPrincipal)
    for platform_id, organization in places.items():
        item, tenant = read.get(keys[platform_id]), read.get(above[organization])
        lacking = having is not None and needed[platform_id] not in read
        if item is None or tenant is None or lacking or Organization.from_item(tenant).is_deleted:
            continue
        joined = platform_id in memberships and is_current_membership(
            caller, keys[platform_id], [above[organization]], read
        )
        if reach.holds(organization, joined=joined, belongs=by_key or own[organization] in read):
            yield Platform.from_item(item)
