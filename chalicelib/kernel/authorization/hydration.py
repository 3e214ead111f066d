"""Builds the records of the path, with the fields that are computed from other records, and the prefetched values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from chalicelib.kernel.authorization.loading import Loaded
from chalicelib.kernel.authorization.memberships import MembershipView
from chalicelib.kernel.authorization.read_plans import ReadPlan
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.operations.inputs import Prefetched
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.item_reads import perform_reads


@dataclass(frozen=True)
class Hydrated:
    """What the handler receives, by its parameters. `items`: everything that was read."""

    items: Mapping[ItemKey, Item]
    records: Mapping[str, Entity | None]
    prefetched: Mapping[str, Prefetched]


def hydrate(plan: ReadPlan, loaded: Loaded, subject_memberships: MembershipView) -> Hydrated:
    """Return what the handler receives.

    A membership that is stored, but revoked, counts as missing. Raises Problem `not_found` if a record is missing. An
    optional one can only be missing if its user has a role in the parent container.
    """
    operation, stored = plan.operation, dict[str, Entity | None]()
    for name, key in plan.target.records.items():
        loaded, stored[name] = _find_record(operation.record_types_by_parameter[name], key, loaded, subject_memberships)
    records: dict[str, Entity | None] = dict.fromkeys(stored)
    for name, record in stored.items():
        if record:
            items, records[name] = perform_reads(record.hydration_reads(loaded.items), loaded.items)
            loaded = replace(loaded, items=items)
    missing = [name for name, record in records.items() if record is None]
    if any(stored[name] or name not in operation.optional_record_parameters for name in missing):
        raise not_found()
    if (
        operation.subject_user_param
        and None in records.values()
        and loaded.containers[-1].parent_type not in subject_memberships.roles
    ):
        raise not_found()
    prefetched = {name: kind(plan.values, keys, loaded.items) for name, (kind, keys) in plan.prefetched.items()}
    return Hydrated(loaded.items, records, prefetched)


def _find_record(
    record_type: type[Entity], key: ItemKey | None, loaded: Loaded, subject_memberships: MembershipView
) -> tuple[Loaded, Entity | None]:
    """Return what was read, and the record at a key or alias. An alias takes another read."""
    if key is None:
        return loaded, None
    own_key = record_type.key_of_alias(key, loaded.items)
    loaded = loaded if own_key == key else loaded.with_items_at([own_key])
    item = loaded.items.get(own_key)
    is_revoked = item is subject_memberships.expired_membership
    return loaded, record_type.from_item(item) if item and not is_revoked else None
