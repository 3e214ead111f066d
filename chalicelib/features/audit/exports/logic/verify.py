"""Verify an export of an audit log, or a receipt, against a signed checkpoint, without the service and its code.

    python verify.py export.ndjson.gz --public-key BASE64 [--public-key …] [--checkpoint FILE] [--evidence FILE]
    python verify.py receipt proof.json --public-key BASE64 [--public-key …]
        [--witness-key NAME+ID+KEY … --witnessed-log ORIGIN [--require-witnesses K] [--earlier EARLIER-PROOF]]
    python verify.py anchors page.json [page.json …] --public-key BASE64 [--public-key …] --witness-key NAME+ID+KEY …
        --witnessed-log ORIGIN [--require-witnesses K] [--proof CONSISTENCY-PROOF …]
    python verify.py log-key ORIGIN --public-key BASE64
    python verify.py consistency proof.json --public-key BASE64 --checkpoint EARLIER [--checkpoint LATER]

This single file needs Python 3.11 and the package `cryptography`. It prints what is proven, or the first sequence that
fails and the reason. The exit code is 0 if everything is proven, 1 if it is not, and 2 for unusable arguments.

Each line of an export is the canonical JSON of an entry (RFC 8785), with `,"sequence":…,"integrity":{…}` in place of
the last brace. The part before it is hashed byte for byte: it is a leaf of the log's Merkle tree (RFC 6962). The
checkpoint (c2sp.org/tlog-checkpoint) is the signed root of that tree. Evidence holds the roots of omitted subtrees. An
export with `evidence=true` begins with both. `--checkpoint` accepts records of exports and of verify-integrity, too.

For an erased entry the service signed the remaining fields. If it used another key at that time, pass that key with
another `--public-key`. Not proven: the `treeSize` of other entries, and that an export with filters is complete.
"""

import base64
import gzip
import json
import re
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
"""Length of a SHA-256 hash."""
MAX_LINE_BYTES: Final = 1 << 20
"""Length of a line of an export, its end included."""
_ED25519: Final = b"\1"
_KEY_ID_BYTES: Final = 4
_GZIP_MAGIC: Final = b"\x1f\x8b"
_CSV_HEADER: Final = re.compile(rb"(\xef\xbb\xbf)?\"?sequence\"?[,;\t]")
_EVIDENCE_HINT: Final = "; if filters left it out, pass the record with --evidence, or export with evidence=true"
_CONTRADICTION: Final = "The entry with sequence %d is there, and the evidence says that it was left out."
_EMPTY: Final = "The export is empty: save it again or, if its filters found nothing, pass its record with --evidence."
_NO_EVIDENCE: Final = "This is no evidence (`from`, `to` and `hashes` of subtrees): pass the record of the export."
CHECKPOINT_KEY: Final = b'{"checkpoint":'  # begins the first line of an export with evidence
_NO_SEQUENCE: Final = 10**15  # of an entry that has none yet; sorts after all real sequences
_TREE_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_SIGNATURE_LINE: Final = re.compile(r"— (?P<name>[^\s+]+) (?P<bytes>[A-Za-z0-9+/=]+)")
HEX_HASH: Final = re.compile(r"[0-9a-f]{64}")
_SEQUENCE_KEY: Final = b',"sequence":'
_POSITION: Final = re.compile(
    rb',"sequence":(?:null,"integrity":null|(?P<sequence>[1-9][0-9]{0,14}),'
    rb'"integrity":\{"leafHash":"(?P<leaf>[0-9a-f]{64})","treeSize":(?P<size>[1-9][0-9]{0,14})'
    rb'(?:,"erasureSignature":(?P<erasure>null|"[A-Za-z0-9+/=]*"))?\})\}'
)
_ERASED_ENTRY_PATTERN: Final = (
    r'\{"actor":null,"changes":\[\],"context":null,"data":null,"erased":true,"id":"(?P<id>[\w.:-]+)",'
    r'"occurredAt":"(?P<time>[\w.:-]+)","organizationId":%s,"target":null,"type":"(?P<type>[\w.:-]+)"'
)
_ERASURE_CLAIM: Final = b'atrium erased entry\n["%b",%b,%b,"%b","%b","%b","%b","%b"]'
_UNSIGNED_ERASURE: Final = "it calls itself erased, and no --public-key signed it: pass all auditPublicKeys of /status"


class InvalidInput(Exception):
    """The input is not what the service signed. The message says where and how it differs."""


class UsageError(Exception):
    """The arguments are not sufficient for a verification."""


class Checkpoint(NamedTuple):
    """The signed head of a log: its origin, number of entries, root, and the accepted public keys."""

    origin: str
    size: int
    root: bytes
    keys: Sequence[bytes]


class Entry(NamedTuple):
    """The position of an entry as its line states it. `leaf` is computed from the line, except for an erased entry."""

    sequence: int
    leaf: bytes
    tree_size: int
    erased: bool


class OmittedRun(NamedTuple):
    """A run of entries that the export leaves out, from sequence `first` to `last`, as the roots of their subtrees."""

    first: int
    last: int
    hashes: Sequence[bytes]


def describe_proof(lines: Iterable[bytes], checkpoint: Checkpoint, evidence: Sequence[OmittedRun] | None = None) -> str:
    """Return one sentence that states what is proven about the lines of an export. Raises InvalidInput."""
    entries, proof = iter_intact_entries(lines, checkpoint), Proof(checkpoint, evidence)
    for number, entry in enumerate(entries, 1):
        try:
            proof.add(entry)
        except InvalidInput as broken:
            message = str(broken)
            with suppress(InvalidInput):
                if proof.missing and any(later.sequence == proof.missing for later in entries):
                    message = f"The entry with sequence {proof.missing} is out of order."
            sequence = "no sequence" if entry.sequence == _NO_SEQUENCE else f"sequence {entry.sequence}"
            raise InvalidInput(f"{message} Line {number} has {sequence}.") from None
    return proof.verify_root_and_describe()


class Proof:
    """The Merkle tree of an export's entries and evidence, built from left to right up to a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, evidence: Sequence[OmittedRun] | None) -> None:
        self._checkpoint = checkpoint
        self._omitted = deque(evidence or ())
        self._lacks_evidence = evidence is None
        self._no_evidence = "no evidence says that it was left out" + (_EVIDENCE_HINT if evidence is None else "")
        self._tree, self._previous = MerkleTree(), Entry(0, b"", 0, erased=False)
        self.missing = 0  # the sequence of the missing entry that no evidence covers; 0 if there is none
        self._first = self._last = self._count = self._erased = self._unproven = 0

    def add(self, entry: Entry) -> None:
        """Append the next entry. Raises InvalidInput if it can't come next, or an entry before it is missing."""
        previous, self._previous = self._previous, entry
        if entry.sequence <= previous.sequence and entry.sequence != _NO_SEQUENCE:
            error = "there twice" if entry.sequence == previous.sequence else "out of order"
            raise InvalidInput(f"The entry with sequence {entry.sequence} is {error}.")
        if entry.sequence > self._checkpoint.size:
            self._append_omitted_subtrees(self._checkpoint.size)  # All sequenced entries come before it.
            self._unproven += 1
            return
        self._append_omitted_subtrees(entry.sequence - 1)
        # Entries appended in one batch share the tree size after that batch.
        fits_batch = entry.tree_size == previous.tree_size or entry.sequence > previous.tree_size
        if not (entry.sequence <= entry.tree_size <= self._checkpoint.size and fits_batch):
            raise InvalidInput(f"The entry with sequence {entry.sequence} was altered: its treeSize can't be right.")
        self._tree.append(entry.leaf)
        self._first, self._last = self._first or entry.sequence, entry.sequence
        self._count += 1
        self._erased += entry.erased

    def verify_root_and_describe(self) -> str:
        """Return what is proven after the last entry. Raises InvalidInput if entries are missing."""
        origin, size, root, _ = self._checkpoint
        if self._lacks_evidence and size and not self._previous.sequence:
            raise InvalidInput(_EMPTY)
        self._append_omitted_subtrees(size)
        if self._omitted and self._omitted[0].first <= size:
            raise InvalidInput(_CONTRADICTION % self._omitted[0].first)
        if self._tree.root() != root:
            raise InvalidInput("These are not the entries that were signed: their tree has another root.")
        sequences = f", sequence {self._first} to {self._last}" if self._count else ""
        unproven = f"; {self._unproven} younger than the checkpoint, not proven" if self._unproven else ""
        return (
            f"{origin}: {self._count} of {size} entries are proven to be in the signed tree{sequences}: "
            f"{self._count - self._erased} unaltered, {self._erased} erased{unproven}."
        )

    def _append_omitted_subtrees(self, until_size: int) -> None:
        """Append omitted subtrees until the tree has a size. Raises InvalidInput if the evidence does not fit."""
        while self._tree.size < until_size:
            expected = self._tree.size + 1
            if not self._omitted or self._omitted[0].first > expected:
                self.missing = expected
                raise InvalidInput(f"The entry with sequence {expected} is missing, and {self._no_evidence}.")
            omitted = self._omitted.popleft()
            if omitted.first < expected:
                raise InvalidInput(_CONTRADICTION % omitted.first)
            if omitted.last > self._checkpoint.size:
                raise InvalidInput("The evidence belongs to a longer log: take the checkpoint of the same export.")
            if omitted.last > until_size:
                raise InvalidInput(_CONTRADICTION % (until_size + 1))
            for level, subtree in zip(subtree_levels(omitted.first, omitted.last), omitted.hashes, strict=True):
                self._tree.append(subtree, level)


class MerkleTree:
    """A Merkle tree (RFC 6962, section 2.1), represented by the roots of its perfect subtrees, largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def append(self, subtree: bytes, level: int = 0) -> None:
        """Append the root of a perfect subtree with 2**level leaves. The tree's size has to be a multiple of that."""
        index = self.size >> level
        while index & 1:
            subtree = hash_node(self._peaks.pop(), subtree)
            index >>= 1
        self._peaks.append(subtree)
        self.size += 1 << level

    def root(self) -> bytes:
        """Return the 32-byte root of the tree."""
        if not self._peaks:
            return sha256().digest()
        return reduce(lambda right, left: hash_node(left, right), reversed(self._peaks))


def subtree_levels(first: int, last: int) -> list[int]:
    """Return the levels of the largest perfect subtrees that hold exactly these entries, from left to right."""
    result, position = list[int](), first - 1
    while position < last:
        max_level = (last - position).bit_length() - 1
        result.append(min(max_level, (position & -position).bit_length() - 1) if position else max_level)
        position += 1 << result[-1]
    return result


def hash_node(left: bytes, right: bytes) -> bytes:
    """Return the 32-byte hash of the parent of two nodes."""
    return sha256(b"\1" + left + right).digest()


def iter_intact_entries(lines: Iterable[bytes], checkpoint: Checkpoint) -> Iterator[Entry]:
    """Yield the entries of an export. Raises InvalidInput at a malformed line or an entry that was altered."""
    log = checkpoint.origin.removeprefix("atrium/")
    organization = "null" if log.startswith("system") else f'"{re.escape(log)}"'
    pattern = re.compile((_ERASED_ENTRY_PATTERN % organization).encode())
    for number, raw_line in enumerate(lines, 1):
        line = raw_line.removesuffix(b"\n")
        end = line.rfind(_SEQUENCE_KEY)
        position = _POSITION.fullmatch(line, end)
        if number == 1 and _CSV_HEADER.match(line):
            raise InvalidInput("This is an export in CSV, which can't be verified: export with format=ndjson.")
        if position is None or not line.startswith(b"{"):
            raise InvalidInput(f"Line {number} is no line of an export: {_line_error(line)}. Save it again.")
        if position["sequence"] is None:
            yield Entry(_NO_SEQUENCE, b"", 0, erased=False)
            continue
        erased = pattern.fullmatch(line, 0, end)
        text = line[:end] + b"}"
        if error := _erasure_error(log, erased, position, checkpoint.keys) if erased else _leaf_error(text, position):
            raise InvalidInput(f"The entry with sequence {int(position['sequence'])} was altered: {error}.")
        leaf = bytes.fromhex(position["leaf"].decode())
        yield Entry(int(position["sequence"]), leaf, int(position["size"]), erased is not None)


def _leaf_error(text: bytes, integrity: re.Match[bytes]) -> str:
    if integrity["erasure"]:
        return "it is signed as erased, and says more than is left then"
    return "" if sha256(b"\0" + text).hexdigest().encode() == integrity["leaf"] else "its text has another hash"


def _erasure_error(log: str, erased: re.Match[bytes], integrity: re.Match[bytes], keys: Sequence[bytes]) -> str:
    if integrity["erasure"] == b"null":
        return "it says that the service found it so when it was erased"
    entry = (*integrity.group("sequence", "size"), *erased.group("id", "time", "time", "type"), integrity["leaf"])
    claim = _ERASURE_CLAIM % (log.encode(), *entry)
    signature = base64_bytes_or_empty((integrity["erasure"] or b"").decode().strip('"'))
    key = next((key for key in keys if signature.startswith(sha256(key).digest()[:_KEY_ID_BYTES])), None)
    return "" if key and is_signed(claim, signature[_KEY_ID_BYTES:], key) else _UNSIGNED_ERASURE


def _line_error(line: bytes) -> str:
    if line.endswith(b"\r"):
        return "it ends in CR LF, so another program has rewritten it"
    if len(line) >= MAX_LINE_BYTES:
        return "it is too long"
    return "its end does not contain the sequence and integrity of the entry" if line.strip() else "it is empty"


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file. Raises InvalidInput if it is truncated or damaged."""
    number = 0
    with path.open("rb") as file:
        try:
            with gzip.open(file) if file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC) else nullcontext(file) as lines:
                while line := lines.readline(MAX_LINE_BYTES):
                    number += 1
                    yield line
        except EOFError:
            raise InvalidInput(f"The file was cut off behind line {number}. Save it again.") from None
        except (gzip.BadGzipFile, zlib.error):
            raise InvalidInput(f"The file is damaged behind line {number}. Save it again.") from None


def verify_checkpoint_note(note: bytes, *keys: bytes) -> Checkpoint:
    """Return the checkpoint in a note after verifying its signature (c2sp.org/signed-note). Raises InvalidInput."""
    # Trailing newlines are not signed, and shells often add one.
    text, _, signatures = note.decode(errors="replace").rstrip("\n").rpartition("\n\n")
    origin, size, root = (*text.split("\n"), "", "")[:3]
    lines = [_SIGNATURE_LINE.fullmatch(line) for line in signatures.split("\n")]
    root_hash = base64_bytes_or_empty(root)
    if not _TREE_SIZE.fullmatch(size) or len(root_hash) != HASH_BYTES or not all(lines) or "\r" in text:
        raise InvalidInput("This is no checkpoint: pass `checkpoint` of verify-integrity as it is.")
    keys_by_id = {sha256(f"{origin}\n".encode() + _ED25519 + key).digest()[:_KEY_ID_BYTES]: key for key in keys}
    signature_bytes = [base64_bytes_or_empty(line["bytes"]) for line in lines if line and line["name"] == origin]
    usable = [(data, key) for data in signature_bytes if (key := keys_by_id.get(data[:_KEY_ID_BYTES]))]
    if not usable:
        raise InvalidInput("No --public-key signed the checkpoint: pass each of auditPublicKeys of GET /status.")
    if not all(is_signed(f"{text}\n".encode(), data[_KEY_ID_BYTES:], key) for data, key in usable):
        raise InvalidInput("The checkpoint was altered: its signature is wrong.")
    return Checkpoint(origin, int(size), root_hash, keys)


def is_signed(text: bytes, signature: bytes, key: bytes) -> bool:
    """Return whether an Ed25519 public key has signed a text."""
    with suppress(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
        return True
    return False


def base64_bytes_or_empty(text: str) -> bytes:
    """Return the bytes of canonical base64, or none."""
    with suppress(ValueError):
        data = base64.b64decode(text, validate=True)
        if base64.b64encode(data).decode() == text:  # reject non-canonical base64
            return data
    return b""


def parse_note_or_record(text: bytes) -> tuple[bytes, list[OmittedRun] | None]:
    """Return a checkpoint note and, if the text is a JSON record, its evidence. Raises InvalidInput."""
    if not text.lstrip().startswith(b"{"):
        return text, None
    record = parse_json(text, "checkpoint")
    if not isinstance(note := record.get("checkpoint"), str):
        raise UsageError("the record has no checkpoint: get it again once the export is completed")
    evidence = record.get("evidence")
    return note.encode(errors="surrogatepass"), None if evidence is None else _omitted_runs_from_json(evidence)


def parse_omitted_runs(text: bytes) -> list[OmittedRun]:
    """Return the evidence in JSON: a list, or a record of an export. Raises InvalidInput, or UsageError without one."""
    content = parse_json(text, "evidence")
    content = content.get("evidence") if isinstance(content, dict) else content
    if content is None:
        raise UsageError("the record has no evidence: the export is CSV, not completed, or leaves out too many entries")
    return _omitted_runs_from_json(content)


def parse_json(text: bytes, what: str) -> Any:
    """Return the value of JSON without repeated names. Raises InvalidInput, which names `what`."""
    try:
        return json.loads(text, object_pairs_hook=_reject_duplicate_names)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The {what} is no JSON: {error}. Save the response of the service again.") from None


def _omitted_runs_from_json(content: Any) -> list[OmittedRun]:
    if not isinstance(content, list):
        raise InvalidInput(_NO_EVIDENCE)
    evidence = [_parse_omitted(run) for run in content]
    for previous, current in pairwise(evidence):
        if current.first <= previous.last:
            raise InvalidInput(f"The evidence says twice, or too late, that sequence {current.first} was left out.")
    return evidence


def _reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object contains a name twice")
    return members


def _parse_omitted(run: Any) -> OmittedRun:
    match run:
        case {"from": int(first), "to": int(last), "hashes": list(hashes)} if 1 <= first <= last:
            are_hashes = all(isinstance(text, str) and HEX_HASH.fullmatch(text) for text in hashes)
            if are_hashes and len(hashes) == len(subtree_levels(first, last)):
                return OmittedRun(first, last, [*map(bytes.fromhex, hashes)])
    raise InvalidInput(_NO_EVIDENCE)
