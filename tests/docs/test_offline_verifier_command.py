"""The command of the offline verifier: its files, output and exit codes, and exports of the service."""

import base64
import gzip
import json
import re
import subprocess
import sys
import tracemalloc
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from chalicelib.features.audit.exports.logic.entry_formats import file_header_bytes
from chalicelib.features.audit.exports.logic.verify import InvalidInput, MerkleTree, read_lines
from chalicelib.features.audit.exports.logic.verify_command import main
from local.generators.verifier_program import verifier_program
from local.paths import ROOT
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
from tests.harness.exports import download_file, parse_csv
from tests.harness.stored_logs import StoredLog

PROVEN: Final = "sequence 2 to 6: 3 unaltered, 0 erased.\n"
INCOMPLETE: Final = (
    "The entry with sequence 1 is missing, and no evidence says that it was left out; if filters left it out, pass the "
    "record with --evidence, or export with evidence=true. Line 1 has sequence 2.\n"
)
INCOMPLETE_WITH_EVIDENCE: Final = (
    "The entry with sequence 1 is missing, and no evidence says that it was left out. Line 1 has sequence 2.\n"
)
EMPTY: Final = "The export is empty: save it again or, if its filters found nothing, pass its record with --evidence.\n"
CUT: Final = "The entry with sequence 3 is missing, and no evidence says that it was left out.\n"
CSV: Final = "This is an export in CSV, which can't be verified: export with format=ndjson.\n"
NEW_KEY: Final = bytes(range(32, 64))


class TestFiles:
    @pytest.mark.parametrize("compress", [gzip.compress, bytes], ids=["gzip members", "uncompressed"])
    def test_all_lines_are_read_as_one_file(self, tmp_path, compress):
        (tmp_path / "export").write_bytes(b"".join(compress(line) for line in SAMPLE_LINES))
        assert [*read_lines(tmp_path / "export")] == SAMPLE_LINES

    def test_a_truncated_file_is_reported_with_its_last_line(self, tmp_path):
        compressed = b"".join(gzip.compress(line) for line in SAMPLE_LINES)
        (tmp_path / "export").write_bytes(compressed[:-1])
        with pytest.raises(InvalidInput, match="The file was cut off behind line 7"):
            [*read_lines(tmp_path / "export")]
        (tmp_path / "export").write_bytes(compressed[:-100])
        assert verification_result(SAMPLE_LOG, read_lines(tmp_path / "export")).startswith(
            "The file was cut off behind line "
        )

    @pytest.mark.parametrize("trailing", [b"\x1f\x8b\x00garbage", b"garbage"])
    def test_a_damaged_file_is_reported_with_its_last_line(self, tmp_path, trailing):
        (tmp_path / "export").write_bytes(gzip.compress(b"".join(SAMPLE_LINES)) + trailing)
        with pytest.raises(InvalidInput, match="The file is damaged behind line 7"):
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
        (tmp_path / "empty").touch()
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
            "all": SAMPLE_LOG.evidence_for([]),
        }
        for name, record in records.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(record))
        (tmp_path / "verify.py").write_text(verifier_program())
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

    @pytest.mark.parametrize(
        "program", [["-m", "chalicelib.features.audit.exports.logic.verify_command"], ["-I", "verify.py"]]
    )
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
            ({"export": "empty", "evidence": None}, 1, EMPTY),
            ({"export": "empty", "evidence": "all.json"}, 0, ": 0 unaltered, 0 erased.\n"),
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
            ({"export": "nowhere"}, "nowhere: No such file or directory; check the path"),
            ({"evidence": "nowhere"}, "nowhere: No such file or directory; check the path"),
            ({"evidence": "csv.json"}, "the record has no evidence"),
            ({"checkpoint": "queued.json"}, "the record has no checkpoint: get it again once the export is completed"),
            ({"checkpoint": "csv.json"}, "the record has no checkpoint"),
        ],
    )
    def test_an_unusable_file_ends_with_2(self, folder, files, error, capsys):
        with pytest.raises(SystemExit, match="2"):
            main(self.arguments(folder, **files))
        assert error in capsys.readouterr().err

    def test_a_wrong_key_ends_with_1_and_says_where_the_keys_are(self, folder, capsys):
        other_key = base64.b64encode(NEW_KEY).decode()
        arguments = [other_key if argument == PUBLIC_KEY else argument for argument in self.arguments(folder)]
        assert main(arguments) == 1
        assert "pass each of auditPublicKeys of GET /status" in capsys.readouterr().out

    @pytest.mark.parametrize("key", ["", "AAAA", f"{PUBLIC_KEY}\n", PUBLIC_KEY.rstrip("="), "=" * 44])
    def test_a_malformed_key_ends_with_2(self, folder, key, capsys):
        with pytest.raises(SystemExit, match="2"):
            main([*self.arguments(folder), "--public-key", key])
        assert (
            "--public-key: pass auditPublicKey of GET /status as it is, 32 bytes in base64" in capsys.readouterr().err
        )

    @pytest.mark.parametrize(
        ("option", "error"),
        [
            ("--checkpoint", "pass `checkpoint` of verify-integrity, or the record of the export"),
            ("--public-key", "pass auditPublicKey of GET /status"),
        ],
    )
    def test_a_missing_option_ends_with_2(self, folder, option, error, capsys):
        arguments = self.arguments(folder)
        position = arguments.index(option)
        with pytest.raises(SystemExit, match="2"):
            main([*arguments[:position], *arguments[position + 2 :]])
        assert error in capsys.readouterr().err.partition("error: ")[2]


@dataclass(frozen=True)
class Verifier:
    """The command on files with an export and a checkpoint of a log."""

    log: StoredLog
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def save_checkpoint(self) -> int:
        """Save the checkpoint of all current entries, and return their number."""
        self.log.workers.run_until_idle()
        report = self.log.verify()
        (self.folder / "checkpoint").write_text(report["checkpoint"])
        return int(report["treeSize"])

    def save_export(self) -> list[bytes]:
        """Save an inline export, and return its lines."""
        (self.folder / "export").write_text(self.log.get("/export").text, encoding="utf-8", newline="")
        return (self.folder / "export").read_bytes().splitlines(keepends=True)

    def run(self, *options: str, keys: slice = slice(None)) -> tuple[int, str]:
        """Run the command with the public keys of the service, and return its exit code and output."""
        self.capsys.readouterr()
        files = [str(self.folder / "export"), "--checkpoint", str(self.folder / "checkpoint")]
        public_keys = self.log.api.get("/status").json["auditPublicKeys"][keys]
        key_options = [option for key in public_keys for option in ("--public-key", key)]
        return main([*files, *key_options, *options]), self.capsys.readouterr().out

    def run_successfully(self, *options: str) -> str:
        """Run the command, which must succeed, and return its output."""
        exit_code, output = self.run(*options)
        assert exit_code == 0
        return output


@pytest.fixture
def verifier(api, organization, workers, tmp_path, capsys):
    """The verifier, with a checkpoint of the organization's log."""
    verifier = Verifier(StoredLog(api, workers, organization), tmp_path, capsys)
    verifier.save_checkpoint()
    return verifier


def get_last_member(log):
    *_, member = log.api.get_items(f"{log.organization.path}/members", caller=log.organization.owner)
    return member["userId"]


@pytest.fixture
def erased_count(verifier, api, organization, workers, clock):
    """The number of entries that the erasure of a member has erased."""
    member = get_last_member(verifier.log)
    return complete_erasure(api, workers, clock, organization, userId=member)["erasedEntries"]


def test_an_inline_export_is_proven_up_to_the_checkpoint(verifier):
    size = verifier.save_checkpoint()
    verifier.log.rename("Later, and not in the tree yet")
    verifier.save_export()
    output = verifier.run_successfully()
    assert output.startswith(f"atrium/{verifier.log.id}: {size} of {size} entries are proven")
    assert output.endswith(f" {size} unaltered, 0 erased; 1 younger than the checkpoint, not proven.\n")


def test_a_filtered_async_export_is_proven_by_its_record(verifier):
    record, folder = verifier.log.export(filters={"type": "organization.member.*"}), verifier.folder
    (folder / "record.json").write_text(json.dumps(record))
    (folder / "export").write_bytes(download_file(record))
    (folder / "checkpoint").write_text(record["checkpoint"])
    assert verifier.run()[0] == 1
    output = verifier.run_successfully("--evidence", str(folder / "record.json"))
    assert verifier.run_successfully("--checkpoint", str(folder / "record.json")) == output
    assert f": {record['entryCount']} of " in output
    assert output.endswith(f" {record['entryCount']} unaltered, 0 erased.\n")


def test_a_filtered_inline_export_with_evidence_is_proven_alone(verifier):
    filters = {"type": "organization.member.*", "evidence": "true"}
    export = verifier.log.get("/export", **filters).text
    (verifier.folder / "export").write_text(export)
    assert main([str(verifier.folder / "export"), "--public-key", PUBLIC_KEY]) == 0
    assert f": {export.count(chr(10)) - 1} of " in verifier.capsys.readouterr().out
    assert verifier.log.get("/export", format="csv", evidence="true").status == 422


def test_only_erased_entries_have_an_erasure_signature_which_csv_does_not_contain(verifier, erased_count):
    entries = verifier.log.entries()
    integrity = {entry["sequence"]: entry["integrity"] or {} for entry in entries}
    signatures = {n: each["erasureSignature"] for n, each in integrity.items() if "erasureSignature" in each}
    assert [*signatures] == [entry["sequence"] for entry in entries if "erased" in entry]
    assert len(signatures) == erased_count > 0
    assert all(re.fullmatch("[A-Za-z0-9+/]{91}=", signature) for signature in signatures.values())
    csv = verifier.log.get("/export", format="csv").text
    assert [row["erased"] for row in parse_csv(csv)].count("true") == erased_count
    assert not any(signature in csv for signature in signatures.values())


def test_erased_entries_are_proven_also_by_an_older_checkpoint_and_no_other_can_be_presented_as_erased(
    verifier, erased_count
):
    verifier.save_export()
    assert f" unaltered, {erased_count} erased; " in verifier.run_successfully()
    verifier.save_checkpoint()
    lines = verifier.save_export()
    assert f" {erased_count} erased" in verifier.run_successfully()
    for number, line in enumerate(lines):
        entry = json.loads(line)
        kept_fields = {name: entry[name] for name in ("id", "type", "occurredAt", "organizationId")}
        fields = {**dict.fromkeys(entry), **kept_fields, "changes": [], "erased": True}
        del fields["sequence"], fields["integrity"]
        position = f',"sequence":{entry["sequence"]},"integrity":'.encode()
        text = json.dumps(fields, separators=(",", ":"), sort_keys=True)[:-1].encode()
        forged = text + line[line.rindex(position) :]
        if "erased" in entry:
            assert forged == line
            continue
        (verifier.folder / "export").write_bytes(b"".join([*lines[:number], forged, *lines[number + 1 :]]))
        exit_code, output = verifier.run()
        assert exit_code == 1
        assert f"sequence {number + 1} was altered: it calls itself erased" in output


@pytest.mark.usefixtures("erased_count")
def test_a_log_is_proven_with_the_former_and_the_current_key(verifier, api, configure):
    former = api.get("/status").json["auditPublicKey"]
    configure(audit_signing_key=base64.b64encode(NEW_KEY).decode(), audit_former_public_keys=former)
    verifier.log.rename("Newer")
    verifier.save_checkpoint()
    verifier.save_export()
    verifier.run_successfully()
    exit_code, output = verifier.run(keys=slice(-1))
    assert exit_code == 1
    assert "no --public-key signed it: pass all auditPublicKeys of /status" in output


def test_an_entry_altered_before_its_erasure_is_reported(verifier, api, organization, workers, clock):
    log, member = verifier.log, get_last_member(verifier.log)
    sequence = next(entry["sequence"] for entry in log.entries()[::-1] if member in json.dumps(entry))
    log.alter(sequence, body=log.entry(sequence)["body"].replace(b'"type":"organization', b'"type":"organisation'))
    complete_erasure(api, workers, clock, organization, userId=member)
    erased_entry = next(entry for entry in log.entries() if entry["sequence"] == sequence)
    assert (erased_entry["erased"], erased_entry["integrity"]["erasureSignature"]) == (True, None)
    verifier.save_checkpoint()
    verifier.save_export()
    assert verifier.run() == (
        1,
        f"The entry with sequence {sequence} was altered: it says that the service found it so when it was erased.\n",
    )


@pytest.mark.parametrize("command", ["receipt", "consistency", "anchors", "log-key"])
def test_the_help_names_the_other_commands(command, capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"  verify.py {command}\n" in capsys.readouterr().out
