"""Finds organizations by items that their records derive, so that the cost does not depend on their number."""

import re
from typing import Final

from chalicelib.features.admin.organizations.models import FoundOrganization, OrganizationSearchQuery
from chalicelib.features.tenancy.entities.organizations import (
    DIRECTORY_PARTITION,
    ID_KEY_PREFIX,
    RESTORABLE_DAYS,
    WORD_KEY_PREFIX,
    Organization,
)
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import UUID_PATTERN, fold_case_accents_and_spaces
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.search_keys import key_prefix_of_names_starting_with

_UUID: Final = re.compile(UUID_PATTERN)


def search_organizations(ctx: Context, query: OrganizationSearchQuery) -> ListPage[FoundOrganization]:
    """Return a page of organizations in the order of creation or, with a prefix, by name or slug.

    One Query reads the items that find organizations, and one BatchGetItem their records. A search for an id needs only
    the latter. If the name and the slug of an organization have the prefix, its name counts, so it is found once.
    """
    position, text = ctx.decode_cursor(query), query.q or ""
    if _UUID.fullmatch(ascii_lower(text)):
        items = table.get_all([Organization.make_item_key(id=ascii_lower(text))])
        return ctx.build_page([_to_output(Organization.from_item(item)) for item in items.values()], None, query)
    folded = fold_case_accents_and_spaces(text)
    prefix = key_prefix_of_names_starting_with(WORD_KEY_PREFIX, folded) if text else ID_KEY_PREFIX
    result = table.query(DIRECTORY_PARTITION, prefix=prefix, after=position, limit=query.limit)
    keys = [Organization.make_item_key(id=row["organization_id"]) for row in result.items]
    items = table.get_all(keys)
    found = [
        (row, Organization.from_item(items[key])) for row, key in zip(result.items, keys, strict=True) if key in items
    ]
    outputs = [_to_output(each) for row, each in found if _is_current_and_first(row, each, folded if text else None)]
    return ctx.build_page(outputs, result.last_evaluated_key, query)


def _is_current_and_first(row: Item, organization: Organization, folded_prefix: str | None) -> bool:
    """Return whether a row is still derived from the organization, and no other row stands for it in this search."""
    name_row, slug_row = organization.word_rows
    is_current = row in organization.derived_items
    has_name_row = folded_prefix is not None and fold_case_accents_and_spaces(organization.name).startswith(
        folded_prefix
    )
    return is_current and not (row == slug_row != name_row and has_name_row)


def _to_output(organization: Organization) -> FoundOrganization:
    due_at = organization.deletion_due_at
    return FoundOrganization(
        **{name: getattr(organization, name) for name in FoundOrganization.model_fields if name != "deleted_at"},
        deleted_at=after(due_at, days=-RESTORABLE_DAYS) if due_at else None,
    )
