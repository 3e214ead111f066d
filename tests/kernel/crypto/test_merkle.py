"""A compact range has the root that RFC 6962 defines, in whatever steps the leaves are added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.crypto.merkle import EMPTY_ROOT, CompactRange, leaf_hash, node_hash
from tests.harness import rfc6962
from tests.kernel.vectors import VECTORS

LOG = VECTORS["log"]

leaves = st.lists(st.binary(max_size=8).map(leaf_hash), max_size=70)


def tree_of(hashes, begin=0):
    return CompactRange(begin=begin).with_appended_leaves(hashes)


def test_leaf_and_node_hashes_have_different_domains():
    left_hash, right_hash = leaf_hash(b"left"), leaf_hash(b"right")
    assert node_hash(left_hash, right_hash) != leaf_hash(left_hash + right_hash)


def test_each_size_of_the_vectors_has_its_root():
    assert leaf_hash(LOG["firstLeafData"].encode()).hex() == LOG["leafHashes"][0]
    hashes = [bytes.fromhex(leaf) for leaf in LOG["leafHashes"]]
    assert [tree_of(hashes[:size]).root_hash().hex() for size in range(8)] == LOG["rootsBySize"]


def test_the_root_of_an_empty_tree_is_the_hash_of_nothing():
    assert CompactRange().root_hash() == EMPTY_ROOT
    assert EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(leaves)
def test_the_tree_is_that_of_the_definition_also_when_leaves_are_added_one_by_one(hashes):
    tree = tree_of(hashes)
    assert (tree.size, tree.root_hash()) == (len(hashes), rfc6962.tree_root(hashes))
    assert CompactRange(tree.size, tree.peaks) == tree
    stepwise = CompactRange()
    for leaf in hashes:
        stepwise = stepwise.with_appended_leaves([leaf])
    assert stepwise == tree


@given(leaves.filter(bool), st.data())
def test_any_changed_leaf_changes_the_root(hashes, data):
    position = data.draw(st.integers(0, len(hashes) - 1))
    changed = [*hashes[:position], leaf_hash(b"something else entirely"), *hashes[position + 1 :]]
    assert tree_of(changed).root_hash() != tree_of(hashes).root_hash()


def test_extending_does_not_change_the_original():
    single = tree_of([leaf_hash(b"first")])
    single.with_appended_leaves([leaf_hash(b"second")])
    assert single == CompactRange(1, (leaf_hash(b"first"),))


@given(leaves, st.data())
def test_a_range_consists_of_its_largest_complete_subtrees_in_any_steps(hashes, data):
    begin, middle, end = sorted(data.draw(st.integers(0, len(hashes))) for _ in range(3))
    range_ = tree_of(hashes[begin:end], begin)
    assert range_ == CompactRange(end - begin, tuple(rfc6962.subtree_roots(hashes, begin, end)), begin)
    assert range_ == tree_of(hashes[begin:middle], begin).with_appended_leaves(hashes[middle:end])


def test_a_range_that_does_not_start_at_zero_has_no_root():
    with pytest.raises(ValueError, match="no root"):
        tree_of([leaf_hash(b"second")], begin=1).root_hash()


@pytest.mark.parametrize(
    ("size", "count", "begin"),
    [(0, 1, 0), (1, 0, 0), (3, 1, 0), (4, 2, 0), (-1, 1, 0), (0, 1, 5), (2, 1, 1), (2, 2, 2), (2, 1, -2), (4, 2, 3)],
)
def test_peaks_that_do_not_fit_the_size_are_rejected(size, count, begin):
    with pytest.raises(ValueError, match="peak"):
        CompactRange(size, (bytes(32),) * count, begin)


def test_hashes_of_another_length_are_rejected():
    with pytest.raises(ValueError, match="32 bytes"):
        CompactRange(1, (bytes(31),))
    for leaf in (b"", bytes(31), bytes(33), b"the data itself"):
        with pytest.raises(ValueError, match="leaf"):
            tree_of([leaf])
