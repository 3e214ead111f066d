"""Decide which libraries a caller can see, and list their records.

A caller sees their own library, those of their organizations (an API key: that of its organization), and the public
one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from chalicelib.features.research.entities import (
    EDITION_COUNTS_PARTITION,
    PUBLIC_LIBRARY_ID,
    Artefact,
    ResearchJob,
    ResearchOutput,
)
from chalicelib.features.research.models.schemas import ResearchJobOut, VenueEditionOut, VenueOut
from chalicelib.features.research.models.venue_catalogue import VENUES
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.logic.membership_groups import MembershipGroup, read_membership_group_at_position
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
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey, Partition

T = TypeVar("T")
R = TypeVar("R", Artefact, ResearchOutput, ResearchJob)

PartitionOfLibrary = Callable[[str], str | Partition]
"""A function that returns the partition to list in a library."""


def require_library_change_role(access: Access, request: Request) -> None:
    """Raise Problem unless the caller may change the library of the organization in the body.

    Non-members get `not_found`, and members who are not editors `insufficient_role`.

    An API key always works in its organization's library.
    """
    organization_id = _organization_id_of_body_or_api_key(access.principal, request)
    if organization_id is None:
        return
    role = _current_role(access.principal, organization_id)
    if role is None:
        raise not_found()
    if not isinstance(access.principal, ApiKeyPrincipal) and not role.includes(Role.EDITOR):
        detail = f"This needs the role 'editor' at the organization; yours is {role.value!r}."
        raise Problem("insufficient_role", detail)


def _organization_id_of_body_or_api_key(principal: Principal, request: Request) -> str | None:
    raw_id = request.unvalidated_json_object_or_empty.get("organizationId")
    normalized_id = ascii_lower(raw_id.strip()) if isinstance(raw_id, str) else ""
    organization_id = normalized_id if re.fullmatch(UUID_PATTERN, normalized_id) else None
    return organization_id or (principal.credential.organization_id if isinstance(principal, ApiKeyPrincipal) else None)


def caller_library_and_organization_ids(ctx: Context, organization_id: str | None) -> dict[str, str | None]:
    """Return the ids of the library in which the caller works: that of an organization, or their own."""
    if isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal):
        organization_id = ctx.principal_or_anonymous.credential.organization_id
    return {"library_id": organization_id or ctx.principal_or_anonymous.id, "organization_id": organization_id}


def require_visible_record(ctx: Context, record: Artefact | ResearchOutput | ResearchJob) -> None:
    """Raise Problem `not_found` if the caller cannot see a record's library."""
    if record.library_id in (PUBLIC_LIBRARY_ID, ctx.principal_or_anonymous.id):
        return
    if record.organization_id is None or _current_role(ctx.principal_or_anonymous, record.organization_id) is None:
        raise not_found()


def list_visible_records(
    ctx: Context,
    record_type: type[R],
    partition_of_library: PartitionOfLibrary,
    query: ListQuery,
    serialize: Callable[[R], T],
    **filters: Any,
) -> ListPage[T]:
    """Return a page of the records in the caller's libraries, in groups of organizations.

    The records of a group are in the order of their creation. The first group includes the caller's own library and the
    public one. Each library takes one Query, and all of them run in parallel. `partition_of_library` returns a
    partition of records, or of items that refer to records by id. `filters` are applied afterwards, so a page may be
    short.
    """
    group, libraries = _group_and_library_ids_of_page(ctx, query)
    result = group.query_page_with_next_position(
        [partition_of_library(library_id) for library_id in libraries], limit=query.limit
    )
    records = _load_visible_records(ctx, record_type, result.items)
    matching = [each for each in records if all(_matches_filter(each, name, value) for name, value in filters.items())]
    return ctx.build_page([serialize(each) for each in matching], result.last_evaluated_key, query)


def list_visible_jobs_of_caller(ctx: Context, query: ListQuery) -> ListPage[ResearchJobOut]:
    """Return a page of the jobs that the caller started, newest first, without those whose library they cannot see.

    One Query finds the jobs, and one read decides which libraries the caller can see. Jobs from before the list existed
    are not in its index. They are stored for 30 days, so no migration adds them.
    """
    result = table.query(
        ResearchJob.of_caller.partition(started_by=ctx.principal_or_anonymous.id),
        after=ctx.decode_cursor(query),
        limit=query.limit,
        newest_first=ResearchJob.of_caller.newest_first,
        attributes=ResearchJob.listed_attributes(),
    )
    visible = _load_visible_records(ctx, ResearchJob, result.items)
    return ctx.build_page([ResearchJobOut.of(each) for each in visible], result.last_evaluated_key, query)


def _load_visible_records(ctx: Context, record_type: type[R], index_items: Sequence[Item]) -> Iterator[R]:
    """Yield the records in index items, or to which the items refer, that the caller can currently see."""
    record_keys: list[ItemKey] = [
        record_type.make_item_key(id=item["id"]) for item in index_items if "kind" not in item
    ]
    libraries = sorted({_library_id(item) for item in index_items} - {PUBLIC_LIBRARY_ID, ctx.principal_or_anonymous.id})
    organization_keys: dict[str, ItemKey] = {
        library_id: Organization.make_item_key(id=library_id) for library_id in libraries
    }
    # The list of the caller's organizations comes from an index, which lags, so memberships are read from the table.
    membership_keys: dict[str, ItemKey] = {}
    if isinstance(ctx.principal_or_anonymous, User):
        membership_keys = {
            library_id: membership_key(key, ctx.user.id) for library_id, key in organization_keys.items()
        }
    stored = table.get_all([*record_keys, *organization_keys.values(), *membership_keys.values()])
    member_libraries = {
        each for each, key in organization_keys.items() if key in stored and membership_keys.get(each, key) in stored
    }
    visible_libraries = {
        each for each in member_libraries if not Organization.from_item(stored[organization_keys[each]]).is_deleted
    }
    for item in index_items:
        record_item = item if "kind" in item else stored.get(record_type.make_item_key(id=item["id"]))
        if record_item and (_library_id(item) not in organization_keys or _library_id(item) in visible_libraries):
            yield record_type.from_item(record_item)


def _library_id(item: Item) -> str:
    """Return the library of a record or of an item that refers to one."""
    return str(item.get("library_id") or item["pk"].split("#")[1])


def _matches_filter(record: Entity, name: str, value: Any) -> bool:
    actual = getattr(record, name)
    return value is None or (value in actual if isinstance(actual, list) else bool(actual == value))


def _group_and_library_ids_of_page(ctx: Context, query: ListQuery) -> tuple[MembershipGroup, Sequence[str]]:
    """Return the group of a page, and the libraries in it that the caller can see."""
    position = ctx.decode_cursor(query)
    if isinstance(ctx.principal_or_anonymous, ApiKeyPrincipal):
        return MembershipGroup(position=position), [
            PUBLIC_LIBRARY_ID,
            ctx.principal_or_anonymous.credential.organization_id,
        ]
    group = read_membership_group_at_position(
        Member.of_user.partition(user_id=ctx.user.id, list_name="active"), position
    )
    first_libraries = [PUBLIC_LIBRARY_ID, ctx.user.id] if group.is_first_group else []
    return group, [*first_libraries, *(item["organization_id"] for item in group.memberships)]


def _current_role(principal: Principal, organization_id: str) -> Role | None:
    """Return the principal's role in an organization, or None if they have none or the organization is deleted."""
    key = Organization.make_item_key(id=organization_id)
    member = Member.make_item_key(organization_id=organization_id, user_id=principal.id)
    items = table.get_all([key, member])
    if key not in items or Organization.from_item(items[key]).is_deleted:
        return None
    if isinstance(principal, ApiKeyPrincipal):
        return principal.role_from_scopes if principal.credential.organization_id == organization_id else None
    return Role(items[member]["role"]) if member in items else None


def list_venues_with_public_output_counts() -> list[VenueOut]:
    """Return all venues with the number of outputs of each edition in the public library. Takes one Query."""
    rows = table.query_all(EDITION_COUNTS_PARTITION.format(library_id=PUBLIC_LIBRARY_ID), "")
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
