"""Plans what to read for the authorization of a request.

One BatchGet reads the items that decide about access and everything that the operation prefetches.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chalicelib.kernel.authorization.memberships import membership_view_keys
from chalicelib.kernel.authorization.targets import Target
from chalicelib.kernel.authorization.tenant_reads import TenantReads
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import (
    UnverifiedCaller,
    UnverifiedCredential,
    credential_item_keys,
    user_id_of_rights_or_none,
)
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched, RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import ItemKey


@dataclass(frozen=True)
class ReadPlan:
    """The keys of the items to read first. `tenant`: the shared items of the organization that are among them.

    `prefetched`: for each parameter of the handler that receives a prefetched value, its type and the keys to read,
    which are derived from `values`.
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


def plan_reads(
    request_input: RequestInput, caller: UnverifiedCaller, target: Target, extra_keys: Iterable[ItemKey]
) -> ReadPlan:
    """Return which items to read. `extra_keys`: further ones, which have nothing to do with access."""
    operation = request_input.operation
    target_keys = _target_keys(operation, target)
    # An access epoch is that of the record, whose id differs from the one by which an API key's requests are counted.
    epoch_subject_id = user_id_of_rights_or_none(caller) or (
        caller.credential_id if isinstance(caller, UnverifiedCredential) else caller.id
    )
    tenant = TenantReads(operation, epoch_subject_id)
    values = request_input.known_values(target.parameters, caller if isinstance(caller, User) else None)
    companion_keys: list[ItemKey] = []
    prefetched: dict[str, tuple[type[Prefetched], tuple[ItemKey, ...]]] = {}
    if values.query is not None:  # An invalid query is rejected later.
        record_types = operation.record_types_by_parameter.values()
        companion_keys = [key for kind in record_types for key in kind.companion_keys(values.parameters)]
        types = operation.prefetched_types_by_parameter
        prefetched = {name: (kind, tuple(kind.derive_keys(values))) for name, kind in types.items()}
    keys = (
        *target_keys,
        *companion_keys,
        *(key for _, keys in prefetched.values() for key in keys),
        *credential_item_keys(caller),
        *extra_keys,
        *tenant.tenant_item_keys(target.outermost_container),
    )
    return ReadPlan(target, tenant, keys, values, prefetched)


def _target_keys(operation: Operation, target: Target) -> list[ItemKey]:
    """Return the keys of the target, and of the memberships that decide about access."""
    keys = [key for key in (target.container, *target.records.values()) if key]
    keys += target.ancestors.values()
    rule = operation.access
    member_container = target.container if isinstance(rule, RequireRole) and rule.container_type.has_members else None
    for user_id in target.user_ids:
        keys += membership_view_keys(user_id, member_container, target.ancestors.values())
    return keys
