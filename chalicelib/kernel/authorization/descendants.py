"""Containers below the one of a request where a caller may hold the required role instead."""

import re

from pydantic.alias_generators import to_camel

from chalicelib.kernel.authorization.loading import Loaded
from chalicelib.kernel.authorization.memberships import membership_key, membership_view_keys
from chalicelib.kernel.authorization.read_plans import ReadPlan
from chalicelib.kernel.authorization.targets import NIL_UUID
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.operations.access_rules import RoleInDescendant
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Item, Partition


def load_descendants(
    plan: ReadPlan, policy: RoleInDescendant, loaded: Loaded, user_id: str
) -> tuple[Loaded, tuple[Container, ...]]:
    """Return the descendants of the container, and what was read with the memberships of the caller and the subject.

    `user_id`: the caller, or an empty text if only the memberships of the subject are needed.
    """
    container = loaded.containers[-1]
    ids = _find_requested_or_joined_ids(plan, policy, loaded, user_id)
    if not (ids or loaded.subject_id):
        return loaded, ()
    user_ids = [each for each in (user_id, loaded.subject_id) if each]
    keys = [policy.container_type.make_item_key(id=each) for each in ids]
    membership_keys = [key for user_id in user_ids for key in membership_view_keys(user_id, None, [container.item_key])]
    loaded = loaded.with_items_at(
        [*keys, *membership_keys, *(membership_key(key, user_id) for key in keys for user_id in user_ids)]
    )
    existing = [policy.container_type.from_item(loaded.items[key]) for key in keys if key in loaded.items]
    return loaded, tuple(each for each in existing if getattr(each, container.parameter) == container.id)


def _find_requested_or_joined_ids(plan: ReadPlan, policy: RoleInDescendant, loaded: Loaded, user_id: str) -> list[str]:
    """Return the ids of the descendants that a request is about.

    A record in the path contains the id of its container. Without a record, the id is in the query. Without either, all
    descendants that the user is a member of are returned.
    """
    parameter, container = policy.container_type.parameter, loaded.containers[-1]
    if plan.operation.record_types_by_parameter:
        return [item[parameter] for item in loaded.record_items if parameter in item]
    if values := plan.request.query.get(to_camel(parameter)):
        descendant_id = ascii_lower(values[-1].strip())
        return [descendant_id] if re.fullmatch(UUID_PATTERN, descendant_id) else []
    rows = _load_membership_rows(policy, container.item_key[0], user_id)
    return sorted({row[parameter] for row in rows if row[container.parameter] == container.id})


def read_nil_descendants(plan: ReadPlan, policy: RoleInDescendant, user_id: str) -> None:
    """Read as much as for an existing container, so that *not found* takes equally many reads whatever the reason."""
    if plan.request.query.get(to_camel(policy.container_type.parameter)):
        table.get_all([policy.container_type.make_item_key(id=NIL_UUID)])
    else:
        _load_membership_rows(policy, NIL_UUID, user_id)


def _load_membership_rows(policy: RoleInDescendant, pk: str, user_id: str) -> list[Item]:
    """Return the items that list a user's descendant memberships, from the ancestor's partition and an older index."""
    sources = [
        (Partition(pk), policy.membership_type.membership_listing_sort_key_prefix(user_id)),
        (policy.membership_type.of_user.partition(user_id=user_id), ""),
    ]
    results = table.gather(lambda source: table.query(source[0], prefix=source[1]), sources)
    return [row for result in results for row in result.items]
