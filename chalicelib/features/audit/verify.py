"""Verify an export of an audit log against a signed checkpoint, without the service and without its code.

    python verify.py export.ndjson.gz --checkpoint FILE --public-key BASE64 [--public-key …] [--evidence FILE]

This file stands alone: it needs Python 3.11 and the package `cryptography`. It prints what is proven, or the first
sequence that fails and why. The exit code is 0 if all is proven, 1 if it is not, 2 if the question was wrong.

A line of an export is the canonical JSON of an entry (RFC 8785) with `,"sequence":…,"integrity":{…}` in place of its
last brace. What stands before is hashed as it is, byte for byte: it is a leaf of the log's Merkle tree (RFC 6962), and
the checkpoint (c2sp.org/tlog-checkpoint) is the signed root of that tree. Evidence has the roots of the subtrees that
an export left out, so that the root can be recomputed from a part of the log. The record of an export that was made in
the background holds both: `--checkpoint` takes it as it is, and also the answer of verify-integrity.

Of an entry that was erased the service signed what it left. If it had another key then, that has to be given too, by
one more `--public-key`. In no leaf, and so not proven: the `treeSize` of other entries, which is only held against
those beside it; and that an export with filters left out no more than it should.
"""

import argparse
import base64
import gzip
import json
import re
import sys
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import reduce
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

HASH_BYTES: Final = 32
LONGEST_LINE: Final = 1 << 20

_ED25519: Final = b"\1"
_KEY_ID_BYTES: Final = 4
_GZIP: Final = b"\x1f\x8b"
_CSV: Final = re.compile(rb"(\xef\xbb\xbf)?\"?sequence\"?[,;\t]")
_ADVICE: Final = "; if filters left it out, name the export's record by --evidence"
_CONTRADICTION: Final = "The entry with sequence %d is there, and the evidence says that it was left out."
_NO_EVIDENCE: Final = "This is no evidence: no list of `from`, `to` and `hashes`, one for each subtree in between."
_UNSEALED: Final = 10**15
"""Stands for the sequence of an entry that has none yet: behind all that have one."""

_TREE_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_SIGNATURE: Final = re.compile(r"— (?P<name>[^\s+]+) (?P<bytes>[A-Za-z0-9+/=]+)")
_HEX_HASH: Final = re.compile(r"[0-9a-f]{64}")
_PLACE_KEY: Final = b',"sequence":'
_PLACE: Final = re.compile(
    rb',"sequence":(?:null,"integrity":null|(?P<sequence>[1-9][0-9]{0,14}),'
    rb'"integrity":\{"leafHash":"(?P<leaf>[0-9a-f]{64})","treeSize":(?P<size>[1-9][0-9]{0,14})'
    rb'(?:,"erasureSignature":(?P<erasure>null|"[A-Za-z0-9+/=]*"))?\})\}'
)
_ERASED: Final = (
    r'\{"actor":null,"changes":\[\],"context":null,"data":null,"erased":true,"id":"(?P<id>[\w.:-]+)",'
    r'"occurredAt":"(?P<time>[\w.:-]+)","organizationId":%s,"target":null,"type":"(?P<type>[\w.:-]+)"'
)
_CLAIM: Final = b'atrium erased entry\n["%b",%b,%b,"%b","%b","%b","%b","%b"]'
_UNSIGNED: Final = (
    "it calls itself erased, and no key that was given signed this. If the service had another key when it was erased, "
    "name that too, by one more --public-key; GET /status lists former ones as auditPublicKeys"
)


class Broken(Exception):
    """What was given is not what was signed; says where and in which way."""


class Unusable(Exception):
    """Nothing can be verified with what was given."""


class Checkpoint(NamedTuple):
    """The signed head of a log: its origin, its number of entries, their tree's root, the keys that may sign for it."""

    origin: str
    size: int
    root: bytes
    keys: Sequence[bytes]


class Entry(NamedTuple):
    """What a line says of its entry's place. `leaf` is made of the line itself, unless the entry is erased."""

    sequence: int
    leaf: bytes
    tree_size: int
    erased: bool


class Omitted(NamedTuple):
    """Entries that were left out, those with the sequences `first` to `last`, by the roots of their subtrees."""

    first: int
    last: int
    hashes: Sequence[bytes]


def verify(lines: Iterable[bytes], checkpoint: Checkpoint, evidence: Sequence[Omitted] | None = None) -> str:
    """Return in one sentence what the lines of an export are proven to be. Raises Broken."""
    entries = read_entries(lines, checkpoint)
    proof = Proof(checkpoint, evidence)
    for number, entry in enumerate(entries, 1):
        try:
            proof.add(entry)
        except Broken as broken:
            fault = str(broken)
            with suppress(Broken):
                if proof.missing and any(behind.sequence == proof.missing for behind in entries):
                    fault = f"The entry with sequence {proof.missing} is out of order."
            sequence = "no sequence" if entry.sequence == _UNSEALED else f"sequence {entry.sequence}"
            raise Broken(f"{fault} Line {number} has {sequence}.") from None
    return proof.end()


class Proof:
    """The tree of an export's entries and evidence, as it grows from left to right towards a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, evidence: Sequence[Omitted] | None) -> None:
        self._checkpoint = checkpoint
        self._omitted = deque(evidence or ())
        self._silence = "no evidence says that it was left out" + (_ADVICE if evidence is None else "")
        self._tree = Tree()
        self._before = Entry(0, b"", 0, erased=False)
        self.missing = 0  # or the sequence of an entry that is not there, though no evidence says that it was left out
        self._first = self._last = self._count = self._erased = self._younger = 0

    def add(self, entry: Entry) -> None:
        """Take the entry that follows. Raises Broken if it can't follow, or something should stand before it."""
        before, self._before = self._before, entry
        if entry.sequence <= before.sequence and entry.sequence != _UNSEALED:
            fault = "there twice" if entry.sequence == before.sequence else "out of order"
            raise Broken(f"The entry with sequence {entry.sequence} is {fault}.")
        if entry.sequence > self._checkpoint.size:
            self._fill(self._checkpoint.size)  # It comes last: what should stand before it is not there.
            self._younger += 1
            return
        self._fill(entry.sequence - 1)
        # What the ledger appended at once has the size of the tree after it: sequences up to there share it.
        together = entry.tree_size == before.tree_size or entry.sequence > before.tree_size
        if not (entry.sequence <= entry.tree_size <= self._checkpoint.size and together):
            raise Broken(f"The entry with sequence {entry.sequence} was altered: its treeSize can't be right.")
        self._tree.append(entry.leaf)
        self._first, self._last = self._first or entry.sequence, entry.sequence
        self._count += 1
        self._erased += entry.erased

    def end(self) -> str:
        """Return what is proven once nothing follows. Raises Broken if something should."""
        origin, size, root, _ = self._checkpoint
        self._fill(size)
        if self._omitted and self._omitted[0].first <= size:
            raise Broken(_CONTRADICTION % self._omitted[0].first)
        if self._tree.root() != root:
            raise Broken("These are not the entries that were signed: their tree has another root.")
        places = f", sequence {self._first} to {self._last}" if self._count else ""
        younger = f"; {self._younger} younger than the checkpoint, not proven" if self._younger else ""
        return (
            f"{origin}: {self._count} of {size} entries are proven to be in the signed tree{places}: "
            f"{self._count - self._erased} unaltered, {self._erased} erased{younger}."
        )

    def _fill(self, until: int) -> None:
        """Let the tree grow by what was left out, until it has a size."""
        while self._tree.size < until:
            expected = self._tree.size + 1
            if not self._omitted or self._omitted[0].first > expected:
                self.missing = expected
                raise Broken(f"The entry with sequence {expected} is missing, and {self._silence}.")
            omitted = self._omitted.popleft()
            if omitted.first < expected:
                raise Broken(_CONTRADICTION % omitted.first)
            if omitted.last > self._checkpoint.size:
                raise Broken("The evidence belongs to a longer log: take the checkpoint of the same export.")
            if omitted.last > until:
                raise Broken(_CONTRADICTION % (until + 1))
            for level, subtree in zip(levels(omitted.first, omitted.last), omitted.hashes, strict=True):
                self._tree.append(subtree, level)


class Tree:
    """A Merkle tree (RFC 6962, section 2.1) by the roots of its perfect subtrees, the largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def append(self, subtree: bytes, level: int = 0) -> None:
        """Append the root of a perfect subtree with 2**level leaves, of which the size is a multiple."""
        index = self.size >> level
        while index & 1:
            subtree = _node(self._peaks.pop(), subtree)
            index >>= 1
        self._peaks.append(subtree)
        self.size += 1 << level

    def root(self) -> bytes:
        """Return the tree's 32-byte root."""
        if not self._peaks:
            return sha256().digest()
        return reduce(lambda right, left: _node(left, right), reversed(self._peaks))


def levels(first: int, last: int) -> list[int]:
    """Return the levels of the largest perfect subtrees whose leaves are exactly these entries, from left to right."""
    found, at = list[int](), first - 1
    while at < last:
        most = (last - at).bit_length() - 1
        found.append(min(most, (at & -at).bit_length() - 1) if at else most)
        at += 1 << found[-1]
    return found


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def read_entries(lines: Iterable[bytes], checkpoint: Checkpoint) -> Iterator[Entry]:
    """Yield what an export's lines say. Raises Broken at a line that is none, or that is not what was signed."""
    log = checkpoint.origin.removeprefix("atrium/")
    organization = "null" if log.startswith("system") else f'"{re.escape(log)}"'
    left_of_erased = re.compile((_ERASED % organization).encode())
    for number, ended in enumerate(lines, 1):
        line = ended.removesuffix(b"\n")
        end = line.rfind(_PLACE_KEY)
        place = _PLACE.fullmatch(line, end)
        if number == 1 and _CSV.match(line):
            raise Broken("This is an export in CSV, which can't be verified: only one in NDJSON can.")
        if place is None or not line.startswith(b"{"):
            raise Broken(f"Line {number} is no line of an export: {_complaint(line)}.")
        if place["sequence"] is None:
            yield Entry(_UNSEALED, b"", 0, erased=False)
            continue
        left = left_of_erased.fullmatch(line, 0, end)
        fault = _fault_of_erased(log, left, place, checkpoint.keys) if left else _fault(line[:end] + b"}", place)
        if fault:
            raise Broken(f"The entry with sequence {int(place['sequence'])} was altered: {fault}.")
        yield Entry(int(place["sequence"]), bytes.fromhex(place["leaf"].decode()), int(place["size"]), left is not None)


def _fault(text: bytes, place: re.Match[bytes]) -> str:
    if place["erasure"]:
        return "it is signed as erased, and says more than is left then"
    return "" if sha256(b"\0" + text).hexdigest().encode() == place["leaf"] else "its text has another hash"


def _fault_of_erased(log: str, left: re.Match[bytes], place: re.Match[bytes], keys: Sequence[bytes]) -> str:
    if place["erasure"] == b"null":
        return "it says that the service found it so when it was erased"
    said = (*place.group("sequence", "size"), *left.group("id", "time", "time", "type"), place["leaf"])
    signature = _from_base64((place["erasure"] or b"").decode().strip('"'))
    key = next((key for key in keys if signature.startswith(sha256(key).digest()[:_KEY_ID_BYTES])), None)
    return "" if key and _is_signed(_CLAIM % (log.encode(), *said), signature[_KEY_ID_BYTES:], key) else _UNSIGNED


def _complaint(line: bytes) -> str:
    if not line.strip():
        return "it is empty"
    if line.endswith(b"\r"):
        return "it ends in CR LF, so another program has written it anew"
    if len(line) >= LONGEST_LINE:
        return "it is too long"
    return "its end does not say which place the entry has in the log"


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, which may be gzip of several members. Raises Broken where it is cut off or damaged."""
    number = 0
    with path.open("rb") as file:
        try:
            with gzip.open(file) if file.peek(len(_GZIP)).startswith(_GZIP) else nullcontext(file) as lines:
                while line := lines.readline(LONGEST_LINE):
                    number += 1
                    yield line
        except EOFError:
            raise Broken(f"The file was cut off: its compressed data ends behind line {number}.") from None
        except (gzip.BadGzipFile, zlib.error):
            raise Broken(f"The file is damaged: its compressed data is wrong behind line {number}.") from None


def read_checkpoint(note: bytes, *keys: bytes) -> Checkpoint:
    """Return a note's checkpoint once a key is seen to have signed it (c2sp.org/signed-note). Raises Broken."""
    # Newlines at the end are not signed, and a shell likes to add one.
    text, _, signatures = note.decode(errors="replace").rstrip("\n").rpartition("\n\n")
    origin, size, root = (*text.split("\n"), "", "")[:3]
    lines = [_SIGNATURE.fullmatch(line) for line in signatures.split("\n")]
    if not _TREE_SIZE.fullmatch(size) or len(_from_base64(root)) != HASH_BYTES or not all(lines) or "\r" in text:
        raise Broken("This is no checkpoint: no origin, size and root, then signatures, as they are written.")
    ids = {sha256(f"{origin}\n".encode() + _ED25519 + key).digest()[:_KEY_ID_BYTES]: key for key in keys}
    signed = [_from_base64(line["bytes"]) for line in lines if line and line["name"] == origin]
    made = [(each[_KEY_ID_BYTES:], ids[each[:_KEY_ID_BYTES]]) for each in signed if each[:_KEY_ID_BYTES] in ids]
    if not made:
        raise Broken("The checkpoint is not signed with a key that was given.")
    if not all(_is_signed(f"{text}\n".encode(), signature, key) for signature, key in made):
        raise Broken("The checkpoint was altered: its signature is wrong.")
    return Checkpoint(origin, int(size), _from_base64(root), keys)


def _is_signed(text: bytes, signature: bytes, key: bytes) -> bool:
    with suppress(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
        return True
    return False


def _from_base64(text: str) -> bytes:
    with suppress(ValueError):
        data = base64.b64decode(text, validate=True)
        if base64.b64encode(data).decode() == text:  # bits beyond the last byte are zero: one way to write it
            return data
    return b""


def read_record(text: bytes) -> tuple[bytes, list[Omitted] | None]:
    """Return a checkpoint as it was signed and, of a record in JSON that holds one, the evidence. Raises Broken."""
    if not text.lstrip().startswith(b"{"):
        return text, None
    record = _json(text, "checkpoint")
    if not isinstance(note := record.get("checkpoint"), str):
        raise Unusable("the record has no checkpoint: it has one once the export is running")
    evidence = record.get("evidence")
    return note.encode(errors="surrogatepass"), None if evidence is None else _evidence(evidence)


def read_evidence(text: bytes) -> list[Omitted]:
    """Return the evidence that JSON holds: a list, or in a record of an export. Raises Broken, and Unusable if none."""
    said = _json(text, "evidence")
    said = said.get("evidence") if isinstance(said, dict) else said
    if said is None:
        raise Unusable("the record has no evidence: the export is CSV, not completed, or leaves out too many entries")
    return _evidence(said)


def _json(text: bytes, what: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_members)
    except (ValueError, RecursionError) as error:
        raise Broken(f"The {what} is no JSON: {error}.") from None


def _evidence(said: Any) -> list[Omitted]:
    if not isinstance(said, list):
        raise Broken(_NO_EVIDENCE)
    evidence = [_omitted(run) for run in said]
    for before, following in pairwise(evidence):
        if following.first <= before.last:
            raise Broken(f"The evidence says twice, or too late, that sequence {following.first} was left out.")
    return evidence


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return members


def _omitted(run: Any) -> Omitted:
    match run:
        case {"from": int(first), "to": int(last), "hashes": list(hashes)} if 1 <= first <= last:
            well = all(isinstance(text, str) and _HEX_HASH.fullmatch(text) for text in hashes)
            if well and len(hashes) == len(levels(first, last)):
                return Omitted(first, last, [*map(bytes.fromhex, hashes)])
    raise Broken(_NO_EVIDENCE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify what the command line names, print what was found, and return the exit code."""
    parser = argparse.ArgumentParser(prog="verify.py", description="Verify an export of an audit log.")
    parser.add_argument("export", type=Path, help="the export in NDJSON, plain or gzip")
    parser.add_argument("--checkpoint", type=Path, required=True, help="the log's checkpoint, or the export's record")
    parser.add_argument("--public-key", action="append", required=True, help="auditPublicKey of GET /status; or more")
    parser.add_argument("--evidence", type=Path, help="of an export with filters the record, or its list `evidence`")
    given = parser.parse_args(arguments)
    keys = [_from_base64(key) for key in given.public_key]
    if any(len(key) != HASH_BYTES for key in keys):
        parser.error("argument --public-key: it is not 32 bytes in base64")
    try:
        note, evidence = read_record(given.checkpoint.read_bytes())
        evidence = read_evidence(given.evidence.read_bytes()) if given.evidence else evidence
        print(verify(read_lines(given.export), read_checkpoint(note, *keys), evidence))
    except Broken as broken:
        print(broken)
        return 1
    except Unusable as unusable:
        parser.error(str(unusable))
    except OSError as error:
        parser.error(f"can't read {error.filename}: {error.strerror}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
