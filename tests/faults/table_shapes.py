"""What the table holds, but for ids and moments: two runs of the same work end in the same shape, or one went wrong."""

from collections import Counter
from typing import Any, Final

from chalicelib.features.notifications.webhooks.logic.host_rate_limit import slot_counter_key
from chalicelib.kernel.audit_log.ledger import HEAD, head_key
from chalicelib.kernel.audit_log.mac_chains import shard_of
from chalicelib.kernel.storage.entity import SYSTEM_LOGS
from tests.catalogue.evidence import Items
from tests.harness.api import Json

Shape = Counter[Any]

_ID_CHARACTERS: Final = 36
_TELLING: Final = ("n", "type", "outcome", "status")
"""Attributes whose values tell what has happened."""

_FOLLOWED: Final = {"duepk", "duesk", "task", "log", "followed", "followed_part"}
"""Whether a log's head waits to be followed, and how far it is: with the next wake, whoever brings it."""

_BY_CHANCE: Final = {head_key(log) for log in SYSTEM_LOGS}
"""The heads of logs that an entry is in by its target's id: what is made anew may begin one, or go on with it."""

_BY_THE_SECOND: Final = slot_counter_key("", "")[0]
"""How many requests were sent in a second: that depends on when they were sent, and how often one was tried."""

_BATCHES: Final = "#S"
"""How the partitions end that say which entries were sealed together: that depends on what waited at that moment.
`evidence.assert_proven` sees to it that they name every entry."""


def shape(items: Items) -> Shape:
    """Return how many items there are of each kind, with which attributes; and what a counter says, or a record is."""
    return Counter(_shape(pk, sk, item) for (pk, sk), item in items.items() if _tells(pk, sk))


def _tells(pk: str, sk: str) -> bool:
    # Which chains of a log its entries are in is left to chance; `evidence.assert_proven` looks at them.
    by_chance = (pk, sk) in _BY_CHANCE or (pk.startswith("Q#") and shard_of({"sk": sk}) is not None)
    by_moment = pk.startswith(_BY_THE_SECOND) or (pk.startswith("A#") and pk.endswith(_BATCHES))
    return not by_chance and not by_moment


def _shape(pk: str, sk: str, item: Json) -> tuple[object, ...]:
    begins = sk.partition("#")[0] if len(sk) < _ID_CHARACTERS else ""
    unmarked = set(item) - _FOLLOWED if sk == HEAD else set(item)
    # A trail has an attribute for each page that it leads to.
    names = ["an id" if len(name) >= _ID_CHARACTERS else name for name in unmarked]
    return pk.partition("#")[0], begins, tuple(sorted(names)), *(item.get(name) for name in _TELLING)
