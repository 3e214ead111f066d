"""The command line of `verify.py`, the program that verifies exports and receipts without the service.

`make generate` joins the modules `verify`, `verify_receipts`, `verify_witnesses`, `verify_anchors` and this one to the
file that adopters download. So they import nothing else of the project.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Final

from chalicelib.features.audit.exports.logic.verify import (
    CHECKPOINT_KEY,
    HASH_BYTES,
    InvalidInput,
    UsageError,
    base64_bytes_or_empty,
    describe_proof,
    parse_note_or_record,
    parse_omitted_runs,
    read_lines,
    verify_checkpoint_note,
)
from chalicelib.features.audit.exports.logic.verify_anchors import describe_anchors
from chalicelib.features.audit.exports.logic.verify_receipts import describe_consistency, describe_receipt
from chalicelib.features.audit.exports.logic.verify_witnesses import (
    WitnessPolicy,
    describe_witnesses,
    log_verifier_key,
    parse_witness_key,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: verify, print the result, and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command = _COMMANDS.get(arguments[0]) if arguments else None
    return command(arguments[1:]) if command else _verify_export(arguments)


def _verify_export(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Verify an export of an audit log.",
        epilog="\n  ".join(("Other commands, each with its own --help:", *(f"verify.py {each}" for each in _COMMANDS))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("export", type=Path, help="export in NDJSON, plain or gzip")
    parser.add_argument("--checkpoint", type=Path, help="the log's checkpoint, or the export's record")
    parser.add_argument("--public-key", action="append", default=[], help="auditPublicKey of GET /status (repeat)")
    parser.add_argument("--evidence", type=Path, help="the record of an export with filters, or its list `evidence`")
    options = parser.parse_args(arguments)
    return _print_result(parser, lambda: _describe_export(parser, options))


def _describe_export(parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    keys = _parse_public_keys(parser, options.public_key)
    first_line = next(read_lines(options.export), b"")
    if not options.checkpoint and not first_line.startswith(CHECKPOINT_KEY):
        parser.error("argument --checkpoint: pass `checkpoint` of verify-integrity, or the record of the export")
    note, evidence = parse_note_or_record(options.checkpoint.read_bytes() if options.checkpoint else first_line)
    lines = dropwhile(lambda line: line.startswith(CHECKPOINT_KEY), read_lines(options.export))
    evidence = parse_omitted_runs(options.evidence.read_bytes()) if options.evidence else evidence
    return describe_proof(lines, verify_checkpoint_note(note, *keys), evidence)


def _parse_public_keys(parser: argparse.ArgumentParser, texts: Sequence[str]) -> list[bytes]:
    """Return the public keys in the arguments. Ends the program if there is none, or if one is unusable."""
    keys = [base64_bytes_or_empty(text) for text in texts]
    if not keys or any(len(key) != HASH_BYTES for key in keys):
        parser.error("argument --public-key: pass auditPublicKey of GET /status as it is, 32 bytes in base64")
    return keys


def _print_result(parser: argparse.ArgumentParser, describe: Callable[[], str]) -> int:
    """Print what a verification proves, or why it fails, and return the exit code."""
    try:
        print(describe())
    except InvalidInput as broken:
        print(broken)
        return 1
    except UsageError as unusable:
        parser.error(str(unusable))
    except OSError as error:
        parser.error(f"can't read {error.filename}: {error.strerror}; check the path")
    return 0


def _verify_receipt(arguments: Sequence[str]) -> int:
    parser = _build_parser("receipt", "Verify the saved proof of an entry.")
    _add_witness_arguments(parser)
    parser.add_argument("--earlier", type=Path, help="an earlier receipt, whose cosigned log must not be contradicted")
    options = parser.parse_args(arguments)
    keys = _parse_public_keys(parser, options.public_key)

    def describe() -> str:
        is_policy = options.witness_key or options.require_witnesses or options.witnessed_log or options.earlier
        policy = _parse_witness_policy(parser, options) if is_policy else None
        text = options.proof.read_bytes()
        proven = describe_receipt(text, keys)
        if policy is None:
            return proven
        earlier_text = options.earlier.read_bytes() if options.earlier else None
        return f"{proven}\n{describe_witnesses(text, keys, policy, earlier_text)}"

    return _print_result(parser, describe)


def _parse_witness_policy(parser: argparse.ArgumentParser, options: argparse.Namespace) -> WitnessPolicy:
    """Return the demanded cosignatures in the arguments. Raises UsageError, or ends the program if there are none."""
    if not options.witness_key:
        parser.error("argument --witness-key: pass the verifier key of each witness that you trust")
    if not options.witnessed_log:
        parser.error("argument --witnessed-log: pass the origin of the log of anchors, which the service announces")
    keys = {key.public_key: key for key in map(parse_witness_key, options.witness_key)}
    required = len(keys) if options.require_witnesses is None else options.require_witnesses
    if not 1 <= required <= len(keys):
        parser.error(f"argument --require-witnesses: pass 1 to {len(keys)}, the number of different keys")
    return WitnessPolicy([*keys.values()], required, options.witnessed_log)


def _add_witness_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--witness-key", action="append", default=[], help="verifier key of a witness (repeat)")
    parser.add_argument("--require-witnesses", type=int, help="how many of them must have cosigned; by default all")
    parser.add_argument("--witnessed-log", help="origin of the log that they cosign, with --witness-key")


def _verify_anchors(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="verify.py anchors", description="Verify the list of all anchors.")
    parser.add_argument("pages", type=Path, nargs="+", help="the saved responses of GET /anchors, all pages")
    parser.add_argument("--proof", type=Path, action="append", default=[], help="a proof of consistency (repeat)")
    parser.add_argument("--public-key", action="append", default=[], help="auditPublicKey of GET /status (repeat)")
    _add_witness_arguments(parser)
    options = parser.parse_args(arguments)
    keys = _parse_public_keys(parser, options.public_key)

    def describe() -> str:
        policy = _parse_witness_policy(parser, options)
        pages, proofs = ([file.read_bytes() for file in files] for files in (options.pages, options.proof))
        return describe_anchors(pages, proofs, keys, policy)

    return _print_result(parser, describe)


def _verify_consistency(arguments: Sequence[str]) -> int:
    parser = _build_parser("consistency", "Verify that a log has only grown since a saved checkpoint.")
    parser.add_argument(
        "--checkpoint", type=Path, action="append", required=True, help="the earlier checkpoint, then the later one"
    )
    options = parser.parse_args(arguments)
    keys = _parse_public_keys(parser, options.public_key)
    if options.checkpoint[2:]:
        parser.error("argument --checkpoint: pass the earlier checkpoint and, if you have it, the later one")

    def describe() -> str:
        notes = [parse_note_or_record(file.read_bytes())[0] for file in options.checkpoint]
        saved = [verify_checkpoint_note(note, *keys) for note in notes]
        return describe_consistency(options.proof.read_bytes(), saved, keys)

    return _print_result(parser, describe)


def _print_log_key(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="verify.py log-key", description="Print a log's verifier key, for witnesses.")
    parser.add_argument("origin", help="the origin of the log, such as atrium.example.com/anchors")
    parser.add_argument("--public-key", action="append", default=[], help="auditPublicKey of GET /status (repeat)")
    options = parser.parse_args(arguments)
    for key in _parse_public_keys(parser, options.public_key):
        print(log_verifier_key(options.origin, key))
    return 0


def _build_parser(command: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"verify.py {command}", description=description)
    parser.add_argument("proof", type=Path, help="the saved response of the service")
    parser.add_argument("--public-key", action="append", default=[], help="auditPublicKey of GET /status (repeat)")
    return parser


_COMMANDS: Final[Mapping[str, Callable[[Sequence[str]], int]]] = {
    "receipt": _verify_receipt,
    "consistency": _verify_consistency,
    "anchors": _verify_anchors,
    "log-key": _print_log_key,
}


if __name__ == "__main__":
    sys.exit(main())
