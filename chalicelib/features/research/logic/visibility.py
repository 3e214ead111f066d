"""The libraries that a caller has a part in, and what is in them.

They are the caller's own, those of the organizations that they are a member of (of an API key, its organization's), and
the one that everybody sees.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from chalicelib.features.research.entities import COMMON, EDITIONS, Artefact, ResearchJob, ResearchOutput
from chalicelib.features.research.models.schemas import VenueEditionOut, VenueOut
from chalicelib.features.research.models.venue_catalogue import VENUES
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.models import ListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, Principal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey, Partition
from chalicelib.kernel.storage.membership_lists import MembershipGroup, read_membership_group

T = TypeVar("T")
R = TypeVar("R", Artefact, ResearchOutput)

Listed = Callable[[str], str | Partition]
"""Where in a library it stands what is listed."""


def let_in(access: Access, request: Request) -> None:
    """Raise Problem unless the caller may work in the library that a body names: 404, or 403 to who is no editor there.

    To an API key it is always its organization's.
    """
    organization_id = _organization_said(access.principal, request)
    if organization_id is None:
        return
    role = _role_in(access.principal, organization_id)
    if role is None:
        raise not_found()
    if not isinstance(access.principal, ApiKeyPrincipal) and not role.includes(Role.EDITOR):
        detail = f"This needs the role 'editor' at the organization; yours is {role.value!r}."
        raise Problem("insufficient_role", detail)


def _organization_said(principal: Principal, request: Request) -> str | None:
    said = request.unvalidated_body.get("organizationId")
    named = ascii_lower(said.strip()) if isinstance(said, str) else ""
    organization_id = named if re.fullmatch(UUID_PATTERN, named) else None
    return organization_id or (principal.credential.organization_id if isinstance(principal, ApiKeyPrincipal) else None)


def library_of(ctx: Context, organization_id: str | None) -> dict[str, str | None]:
    """Return in which library the caller, who was let in, works: an organization's, if it is named, or their own."""
    if isinstance(ctx.principal, ApiKeyPrincipal):
        organization_id = ctx.principal.credential.organization_id
    return {"library_id": organization_id or ctx.principal.id, "organization_id": organization_id}


def refuse_unseen(ctx: Context, record: Artefact | ResearchOutput | ResearchJob) -> None:
    """Raise Problem `not_found` if a record is in a library that the caller has no part in."""
    if record.library_id in (COMMON, ctx.principal.id):
        return
    if record.organization_id is None or _role_in(ctx.principal, record.organization_id) is None:
        raise not_found()


def listed(
    ctx: Context, kind: type[R], where: Listed, query: ListQuery, show: Callable[[R], T], **filters: Any
) -> ListPage[T]:
    """Return a page of what is in the caller's libraries, by groups of organizations.

    What a group holds comes in the order in which it came to be; to the first belong the caller's own library and
    everybody's. Each library takes a Query, all at the same time. What `where` leads to are records, or rows that name
    them by their ids. `filters` are what it does not look for: what doesn't pass them is left out of its page.
    """
    group, libraries = _libraries(ctx, query)
    found = group.query_merged([where(library_id) for library_id in libraries], limit=query.limit)
    records = _open(ctx, kind, found.items)
    passing = [each for each in records if all(_has(each, name, value) for name, value in filters.items())]
    return ctx.build_page([show(each) for each in passing], found.last_evaluated_key, query)


def _open(ctx: Context, kind: type[R], items: Sequence[Item]) -> Iterator[R]:
    """Yield the records that were found, or that rows lead to, but for those of organizations that are closed."""
    named: list[ItemKey] = [kind.make_item_key(id=item["id"]) for item in items if "kind" not in item]
    libraries = sorted({_library(item) for item in items} - {COMMON, ctx.principal.id})
    above: dict[str, ItemKey] = {library_id: Organization.make_item_key(id=library_id) for library_id in libraries}
    # The list of the caller's organizations is an index's, and late: whether they belong to one the table says.
    joined: dict[str, ItemKey] = {}
    if isinstance(ctx.principal, User):
        joined = {library_id: membership_key(key, ctx.user.id) for library_id, key in above.items()}
    read = table.get_all([*named, *above.values(), *joined.values()])
    member_of = {each for each, key in above.items() if key in read and joined.get(each, key) in read}
    there = {each for each in member_of if not Organization.from_item(read[above[each]]).is_deleted}
    for item in items:
        found = item if "kind" in item else read.get(kind.make_item_key(id=item["id"]))
        if found and (_library(item) not in above or _library(item) in there):
            yield kind.from_item(found)


def _library(item: Item) -> str:
    """Return the library of a record, or of a row that leads to one."""
    return str(item.get("library_id") or item["pk"].split("#")[1])


def _has(record: Artefact | ResearchOutput, name: str, value: Any) -> bool:
    said = getattr(record, name)
    return value is None or (value in said if isinstance(said, list) else bool(said == value))


def _libraries(ctx: Context, query: ListQuery) -> tuple[MembershipGroup, Sequence[str]]:
    """Return the group that a page is about, and its libraries: of those that the caller has a part in."""
    position = ctx.decode_cursor(query)
    if isinstance(ctx.principal, ApiKeyPrincipal):
        return MembershipGroup(position=position), [COMMON, ctx.principal.credential.organization_id]
    group = read_membership_group(Member.of_user.partition(user_id=ctx.user.id, list_name="active"), position)
    beside = [COMMON, ctx.user.id] if group.is_first else []
    return group, [*beside, *(item["organization_id"] for item in group.memberships)]


def _role_in(principal: Principal, organization_id: str) -> Role | None:
    """Return somebody's role in an organization that is there; None if they have none."""
    key = Organization.make_item_key(id=organization_id)
    member = Member.make_item_key(organization_id=organization_id, user_id=principal.id)
    read = table.get_all([key, member])
    if key not in read or Organization.from_item(read[key]).is_deleted:
        return None
    if isinstance(principal, ApiKeyPrincipal):
        return principal.role if principal.credential.organization_id == organization_id else None
    return Role(read[member]["role"]) if member in read else None


def venues() -> list[VenueOut]:
    """Return all venues, with how many outputs each edition has in the library that everybody sees: one Query."""
    rows = table.query_all(EDITIONS.format(library_id=COMMON), "")
    counts: Mapping[str, int] = {row["sk"]: int(row["n"]) for row in rows}
    return [
        VenueOut(
            id=venue.id,
            name=venue.name,
            editions=[
                VenueEditionOut(id=edition_id, year=year, output_count=counts.get(edition_id, 0))
                for year in venue.years
                for edition_id in [venue.edition_id(year)]
            ],
        )
        for venue in VENUES
    ]
