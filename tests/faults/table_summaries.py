"""Summarize the table without ids and timestamps, so that two runs of the same work can be compared."""

from collections import Counter
from typing import Any, Final

from chalicelib.features.notifications.webhooks.logic.host_rate_limit import slot_counter_key
from chalicelib.features.notifications.webhooks.models.attempt_counts import COUNTS_PREFIX
from chalicelib.kernel.audit_log.ledger import HEAD_SORT_KEY, head_key
from chalicelib.kernel.audit_log.mac_chains import chain_shard_or_none
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS
from tests.catalogue.log_proof import Items
from tests.harness.api import Json

TableSummary = Counter[Any]

_ID_CHARACTERS: Final = 36
_COMPARED_ATTRIBUTES: Final = ("n", "type", "outcome", "status")
"""Attributes whose values are part of the summary."""

_CONSUMER_ATTRIBUTES: Final = {"duepk", "duesk", "task", "log", "followed", "followed_part"}
"""Attributes of a log's head that log consumers change, at times that the tests do not control."""

_RANDOM_KEYS: Final = {head_key(log) for log in SYSTEM_LOGS}
"""The heads of system logs. An entry's log depends on the id of its target, which is random."""

_RATE_COUNTER_PREFIX: Final = slot_counter_key("", "")[0]
"""The partitions of counters for requests within a second, which depend on timing and retries."""

_BATCH_PARTITION_SUFFIX: Final = "#S"
"""The suffix of partitions that record which entries were appended together, which depends on timing.
`log_proof.assert_logs_are_proven` checks that they contain every entry."""


def summarize(items: Items) -> TableSummary:
    """Return the number of items for each kind, set of attributes, and values of the compared attributes."""
    return Counter(_summarize_item(pk, sk, item) for (pk, sk), item in items.items() if _is_deterministic(pk, sk))


def _is_deterministic(pk: str, sk: str) -> bool:
    # Entries are assigned to the chains of a log at random; `log_proof.assert_logs_are_proven` checks the chains.
    is_random = (pk, sk) in _RANDOM_KEYS or (pk.startswith("Q#") and chain_shard_or_none({"sk": sk}) is not None)
    is_time_dependent = (
        pk.startswith(_RATE_COUNTER_PREFIX)
        or (pk.startswith("A#") and pk.endswith(_BATCH_PARTITION_SUFFIX))
        or (pk.startswith("V#") and sk.startswith(COUNTS_PREFIX))  # `log_proof` checks the counts of attempts.
    )
    return not is_random and not is_time_dependent


def _summarize_item(pk: str, sk: str, item: Json) -> tuple[object, ...]:
    sort_key_prefix = sk.partition("#")[0] if len(sk) < _ID_CHARACTERS else ""
    attributes = set(item) - _CONSUMER_ATTRIBUTES if sk == HEAD_SORT_KEY else set(item)
    # Redirect candidates have an attribute for each page.
    names = ["an id" if len(name) >= _ID_CHARACTERS else name for name in attributes]
    return (
        pk.partition("#")[0],
        sort_key_prefix,
        tuple(sorted(names)),
        *(item.get(name) for name in _COMPARED_ATTRIBUTES),
    )
