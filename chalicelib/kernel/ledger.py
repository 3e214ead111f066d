"""The ledger: gives each committed entry its place in its organization's Merkle tree (RFC 6962).

An entry is committed with a pointer beside the log's head. Appending reads the head and the pointers behind it in one
consistent Query, and in one transaction gives the entries their sequence, deletes their pointers and moves the head,
on condition that nobody moved it since. So a message that is lost, doubled or late, and two workers at once, change
nothing. What the functions that commit entries have not put there is set aside: it neither gets a place nor holds up
the log.

The transaction also puts a batch: the ids of the entries that it appended. By batches an entry is found by its sequence
in the table itself, where the index of sequences may be behind.
"""

import hmac
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from chalicelib.kernel import checkpoints, keyrings, quarantine, table
from chalicelib.kernel.authenticity import is_authentic
from chalicelib.kernel.changes import Contended
from chalicelib.kernel.checkpoints import Checkpoint
from chalicelib.kernel.clock import after, now, now_ms, pause
from chalicelib.kernel.encoding import from_base64
from chalicelib.kernel.entity import Due, Item, Key, Partition, due_mark, organization_of
from chalicelib.kernel.events import PATIENCE_SECONDS, WAKE, EntryItem, pointer_key
from chalicelib.kernel.ids import moment_of
from chalicelib.kernel.keyrings import KEY_ID_BYTES, Purpose, key_id
from chalicelib.kernel.logs import name_requests
from chalicelib.kernel.merkle import HASH_BYTES, CompactRange
from chalicelib.kernel.settings import settings
from chalicelib.kernel.table import Cancelled, Write

BATCH: Final = (table.MOST_WRITES - 2) // 2
"""Entries appended in one transaction: each is two writes, and the head and the batch are one each."""

HEAD: Final = "!"
"""The head's sort key: before that of every pointer."""

UNANCHORED_SHARDS: Final = 8
"""Partitions of the index over the heads that grew since they were anchored."""

_NUMBER_BYTES: Final = 8
_MAC_BYTES: Final = 16
_TRIES: Final = 5
_PAGE: Final = 100
_BATCHES: Final = 100
_AT_MOST_MS: Final = 20_000

_MOVE: Final = (
    "SET #size = :size, #peaks = :peaks, #note = :note, #index2pk = :index2pk, "
    "#index2sk = if_not_exists(#index2sk, :index2sk)"  # since when it has waited for its anchor
)


class BrokenHead(Exception):
    """A log's head is not as the ledger wrote it: someone altered it."""


@dataclass(frozen=True)
class Head:
    """A log's tree, and the signed checkpoint of it; `note` is empty before the first entry."""

    tree: CompactRange
    note: str

    @classmethod
    def of(cls, item: Item | None) -> "Head":
        """Return the head that an item holds; that of a log without one is empty. Raises BrokenHead."""
        if item is None or "size" not in item:
            return cls(CompactRange(), "")
        size, peaks, note = item["size"], item.get("peaks"), item.get("note")
        if not (isinstance(size, int) and isinstance(peaks, bytes) and isinstance(note, str)):
            raise BrokenHead
        try:
            return cls(CompactRange(size, split_hashes(peaks)), note)
        except ValueError as error:
            raise BrokenHead from error


def head_key(log: str) -> Key:
    """Return where a log's head stands."""
    return pointer_key(log, HEAD)


def origin(log: str) -> str:
    """Return the origin of a log's checkpoints."""
    return f"atrium/{log}"


def sequence_key(log: str, sequence: int) -> tuple[str, str]:
    """Return the key of a sealed entry in the index of sequences; in the table, that of the batch that ends with it."""
    return f"A#{log}#S", f"{sequence:012d}"


def sealed_ids(log: str, after: int, until: int) -> dict[int, str]:
    """Return the ids of entries after a sequence and up to another, by their sequences: one consistent Query.

    They are those of the first batches, without a gap. Entries that were sealed before there were batches have none.
    """
    pk, first = sequence_key(log, after + 1)
    found: dict[int, str] = {}
    for batch in table.query(pk, since=first, limit=_BATCHES).items:
        ids = batch.get("ids")
        if not (isinstance(ids, list) and batch["sk"].isdecimal()):
            break
        begin = int(batch["sk"]) - len(ids) + 1
        if begin > after + len(found) + 1:
            break
        found |= {n: str(entry_id) for n, entry_id in enumerate(ids, begin) if after + len(found) < n <= until}
    return found


def split_hashes(joined: bytes) -> tuple[bytes, ...]:
    """Return hashes that stand one after the other."""
    return tuple(joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES))


def append(log: str, until: int | None = None) -> int:
    """Append all that waits in a log's outbox; return how long the oldest of it had waited, in milliseconds.

    What is not appended `until` a moment (milliseconds since 1970; some seconds from now) is left, and due. What is not
    authentic is set aside, and so is a pointer whose entry is gone or has its place already: the measure ForgedEntries
    counts them. Raises Problem `unavailable`, and Contended if other workers keep moving the head.
    """
    lag, tries, until = 0, 0, until or now_ms() + _AT_MOST_MS
    while now_ms() < until:
        head, pointers, forged = _outbox(log)
        if not (pointers or forged):
            return lag
        lag = max([lag, *(now_ms() - moment_of(pointer["sk"]) for pointer in pointers[:1])])
        try:
            if pointers:
                table.write(_appending(log, Head.of(head), pointers))
                name_requests(pointer["requestId"] for pointer in pointers if _names_request(pointer))
            tries = 0
        except Cancelled as cancelled:
            if _other_than_head(cancelled) and quarantine.refuse_stale(log, pointers):
                continue
            tries += 1
            if tries == _TRIES:
                raise Contended from cancelled
            pause(tries)
        if forged:
            quarantine.refuse(log, forged)
    return lag


def _outbox(log: str) -> tuple[Item | None, list[Item], list[Item]]:
    """Return a log's head and the first of what waits behind it: what is authentic, and what is not."""
    outbox, _ = head_key(log)
    found = table.query(outbox, since=HEAD, limit=BATCH + 1)
    head = found.items[0] if found.items and found.items[0]["sk"] == HEAD else None
    waiting = [item for item in found.items if item["sk"] != HEAD][:BATCH]
    authentic = [item for item in waiting if is_authentic(log, item)]
    return head, authentic, [item for item in waiting if item not in authentic]


def _other_than_head(cancelled: Cancelled) -> bool:
    """Return whether it was not another worker who moved the head: then entries are not as their pointers say."""
    return bool(cancelled.failed) and 0 not in cancelled.failed


def _names_request(pointer: Item) -> bool:
    return isinstance(pointer.get("requestId"), str)


def _entry_key(log: str, pointer: Item) -> Key:
    return EntryItem.key_of(log_id=log, id=pointer["sk"])


def _appending(log: str, head: Head, pointers: Sequence[Item]) -> list[Write]:
    tree = head.tree.extend(pointer["leaf"] for pointer in pointers)
    writes = [_move_head(log, head.tree.size, tree)]
    for sequence, pointer in enumerate(pointers, head.tree.size + 1):
        writes += [_number(log, pointer, sequence, tree.size), _settle(log, pointer)]
    return [*writes, _put_batch(log, tree.size, pointers)]


def _put_batch(log: str, size: int, pointers: Sequence[Item]) -> Write:
    # Without a condition: the head's is enough, and an item that someone put there must not stop the log.
    pk, sk = sequence_key(log, size)
    item = {"pk": pk, "sk": sk, "ids": [pointer["sk"] for pointer in pointers]}
    return Write("Put", (pk, sk), item=item)


def _move_head(log: str, size: int, tree: CompactRange) -> Write:
    checkpoint = Checkpoint(origin(log), tree.size, tree.root())
    note = checkpoints.sign(checkpoint, keyrings.present(Purpose.AUDIT_SIGNING_KEY).secret)
    values = {"size": tree.size, "peaks": b"".join(tree.peaks), "note": note, **_unanchored_mark(log)}
    followed = _unfollowed_mark(log) if organization_of(log) else {}
    update, values = _MOVE + "".join(f", #{name} = :{name}" for name in followed), values | followed
    return Write(
        "Update", head_key(log), update=update,
        condition="#size = :was" if size else "attribute_not_exists(#size)", names=list(values),
        values=values | ({"was": size} if size else {}),
    )  # fmt: skip


def _unanchored_mark(log: str) -> Item:
    return {"index2pk": unanchored_pk(sum(log.encode()) % UNANCHORED_SHARDS), "index2sk": f"{now()}#{log}"}


def _unfollowed_mark(log: str) -> Item:
    # Whoever follows the log takes it away once the new entries are done; else the sweep wakes the log.
    return {**due_mark(Due(WAKE, after(now(), seconds=PATIENCE_SECONDS)), head_key(log)), "log": log}


def _number(log: str, pointer: Item, sequence: int, tree_size: int) -> Write:
    seal = _seal(keyrings.present(Purpose.AUDIT_SIGNING_KEY), log, sequence, tree_size, pointer["leaf"])
    values = {**place(log, sequence, tree_size), "seal": seal}
    return Write(
        "Update", _entry_key(log, pointer), update=_set(values) + " REMOVE #mac",
        condition="attribute_exists(#pk) AND attribute_not_exists(#sequence)", names=["pk", "mac", *values],
        values=values,
    )  # fmt: skip


def _set(names: Iterable[str]) -> str:
    return "SET " + ", ".join(f"#{name} = :{name}" for name in names)


def _settle(log: str, pointer: Item) -> Write:
    return Write("Delete", pointer_key(log, pointer["sk"]), condition="attribute_exists(#pk)", names=["pk"])


def place(log: str, sequence: int, tree_size: int) -> Item:
    """Return the attributes that say an entry's place, but for its seal: first held by the tree of `tree_size`."""
    pk, sk = sequence_key(log, sequence)
    return {"sequence": sequence, "tree_size": tree_size, "index1pk": pk, "index1sk": sk}


def sealed_as(seal: bytes, log: str, tree_size: int, leaf: bytes) -> int | None:
    """Return the sequence that the ledger gave to this leaf in a tree of this size, or None if it never did.

    The root alone would say that something was altered; the seal says which entry. Of a key that was dropped since,
    only its sequence can be read: the root has to tell then.
    """
    sealed_by, number = seal[:KEY_ID_BYTES], seal[KEY_ID_BYTES : KEY_ID_BYTES + _NUMBER_BYTES]
    sequence = int.from_bytes(number, "big")
    if key := keyrings.named(Purpose.AUDIT_SIGNING_KEY, sealed_by):
        return sequence if seal == _seal(key, log, sequence, tree_size, leaf) else None
    return sequence if sealed_by in _former_key_ids(settings().audit_former_public_keys) else None


def _seal(key: keyrings.Key, log: str, sequence: int, tree_size: int, leaf: bytes) -> bytes:
    claim = f"{log}\n{sequence}\n{tree_size}\n".encode() + leaf
    mac = hmac.digest(_sealing_secret(key.secret), claim, "sha256")[:_MAC_BYTES]
    return key.id + sequence.to_bytes(_NUMBER_BYTES, "big") + mac


@lru_cache(maxsize=2)
def _sealing_secret(signing_key: bytes) -> bytes:
    return hmac.digest(signing_key, b"atrium entry seal", "sha256")


@lru_cache(maxsize=2)
def _former_key_ids(public_keys: str) -> frozenset[bytes]:
    return frozenset(map(key_id, _listed(public_keys)))


def unanchored(shard: int) -> Iterator[list[Item]]:
    """Yield the heads of a shard that grew since they were anchored, a page a Query, the longest waiting first."""
    yield from table.pages(Partition(unanchored_pk(shard), "index2"), limit=_PAGE)


def note_anchored(log: str, size: int) -> None:
    """Let a head wait for no anchor any more, if it is still the one of that size."""
    names = ["size", "index2pk", "index2sk"]
    anchored = Write(
        "Update", head_key(log), update="REMOVE #index2pk, #index2sk", condition="#size = :size", names=names,
        values={"size": size},
    )  # fmt: skip
    with suppress(Cancelled):
        table.write([anchored])


def await_anchor(log: str, head: Item) -> bool:
    """Let a head that was read wait for an anchor; return whether it does. One that has grown meanwhile does so."""
    mark = _unanchored_mark(log)
    values = {**mark, "size": head["size"]}
    waits = Write("Update", head_key(log), update=_set(mark), condition="#size = :size", names=[*values], values=values)
    with suppress(Cancelled):
        table.write([waits])
        return True
    return False


def unanchored_pk(shard: object) -> str:
    """Return the partition of the index over the heads of a shard that grew since they were anchored."""
    return f"ANCHOR#{shard}"


def pending(log: str) -> int:
    """Return how many entries wait in a log's outbox (of very many: at least so many)."""
    outbox, head = head_key(log)
    return table.count(outbox, since=f"{head} ")  # behind the head


def public_keys() -> list[bytes]:
    """Return the keys whose checkpoints and erasures count: the present one's, then all others."""
    signing = [checkpoints.public_key(key.secret) for key in keyrings.every(Purpose.AUDIT_SIGNING_KEY)]
    return list(dict.fromkeys([*signing, *_listed(settings().audit_former_public_keys)]))


def _listed(public_keys: str) -> list[bytes]:
    return [from_base64(key.strip()) for key in public_keys.split(",") if key.strip()]
