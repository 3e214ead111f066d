"""A pytest plugin that records what the offline verifier is asked and what it answers, as lines of JSON.

Use it with `-p tests.console.record_verdicts`, which loads it before the tests import the functions by name. The
environment variable `VERDICTS` names the file. The verifier of the console has to give the same answers.
"""

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

from chalicelib.features.audit.exports.logic import verify

MAX_EXPORT_BYTES: Final = 2_000_000
"""Size above which an export is not recorded. Such exports only test the memory that `verify.py` uses."""

FILE_VARIABLE: Final = "VERDICTS"

_recorded: Final = set[str]()


def _wrap(module: Any, name: str, encode_arguments: Callable[..., Mapping[str, object] | None]) -> None:
    """Replace a function of a module by one that records its arguments and its answer."""
    original = getattr(module, name)

    @wraps(original)
    def recording(*arguments: Any, **options: Any) -> Any:
        encoded = encode_arguments(*arguments, **options)
        try:
            result = original(*arguments, **options)
        except (verify.InvalidInput, verify.UsageError) as error:
            _write(name, encoded, {type(error).__name__: str(error)})
            raise
        _write(name, encoded, {"result": result if isinstance(result, str) else None})
        return result

    setattr(module, name, recording)


def _write(name: str, arguments: Mapping[str, object] | None, answer: Mapping[str, object]) -> None:
    line = json.dumps({"function": name, "arguments": arguments, **answer}) + "\n"
    if arguments is not None and line not in _recorded:
        _recorded.add(line)
        with Path(os.environ[FILE_VARIABLE]).open("a") as file:
            file.write(line)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _checkpoint(checkpoint: verify.Checkpoint) -> Mapping[str, object]:
    return checkpoint._asdict() | {"root": _base64(checkpoint.root), "keys": [*map(_base64, checkpoint.keys)]}


def _export_arguments(
    lines: Iterable[bytes], checkpoint: verify.Checkpoint, evidence: Sequence[verify.OmittedRun] | None = None
) -> Mapping[str, object] | None:
    if not isinstance(lines, list) or sum(map(len, lines)) > MAX_EXPORT_BYTES:
        return None
    runs = [{"from": run.first, "to": run.last, "hashes": [*map(bytes.hex, run.hashes)]} for run in evidence or ()]
    return {
        "lines": [*map(_base64, lines)],
        "checkpoint": _checkpoint(checkpoint),
        "evidence": None if evidence is None else runs,
    }


def _policy(policy: Any) -> Mapping[str, object]:
    keys = [{"name": k.name, "keyId": _base64(k.key_id), "publicKey": _base64(k.public_key)} for k in policy.keys]
    return {"keys": keys, "required": policy.required, "origin": policy.origin}


def _keys(keys: Iterable[bytes]) -> list[str | None]:
    return [*map(_base64, keys)]


_wrap(verify, "describe_proof", _export_arguments)
_wrap(verify, "verify_checkpoint_note", lambda note, *keys: {"note": _base64(note), "keys": _keys(keys)})
_wrap(verify, "parse_note_or_record", lambda text: {"text": _base64(text)})
_wrap(verify, "parse_omitted_runs", lambda text: {"text": _base64(text)})

# Imported now, so that they import the functions above as they were replaced.
from chalicelib.features.audit.exports.logic import verify_anchors, verify_receipts, verify_witnesses  # noqa: E402

_wrap(verify_receipts, "canonical_json", lambda value: {"value": json.dumps(value)})
_wrap(verify_receipts, "describe_receipt", lambda text, keys: {"text": _base64(text), "keys": _keys(keys)})
_wrap(
    verify_receipts,
    "describe_consistency",
    lambda text, saved, keys: {"text": _base64(text), "saved": [*map(_checkpoint, saved)], "keys": _keys(keys)},
)
_wrap(verify_witnesses, "parse_witness_key", lambda text: {"text": text})
_wrap(
    verify_witnesses,
    "log_verifier_key",
    lambda origin, public_key: {"origin": origin, "publicKey": _base64(public_key)},
)
_wrap(
    verify_witnesses,
    "describe_witnesses",
    lambda receipt_text, keys, policy, earlier_text=None: {
        "text": _base64(receipt_text),
        "keys": _keys(keys),
        "policy": _policy(policy),
        "earlier": _base64(earlier_text),
    },
)
_wrap(
    verify_anchors,
    "describe_anchors",
    lambda pages, proofs, keys, policy: {
        "pages": _keys(pages),
        "proofs": _keys(proofs),
        "keys": _keys(keys),
        "policy": _policy(policy),
    },
)
