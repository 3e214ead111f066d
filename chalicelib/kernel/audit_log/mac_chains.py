"""Chains: how an entry that is taken away before it is in its log's tree leaves a trace.

A log has chains, `SHARDS` of them. Each entry is the next link of one: it has a number there, and its MAC covers the
MAC of the link before it. An item beside the log's head says how far a chain is, and the transaction that commits an
entry advances it. An entry that somebody takes away leaves a number without an entry. Where somebody puts an older copy
of the item back, the next entry contradicts those that are in the tree.

The ledger signs, beside each checkpoint, how far each chain is in the tree and what is missing of it (`statements`).

A mutation reads two chains and extends one of them. If another transaction is at that one, it extends the other. So
there is no item that all mutations of a log write.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES
from chalicelib.kernel.crypto.merkle import HASH_BYTES
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import Write, put_new

SHARDS: Final = 16
CANDIDATES: Final = 2
"""Chains that a mutation reads, to extend one of them."""

MAC_BYTES: Final = KEY_ID_BYTES + HASH_BYTES
_NUMBER_BYTES: Final = 6
MAX_NUMBER: Final = 256**_NUMBER_BYTES - 1


class Link(NamedTuple):
    """An entry's place in a chain: its number there, from 1, and the MAC of the entry before it; of the first, none."""

    shard: int
    number: int
    previous: bytes

    def packed(self) -> bytes:
        """Return it as an entry and its pointer carry it, and as their MAC covers it."""
        return bytes([self.shard]) + self.number.to_bytes(_NUMBER_BYTES, "big") + self.previous

    @classmethod
    def unpacked(cls, data: object) -> "Link | None":
        """Return the link that an item carries; None if this is none."""
        if not isinstance(data, bytes) or len(data) not in (1 + _NUMBER_BYTES, 1 + _NUMBER_BYTES + MAC_BYTES):
            return None
        link = cls(data[0], int.from_bytes(data[1 : 1 + _NUMBER_BYTES], "big"), data[1 + _NUMBER_BYTES :])
        return link if link.shard < SHARDS and link.number else None


def chain_key(log: str, shard: int) -> ItemKey:
    """Return where it stands how far a chain is: behind the log's head, and before its pointers."""
    return f"Q#{log}", f"!{shard:02d}"


def chain_keys(log: str, shards: Iterable[int]) -> list[ItemKey]:
    """Return where it stands how far some chains are."""
    return [chain_key(log, shard) for shard in shards]


def shard_of(item: Item) -> int | None:
    """Return which chain an item of a log's outbox is; None if it is something else."""
    return _SHARDS_BY_KEY.get(str(item["sk"]))


_SHARDS_BY_KEY: Final = {chain_key("", shard)[1]: shard for shard in range(SHARDS)}


class End(NamedTuple):
    """How far a chain is: the number and the MAC of its last entry."""

    number: int = 0
    mac: bytes = b""

    @classmethod
    def of(cls, item: Item | None) -> "End":
        """Return what an item says; what is not as the service writes it says that the chain is empty."""
        number, mac = (item or {}).get("number"), (item or {}).get("mac")
        well = isinstance(number, int) and isinstance(mac, bytes) and 0 < number < MAX_NUMBER and len(mac) == MAC_BYTES
        return cls(number, mac) if well else cls()  # type: ignore[arg-type]


_NOTHING: Final[Mapping[ItemKey, Item]] = {}


class Chains:
    """Some chains of a log as they were read, one of which a mutation extends."""

    def __init__(self, log: str, shards: Sequence[int] = (), items: Mapping[ItemKey, Item] = _NOTHING) -> None:
        """Take the chains that were read, any if the log is new, and what was found: the others are empty."""
        self.log = log
        shards = shards or candidates()
        self._shards = [*shards]
        self._items: dict[int, Item | None] = {shard: items.get(chain_key(log, shard)) for shard in shards}

    @classmethod
    def read(cls, log: str) -> "Chains":
        """Return some chains of a log, read in a round trip of its own."""
        chains, _ = cls.read_beside(log, [])
        return chains

    @classmethod
    def read_beside(cls, log: str, keys: Iterable[ItemKey]) -> "tuple[Chains, dict[ItemKey, Item]]":
        """Return some chains of a log, and the items at some keys, in one round trip."""
        shards = candidates()
        items = table.get_all([*keys, *chain_keys(log, shards)])
        return cls(log, shards, items), items

    @property
    def link(self) -> Link:
        """The next link of the chain that is to be extended."""
        end = End.of(self._items[self._shards[0]])
        return Link(self._shards[0], end.number + 1, end.mac)

    def write(self, link: Link, mac: bytes) -> Write:
        """Return the write that extends the chain by a link, on condition that it is as it was read."""
        pk, sk = chain_key(self.log, link.shard)
        present, item = self._items[link.shard], {"pk": pk, "sk": sk, "number": link.number, "mac": mac}
        if present is None:
            return put_new(item)
        if not link.previous:  # Somebody altered it: there is nothing to go on from, and nothing to wait for.
            return Write("Put", (pk, sk), item=item)
        return Write("Put", (pk, sk), item=item, condition="#mac = :mac", names=["mac"], values={"mac": link.previous})

    def extended_by(self, link: Link, mac: bytes) -> None:
        """Take a chain for extended by a link: what is linked next follows it."""
        self._items[link.shard] = {"number": link.number, "mac": mac}

    def retry(self, *found: Item | None) -> None:
        """Let the other chain that was read be extended next. `found`: how this one is by now, if that is known."""
        self._items |= dict.fromkeys(self._shards[:1], *found) if found else {}
        self._shards.append(self._shards.pop(0))


def candidates() -> list[int]:
    """Return which chains a mutation reads: left to chance, so that mutations seldom meet."""
    return random.sample(range(SHARDS), CANDIDATES)


class Linked(NamedTuple):
    """A link, and the MAC of its entry."""

    link: Link
    mac: bytes


def links_of(pointers: Iterable[Item]) -> list[Linked]:
    """Return the links of authentic pointers; those from before there were chains have none."""
    found = ((Link.unpacked(pointer.get("link")), pointer.get("mac")) for pointer in pointers)
    return [Linked(link, mac) for link, mac in found if link and isinstance(mac, bytes)]
