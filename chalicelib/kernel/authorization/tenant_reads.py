"""Items of an organization that are read with the authorization of each request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chalicelib.kernel.audit_log.mac_chains import Chains, chain_keys, random_shards
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE, EpochSubject, log_id_from_partition_key
from chalicelib.kernel.storage.entity import Item, ItemKey


@dataclass(frozen=True)
class TenantReads:
    """The shared items of an organization that an operation needs: rate limits, access epochs, chains of the log.

    They are read with the authorization. `epoch_subject_id`: the id of the user or of the API key's record.
    """

    operation: Operation
    epoch_subject_id: str
    shards: Sequence[int] = field(default_factory=random_shards)

    def tenant_item_keys(self, outermost_container_key: ItemKey | None) -> list[ItemKey]:
        """Return the item keys, if the organization's key is known."""
        if outermost_container_key is None:
            return []
        pk = outermost_container_key[0]
        keys = [bucket.key for bucket in self.operation.rate_limit_buckets({"organization": pk})]
        if self.operation.grants_access:
            keys += [
                key
                for subject_id in (EVERYONE, self.epoch_subject_id)
                for key in EpochSubject(pk, subject_id).random_shard_and_closing_mark_keys
            ]
        return [*keys, *chain_keys(log_id_from_partition_key(pk), self.shards)] if self.operation.emits_events else keys

    def chains_for_mutation(self, log: str, items: Mapping[ItemKey, Item]) -> Chains | None:
        """Return the chains that were read, for an operation that commits a log entry."""
        return Chains(log, self.shards, items) if self.operation.emits_events else None
