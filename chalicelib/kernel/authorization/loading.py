"""Reads what was planned for the authorization of a request.

A nested container takes a second read if this process does not know its ancestors yet.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.memberships import membership_view_keys
from chalicelib.kernel.authorization.read_plans import ReadPlan
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Item, ItemKey


@dataclass(frozen=True)
class Loaded:
    """What was read: items, and the containers and records among them.

    `containers`: the container of the request with its ancestors, outermost first. There are none without a rule about
    a container, and if the container or an ancestor does not exist. `record_items`: the items of the records of the
    path that exist. `subject_id`: the user in the operation's `subject_user_param`, from the path or a record, or an
    empty text.
    """

    items: Mapping[ItemKey, Item]
    record_items: tuple[Item, ...]
    subject_id: str
    containers: tuple[Container, ...] = ()

    def with_items_at(self, keys: Iterable[ItemKey]) -> "Loaded":
        """Return what was read, after a read of further items."""
        return replace(self, items={**self.items, **table.get_all(keys)})


def load(plan: ReadPlan) -> Loaded:
    """Return the items at the keys of a plan, with one read."""
    items, subject = table.get_all(plan.keys), plan.operation.subject_user_param
    record_items = tuple(items[key] for key in plan.target.records.values() if key in items)
    subject_ids = (each[subject] for each in (plan.request.parameters, *record_items) if subject and subject in each)
    return Loaded(items, record_items, next(subject_ids, ""))


def load_containers(plan: ReadPlan, rule: RequireRole, loaded: Loaded) -> Loaded:
    """Return the items with the containers, after another read if the ancestors are not known yet."""
    target = plan.target
    if target.container is None or target.container not in loaded.items:
        return loaded
    container = rule.container_type.from_item(loaded.items[target.container])
    ancestors = container.ancestor_keys_by_type
    if ancestors.keys() - target.ancestors.keys():
        ancestor_cache.store(container.item_key, container.ids_by_parameter)
        outermost_container_key = [*ancestors.values()][-1]
        loaded = loaded.with_items_at(
            (
                *ancestors.values(),
                *(key for each in target.user_ids for key in membership_view_keys(each, None, ancestors.values())),
                *plan.tenant.tenant_item_keys(outermost_container_key),
            )
        )
    else:
        ancestors = dict(target.ancestors)
    if any(key not in loaded.items for key in ancestors.values()):
        return loaded
    outer = (kind.from_item(loaded.items[key]) for kind, key in reversed(ancestors.items()))
    return replace(loaded, containers=(*outer, container))
