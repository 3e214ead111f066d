"""The command of the offline verifier: its files, output and exit codes, and exports of the service."""

import gzip
import json
import shutil
import subprocess
import sys
import tracemalloc
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from chalicelib.features.audit.exports.logic import verify
from chalicelib.features.audit.exports.logic.entry_formats import file_header_bytes
from chalicelib.features.audit.exports.logic.verify import InvalidInput, MerkleTree, main, read_lines
from local.paths import ROOT
from tests.harness import audit_logs, exports
from tests.harness.api import ApiClient
from tests.harness.erasures import complete_erasure
from tests.harness.exported_logs import (
    ORIGIN,
    PUBLIC_KEY,
    SAMPLE_LINES,
    SAMPLE_LOG,
    build_exported_log,
    build_line,
    sign_checkpoint,
    verification_result,
)
from tests.harness.organizations import CreatedOrganization

PROVEN: Final = "sequence 2 to 6: 3 unaltered, 0 erased.\n"
INCOMPLETE: Final = (
    "The entry with sequence 1 is missing, and no evidence says that it was left out; if filters left it out, name the "
    "export's record by --evidence. Line 1 has sequence 2.\n"
)
INCOMPLETE_WITH_EVIDENCE: Final = (
    "The entry with sequence 1 is missing, and no evidence says that it was left out. Line 1 has sequence 2.\n"
)
CUT: Final = "The entry with sequence 3 is missing, and no evidence says that it was left out.\n"
CSV: Final = "This is an export in CSV, which can't be verified: only one in NDJSON can.\n"


class TestFiles:
    @pytest.mark.parametrize("compress", [gzip.compress, bytes], ids=["gzip members", "uncompressed"])
    def test_all_lines_are_read_as_one_file(self, tmp_path, compress):
        (tmp_path / "export").write_bytes(b"".join(compress(line) for line in SAMPLE_LINES))
        assert [*read_lines(tmp_path / "export")] == SAMPLE_LINES

    def test_a_truncated_file_is_reported_with_its_last_line(self, tmp_path):
        compressed = b"".join(gzip.compress(line) for line in SAMPLE_LINES)
        (tmp_path / "export").write_bytes(compressed[:-1])
        with pytest.raises(InvalidInput, match="The file was cut off: its compressed data ends behind line 7"):
            [*read_lines(tmp_path / "export")]
        (tmp_path / "export").write_bytes(compressed[:-100])
        assert verification_result(SAMPLE_LOG, read_lines(tmp_path / "export")).startswith("The file was cut off: ")

    @pytest.mark.parametrize("trailing", [b"\x1f\x8b\x00garbage", b"garbage"])
    def test_a_damaged_file_is_reported_with_its_last_line(self, tmp_path, trailing):
        (tmp_path / "export").write_bytes(gzip.compress(b"".join(SAMPLE_LINES)) + trailing)
        with pytest.raises(InvalidInput, match="The file is damaged: its compressed data is wrong behind line 7"):
            [*read_lines(tmp_path / "export")]

    def test_every_flipped_bit_of_a_compressed_file_is_detected_or_harmless(self, tmp_path):
        log, messages = build_exported_log([1]), set[str]()
        compressed = gzip.compress(log.lines[0], mtime=0)
        for position in range(len(compressed)):
            flipped = bytes([compressed[position] ^ 1])
            (tmp_path / "export").write_bytes(compressed[:position] + flipped + compressed[position + 1 :])
            messages.add(verification_result(log, read_lines(tmp_path / "export")))
        assert {message for message in messages if "proven" in message} == {verification_result(log, log.lines)}
        assert len(messages) > 3

    def test_memory_does_not_grow_with_the_export(self):
        text, size = b'{"data":"' + b"a" * 500 + b'"}', 10_000
        leaf, tree = sha256(b"\0" + text).digest(), MerkleTree()
        for _ in range(size):
            tree.append(leaf)
        checkpoint = sign_checkpoint(size, tree.root())
        tracemalloc.start()
        lines = (build_line(text, sequence, leaf, size) for sequence in range(1, size + 1))
        message = verification_result(SAMPLE_LOG, lines, checkpoint=checkpoint)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert f"{size} unaltered" in message
        assert peak < size * len(text) / 20


class TestCommand:
    @pytest.fixture
    def folder(self, tmp_path):
        """A folder with a filtered export, the files that prove it, invalid files and the script."""
        part = [2, 3, 6]
        (tmp_path / "export.ndjson.gz").write_bytes(gzip.compress(b"".join(SAMPLE_LOG.lines_of(part))))
        (tmp_path / "cut.ndjson").write_bytes(SAMPLE_LINES[1])
        (tmp_path / "export.csv").write_bytes(file_header_bytes("csv"))
        (tmp_path / "export.csv.gz").write_bytes(gzip.compress(file_header_bytes("csv")))
        (tmp_path / "checkpoint").write_text(SAMPLE_LOG.checkpoint)
        evidence = SAMPLE_LOG.evidence_for(part)
        records = {
            "record": {"checkpoint": SAMPLE_LOG.checkpoint, "format": "ndjson", "evidence": evidence},
            "csv": {"format": "csv", "evidence": None},
            "queued": {"checkpoint": None, "evidence": None},
            "report": {"valid": True, "checkpoint": SAMPLE_LOG.checkpoint},
            "none": [],
        }
        for name, record in records.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(record))
        shutil.copy(verify.__file__, tmp_path / "verify.py")
        return tmp_path

    def arguments(
        self,
        folder: Path,
        export: str = "export.ndjson.gz",
        evidence: str | None = "record.json",
        checkpoint: str = "checkpoint",
    ) -> list[str]:
        required = [str(folder / export), "--checkpoint", str(folder / checkpoint), "--public-key", PUBLIC_KEY]
        return [*required, "--evidence", str(folder / evidence)] if evidence else required

    @pytest.mark.parametrize("program", [["-m", "chalicelib.features.audit.exports.logic.verify"], ["-I", "verify.py"]])
    def test_the_program_runs_as_a_module_and_as_a_script(self, folder, program):
        command = [sys.executable, "-W", "error", *program, *self.arguments(folder)]
        outputs = []
        for added, exit_code in (([], 0), (["--evidence", "/dev/null"], 1)):
            folder_of_program = ROOT if "-m" in program else folder
            ended = subprocess.run(
                [*command, *added], cwd=folder_of_program, capture_output=True, text=True, check=False
            )
            assert (ended.returncode, ended.stderr) == (exit_code, "")
            outputs.append(ended.stdout)
        assert outputs[0].startswith(f"{ORIGIN}: 3 of 7 entries are proven")
        assert outputs[1].startswith("The evidence is no JSON")

    @pytest.mark.parametrize(
        ("files", "exit_code", "output"),
        [
            ({}, 0, PROVEN),
            ({"checkpoint": "record.json", "evidence": None}, 0, PROVEN),
            ({"checkpoint": "checkpoint", "evidence": None}, 1, INCOMPLETE),
            ({"checkpoint": "report.json", "evidence": None}, 1, INCOMPLETE),
            ({"checkpoint": "record.json", "evidence": "none.json"}, 1, INCOMPLETE_WITH_EVIDENCE),
            ({"export": "cut.ndjson"}, 1, CUT),
            ({"export": "export.csv"}, 1, CSV),
            ({"export": "export.csv.gz"}, 1, CSV),
        ],
    )
    def test_the_exit_code_says_whether_the_export_is_proven(self, folder, files, exit_code, output, capsys):
        assert main(self.arguments(folder, **files)) == exit_code
        assert capsys.readouterr().out.endswith(output)

    def test_the_help_names_the_option_for_an_export_record(self, capsys):
        with pytest.raises(SystemExit, match="0"):
            main(["--help"])
        help_text = " ".join(capsys.readouterr().out.split())
        assert "--checkpoint CHECKPOINT the log's checkpoint, or the export's record" in help_text

    @pytest.mark.parametrize(
        ("files", "error"),
        [
            ({"export": "nowhere"}, "can't read "),
            ({"evidence": "nowhere"}, "can't read "),
            ({"evidence": "csv.json"}, "the record has no evidence"),
            ({"checkpoint": "queued.json"}, "the record has no checkpoint"),
            ({"checkpoint": "csv.json"}, "the record has no checkpoint"),
        ],
    )
    def test_an_unusable_file_ends_with_2(self, folder, files, error, capsys):
        with pytest.raises(SystemExit, match="2"):
            main(self.arguments(folder, **files))
        assert error in capsys.readouterr().err

    @pytest.mark.parametrize("key", ["", "AAAA", f"{PUBLIC_KEY}\n", PUBLIC_KEY.rstrip("="), "=" * 44])
    def test_a_malformed_key_ends_with_2(self, folder, key, capsys):
        with pytest.raises(SystemExit, match="2"):
            main([*self.arguments(folder), "--public-key", key])
        assert "not 32 bytes in base64" in capsys.readouterr().err


class TestExportsOfTheService:
    @pytest.fixture
    def verify_arguments(self, api, organization, workers, tmp_path):
        """Arguments that verify an export against a stored checkpoint of the organization's log."""
        workers.deliver()
        (tmp_path / "checkpoint").write_text(audit_logs.verify_integrity(api, organization)["checkpoint"])
        key = api.get("/status").json["auditPublicKey"]
        return [str(tmp_path / "export"), "--checkpoint", str(tmp_path / "checkpoint"), "--public-key", key]

    def test_an_inline_export_is_proven_up_to_the_checkpoint(self, api, organization, verify_arguments, capsys):
        size = audit_logs.verify_integrity(api, organization)["treeSize"]
        api.patch(organization.path, caller=organization.owner, json={"name": "Later, and not in the tree yet"})
        write_export(verify_arguments[0], api, organization)
        exit_code, output = run_verifier(verify_arguments, capsys)
        assert exit_code == 0
        assert output.startswith(f"atrium/{organization.id}: {size} of {size} entries are proven")
        assert output.endswith(f" {size} unaltered, 0 erased; 1 younger than the checkpoint, not proven.\n")

    def test_a_filtered_async_export_is_proven_by_its_record(
        self, api, organization, workers, verify_arguments, capsys
    ):
        record = exports.create_completed_export(api, workers, organization, filters={"type": "organization.member.*"})
        record_file = Path(verify_arguments[0]).with_name("record.json")
        record_file.write_text(json.dumps(record))
        Path(verify_arguments[0]).write_bytes(exports.download_file(record))
        Path(verify_arguments[2]).write_text(record["checkpoint"])
        assert run_verifier(verify_arguments, capsys)[0] == 1
        exit_code, output = run_verifier([*verify_arguments, "--evidence", str(record_file)], capsys)
        assert run_verifier([*verify_arguments, "--checkpoint", str(record_file)], capsys) == (exit_code, output)
        assert exit_code == 0
        assert f": {record['entryCount']} of " in output
        assert output.endswith(f" {record['entryCount']} unaltered, 0 erased.\n")

    def test_erased_entries_are_proven_by_an_older_checkpoint(
        self, api, organization, workers, clock, verify_arguments, capsys
    ):
        *_, member = api.get_items(f"{organization.path}/members", caller=organization.owner)
        erased_count = complete_erasure(api, workers, clock, organization, userId=member["userId"])["erasedEntries"]
        assert erased_count > 0
        write_export(verify_arguments[0], api, organization)
        exit_code, output = run_verifier(verify_arguments, capsys)
        assert exit_code == 0
        assert f" unaltered, {erased_count} erased; " in output


def write_export(file: str, api: ApiClient, organization: CreatedOrganization) -> None:
    """Write an inline export of a log to a file."""
    export = api.get(f"{organization.path}/audit-log/export", caller=organization.owner)
    Path(file).write_text(export.text, encoding="utf-8", newline="")


def run_verifier(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run the command, and return its exit code and output."""
    capsys.readouterr()
    return main(arguments), capsys.readouterr().out
