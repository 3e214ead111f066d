"""Chains of MACs, which reveal entries that are removed before they are in the log's tree.

A log has `SHARDS` chains. Each entry is the next link of one: it has a number in the chain, and its MAC covers the MAC
of the previous link. For each chain, an item in the partition of the log's head contains its end. The transaction that
commits an entry updates that item. A removed entry leaves a number without an entry. If an older copy of the item is
restored, the next entry contradicts those in the tree.

With each checkpoint the ledger signs the state of each chain in the tree and its missing links (`signed_statements`).

A mutation reads two chains and extends one of them. If another transaction is extending that one, it extends the other.
So no item is written by all mutations of a log.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES
from chalicelib.kernel.crypto.merkle import HASH_BYTES
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import Write, put_if_absent_write

SHARDS: Final = 16
"""Chains of a log."""

CANDIDATE_CHAINS: Final = 2
"""Chains that a mutation reads, in order to extend one of them."""

MAC_BYTES: Final = KEY_ID_BYTES + HASH_BYTES
"""Length of the MAC of an entry: the id of its key and the hash."""

_NUMBER_BYTES: Final = 6
MAX_LINK_NUMBER: Final = 256**_NUMBER_BYTES - 1
"""Largest number of a link in a chain."""


class Link(NamedTuple):
    """An entry's position in a chain: its number, from 1, and the MAC of the previous entry, empty for the first."""

    shard: int
    number: int
    previous: bytes

    def to_bytes(self) -> bytes:
        """Return the link as entries and pointers contain it, and as their MAC covers it."""
        return bytes([self.shard]) + self.number.to_bytes(_NUMBER_BYTES, "big") + self.previous

    @classmethod
    def from_bytes_or_none(cls, data: object) -> "Link | None":
        """Return the link in an attribute, or None if it is invalid."""
        if not isinstance(data, bytes) or len(data) not in (1 + _NUMBER_BYTES, 1 + _NUMBER_BYTES + MAC_BYTES):
            return None
        link = cls(data[0], int.from_bytes(data[1 : 1 + _NUMBER_BYTES], "big"), data[1 + _NUMBER_BYTES :])
        return link if link.shard < SHARDS and link.number else None


def chain_key(log: str, shard: int) -> ItemKey:
    """Return the key of the item with the end of a chain. It sorts after the log's head and before its pointers."""
    return f"Q#{log}", f"!{shard:02d}"


def chain_keys(log: str, shards: Iterable[int]) -> list[ItemKey]:
    """Return the item keys of some chains."""
    return [chain_key(log, shard) for shard in shards]


def chain_shard_or_none(item: Item) -> int | None:
    """Return the shard of a chain's item in an outbox, or None for another item."""
    return _SHARDS_BY_KEY.get(str(item["sk"]))


_SHARDS_BY_KEY: Final = {chain_key("", shard)[1]: shard for shard in range(SHARDS)}


class ChainEnd(NamedTuple):
    """The end of a chain: the number and the MAC of its last entry."""

    number: int = 0
    mac: bytes = b""

    @classmethod
    def from_item_or_empty(cls, item: Item | None) -> "ChainEnd":
        """Return the end in an item. An invalid item counts as an empty chain."""
        number, mac = (item or {}).get("number"), (item or {}).get("mac")
        is_valid = (
            isinstance(number, int)
            and isinstance(mac, bytes)
            and 0 < number < MAX_LINK_NUMBER
            and len(mac) == MAC_BYTES
        )
        return cls(number, mac) if is_valid else cls()  # type: ignore[arg-type]


class Chains:
    """Some chains of a log that were read, one of which a mutation extends."""

    def __init__(
        self, log: str, shards: Sequence[int] = (), items: Mapping[ItemKey, Item] = MappingProxyType({})
    ) -> None:
        """Initialize from the items of the shards that were read. Shards without an item are empty.

        `shards`: the shards that were read; empty for a new log.
        """
        self.log = log
        self._shards = [*shards] or random_shards()
        self._items: dict[int, Item | None] = {shard: items.get(chain_key(log, shard)) for shard in self._shards}

    @classmethod
    def read(cls, log: str) -> "Chains":
        """Return random chains of a log, read in a separate round trip."""
        chains, _ = cls.read_with(log, [])
        return chains

    @classmethod
    def read_with(cls, log: str, keys: Iterable[ItemKey]) -> "tuple[Chains, dict[ItemKey, Item]]":
        """Return random chains of a log and the items at some keys, in one round trip."""
        shards = random_shards()
        items = table.get_all([*keys, *chain_keys(log, shards)])
        return cls(log, shards, items), items

    @property
    def next_link(self) -> Link:
        """Return the next link of the chain to extend."""
        end = ChainEnd.from_item_or_empty(self._items[self._shards[0]])
        return Link(self._shards[0], end.number + 1, end.mac)

    def extension_write(self, links: "Sequence[LinkWithMac]") -> Write:
        """Return the write that extends a chain by consecutive links, on condition that it is unchanged."""
        (first, _), (last, mac) = links[0], links[-1]
        pk, sk = chain_key(self.log, first.shard)
        current_item, item = self._items[first.shard], {"pk": pk, "sk": sk, "number": last.number, "mac": mac}
        if current_item is None:
            return put_if_absent_write(item)
        if not first.previous:  # The item was altered, so there is no previous MAC to compare.
            return Write("Put", (pk, sk), item=item)
        return Write("Put", (pk, sk), item=item, condition="#mac = :mac", names=["mac"], values={"mac": first.previous})

    def use_other_chain(self, *current_item: Item | None) -> None:
        """Extend the other chain next. `current_item`: the present item of the chain that was tried, if it is known."""
        self._items |= dict.fromkeys(self._shards[:1], *current_item) if current_item else {}
        self._shards.append(self._shards.pop(0))


def random_shards() -> list[int]:
    """Return random chains for a mutation, so that mutations rarely conflict."""
    return random.sample(range(SHARDS), CANDIDATE_CHAINS)


class LinkWithMac(NamedTuple):
    """A link, and the MAC of its entry."""

    link: Link
    mac: bytes

    @property
    def next_link(self) -> Link:
        """Return the link that follows in the chain."""
        return Link(self.link.shard, self.link.number + 1, self.mac)


def links_with_macs(pointers: Iterable[Item]) -> list[LinkWithMac]:
    """Return the links of authentic pointers. Pointers from before chains existed have none."""
    pairs = ((Link.from_bytes_or_none(pointer.get("link")), pointer.get("mac")) for pointer in pointers)
    return [LinkWithMac(link, mac) for link, mac in pairs if link and isinstance(mac, bytes)]
