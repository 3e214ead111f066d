"""Entries, their proofs, and proofs of consistency lead to the signed root, whatever is stored."""

import base64
from hashlib import sha256
from typing import Final

import pytest

from chalicelib.features.audit.proofs import tasks
from chalicelib.features.audit.proofs.entities import TileBuild
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.tile_storage import TileStorage, log_tile_storage
from chalicelib.kernel.crypto.merkle import CompactRange, split_hashes
from chalicelib.kernel.crypto.tree_tiles import TileId, completed_nodes
from chalicelib.kernel.work import jobs
from tests.harness import memory_aws, rfc6962
from tests.harness.api import Json
from tests.harness.audit_logs import alter_item, sign_checkpoint
from tests.harness.erasures import complete_erasure
from tests.harness.exports import append_entries
from tests.harness.log_records import capture_log_records
from tests.harness.memory_aws import Item
from tests.harness.organizations import create_organization
from tests.harness.stored_logs import StoredLog

TILES = 256


def signed_size_and_root(checkpoint: str) -> tuple[int, bytes]:
    _, size, root, *_ = checkpoint.split("\n")
    return int(size), base64.b64decode(root)


def leaf_hashes(log: StoredLog) -> list[bytes]:
    entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{log.id}" and "sequence" in item]
    return [entry["leaf"] for entry in sorted(entries, key=lambda entry: entry["sequence"])]


def entry_id(log: StoredLog, sequence: int) -> str:
    return str(log.entry(sequence)["sk"])


def prove(log: StoredLog, sequence: int, **query: object) -> Json:
    return log.get(f"/{entry_id(log, sequence)}/proof", **query).expect(200).json


def check_proof(log: StoredLog, sequence: int, size: int | None = None) -> None:
    """Assert that the proof of an entry is that of RFC 9162 for the log's leaves."""
    proof, leaves = prove(log, sequence, **({"treeSize": size} if size else {})), leaf_hashes(log)
    check_checkpoint_of_log(log, proof["checkpoint"], leaves)
    tree_size = size or len(leaves)
    assert (proof["sequence"], proof["treeSize"], proof["leafHash"]) == (
        sequence,
        tree_size,
        leaves[sequence - 1].hex(),
    )
    assert proof["path"] == rfc6962.inclusion_path(leaves[:tree_size], sequence - 1)
    assert proof["rootHash"] == rfc6962.tree_root(leaves[:tree_size]).hex()
    is_of_head = tree_size == len(leaves)
    assert proof["consistencyPath"] == (None if is_of_head else rfc6962.consistency_path(leaves, tree_size))


def check_checkpoint_of_log(log: StoredLog, checkpoint: str, leaves: list[bytes]) -> None:
    assert checkpoint == log.head["note"]
    assert signed_size_and_root(checkpoint) == (len(leaves), rfc6962.tree_root(leaves))


def check_consistency(log: StoredLog, first: int, second: int | None = None) -> None:
    query = {"from": first} | ({"to": second} if second else {})
    proof, leaves = log.get("/consistency", **query).expect(200).json, leaf_hashes(log)
    check_checkpoint_of_log(log, proof["checkpoint"], leaves)
    to = second or len(leaves)
    assert (proof["from"], proof["to"]) == (first, to)
    assert proof["path"] == rfc6962.consistency_path(leaves[:to], first)
    roots = [rfc6962.tree_root(leaves[:size]).hex() for size in (first, to)]
    assert [proof["fromRootHash"], proof["toRootHash"]] == roots
    assert proof["consistencyPath"] == (None if to == len(leaves) else rfc6962.consistency_path(leaves, to))


def stored_tiles(log: StoredLog) -> dict[str, Item]:
    return {item["sk"]: item for item in memory_aws.all_items() if item["pk"] == f"A#{log.id}#H" and "#" in item["sk"]}


def batches(log: StoredLog) -> list[Item]:
    return [item for item in memory_aws.all_items() if item["pk"] == f"A#{log.id}#S"]


def remove_hashes_of_batches(log: StoredLog) -> None:
    """Leave the batches as an earlier release stored them."""
    for batch in batches(log):
        memory_aws.put_item({name: value for name, value in batch.items() if name != "leaves"})


def remove_tiles(log: StoredLog) -> None:
    for tile in stored_tiles(log).values():
        memory_aws.delete_item(tile)


def test_an_entry_is_returned_as_the_list_shows_it(log):
    for entry in log.entries():
        answer = log.get(f"/{entry['id']}").expect(200)
        assert answer.json == entry
        assert answer.headers["Cache-Control"] == "no-store"


def test_an_unknown_entry_and_one_without_a_mac_are_not_found(log):
    log.rename("Pending")
    pending = next(item for item in memory_aws.all_items() if item["pk"] == f"A#{log.id}" and "sequence" not in item)
    alter_item(pending, mac=bytes(36))
    for path in ("", "/proof"):
        assert log.get(f"/{pending['sk']}{path}").status == 404
        assert log.get(f"/01939d3c-0000-7000-8000-0000000000ff{path}").status == 404
        assert log.get(f"/{entry_id(log, 1)[:-1]}{path}").status == 404


def test_every_entry_is_proven_in_every_tree_that_contains_it(log):
    for size in range(1, 11):
        for sequence in range(1, size + 1):
            check_proof(log, sequence, size)
    check_proof(log, 1)


def test_every_two_sizes_are_consistent(log):
    for first in range(1, 11):
        for second in range(first, 11):
            check_consistency(log, first, second)
        check_consistency(log, first)


def test_the_log_is_proven_across_tiles(log):
    append_entries(log.id, 2 * TILES)
    size = 10 + 2 * TILES
    assert sorted(stored_tiles(log)) == ["0#0000000000", "0#0000000001", "1#0000000000"]
    for sequence in (1, 255, 256, 257, 300, 512, 513, size):
        check_proof(log, sequence)
        check_proof(log, sequence, max(sequence, 300))
    for first, second in ((1, 256), (255, 257), (256, 512), (257, 520), (512, size)):
        check_consistency(log, first, second)


def test_a_size_that_the_log_does_not_have_is_refused(log):
    answers = [
        log.get(f"/{entry_id(log, 5)}/proof", treeSize=4),
        log.get(f"/{entry_id(log, 5)}/proof", treeSize=11),
        log.get(f"/{entry_id(log, 5)}/proof", treeSize=0),
        log.get("/consistency", **{"from": 11}),
        log.get("/consistency", **{"from": 1, "to": 11}),
        log.get("/consistency", **{"from": 5, "to": 4}),
        log.get("/consistency", **{"from": 0}),
    ]
    errors = [(answer.expect(422).json["errors"][0]["pointer"], answer.json["errors"][0]["code"]) for answer in answers]
    expected = ["treeSize", "treeSize", "treeSize", "from", "to", "from", "from"]
    assert errors == [(f"query/{name}", "out_of_range") for name in expected]
    assert log.get("/consistency").expect(422).json["errors"][0]["pointer"] == "query/from"
    assert "between 5" in answers[0].json["errors"][0]["detail"]


def test_a_pending_entry_is_a_conflict_until_it_is_in_the_tree(log, workers):
    log.rename("Pending")
    pending = log.entries(limit=1)[0]
    assert pending["sequence"] is None
    answer = log.get(f"/{pending['id']}/proof").expect(409)
    assert (answer.json["code"], answer.headers["Retry-After"]) == ("conflict", "2")
    workers.deliver()
    check_proof(log, 11)


def test_a_log_without_a_head_has_no_proof(new_log):
    pending = new_log.entries()[0]
    assert log_code(new_log, f"/{pending['id']}/proof") == (409, "conflict")
    assert log_code(new_log, "/consistency?from=1") == (422, "validation_failed")


def log_code(log: StoredLog, path: str) -> tuple[int, str]:
    answer = log.get(path)
    return answer.status, answer.json["code"]


def test_a_long_entry_and_an_erased_entry_are_proven(mixed_log, api, workers, clock, grace):
    workers.deliver()
    long = next(item for item in memory_aws.all_items() if item["pk"] == f"A#{mixed_log.id}" and "body" not in item)
    proof = prove(mixed_log, long["sequence"])
    assert proof["leafHash"] == rfc6962.leaf_hash(proof["entry"]).hex()
    complete_erasure(api, workers, clock, mixed_log.organization, userId=grace.id)
    erased = next(entry for entry in mixed_log.entries() if entry.get("erased"))
    assert mixed_log.get(f"/{erased['id']}").expect(200).json == erased
    proof = prove(mixed_log, erased["sequence"])
    assert (proof["entry"], proof["leafHash"]) == (erased, erased["integrity"]["leafHash"])
    check_proof(mixed_log, erased["sequence"])


def test_an_altered_entry_or_head_has_no_proof(log):
    log.alter_body(3)
    assert log_code(log, f"/{entry_id(log, 3)}/proof") == (409, "conflict")
    check_proof(log, 4)
    log.alter_head(size=9)
    assert log_code(log, f"/{entry_id(log, 4)}/proof") == (409, "conflict")
    assert log_code(log, "/consistency?from=1") == (409, "conflict")
    log.alter_head(size="nine")
    assert log_code(log, "/consistency?from=1") == (409, "conflict")


def test_an_altered_hash_of_a_batch_is_read_from_the_entries(log):
    for leaves in (bytes(32), b"short", "text", bytes(320)):
        for batch in batches(log):
            alter_item(batch, leaves=leaves)
        check_proof(log, 2)
        check_consistency(log, 3)


def test_logs_of_an_earlier_release_are_proven(log):
    remove_hashes_of_batches(log)
    check_proof(log, 2)
    log.append(3)
    check_proof(log, 12)
    check_consistency(log, 3, 12)


@pytest.fixture
def long_log(log: StoredLog) -> StoredLog:
    append_entries(log.id, 2 * TILES)
    return log


def check_tiles(log: StoredLog) -> None:
    """Assert that the full tiles of the log's leaves are stored, and the roots of these in the tile above them."""
    leaves, tiles = leaf_hashes(log), stored_tiles(log)
    for index in range(len(leaves) // TILES):
        tile_leaves = leaves[index * TILES : (index + 1) * TILES]
        assert tiles[f"0#{index:010d}"]["hashes"] == b"".join(tile_leaves)
        assert tiles["1#0000000000"][f"n{index:03d}"] == rfc6962.tree_root(tile_leaves)


def test_the_tiles_of_an_earlier_release_are_built_when_a_proof_needs_them(long_log, workers):
    remove_tiles(long_log)
    remove_hashes_of_batches(long_log)
    answer = long_log.get(f"/{entry_id(long_log, 5)}/proof").expect(503)
    assert (answer.json["code"], answer.headers["Retry-After"]) == ("unavailable", "60")
    workers.deliver()
    check_tiles(long_log)
    check_proof(long_log, 5)
    check_proof(long_log, 521)
    assert [item["sk"] for item in memory_aws.all_items() if item["pk"] == f"A#{long_log.id}#H"] == [
        "0#0000000000",
        "0#0000000001",
        "1#0000000000",
    ]


def test_one_missing_tile_of_leaves_is_read_from_the_entries(long_log):
    for tile in ("0#0000000000", "0#0000000001"):
        item = stored_tiles(long_log)[tile]
        memory_aws.delete_item(item)
        check_proof(long_log, 5)
        check_proof(long_log, 300)
        memory_aws.put_item(item)


@pytest.mark.parametrize("key", ["0#0000000000", "1#0000000000"])
def test_altered_tiles_are_built_again(long_log, workers, key):
    tile = stored_tiles(long_log)[key]
    altered = {"hashes": bytes(32) + tile["hashes"][32:]} if "hashes" in tile else {"n001": bytes(32)}
    alter_item(tile, **altered)
    with capture_log_records() as records:
        long_log.get(f"/{entry_id(long_log, 5)}/proof").expect(503)
    assert records[-1]["tiles"] == "altered"
    workers.deliver()
    check_tiles(long_log)
    check_proof(long_log, 5)


def test_tiles_are_not_built_from_altered_entries(long_log, workers, clock):
    remove_tiles(long_log)
    remove_hashes_of_batches(long_log)
    entry = long_log.entry(300)
    long_log.alter(300, leaf=bytes(32))
    long_log.get(f"/{entry_id(long_log, 5)}/proof").expect(503)
    with capture_log_records() as records:
        workers.deliver()
    [record] = [record for record in records if "TilesRefused" in record]
    assert (record["refused"], record["sequence"], record["TilesRefused"]) == ("modified", 300, 1)
    assert sorted(stored_tiles(long_log)) == ["0#0000000000", "1#0000000000"]
    memory_aws.put_item(entry)
    clock.shift(minutes=2)
    workers.run_until_idle()
    check_tiles(long_log)


def test_tiles_are_built_in_slices_while_the_log_grows(long_log, workers, monkeypatch):
    def append_and_return_storage(log_id: str) -> TileStorage:
        append_entries(log_id, 75)
        return log_tile_storage(log_id)

    monkeypatch.setattr(tasks, "log_tile_storage", append_and_return_storage)
    monkeypatch.setattr(tasks, "MAX_TILES_PER_STEP", 1)
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
    remove_tiles(long_log)
    remove_hashes_of_batches(long_log)
    long_log.get(f"/{entry_id(long_log, 5)}/proof").expect(503)
    workers.deliver()
    check_tiles(long_log)
    check_proof(long_log, 5)


ALTERED_PROGRESS: Final = (
    {"size": TILES, "peaks": bytes(32)},
    {"size": 2 * TILES - 6, "peaks": bytes(7 * 32)},
    {"size": 4 * TILES, "peaks": bytes(32)},
    {"size": TILES, "peaks": b"short"},
    {"size": "nine"},
)


@pytest.mark.parametrize("ignores_tiles", [False, True])
def test_the_job_recovers_from_altered_progress(long_log, workers, clock, ignores_tiles):
    for progress in ALTERED_PROGRESS:
        remove_tiles(long_log)
        long_log.get(f"/{entry_id(long_log, 5)}/proof").expect(503)
        [job] = [item for item in memory_aws.all_items() if item.get("kind") == TileBuild.kind]
        alter_item(job, **progress, ignores_tiles=ignores_tiles)
        workers.run_until_idle()
        clock.shift(hours=1)
        workers.run_until_idle()
        check_tiles(long_log)
        assert not [item for item in memory_aws.all_items() if item.get("kind") == TileBuild.kind]
    check_proof(long_log, 5)


def test_a_log_whose_head_signs_other_entries_is_reported_each_hour_and_blocks_no_other(
    long_log, api, ada, workers, clock
):
    other_log = StoredLog(api, workers, create_organization(api, ada))
    append_entries(other_log.id, TILES)
    for log in (long_log, other_log):
        remove_tiles(log)
    head = long_log.head
    forged = CompactRange(head["size"], (bytes(32), *split_hashes(head["peaks"])[1:]))
    note = sign_checkpoint(long_log.organization, forged.size, forged.root_hash())
    long_log.alter_head(peaks=b"".join(forged.peaks), note=note)
    for log in (long_log, other_log):
        log.get("/consistency", **{"from": TILES}).expect(503)
    for _ in range(2):
        with capture_log_records() as records:
            workers.run_until_idle()
        [record] = [record for record in records if "TilesRefused" in record]
        assert (record["tenant"], record["refused"], record["TilesRefused"]) == (long_log.id, "forked", 1)
        check_tiles(other_log)
        clock.shift(hours=1)
    memory_aws.put_item(head)
    workers.run_until_idle()
    check_tiles(long_log)
    check_proof(long_log, 5)


MILLION: Final = 1_000_000


@pytest.fixture
def log_of_a_million_entries(log: StoredLog) -> StoredLog:
    """A log whose first ten entries exist. Of all others, only the hashes of the tree are stored."""
    leaves = [
        *leaf_hashes(log),
        *(sha256(bytes([n & 255, n >> 8 & 255, n >> 16])).digest() for n in range(10, MILLION)),
    ]
    storage, last_tile = log_tile_storage(log.id), MILLION // TILES
    for index in range(last_tile):
        write = storage.full_tile_write(TileId(0, index), leaves[index * TILES : (index + 1) * TILES])
        memory_aws.put_item(write.item or {})
    rows: dict[TileId, dict[str, bytes]] = {}
    for node, hash_ in completed_nodes(CompactRange(), leaves):
        rows.setdefault(TileId.containing(node), {})[f"n{node.index % TILES:03d}"] = hash_
    for tile, row in rows.items():
        pk, sk = storage.item_key(tile)
        memory_aws.put_item({"pk": pk, "sk": sk, **row})
    pk, sk = ledger.sequence_index_or_batch_key(log.id, MILLION)
    memory_aws.put_item({"pk": pk, "sk": sk, "ids": [], "leaves": b"".join(leaves[last_tile * TILES :])})
    tree = CompactRange().with_appended_leaves(leaves)
    note = sign_checkpoint(log.organization, MILLION, tree.root_hash())
    log.alter_head(size=MILLION, peaks=b"".join(tree.peaks), note=note)
    return log


def test_a_proof_in_a_log_of_a_million_entries_takes_two_round_trips(log_of_a_million_entries):
    log = log_of_a_million_entries
    for path, query in (
        (f"/{entry_id(log, 5)}/proof", {}),
        (f"/{entry_id(log, 5)}/proof", {"treeSize": 700_001}),
        ("/consistency", {"from": 300_003, "to": 777_777}),
    ):
        calls = log.get(path, **query).expect(200).calls
        reads = [(call.name, call.is_concurrent) for call in calls.call_list if call.name.startswith("dynamodb:")]
        assert reads == [
            ("dynamodb:BatchGetItem", False),
            ("dynamodb:BatchGetItem", True),
            ("dynamodb:Query", True),
        ]
        assert calls.bytes_read < 150_000
