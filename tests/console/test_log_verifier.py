"""The verifier of the console gives the same answers as `verify.py`, to all questions that tests of `verify.py` ask."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from local.paths import ROOT
from local.tools.node import find_node

FUNCTIONS: Final = {
    "canonical_json",
    "describe_anchors",
    "describe_consistency",
    "describe_proof",
    "describe_receipt",
    "describe_witnesses",
    "log_verifier_key",
    "parse_note_or_record",
    "parse_omitted_runs",
    "parse_witness_key",
    "verify_checkpoint_note",
}

ALL_TESTS: Final = (
    *("tests/property/test_exports.py", "tests/property/test_tree_proofs.py", "tests/http/audit/test_receipts.py"),
    *("tests/http/audit/test_witness_proofs.py", "tests/http/audit/test_anchor_list.py"),
    *("tests/http/audit/test_export_files.py", "tests/http/admin/test_key_rotations.py"),
)
"""The tests of `verify.py`."""

_QUICK: Final = (
    "TestReceipts or TestConsistency or TestVerifier or TestCanonicalJson or test_anchor_list or verifier_key or "
    "with_its_evidence_verify or false_erasure or removed_or_repeated or hashes_of_the_evidence"
)
QUICK_TESTS: Final = (*ALL_TESTS, "-k", _QUICK)
"""Those that ask each function, and take some seconds."""


@pytest.mark.parametrize(
    ("selected", "min_count"), [(QUICK_TESTS, 1_000), pytest.param(ALL_TESTS, 9_000, marks=pytest.mark.exhaustive)]
)
def test_the_verifier_of_the_console_answers_as_verify_py(tmp_path, selected, min_count):
    file = tmp_path / "verdicts"
    record(file, selected)
    verdicts = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert {verdict["function"] for verdict in verdicts} == FUNCTIONS
    assert sum("InvalidInput" in verdict for verdict in verdicts) > min_count / 10
    assert len(verdicts) > min_count
    *differences, count = repeat(file)
    assert differences == []
    assert int(count) == len(verdicts)


def record(file: Path, selected: Sequence[str]) -> None:
    """Run tests of `verify.py`, and record its questions and answers in a file."""
    options = ("-p", "tests.console.record_verdicts", "-p", "no:cacheprovider", "--no-cov", "-q")
    environment = {**os.environ, "VERDICTS": str(file)}
    run([sys.executable, "-m", "pytest", *options, *selected], ROOT, environment)


def repeat(file: Path) -> list[str]:
    """Ask the verifier of the console the same questions. Returns the answers that differ, and the number of all."""
    command = [
        find_node().program,
        "--import",
        "tsx",
        str(ROOT / "tests" / "console" / "repeat_verdicts.ts"),
        str(file),
    ]
    return run(command, ROOT / "console", None).splitlines()


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None) -> str:
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
    return result.stdout
