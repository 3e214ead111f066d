"""Plans what to read for the authorization of a request, and reads it.

One BatchGet reads the items that decide about access and everything that the operation prefetches. A nested container
takes another one if this process does not know its ancestors yet.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.authorization.memberships import membership_view_keys
from chalicelib.kernel.authorization.targets import Target, UnverifiedCaller
from chalicelib.kernel.authorization.tenant_reads import TenantReads
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import UnverifiedApiKey, organization_pending_revocations_key
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched, RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Item, ItemKey


@dataclass(frozen=True)
class ReadPlan:
    """The keys of the items to read first. `tenant`: the shared items of the organization that are among them.

    `prefetched`: the types of what the handler receives, with the
    keys of their items, by its parameter. They are derived from `values`.
    """

    target: Target
    tenant: TenantReads
    keys: tuple[ItemKey, ...]
    values: KnownValues
    prefetched: Mapping[str, tuple[type[Prefetched], tuple[ItemKey, ...]]]

    @property
    def operation(self) -> Operation:
        """The operation that is requested."""
        return self.values.operation

    @property
    def request(self) -> Request:
        """The request."""
        return self.values.request

    def prefetched_values(self, items: Mapping[ItemKey, Item]) -> dict[str, Prefetched]:
        """Return what the handler receives, by its parameter. `items`: everything that was read."""
        return {name: kind(self.values, keys, items) for name, (kind, keys) in self.prefetched.items()}


@dataclass(frozen=True)
class Loaded:
    """What was read: items, and the containers and records among them.

    `containers`: the container of the request with its ancestors, outermost first. There are none without a rule about
    a container, and if the container or an ancestor does not exist. `record_items`: the items of the records of the
    path that exist.
    """

    items: Mapping[ItemKey, Item]
    record_items: tuple[Item, ...] = ()
    containers: tuple[Container, ...] = ()

    def with_items_at(self, keys: Iterable[ItemKey]) -> "Loaded":
        """Return what was read, after a read of further items."""
        return replace(self, items={**self.items, **table.get_all(keys)})


def plan_reads(
    request_input: RequestInput, caller: UnverifiedCaller, target: Target, extra_keys: Iterable[ItemKey]
) -> ReadPlan:
    """Return which items to read. `extra_keys`: further ones, which have nothing to do with access."""
    operation = request_input.operation
    rule = operation.access if isinstance(operation.access, RequireRole) else None
    tenant = TenantReads(operation, caller.id)
    values = request_input.known_values(target.parameters, caller if isinstance(caller, User) else None)
    prefetched = {
        name: (kind, tuple(kind.derive_keys(values)))
        for name, kind in operation.prefetched_types_by_parameter.items()
        if values.query is not None  # An invalid query is rejected later.
    }
    keys = (
        *_target_keys(rule, target),
        *(
            key
            for kind in operation.record_types_by_parameter.values()
            for key in kind.companion_keys(values.parameters)
        ),
        *(key for _, keys in prefetched.values() for key in keys),
        *api_key_item_keys(caller),
        *extra_keys,
        *tenant.tenant_item_keys(_outermost_container_key_or_none(rule, target)),
    )
    return ReadPlan(target, tenant, keys, values, prefetched)


def load(plan: ReadPlan) -> Loaded:
    """Return the items at the keys of a plan, with one read."""
    items = table.get_all(plan.keys)
    return Loaded(items, tuple(items[key] for key in plan.target.records.values() if key in items))


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


def api_key_item_keys(caller: UnverifiedCaller) -> tuple[ItemKey, ...]:
    """Return the keys of the items that decide whether an API key is valid: its record, and pending revocations."""
    if not isinstance(caller, UnverifiedApiKey):
        return ()
    return caller.record_key, organization_pending_revocations_key(caller.record_key)


def _outermost_container_key_or_none(rule: RequireRole | None, target: Target) -> ItemKey | None:
    if rule is None or rule.container_type.parent_type is None:
        return target.container
    return next((key for kind, key in target.ancestors.items() if kind.parent_type is None), None)


def _target_keys(rule: RequireRole | None, target: Target) -> Iterator[ItemKey]:
    """Yield the keys of the target, and of the memberships that decide about access."""
    yield from (key for key in (target.container, *target.records.values()) if key)
    yield from target.ancestors.values()
    member_container = target.container if rule and rule.container_type.has_members else None
    for user_id in target.user_ids:
        yield from membership_view_keys(user_id, member_container, target.ancestors.values())
