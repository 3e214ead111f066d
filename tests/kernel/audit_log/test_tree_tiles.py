"""The ledger stores the tile of 256 entries with the append that completes it, whatever interrupts it."""

from contextlib import suppress
from typing import Final

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import BATCH_SIZE, Head, head_key
from chalicelib.kernel.audit_log.tile_storage import TileStorage, leaf_hashes_in_batches_or_none, log_tile_storage
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto.merkle import CompactRange, leaf_hash
from chalicelib.kernel.crypto.tree_tiles import TILE_WIDTH, Node, TileId, completed_nodes, leaf_nodes
from chalicelib.kernel.storage import table
from tests.harness import memory_aws, rfc6962
from tests.harness.aws_calls import record_calls
from tests.harness.exports import append_entries
from tests.harness.faults import Fault, ProcessDied, inject_fault, run_before_call
from tests.harness.sample_entity import LOG_ID, create_logged_parcel

pytestmark = pytest.mark.usefixtures("aws")

FIRST_TILE: Final = TileId(0, 0)
STORAGE: Final = log_tile_storage(LOG_ID)
APPEND_CALLS: Final = ["dynamodb:Query", "dynamodb:TransactWriteItems", "dynamodb:Query"]


def append_pending() -> int:
    return ledger.append_pending_and_return_longest_wait_ms(LOG_ID)


def leaves_of_log() -> list[bytes]:
    entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}" and "sequence" in item]
    return [entry["leaf"] for entry in sorted(entries, key=lambda entry: entry["sequence"])]


def stored_hashes(tile: TileId) -> list[bytes]:
    return [*STORAGE.read([tile]).get(tile, {}).values()]


def check_tiles() -> None:
    """Assert that the tiles and batches contain the hashes of the log's entries, and nothing else."""
    leaves = leaves_of_log()
    head = Head.from_item_or_empty(table.get(head_key(LOG_ID)))
    assert (head.tree.size, head.tree.root_hash()) == (len(leaves), rfc6962.tree_root(leaves))
    full = [leaves[start : start + TILE_WIDTH] for start in range(0, len(leaves) - TILE_WIDTH + 1, TILE_WIDTH)]
    assert [stored_hashes(TileId(0, index)) for index in range(len(full) + 1)] == [*full, []]
    assert stored_hashes(TileId(1, 0)) == [rfc6962.tree_root(tile) for tile in full]
    begin = len(full) * TILE_WIDTH
    assert ledger.load_leaf_hashes_from_batches_or_none(LOG_ID, begin, len(leaves)) == leaves[begin:]


@pytest.fixture
def almost_full_tile(aws):
    """A log with two entries less than a tile, and three pending ones."""
    append_entries(LOG_ID, TILE_WIDTH - 2)
    for n in range(3):
        create_logged_parcel(str(n))


@pytest.mark.usefixtures("almost_full_tile")
class TestCompletion:
    def test_the_append_that_completes_a_tile_makes_one_more_query(self):
        with record_calls() as calls:
            append_pending()
        assert calls.call_names == ["dynamodb:Query", *APPEND_CALLS]
        check_tiles()
        create_logged_parcel("another")
        with record_calls() as calls:
            append_pending()
        assert calls.call_names == APPEND_CALLS
        check_tiles()

    @pytest.mark.parametrize("call_number", [2, 3])
    def test_a_tile_is_completed_by_one_of_two_workers(self, call_number):
        def append_as_another_worker() -> None:
            create_logged_parcel("meanwhile")
            append_pending()

        with run_before_call(append_as_another_worker, call_number=call_number):
            append_pending()
        check_tiles()
        assert len(leaves_of_log()) == TILE_WIDTH + 2

    @pytest.mark.parametrize("fault", [Fault.CONFLICT, Fault.RESPONSE_LOST, Fault.DIED_BEFORE, Fault.DIED_AFTER])
    def test_a_failure_of_any_call_leaves_the_tile_to_the_next_append(self, fault):
        for first_call in range(1, 5):
            with suppress(Problem, ProcessDied), inject_fault(fault, first_call=first_call, include_reads=True):
                append_pending()
            create_logged_parcel(f"after call {first_call}")
        append_pending()
        check_tiles()


def test_tiles_do_not_depend_on_the_sizes_of_batches(monkeypatch):
    for size in (1, 2, 7, BATCH_SIZE):
        monkeypatch.setattr(ledger, "BATCH_SIZE", size)
        append_entries(LOG_ID, size * 5)
    check_tiles()


def test_altered_batches_yield_no_tile_but_the_root_above_it():
    append_entries(LOG_ID, TILE_WIDTH - 1)
    batch = next(item for item in memory_aws.all_items() if item["pk"] == f"A#{LOG_ID}#S")
    memory_aws.put_item({**batch, "leaves": bytes(len(batch["leaves"]))})
    append_entries(LOG_ID, 2)
    assert stored_hashes(FIRST_TILE) == []
    assert stored_hashes(TileId(1, 0)) == [rfc6962.tree_root(leaves_of_log()[:TILE_WIDTH])]


@pytest.mark.parametrize("leaves", [b"", bytes(31), bytes(64), "text", 7, None])
def test_batches_without_the_hashes_of_all_entries_have_none(leaves):
    batches = [{"sk": "000000000003", "leaves": leaves}, {"sk": "forged", "leaves": bytes(32)}]
    assert leaf_hashes_in_batches_or_none(batches, 0, 3) is None
    assert leaf_hashes_in_batches_or_none(batches, 3, 3) == []
    assert leaf_hashes_in_batches_or_none([{"sk": "000000000003", "leaves": bytes(96)}], 0, 3) == [bytes(32)] * 3


def test_a_tree_can_be_stored_in_tiles_without_batches():
    storage, tree = TileStorage("TREE"), CompactRange()
    leaves = [leaf_hash(bytes([n % 256, n // 256])) for n in range(600)]
    for start in range(0, len(leaves), 70):
        added = leaves[start : start + 70]
        table.write_transaction(storage.node_writes([*leaf_nodes(tree.size, added), *completed_nodes(tree, added)]))
        tree = tree.with_appended_leaves(added)
    tiles = storage.read([TileId(0, 0), TileId(0, 1), TileId(0, 2), TileId(1, 0), TileId(0, 3)])
    assert [leaf for index in range(3) for leaf in tiles[TileId(0, index)].values()] == leaves
    assert [*tiles[TileId(1, 0)].values()] == [rfc6962.tree_root(leaves[:256]), rfc6962.tree_root(leaves[256:512])]
    assert TileId(0, 3) not in tiles


def test_a_full_tile_has_256_hashes():
    with pytest.raises(ValueError, match="a full tile has 256 hashes"):
        STORAGE.full_tile_write(FIRST_TILE, [bytes(32)])


def test_the_largest_log_completes_five_tiles_at_once():
    size = TILE_WIDTH**4 * 2 - 1
    tree = CompactRange(size, tuple(bytes([n] * 32) for n in range(size.bit_count())))
    nodes = [node for node, _ in completed_nodes(tree, [bytes(32), bytes(32)])]
    assert nodes == [Node(8 * level, (size >> 8 * level)) for level in range(1, 5)]
    writes = STORAGE.node_writes([(node, bytes(32)) for node in nodes])
    assert 2 + 2 * BATCH_SIZE + 1 + len(writes) <= table.MAX_TRANSACT_ITEMS
