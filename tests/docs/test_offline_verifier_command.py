"""The command of the offline verifier: its files, output and exit codes, and exports of the service."""

import gzip
import json
import shutil
import subprocess
import sys
import tracemalloc
from hashlib import sha256
from pathlib import Path

import pytest

from chalicelib.features.audit.exports.logic import verify
from chalicelib.features.audit.exports.logic.entry_formats import file_header_bytes
from chalicelib.features.audit.exports.logic.verify import InvalidInput, MerkleTree, main, read_lines
from local.paths import ROOT
from tests.harness import audit_logs, exports
from tests.harness.api import ApiClient
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
from tests.harness.workers import Workers

CaptureFixture = pytest.CaptureFixture[str]


class TestFiles:
    def test_gzip_members_are_read_as_one_file(self, tmp_path):
        (tmp_path / "export").write_bytes(b"".join(gzip.compress(line) for line in SAMPLE_LINES))
        assert [*read_lines(tmp_path / "export")] == SAMPLE_LINES

    def test_uncompressed_lines_are_read_unchanged(self, tmp_path):
        (tmp_path / "export").write_bytes(b"".join(SAMPLE_LINES))
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
            (tmp_path / "export").write_bytes(
                compressed[:position] + bytes([compressed[position] ^ 1]) + compressed[position + 1 :]
            )
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
    def folder(self, tmp_path: Path) -> Path:
        """A folder with a filtered export, the files that prove it, invalid files and the script."""
        part = [2, 3, 6]
        (tmp_path / "export.ndjson.gz").write_bytes(gzip.compress(b"".join(SAMPLE_LOG.lines_of(part))))
        (tmp_path / "cut.ndjson").write_bytes(SAMPLE_LINES[1])
        (tmp_path / "checkpoint").write_text(SAMPLE_LOG.checkpoint)
        record = {"checkpoint": SAMPLE_LOG.checkpoint, "format": "ndjson", "evidence": SAMPLE_LOG.evidence_for(part)}
        (tmp_path / "record.json").write_text(json.dumps(record))
        (tmp_path / "csv.json").write_text(json.dumps({"format": "csv", "evidence": None}))
        (tmp_path / "queued.json").write_text(json.dumps({"checkpoint": None, "evidence": None}))
        (tmp_path / "report.json").write_text(json.dumps({"valid": True, "checkpoint": SAMPLE_LOG.checkpoint}))
        (tmp_path / "export.csv").write_bytes(file_header_bytes("csv"))
        shutil.copy(verify.__file__, tmp_path / "verify.py")
        return tmp_path

    def arguments(
        self,
        folder: Path,
        export: str = "export.ndjson.gz",
        evidence: str = "record.json",
        checkpoint: str = "checkpoint",
    ) -> list[str]:
        return [
            *(str(folder / export), "--checkpoint", str(folder / checkpoint), "--public-key", PUBLIC_KEY),
            *("--evidence", str(folder / evidence)),
        ]

    @pytest.mark.parametrize("program", [["-m", "chalicelib.features.audit.exports.logic.verify"], ["-I", "verify.py"]])
    def test_the_program_runs_as_a_module_and_as_a_script(self, folder, program):
        command = [sys.executable, "-W", "error", *program, *self.arguments(folder)]
        working_directory = ROOT if "-m" in program else folder
        completed = subprocess.run(command, cwd=working_directory, capture_output=True, text=True, check=False)
        assert (completed.returncode, completed.stderr) == (0, "")
        assert completed.stdout.startswith(f"{ORIGIN}: 3 of 7 entries are proven")
        failed = subprocess.run(
            [*command, "--evidence", "/dev/null"], cwd=working_directory, capture_output=True, text=True, check=False
        )
        assert (failed.returncode, failed.stderr) == (1, "")
        assert failed.stdout.startswith("The evidence is no JSON")

    def test_a_proven_export_ends_with_0(self, folder, capsys):
        assert main(self.arguments(folder)) == 0
        assert capsys.readouterr().out.endswith("sequence 2 to 6: 3 unaltered, 0 erased.\n")

    def test_an_unproven_export_ends_with_1(self, folder, capsys):
        assert main(self.arguments(folder, "cut.ndjson")) == 1
        assert capsys.readouterr().out == (
            "The entry with sequence 3 is missing, and no evidence says that it was left out.\n"
        )

    @pytest.mark.parametrize("checkpoint", ["checkpoint", "report.json"])
    def test_an_export_without_evidence_has_to_be_complete(self, folder, checkpoint, capsys):
        assert main([*self.arguments(folder)[:-2], "--checkpoint", str(folder / checkpoint)]) == 1
        assert capsys.readouterr().out == (
            "The entry with sequence 1 is missing, and no evidence says that it was left out; if filters left it out, "
            "name the export's record by --evidence. Line 1 has sequence 2.\n"
        )

    def test_the_export_record_provides_checkpoint_and_evidence(self, folder, capsys):
        arguments = [*self.arguments(folder)[:-2], "--checkpoint", str(folder / "record.json")]
        assert main(arguments) == 0
        assert capsys.readouterr().out.endswith("sequence 2 to 6: 3 unaltered, 0 erased.\n")
        (folder / "none.json").write_text("[]")
        assert main([*arguments, "--evidence", str(folder / "none.json")]) == 1
        assert capsys.readouterr().out.startswith("The entry with sequence 1 is missing")

    def test_csv_is_reported_as_not_verifiable(self, folder, capsys):
        for name in ("export.csv", "export.csv.gz"):
            (folder / "export.csv.gz").write_bytes(gzip.compress((folder / "export.csv").read_bytes()))
            assert main(self.arguments(folder, name)) == 1
            assert (
                capsys.readouterr().out
                == "This is an export in CSV, which can't be verified: only one in NDJSON can.\n"
            )

    def test_the_help_names_the_option_for_an_export_record(self, capsys):
        with pytest.raises(SystemExit, match="0"):
            main(["--help"])
        help_text = " ".join(capsys.readouterr().out.split())
        assert "--checkpoint CHECKPOINT the log's checkpoint, or the export's record" in help_text

    @pytest.mark.parametrize(
        ("changed_arguments", "error"),
        [
            ({"export": "nowhere"}, "can't read "),
            ({"evidence": "nowhere"}, "can't read "),
            ({"evidence": "csv.json"}, "the record has no evidence"),
            ({"checkpoint": "queued.json"}, "the record has no checkpoint"),
            ({"checkpoint": "csv.json"}, "the record has no checkpoint"),
        ],
    )
    def test_an_unusable_file_ends_with_2(self, folder, changed_arguments, error, capsys):
        with pytest.raises(SystemExit, match="2"):
            main(self.arguments(folder, **changed_arguments))
        assert error in capsys.readouterr().err

    @pytest.mark.parametrize("key", ["", "AAAA", f"{PUBLIC_KEY}\n", PUBLIC_KEY.rstrip("="), "=" * 44])
    def test_a_malformed_key_ends_with_2(self, folder, key, capsys):
        with pytest.raises(SystemExit, match="2"):
            main([*self.arguments(folder), "--public-key", key])
        assert "not 32 bytes in base64" in capsys.readouterr().err


class TestExportsOfTheService:
    @pytest.fixture
    def verify_arguments(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, tmp_path: Path
    ) -> list[str]:
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
        erasure = api.post(
            f"{organization.path}/erasures", caller=organization.owner, json={"userId": member["userId"]}
        )
        workers.run_until_idle()
        clock.shift(minutes=2)
        workers.run_until_idle()
        erased_count = api.get(erasure.location, caller=organization.owner).json["erasedEntries"]
        assert erased_count > 0
        write_export(verify_arguments[0], api, organization)
        exit_code, output = run_verifier(verify_arguments, capsys)
        assert exit_code == 0
        assert f" unaltered, {erased_count} erased; " in output


def write_export(file: str, api: ApiClient, organization: CreatedOrganization) -> None:
    """Write an inline export of a log to a file."""
    export = api.get(f"{organization.path}/audit-log/export", caller=organization.owner)
    Path(file).write_text(export.text, encoding="utf-8", newline="")


def run_verifier(arguments: list[str], capsys: CaptureFixture) -> tuple[int, str]:
    """Run the command, and return its exit code and output."""
    capsys.readouterr()
    return main(arguments), capsys.readouterr().out
