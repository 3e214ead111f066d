"""Inputs of the offline verifier, created without the service: the lines of exports, evidence and checkpoints."""

import base64
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.audit.exports.logic.verify import (
    InvalidInput,
    describe_proof,
    parse_omitted_runs,
    verify_checkpoint_note,
)
from tests.harness import rfc6962

LOG_ID: Final = "01939d3c-0000-7000-8000-00000000000a"
ORIGIN: Final = f"atrium/{LOG_ID}"
KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY: Final = base64.b64encode(KEY.public_key().public_bytes_raw()).decode()

Json = dict[str, Any]

_TIME: Final = "2026-11-20T09:30:00.000Z"

_TREE_SIZE: Final = re.compile(rb'"treeSize":([0-9]+)\}\}\n$')


@dataclass(frozen=True)
class ExportedLog:
    """A log: the texts of its entries, their leaf hashes, and the sizes of the signed trees that first contained them.

    The signatures of erased entries are listed by sequence.
    """

    entry_texts: Sequence[bytes]
    leaf_hashes: Sequence[bytes]
    tree_sizes: Sequence[int]
    erasure_signatures: Mapping[int, str]

    @property
    def size(self) -> int:
        return len(self.leaf_hashes)

    @cached_property
    def lines(self) -> list[bytes]:
        return self.lines_in_order(range(1, self.size + 1))

    @cached_property
    def checkpoint(self) -> str:
        return sign_checkpoint(self.size, rfc6962.tree_root(self.leaf_hashes))

    def lines_in_order(self, order: Iterable[int]) -> list[bytes]:
        """Return an export in which the entries have another order, each with its own leaf hash."""
        positions = zip(order, range(1, self.size + 1), self.tree_sizes, strict=True)
        return [
            build_line(
                self.entry_texts[original - 1],
                sequence,
                self.leaf_hashes[original - 1],
                size,
                self.erasure_signatures.get(original),
            )
            for original, sequence, size in positions
        ]

    def lines_of(self, sequences: Collection[int]) -> list[bytes]:
        return [line for sequence, line in enumerate(self.lines, 1) if sequence in sequences]

    def evidence_for(self, sequences: Collection[int]) -> list[Json]:
        """Return the evidence for an export of the entries with these sequences."""
        runs = [
            [*run] for is_included, run in groupby(range(1, self.size + 1), sequences.__contains__) if not is_included
        ]
        roots = [rfc6962.subtree_roots(self.leaf_hashes, run[0] - 1, run[-1]) for run in runs]
        return [{"from": r[0], "to": r[-1], "hashes": [*map(bytes.hex, h)]} for r, h in zip(runs, roots, strict=True)]


def build_exported_log(
    tree_sizes: Sequence[int], erased_sequences: Collection[int] = (), log_id: str = LOG_ID
) -> ExportedLog:
    """Return a log whose ledger signed trees of these sizes, in this order."""
    sequences = range(1, tree_sizes[-1] + 1)
    bodies = [build_leaf_data(sequence) for sequence in sequences]
    texts = [
        _erased_text(n, log_id) if n in erased_sequences else body for n, body in zip(sequences, bodies, strict=True)
    ]
    leaves = [sha256(b"\x00" + body).digest() for body in bodies]
    sizes = [min(head for head in tree_sizes if head >= sequence) for sequence in sequences]
    return ExportedLog(
        texts, leaves, sizes, {n: sign_erasure(n, sizes[n - 1], leaves[n - 1], log_id) for n in erased_sequences}
    )


def build_leaf_data(sequence: int) -> bytes:
    """Return the canonical JSON of an entry, with values that look like the end of a line."""
    entry: Json = {
        "id": _id(sequence),
        "type": "organization.updated",
        "occurredAt": _TIME,
        "organizationId": LOG_ID,
        "actor": {"type": "user", "id": LOG_ID, "name": 'Zoë,"sequence":1,"integrity":null,"erased":true}'},
        "target": {"type": "organization", "id": LOG_ID, "name": f"Engine {sequence}\u2028"},
        "context": {"operationId": "update_organization", "requestId": None, "ipAddress": None, "userAgent": "\r\n"},
        "changes": [{"field": "sequence", "from": sequence, "to": {"integrity": None}}],
        "data": {"erased": True, "integrity": {"leafHash": "0" * 64, "treeSize": 1}, "sequence": sequence},
    }
    return rfc8785.dumps(entry)


def build_line(text: bytes, sequence: int, leaf: bytes, tree_size: int, erasure_signature: str | None = None) -> bytes:
    """Return a line of an export: the entry, its position in the log, and the signature of its erasure."""
    erased = f',"erasureSignature":"{erasure_signature}"' if erasure_signature else ""
    position = f',"sequence":{sequence},"integrity":{{"leafHash":"{leaf.hex()}","treeSize":{tree_size}{erased}}}}}\n'
    return text[:-1] + position.encode()


def sign_erasure(sequence: int, tree_size: int, leaf: bytes, log_id: str = LOG_ID, key: Ed25519PrivateKey = KEY) -> str:
    """Return the signature of the remaining fields of an erased entry."""
    signed_fields: list[Any] = [
        log_id,
        sequence,
        tree_size,
        _id(sequence),
        _TIME,
        _TIME,
        "organization.updated",
        leaf.hex(),
    ]
    key_id = sha256(key.public_key().public_bytes_raw()).digest()[:4]
    return base64.b64encode(key_id + key.sign(b"atrium erased entry\n" + rfc8785.dumps(signed_fields))).decode()


def build_pending_line(text: bytes) -> bytes:
    """Return the line of an entry that has no sequence yet."""
    return text[:-1] + b',"sequence":null,"integrity":null}\n'


def _id(sequence: int) -> str:
    return f"01939d3c-0000-7000-8000-{sequence:012x}"


def _erased_text(sequence: int, log: str) -> bytes:
    organization = "null" if log.startswith("system") else f'"{log}"'
    return (
        f'{{"actor":null,"changes":[],"context":null,"data":null,"erased":true,"id":"{_id(sequence)}",'
        f'"occurredAt":"{_TIME}","organizationId":{organization},"target":null,"type":"organization.updated"}}'
    ).encode()


def unproven_range(text: bytes) -> range:
    """Return the range of a line that is not verified: the tree size, unless the entry was erased."""
    tree_size = _TREE_SIZE.search(text)
    return range(*tree_size.span(1)) if tree_size else range(0)


def sign_checkpoint(size: int, root: bytes, origin: str = ORIGIN, key: Ed25519PrivateKey = KEY) -> str:
    text = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    return f"{text}\n{build_signature_line(text, origin, key)}"


def build_signature_line(text: str, name: str = ORIGIN, key: Ed25519PrivateKey = KEY) -> str:
    key_id = sha256(f"{name}\n\x01".encode() + key.public_key().public_bytes_raw()).digest()[:4]
    return f"— {name} {base64.b64encode(key_id + key.sign(text.encode())).decode()}\n"


def verify_export(
    log: ExportedLog,
    export: Iterable[bytes],
    evidence: Any = (),
    checkpoint: str = "",
    keys: Collection[Ed25519PrivateKey] = (KEY,),
) -> str:
    """Return what the offline verifier proves, by default with the checkpoint of the log. Raises Broken."""
    public_keys = [key.public_key().public_bytes_raw() for key in keys]
    head = verify_checkpoint_note((checkpoint or log.checkpoint).encode(), *public_keys)
    return describe_proof(export, head, parse_omitted_runs(json.dumps(evidence).encode()))


def verification_result(log: ExportedLog, export: Iterable[bytes], *arguments: Any, **options: Any) -> str:
    """Return what the offline verifier proves, or the message of its error. Takes the arguments of `verify_export`."""
    try:
        return verify_export(log, export, *arguments, **options)
    except InvalidInput as broken:
        return str(broken)


SAMPLE_LOG: Final = build_exported_log([2, 3, 7])
"""A log of seven entries for tests with no special requirements."""

SAMPLE_LINES: Final = SAMPLE_LOG.lines
