"""The platforms that a caller reaches: those of their organizations, and those they are a member of."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from chalicelib.features.members.entities import Member
from chalicelib.features.organizations.entities import Organization
from chalicelib.features.platform_members.entities import PlatformMember
from chalicelib.features.platforms.entities import Platform
from chalicelib.kernel import table
from chalicelib.kernel.auth import ApiKeyPrincipal
from chalicelib.kernel.context import Context
from chalicelib.kernel.entity import Collection, Item, Key
from chalicelib.kernel.models import ListQuery
from chalicelib.kernel.operation import Page
from chalicelib.kernel.standing import departure_key, last_left
from chalicelib.kernel.tokens import User

T = TypeVar("T")


def within_reach(
    ctx: Context, listed: Collection, query: ListQuery, show: Callable[[Platform], T | None],
    *, organization_id: str | None = None, having: Callable[[str], Key] | None = None, **names: str | None,
) -> Page[T]:  # fmt: skip
    """Return a page of the platforms that the caller reaches, in the order they were created.

    `listed`: a list of an organization's platforms, or of records that name one by `platform_id`, sorted by that. Each
    organization takes a Query, all at the same time; so do the caller's own memberships, which may lead to platforms
    that `show` has to leave out. `having`: where a record stands without which a platform is left out.
    """
    organizations = _organizations(ctx, organization_id)
    sources = [listed.partition(**names, organization_id=organization) for organization in organizations]
    if isinstance(ctx.principal, User):
        sources.append(PlatformMember.of_user.partition(user_id=ctx.principal.id))
    found = table.merged(sources, limit=query.limit, after=ctx.position(query), newest_first=False)
    shown = [show(platform) for platform in _open(ctx, found.items, organizations, organization_id, having)]
    return ctx.page([item for item in shown if item is not None], found.last, query)


def _organizations(ctx: Context, wanted: str | None) -> list[str]:
    """Return the ids of the organizations that the caller belongs to, all or the wanted one."""
    if isinstance(ctx.principal, ApiKeyPrincipal):
        own = ctx.principal.credential.organization_id
        return [own] if wanted in (None, own) else []
    user_id = ctx.user.id
    if wanted:
        return [wanted] if table.get(Member.key_of(organization_id=wanted, user_id=user_id)) else []
    memberships = Member.of_user.partition(user_id=user_id, shelf="active")
    return [item["organization_id"] for page in table.pages(memberships) for item in page]


def _open(
    ctx: Context, found: list[Item], organizations: list[str], wanted: str | None, having: Callable[[str], Key] | None
) -> Iterator[Platform]:
    """Yield the platforms that were found and are there for the caller, as they are now."""
    memberships = {item["platform_id"]: item for item in found if item["kind"] == PlatformMember.kind}
    places = {str(item.get("platform_id", item["id"])): str(item["organization_id"]) for item in found}
    keys = {platform_id: Platform.key_of(id=platform_id) for platform_id in places}
    above = {organization: Organization.key_of(id=organization) for organization in places.values()}
    caller = ctx.principal.id or ""
    left = [departure_key(key, caller) for key in above.values()]
    needed = {platform_id: having(platform_id) for platform_id in places} if having else {}
    read = table.get_all([*keys.values(), *above.values(), *left, *needed.values()])
    for platform_id, organization in places.items():
        item, tenant = read.get(keys[platform_id]), read.get(above[organization])
        lacking = having is not None and needed[platform_id] not in read
        if item is None or tenant is None or lacking or Organization.from_item(tenant).closed:
            continue
        joined = memberships.get(platform_id, {}).get("created_at", "") > last_left(caller, [above[organization]], read)
        if organization in organizations or (joined and wanted in (None, organization)):
            yield Platform.from_item(item)
