"""Proofs that are computed from tiles are those of RFC 9162, and only they verify. The reference is `scitt-cose`."""

from collections.abc import Sequence
from functools import reduce
from hashlib import sha256
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scitt_cose import merkle as reference

from chalicelib.features.audit.exports.logic import verify_receipts
from chalicelib.features.audit.exports.logic.verify import InvalidInput
from chalicelib.kernel.crypto.merkle import (
    CompactRange,
    is_consistent,
    leaf_hash,
    root_of_inclusion_path_or_none,
)
from chalicelib.kernel.crypto.tree_tiles import (
    TILE_WIDTH,
    MissingHash,
    TileId,
    TreeHashes,
    completed_nodes,
    consistency_ranges,
    inclusion_ranges,
    leaf_nodes,
    tiles_of_ranges,
    tree_ranges,
)

MAX_SIZE: Final = 3 * TILE_WIDTH
ENTRIES: Final = [f"entry {n}".encode() for n in range(MAX_SIZE)]
LEAVES: Final = [leaf_hash(entry) for entry in ENTRIES]
HEX_ENTRIES: Final = [entry.hex() for entry in ENTRIES]

sizes = st.integers(1, MAX_SIZE) | st.sampled_from([1, 2, 255, 256, 257, 511, 512, 513])


def build_tiles(size: int, batch_sizes: Sequence[int] = (MAX_SIZE,)) -> TreeHashes:
    """Return the tiles of a tree, as appending batches of leaves fills them."""
    tiles: dict[TileId, dict[int, bytes]] = {}
    tree, remaining = CompactRange(), [*batch_sizes]
    while tree.size < size:
        batch = LEAVES[tree.size : min(size, tree.size + (remaining.pop() if remaining else MAX_SIZE))]
        for node, hash_ in [*leaf_nodes(tree.size, batch), *completed_nodes(tree, batch)]:
            tiles.setdefault(TileId.containing(node), {})[node.index % TILE_WIDTH] = hash_
        tree = tree.with_appended_leaves(batch)
    return TreeHashes(tiles)


ALL_TILES: Final = build_tiles(MAX_SIZE)


def root(size: int) -> bytes:
    return bytes.fromhex(reference.merkle_root(HEX_ENTRIES[:size]))


def to_hex(path: Sequence[bytes]) -> list[str]:
    return [each.hex() for each in path]


def altered_paths(path: list[bytes]) -> list[list[bytes]]:
    """Return paths that differ from a path in one hash or in length."""
    other = sha256(b"other").digest()
    changed = [[*path[:n], other, *path[n + 1 :]] for n in range(len(path))]
    return [*changed, [*path, other], [other, *path], *([path[:-1]] if path else [])]


@given(sizes, st.data())
def test_inclusion_proofs_are_those_of_the_reference(size, data):
    index = data.draw(st.integers(0, size - 1))
    path = ALL_TILES.path(inclusion_ranges(index, size))
    assert to_hex(path) == reference.inclusion_proof(HEX_ENTRIES[:size], index)
    assert reference.verify_inclusion(HEX_ENTRIES[index], index, size, to_hex(path), root(size).hex())
    for verify in (root_of_inclusion_path_or_none, verify_receipts.root_of_inclusion_path_or_none):
        assert verify(index, size, LEAVES[index], path) == root(size)
        for wrong in altered_paths(path):
            assert verify(index, size, LEAVES[index], wrong) != root(size)
        assert verify(size, size, LEAVES[index], path) is None
        if size > 1:
            other = (index + 1) % size
            assert verify(other, size, LEAVES[index], path) != root(size)


@given(sizes, sizes)
def test_consistency_proofs_are_those_of_the_reference(first, second):
    first, second = sorted((first, second))
    path, roots = ALL_TILES.path(consistency_ranges(first, second)), (root(first), root(second))
    assert to_hex(path) == reference.consistency_proof(HEX_ENTRIES, first, second)
    assert reference.verify_consistency(roots[0].hex(), roots[1].hex(), first, second, to_hex(path))
    wrong_paths = [(path, (sha256(roots[0]).digest(), roots[1])), (path, (roots[0], sha256(roots[1]).digest()))]
    for proof, (first_root, second_root) in [
        (path, roots),
        *((wrong, roots) for wrong in altered_paths(path)),
        *wrong_paths,
    ]:
        expected = (proof, (first_root, second_root)) == (path, roots)
        assert is_consistent(first, first_root, second, second_root, proof) is expected
        assert is_growth(first, first_root, second, second_root, proof) is expected
    if first < second:
        assert not is_consistent(second, roots[1], first, roots[0], path)


def is_growth(first: int, first_root: bytes, second: int, second_root: bytes, path: list[bytes]) -> bool:
    """Return whether the offline verifier accepts a proof of consistency."""
    try:
        verify_receipts.verify_growth(
            verify_receipts.Tree(first, first_root), verify_receipts.Tree(second, second_root), path
        )
    except InvalidInput:
        return False
    return True


@given(sizes, st.lists(st.integers(1, 60), max_size=30), st.data())
def test_tiles_do_not_depend_on_the_batches(size, batch_sizes, data):
    tiles = build_tiles(size, batch_sizes)
    assert tiles == build_tiles(size)
    assert tiles.root(size) == root(size)
    index = data.draw(st.integers(0, size - 1))
    ranges = [*inclusion_ranges(index, size), *consistency_ranges(index + 1, size), *tree_ranges(size)]
    needed = tiles_of_ranges(ranges)
    assert all(tile.width_in(size) == len(tiles.tiles[tile]) for tile in needed)
    assert TreeHashes({tile: tiles.tiles[tile] for tile in needed}).path(ranges) == tiles.path(ranges)
    without_one = {tile: hashes for tile, hashes in tiles.tiles.items() if tile != min(needed, key=str)}
    with pytest.raises(MissingHash):
        TreeHashes(without_one).path(ranges)


@pytest.mark.parametrize(("first", "second"), [(0, 1), (2, 1), (-1, 3)])
def test_impossible_proofs_are_rejected(first, second):
    with pytest.raises(ValueError, match="prefix"):
        consistency_ranges(first, second)
    with pytest.raises(ValueError, match="no leaf"):
        inclusion_ranges(second, second)
    assert not is_consistent(first, bytes(32), second, bytes(32), [bytes(32)])


def test_the_root_of_an_empty_tree_needs_no_tile():
    assert TreeHashes({}).root(0) == sha256().digest()
    assert tiles_of_ranges(tree_ranges(0)) == set()
    assert reduce(max, (tile.level for tile in ALL_TILES.tiles)) == 1
