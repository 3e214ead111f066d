"""What is read of an organization with what decides access: what its requests share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chalicelib.kernel.audit_log.mac_chains import Chains, candidates, chain_keys
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE, Subject, log_from_partition
from chalicelib.kernel.storage.entity import Item, ItemKey


@dataclass(frozen=True)
class TenantReads:
    """What an operation needs of an organization that all its requests share: limits, access epochs, the log's chains.

    It is read with what decides access.
    """

    operation: Operation
    caller_id: str
    shards: Sequence[int] = field(default_factory=candidates)

    def keys(self, outermost: ItemKey | None) -> list[ItemKey]:
        """Return where it stands, if the organization is known: by where that is stored."""
        if outermost is None:
            return []
        pk = outermost[0]
        keys = [budget.bucket_for(pk).key for budget in self.operation.rate_limits_per("organization")]
        if self.operation.grants_access:
            keys += [key for each in (EVERYONE, self.caller_id) for key in Subject(pk, each).keys]
        return [*keys, *chain_keys(log_from_partition(pk), self.shards)] if self.operation.mutates else keys

    def chains(self, log: str, items: Mapping[ItemKey, Item]) -> Chains | None:
        """Return the chains that were read, for an operation that commits an entry."""
        return Chains(log, self.shards, items) if self.operation.mutates else None
