"""The offline verifier as a program: what it reads, what it prints, how it ends; and the service's own log."""

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
from chalicelib.features.audit.exports.logic.entry_formats import file_header
from chalicelib.features.audit.exports.logic.verify import Broken, MerkleTree, main, read_lines
from local.paths import ROOT
from tests.harness import audit_logs, exports
from tests.harness.api import ApiClient
from tests.harness.clock import Clock
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

Captured = pytest.CaptureFixture[str]


class TestFiles:
    def test_gzip_of_several_members_is_read_as_one(self, tmp_path: Path) -> None:
        (tmp_path / "export").write_bytes(b"".join(gzip.compress(line) for line in SAMPLE_LINES))
        assert [*read_lines(tmp_path / "export")] == SAMPLE_LINES

    def test_plain_lines_are_read_as_they_are(self, tmp_path: Path) -> None:
        (tmp_path / "export").write_bytes(b"".join(SAMPLE_LINES))
        assert [*read_lines(tmp_path / "export")] == SAMPLE_LINES

    def test_a_file_that_was_cut_off_says_where(self, tmp_path: Path) -> None:
        packed = b"".join(gzip.compress(line) for line in SAMPLE_LINES)
        (tmp_path / "export").write_bytes(packed[:-1])
        with pytest.raises(Broken, match="The file was cut off: its compressed data ends behind line 7"):
            [*read_lines(tmp_path / "export")]
        (tmp_path / "export").write_bytes(packed[:-100])
        assert verification_result(SAMPLE_LOG, read_lines(tmp_path / "export")).startswith("The file was cut off: ")

    @pytest.mark.parametrize("trailing", [b"\x1f\x8b\x00garbage", b"garbage"])
    def test_a_damaged_file_says_where(self, tmp_path: Path, trailing: bytes) -> None:
        (tmp_path / "export").write_bytes(gzip.compress(b"".join(SAMPLE_LINES)) + trailing)
        with pytest.raises(Broken, match="The file is damaged: its compressed data is wrong behind line 7"):
            [*read_lines(tmp_path / "export")]

    def test_any_flipped_bit_of_a_packed_file_is_found_or_changes_nothing(self, tmp_path: Path) -> None:
        log, outcomes = build_exported_log([1]), set[str]()
        packed = gzip.compress(log.lines[0], mtime=0)
        for at in range(len(packed)):
            (tmp_path / "export").write_bytes(packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :])
            outcomes.add(verification_result(log, read_lines(tmp_path / "export")))
        assert {outcome for outcome in outcomes if "proven" in outcome} == {verification_result(log, log.lines)}
        assert len(outcomes) > 3

    def test_memory_does_not_grow_with_the_export(self) -> None:
        text, size = b'{"data":"' + b"a" * 500 + b'"}', 10_000
        leaf, tree = sha256(b"\0" + text).digest(), MerkleTree()
        for _ in range(size):
            tree.append(leaf)
        checkpoint = sign_checkpoint(size, tree.root())
        tracemalloc.start()
        lines = (build_line(text, sequence, leaf, size) for sequence in range(1, size + 1))
        whole = verification_result(SAMPLE_LOG, lines, checkpoint=checkpoint)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert f"{size} unaltered" in whole
        assert peak < size * len(text) / 20


class TestTheCommand:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A folder with an export of a part, all that proves it, and the script."""
        part = [2, 3, 6]
        (tmp_path / "export.ndjson.gz").write_bytes(gzip.compress(b"".join(SAMPLE_LOG.lines_of(part))))
        (tmp_path / "cut.ndjson").write_bytes(SAMPLE_LINES[1])
        (tmp_path / "checkpoint").write_text(SAMPLE_LOG.checkpoint)
        record = {"checkpoint": SAMPLE_LOG.checkpoint, "format": "ndjson", "evidence": SAMPLE_LOG.evidence_for(part)}
        (tmp_path / "record.json").write_text(json.dumps(record))
        (tmp_path / "csv.json").write_text(json.dumps({"format": "csv", "evidence": None}))
        (tmp_path / "queued.json").write_text(json.dumps({"checkpoint": None, "evidence": None}))
        (tmp_path / "report.json").write_text(json.dumps({"valid": True, "checkpoint": SAMPLE_LOG.checkpoint}))
        (tmp_path / "export.csv").write_bytes(file_header("csv"))
        shutil.copy(verify.__file__, tmp_path / "verify.py")
        return tmp_path

    def words(
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
    def test_it_runs_as_a_module_and_by_itself(self, folder: Path, program: list[str]) -> None:
        command = [sys.executable, "-W", "error", *program, *self.words(folder)]
        where = ROOT if "-m" in program else folder
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{ORIGIN}: 3 of 7 entries are proven")
        broken = subprocess.run(
            [*command, "--evidence", "/dev/null"], cwd=where, capture_output=True, text=True, check=False
        )
        assert (broken.returncode, broken.stderr) == (1, "")
        assert broken.stdout.startswith("The evidence is no JSON")

    def test_what_is_proven_ends_well(self, folder: Path, capsys: Captured) -> None:
        assert main(self.words(folder)) == 0
        assert capsys.readouterr().out.endswith("sequence 2 to 6: 3 unaltered, 0 erased.\n")

    def test_what_is_not_proven_ends_with_1(self, folder: Path, capsys: Captured) -> None:
        assert main(self.words(folder, "cut.ndjson")) == 1
        assert capsys.readouterr().out == (
            "The entry with sequence 3 is missing, and no evidence says that it was left out.\n"
        )

    @pytest.mark.parametrize("checkpoint", ["checkpoint", "report.json"])
    def test_without_evidence_the_export_has_to_be_whole(self, folder: Path, checkpoint: str, capsys: Captured) -> None:
        assert main([*self.words(folder)[:-2], "--checkpoint", str(folder / checkpoint)]) == 1
        assert capsys.readouterr().out == (
            "The entry with sequence 1 is missing, and no evidence says that it was left out; if filters left it out, "
            "name the export's record by --evidence. Line 1 has sequence 2.\n"
        )

    def test_the_record_is_enough(self, folder: Path, capsys: Captured) -> None:
        words = [*self.words(folder)[:-2], "--checkpoint", str(folder / "record.json")]
        assert main(words) == 0
        assert capsys.readouterr().out.endswith("sequence 2 to 6: 3 unaltered, 0 erased.\n")
        (folder / "none.json").write_text("[]")
        assert main([*words, "--evidence", str(folder / "none.json")]) == 1
        assert capsys.readouterr().out.startswith("The entry with sequence 1 is missing")

    def test_of_csv_it_says_that_it_can_not_be_verified(self, folder: Path, capsys: Captured) -> None:
        for name in ("export.csv", "export.csv.gz"):
            (folder / "export.csv.gz").write_bytes(gzip.compress((folder / "export.csv").read_bytes()))
            assert main(self.words(folder, name)) == 1
            assert (
                capsys.readouterr().out
                == "This is an export in CSV, which can't be verified: only one in NDJSON can.\n"
            )

    def test_its_help_says_what_takes_a_record(self, capsys: Captured) -> None:
        with pytest.raises(SystemExit, match="0"):
            main(["--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert "--checkpoint CHECKPOINT the log's checkpoint, or the export's record" in shown

    @pytest.mark.parametrize(
        ("changed", "complaint"),
        [
            ({"export": "nowhere"}, "can't read "),
            ({"evidence": "nowhere"}, "can't read "),
            ({"evidence": "csv.json"}, "the record has no evidence"),
            ({"checkpoint": "queued.json"}, "the record has no checkpoint"),
            ({"checkpoint": "csv.json"}, "the record has no checkpoint"),
        ],
    )
    def test_what_can_not_be_used_ends_with_2(
        self, folder: Path, changed: dict[str, str], complaint: str, capsys: Captured
    ) -> None:
        with pytest.raises(SystemExit, match="2"):
            main(self.words(folder, **changed))
        assert complaint in capsys.readouterr().err

    @pytest.mark.parametrize("key", ["", "AAAA", f"{PUBLIC_KEY}\n", PUBLIC_KEY.rstrip("="), "=" * 44])
    def test_a_key_that_is_none_ends_with_2(self, folder: Path, key: str, capsys: Captured) -> None:
        with pytest.raises(SystemExit, match="2"):
            main([*self.words(folder), "--public-key", key])
        assert "not 32 bytes in base64" in capsys.readouterr().err


class TestTheServicesOwnExports:
    @pytest.fixture
    def kept(self, api: ApiClient, organization: CreatedOrganization, workers: Workers, tmp_path: Path) -> list[str]:
        """The words by which an export is held against a checkpoint that was kept."""
        workers.deliver()
        (tmp_path / "checkpoint").write_text(audit_logs.verify_integrity(api, organization)["checkpoint"])
        key = api.get("/status").json["auditPublicKey"]
        return [str(tmp_path / "export"), "--checkpoint", str(tmp_path / "checkpoint"), "--public-key", key]

    def test_an_export_in_one_answer_is_proven_up_to_the_checkpoint(
        self, api: ApiClient, organization: CreatedOrganization, kept: list[str], capsys: Captured
    ) -> None:
        size = audit_logs.verify_integrity(api, organization)["treeSize"]
        api.patch(organization.path, caller=organization.owner, json={"name": "Later, and not in the tree yet"})
        export_to(kept[0], api, organization)
        ended, said = run(kept, capsys)
        assert ended == 0
        assert said.startswith(f"atrium/{organization.id}: {size} of {size} entries are proven")
        assert said.endswith(f" {size} unaltered, 0 erased; 1 younger than the checkpoint, not proven.\n")

    def test_a_part_exported_in_the_background_is_proven_by_its_record(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, kept: list[str], capsys: Captured
    ) -> None:
        record = exports.create_completed_export(api, workers, organization, filters={"type": "organization.member.*"})
        record_file = Path(kept[0]).with_name("record.json")
        record_file.write_text(json.dumps(record))
        Path(kept[0]).write_bytes(exports.download_file(record))
        Path(kept[2]).write_text(record["checkpoint"])
        assert run(kept, capsys)[0] == 1
        ended, said = run([*kept, "--evidence", str(record_file)], capsys)
        assert run([*kept, "--checkpoint", str(record_file)], capsys) == (ended, said)
        assert ended == 0
        assert f": {record['entryCount']} of " in said
        assert said.endswith(f" {record['entryCount']} unaltered, 0 erased.\n")

    def test_erased_entries_are_proven_by_a_checkpoint_from_before(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        workers: Workers,
        clock: Clock,
        kept: list[str],
        capsys: Captured,
    ) -> None:
        *_, member = api.get_items(f"{organization.path}/members", caller=organization.owner)
        erasure = api.post(
            f"{organization.path}/erasures", caller=organization.owner, json={"userId": member["userId"]}
        )
        workers.run_until_idle()
        clock.shift(minutes=2)
        workers.run_until_idle()
        erased = api.get(erasure.location, caller=organization.owner).json["erasedEntries"]
        assert erased > 0
        export_to(kept[0], api, organization)
        ended, said = run(kept, capsys)
        assert ended == 0
        assert f" unaltered, {erased} erased; " in said


def export_to(file: str, api: ApiClient, organization: CreatedOrganization) -> None:
    """Write an export of a whole log, in one answer, into a file."""
    export = api.get(f"{organization.path}/audit-log/export", caller=organization.owner)
    Path(file).write_text(export.text, encoding="utf-8", newline="")


def run(words: list[str], capsys: Captured) -> tuple[int, str]:
    """Return how the command ends, and what it prints."""
    capsys.readouterr()
    return main(words), capsys.readouterr().out
