"""Storage of the tiles of a Merkle tree in the table: one item for each tile.

An item contains the hashes of a full tile in one attribute, `hashes`, or each hash in an attribute of its own, from
`n000` to `n255`. The second form is extended without reading the item. Anybody with access to the table can alter the
items, so compare what is computed from them with a signed root.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chalicelib.kernel.crypto.merkle import HASH_BYTES, CompactRange, split_hashes
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH, Node, TileHashes, TileId
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import ItemUpdate, Write


@dataclass(frozen=True)
class TileStorage:
    """The tiles of one tree, all in one partition of the table."""

    partition: str

    def item_key(self, tile: TileId) -> ItemKey:
        """Return the key of the item of a tile."""
        return self.partition, f"{tile.level}#{tile.index:010d}"

    def full_tile_write(self, tile: TileId, hashes: Sequence[bytes]) -> Write:
        """Return the write that stores all hashes of a full tile. Raises ValueError if their number is another."""
        if len(hashes) != TILE_WIDTH:
            raise ValueError(f"a full tile has {TILE_WIDTH} hashes")
        pk, sk = self.item_key(tile)
        return Write("Put", (pk, sk), item={"pk": pk, "sk": sk, "hashes": b"".join(hashes)})

    def node_writes(self, nodes: Iterable[tuple[Node, bytes]]) -> list[Write]:
        """Return the writes that add nodes to their tiles, one for each tile.

        The level of each node is a multiple of TILE_HEIGHT. Nodes that are stored already may be added again.
        """
        return indexed_value_writes(
            (self.item_key(TileId.containing(node)), node.index, hash_) for node, hash_ in nodes
        )

    def read(self, tiles: Iterable[TileId]) -> dict[TileId, TileHashes]:
        """Return the stored hashes of some tiles, in one round trip for each 100. Raises Problem `unavailable`."""
        keys = {self.item_key(tile): tile for tile in tiles}
        return {keys[key]: _hashes_in_item(item) for key, item in table.get_all(keys).items()} if keys else {}


def indexed_value_writes(values: Iterable[tuple[ItemKey, int, object]]) -> list[Write]:
    """Return the writes that add values to items, one for each item. Each value is in the attribute of its index."""
    added_by_key: dict[ItemKey, dict[str, object]] = {}
    for key, index, value in values:
        added_by_key.setdefault(key, {})[attribute_of_index(index)] = value
    return [ItemUpdate(key, set=added).to_write() for key, added in added_by_key.items()]


def attribute_of_index(index: int) -> str:
    """Return the name of the attribute with the value of an index, in an item of `TILE_WIDTH` consecutive ones."""
    return f"n{index % TILE_WIDTH:03d}"


def log_tile_storage(log: str) -> TileStorage:
    """Return the storage of the tiles of an audit log."""
    return TileStorage(f"A#{log}#H")


def leaf_hashes_in_batches_or_none(batches: Iterable[Item], begin: int, end: int) -> list[bytes] | None:
    """Return the leaf hashes from index `begin` to before `end` in the batches of a log, or None if some are missing.

    Batches of earlier releases contain no hashes.
    """
    hashes: dict[int, bytes] = {}
    for batch in batches:
        leaves, last_sequence = batch.get("leaves"), str(batch["sk"])
        if isinstance(leaves, bytes) and last_sequence.isdecimal():
            split = split_hashes(leaves)
            hashes |= dict(enumerate(split, int(last_sequence) - len(split)))
    indexes = range(begin, end)
    return [hashes[index] for index in indexes] if hashes.keys() >= {*indexes} else None


def completed_tile_writes(
    storage: TileStorage, nodes: Sequence[tuple[Node, bytes]], tile_leaves: Sequence[bytes] | None
) -> list[Write]:
    """Return the writes of an append that completes one tile of level 0.

    `nodes`: what `completed_nodes` yields for the append, the root of that tile first. `tile_leaves`: the hashes of the
    tile, or None if they are not known. The tile is not written unless they have this root.
    """
    root_node, root = nodes[0]
    writes = storage.node_writes(nodes)
    if tile_leaves is None or CompactRange().with_appended_leaves(tile_leaves).root_hash() != root:
        return writes
    return [storage.full_tile_write(TileId(0, root_node.index), tile_leaves), *writes]


def _hashes_in_item(item: Mapping[str, object]) -> TileHashes:
    joined = item.get("hashes")
    if isinstance(joined, bytes):
        return dict(enumerate(split_hashes(joined)[:TILE_WIDTH]))
    stored = {position: item.get(attribute_of_index(position)) for position in range(TILE_WIDTH)}
    return {
        position: hash_ for position, hash_ in stored.items() if isinstance(hash_, bytes) and len(hash_) == HASH_BYTES
    }
