"""Witnesses (https://c2sp.org/tlog-witness), implemented strictly and independently of the service."""

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from hashlib import sha256
from threading import Lock
from typing import Final
from unittest.mock import patch

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from chalicelib.features.audit.witnesses.entities import WitnessedLog
from chalicelib.features.audit.witnesses.logic import publication, witness_client
from chalicelib.features.audit.witnesses.logic.witness_client import WitnessResponse, WitnessUnreachable
from chalicelib.kernel.core.clock import now_ms
from tests.harness import memory_aws

MAX_PROOF_LINES: Final = 63
ORIGIN: Final = "atrium.example/anchors"
"""The origin of the log of anchors in tests."""

_LOG_KEY, _WITNESS_KEY = b"\x01", b"\x04"

Respond = Callable[[str], WitnessResponse]


@dataclass
class FakeWitness:
    """A witness that knows some logs by origin, and cosigns only what extends what it has cosigned before.

    `latest`: size and root of the last cosigned checkpoint by origin. `bodies`: of all requests. `respond`: replaces
    the response, and gets the body.
    """

    name: str
    public_keys: dict[str, bytes]
    latest: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    bodies: list[str] = field(default_factory=list)
    respond: Respond | None = None
    clock_offset_seconds: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def url(self) -> str:
        return f"https://{self.name}"

    @property
    def verifier_key(self) -> str:
        key = _WITNESS_KEY + self._private_key.public_key().public_bytes_raw()
        return f"{self.name}+{_key_id(self.name, key).hex()}+{base64.b64encode(key).decode()}"

    @property
    def setting(self) -> str:
        return f"{self.url} {self.verifier_key}"

    @property
    def _private_key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(sha256(self.name.encode()).digest())

    def add_checkpoint(self, body: str) -> WitnessResponse:
        """Return the response to a request, or that of `respond`."""
        self.bodies.append(body)
        return self.respond(body) if self.respond else self.cosign_if_consistent(body)

    def cosign_if_consistent(self, body: str) -> WitnessResponse:
        """Return the response that the protocol demands."""
        header, _, note = body.partition("\n\n")
        old_line, *proof_lines = header.split("\n")
        text, _, signatures = note.rpartition("\n\n")
        origin, size_line, root_line = text.split("\n")[:3]
        keyword, _, old_text = old_line.partition(" ")
        size, old_size = int(size_line), int(old_text)
        assert (keyword, str(old_size), str(size)) == ("old", old_text, size_line)
        if origin not in self.public_keys:
            return WitnessResponse(404, "text/plain", "unknown log")
        if not _is_signed(f"{text}\n", signatures, origin, self.public_keys[origin]):
            return WitnessResponse(403, "text/plain", "unknown key")
        if old_size > size or len(proof_lines) > MAX_PROOF_LINES:
            return WitnessResponse(400, "text/plain", "bad request")
        proof = [base64.b64decode(line) for line in proof_lines]
        if refusal := self._refuse_or_record(origin, old_size, size, base64.b64decode(root_line), proof):
            return refusal
        return WitnessResponse(200, "text/plain", self.cosign(text + "\n") + "\n")

    def _refuse_or_record(
        self, origin: str, old_size: int, size: int, root: bytes, proof: Sequence[bytes]
    ) -> WitnessResponse | None:
        """Record a checkpoint as the latest one, or return the refusal of one that contradicts the recorded one."""
        with self._lock:
            latest_size, latest_root = self.latest.get(origin, (0, b""))
            if old_size != latest_size:
                return WitnessResponse(409, "text/x.tlog.size", f"{latest_size}\n")
            if old_size == size and root != latest_root:
                return WitnessResponse(409, "text/plain", "another root")
            if not is_consistent(old_size, latest_root, size, root, proof):
                return WitnessResponse(422, "text/plain", "inconsistent")
            self.latest[origin] = (size, root)
        return None

    def cosign(self, note_text: str) -> str:
        """Return the cosignature of a note's text, without checks."""
        time = now_ms() // 1000 + self.clock_offset_seconds
        signature = self._private_key.sign(f"cosignature/v1\ntime {time}\n{note_text}".encode())
        key = _WITNESS_KEY + self._private_key.public_key().public_bytes_raw()
        return f"— {self.name} {_base64(_key_id(self.name, key) + time.to_bytes(8, 'big') + signature)}"


ACCEPTING_WITNESS: Final = FakeWitness("accepting.example", {})
"""A witness that cosigns everything, and keeps no state."""


def accept(_url: str, body: str) -> WitnessResponse:
    """Return the response of `ACCEPTING_WITNESS`."""
    text = body.partition("\n\n")[2].rpartition("\n\n")[0]
    return WitnessResponse(200, "text/plain", ACCEPTING_WITNESS.cosign(f"{text}\n") + "\n")


def is_silent(_body: str) -> WitnessResponse:
    """Do not respond."""
    raise WitnessUnreachable("The server did not respond within 10 s.")


@contextmanager
def reachable_witnesses(witnesses: Sequence[FakeWitness]) -> Iterator[None]:
    """Let the service reach witnesses by their URLs within the block."""
    by_url = {witness.url: witness for witness in witnesses}

    def add_checkpoint(url: str, body: str) -> WitnessResponse:
        return by_url[url].add_checkpoint(body)

    with patch.object(witness_client, "add_checkpoint", add_checkpoint):
        yield


def is_consistent(first_size: int, first_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bool:
    """Return whether a proof shows that a tree begins with another (RFC 6962, section 2.1.2).

    The proof is split into its inner part and its right border, as the Go library transparency-dev/merkle does.
    """
    if first_size in (0, size):
        return not proof and (not first_size or first_root == root)
    if first_size > size:
        return False
    inner = (first_size - 1 ^ size - 1).bit_length()
    border = (first_size - 1 >> inner).bit_count()
    shift = (first_size & -first_size).bit_length() - 1
    inner -= shift
    is_complete = first_size == 1 << shift
    if len(proof) != inner + border + (not is_complete):
        return False
    seed, rest = (first_root, proof) if is_complete else (proof[0], proof[1:])
    first_hash = second_hash = seed
    for level, sibling in enumerate(rest[:inner]):
        if first_size - 1 >> shift >> level & 1:
            first_hash, second_hash = _node(sibling, first_hash), _node(sibling, second_hash)
        else:
            second_hash = _node(second_hash, sibling)
    on_border = rest[inner:]
    return (_fold_border(first_hash, on_border), _fold_border(second_hash, on_border)) == (first_root, root)


def anchor_leaf_hash(note: str) -> bytes:
    """Return the hash of an anchored checkpoint's leaf in the log of anchors."""
    origin, size, root = note.split("\n")[:3]
    data = f"{sha256(origin.encode()).hexdigest()}\n{size}\n{root}\n"
    return sha256(b"\x00" + data.encode()).digest()


def _fold_border(seed: bytes, border: Sequence[bytes]) -> bytes:
    return reduce(lambda right, left: _node(left, right), border, seed)


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def _is_signed(text: str, signatures: str, origin: str, public_key: bytes) -> bool:
    key_id = _key_id(origin, _LOG_KEY + public_key)
    for line in signatures.splitlines():
        _, name, encoded = line.split(" ")
        data = base64.b64decode(encoded)
        if (name, data[:4]) == (origin, key_id):
            try:
                Ed25519PublicKey.from_public_bytes(public_key).verify(data[4:], text.encode())
            except InvalidSignature:
                return False
            return True
    return False


def _key_id(name: str, typed_key: bytes) -> bytes:
    return sha256(f"{name}\n".encode() + typed_key).digest()[:4]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def stored_log() -> WitnessedLog:
    """Return the stored record of the log of anchors."""
    log = publication.load_witnessed_log_or_none()
    assert log is not None
    return log


def best_cosigners() -> list[str]:
    """Return the names of the witnesses that have cosigned the best checkpoint of the log of anchors."""
    best = stored_log().find_best_checkpoint_beyond(0)
    return sorted(key.partition("+")[0] for key in best["cosignatures"]) if best else []


def tree_of_anchors() -> list[bytes]:
    """Return the leaf hashes of the log of anchors, from the checkpoints and their positions."""
    items = [item for item in memory_aws.all_items() if "leaf_index" in item]
    by_index = {item["leaf_index"]: anchor_leaf_hash(item["note"]) for item in items}
    return [by_index[index] for index in range(len(items))]
