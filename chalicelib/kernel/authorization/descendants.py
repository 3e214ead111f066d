"""Containers below the one of a request where a caller may hold the required role instead."""

import re

from pydantic.alias_generators import to_camel

from chalicelib.kernel.authorization.memberships import membership_key, membership_view_keys
from chalicelib.kernel.authorization.request_target import NIL_UUID
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.access_rules import DescendantRule
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Item, ItemKey, Partition


def find_requested_or_joined_descendant_ids(
    rule: DescendantRule,
    operation: Operation,
    request: Request,
    container: Container,
    records: list[Item],
    user_id: str,
) -> list[str]:
    """Return the ids of the descendants that a request is about.

    `records`: the items of the records in the path, which contain the id of their container. Without a record, the id
    is in the query. Without either, all descendants that the user is a member of are returned.
    """
    parameter = rule.descendant_container_type.parameter
    if operation.record_types_by_parameter:
        return [record[parameter] for record in records if parameter in record]
    if values := request.query.get(to_camel(parameter)):
        descendant_id = ascii_lower(values[-1].strip())
        return [descendant_id] if re.fullmatch(UUID_PATTERN, descendant_id) else []
    rows = _load_membership_rows(rule, container.item_key[0], user_id)
    return sorted({row[parameter] for row in rows if row[container.parameter] == container.id})


def load_descendants(
    rule: DescendantRule,
    container: Container,
    ids: list[str],
    user_ids: list[str],
    items: dict[ItemKey, Item],
) -> list[Container]:
    """Return the containers with these ids that lie in a container, and add the users' memberships there to `items`."""
    keys = [rule.descendant_container_type.make_item_key(id=each) for each in ids]
    membership_keys = [key for user_id in user_ids for key in membership_view_keys(user_id, None, [container.item_key])]
    items |= table.get_all(
        [*keys, *membership_keys, *(membership_key(key, user_id) for key in keys for user_id in user_ids)]
    )
    descendants = [rule.descendant_container_type.from_item(items[key]) for key in keys if key in items]
    return [each for each in descendants if getattr(each, container.parameter) == container.id]


def perform_decoy_reads(rule: DescendantRule, request: Request, user_id: str) -> None:
    """Read as much as for an existing container, so that *not found* takes equally many reads whatever the reason."""
    if request.query.get(to_camel(rule.descendant_container_type.parameter)):
        table.get_all([rule.descendant_container_type.make_item_key(id=NIL_UUID)])
    else:
        _load_membership_rows(rule, NIL_UUID, user_id)


def _load_membership_rows(rule: DescendantRule, pk: str, user_id: str) -> list[Item]:
    """Return the items that list a user's descendant memberships, from the ancestor's partition and an older index."""
    sources = [
        (Partition(pk), rule.descendant_membership_type.membership_listing_sort_key_prefix(user_id)),
        (rule.descendant_membership_type.of_user.partition(user_id=user_id), ""),
    ]
    results = table.gather(lambda source: table.query(source[0], prefix=source[1]), sources)
    return [row for result in results for row in result.items]
