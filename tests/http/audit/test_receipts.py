"""The offline verifier proves receipts of the service and the growth of its logs, and detects every change."""

import base64
import json
import math
import re
import shlex
import struct
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from chalicelib.features.audit.exports.logic.verify_command import main
from chalicelib.features.audit.exports.logic.verify_receipts import canonical_json
from chalicelib.kernel.crypto.checkpoints import public_key as public_key_of_seed
from local.paths import ROOT
from tests.harness.api import Json
from tests.harness.erasures import complete_erasure
from tests.harness.stored_logs import StoredLog

GUIDE: Final = ROOT / "docs/guides/proofs.md"
OTHER_KEY: Final = base64.b64encode(public_key_of_seed(bytes(range(64, 96)))).decode()
FINITE_NUMBERS: Final = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
def public_key(api):
    return str(api.get("/status").json["auditPublicKey"])


def prove(log: StoredLog, sequence: int, **query: object) -> Json:
    return log.get(f"/{log.entry(sequence)['sk']}/proof", **query).expect(200).json


class Verifier:
    """The program, with its files in a folder."""

    def __init__(self, folder: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._key, self._capsys = folder, key, capsys

    def write(self, name: str, content: Any) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (self._folder / name).write_text(text, errors="surrogatepass")
        return str(self._folder / name)

    def receipt(self, proof: Any, *, key: str = "") -> tuple[int, str]:
        arguments = ["receipt", self.write("proof.json", proof), "--public-key", key or self._key]
        return main(arguments), self._capsys.readouterr().out

    def consistency(self, proof: Any, *checkpoints: str) -> tuple[int, str]:
        files = [self.write(f"checkpoint-{n}", text) for n, text in enumerate(checkpoints)]
        options = [argument for file in files for argument in ("--checkpoint", file)]
        arguments = ["consistency", self.write("proof.json", proof), "--public-key", self._key, *options]
        return main(arguments), self._capsys.readouterr().out


@pytest.fixture
def verifier(tmp_path, public_key, capsys):
    return Verifier(tmp_path, public_key, capsys)


def changed(proof: Json, path: list[str | int], value: Any) -> Json:
    """Return a proof with another value at a path of names and positions."""
    copy = deepcopy(proof)
    container: Any = copy
    for step in path[:-1]:
        container = container[step]
    container[path[-1]] = value
    return copy


class TestReceipts:
    def test_each_entry_is_proven_in_each_tree(self, log, verifier):
        for sequence in (1, 4, 10):
            for size in {sequence, 8, 10} - {*range(sequence)}:
                code, output = verifier.receipt(prove(log, sequence, treeSize=size))
                entry = f"the entry {log.entry(sequence)['sk']} with sequence {sequence}"
                proven = f"{entry} is proven to be in the signed tree of 10 entries: unaltered."
                assert (code, output) == (0, f"atrium/{log.id}: {proven}\n")

    def test_a_receipt_is_proven_after_other_programs_wrote_it(self, log, verifier):
        proof = prove(log, 3)
        rewritten = json.dumps(dict(reversed(proof.items())), indent=4, ensure_ascii=True, sort_keys=True)
        assert verifier.receipt(rewritten)[0] == 0

    def test_an_erased_entry_is_proven_as_erased(self, mixed_log, verifier, api, workers, clock, grace):
        complete_erasure(api, workers, clock, mixed_log.organization, userId=grace.id)
        erased = next(entry for entry in mixed_log.entries() if entry.get("erased"))
        proof = prove(mixed_log, erased["sequence"])
        code, output = verifier.receipt(proof)
        assert (code, output.endswith(" entries: erased.\n")) == (0, True)
        assert verifier.receipt(changed(proof, ["entry", "type"], "organization.updated"))[0] == 1

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (["entry", "type"], "organization.deleted"),
            (["entry", "actor", "name"], "Eve"),
            (["entry", "sequence"], 4),
            (["entry", "sequence"], None),
            (["entry", "integrity"], None),
            (["entry", "integrity", "leafHash"], "0" * 64),
            (["entry", "integrity", "treeSize"], 2),
            (["entry", "integrity", "treeSize"], 10**6),
            (["entry", "data", "name"], 10**400),
            (["entry", "integrity", "extra"], 1),
            (["entry", "erased"], True),
            (["entry"], {}),
            (["entry"], None),
            (["sequence"], 4),
            (["leafHash"], "0" * 64),
            (["treeSize"], 7),
            (["treeSize"], 10),
            (["treeSize"], 2),
            (["rootHash"], "0" * 64),
            (["path"], []),
            (["path", 0], "0" * 64),
            (["path", 0], "no hash"),
            (["path"], "0"),
            (["consistencyPath"], None),
            (["consistencyPath"], []),
            (["consistencyPath", 0], "0" * 64),
            (["consistencyPath"], {}),
            (["checkpoint"], "no note"),
            (["checkpoint"], None),
            (["checkpoint"], "\ud800"),
        ],
    )
    def test_every_change_is_detected(self, log, verifier, path, value):
        proof = prove(log, 3, treeSize=8)
        assert verifier.receipt(proof)[0] == 0
        code, output = verifier.receipt(changed(proof, path, value))
        assert (code, output.count("\n")) == (1, 1)

    def test_a_receipt_of_another_key_is_not_proven(self, log, verifier):
        proof = prove(log, 3)
        code, output = verifier.receipt(proof, key=OTHER_KEY)
        assert (code, "No --public-key signed the checkpoint" in output) == (1, True)

    @pytest.mark.parametrize("text", ["", "[]", "7", '{"entry": 1, "entry": 2}', "[" * 100_000])
    def test_other_files_are_no_receipts(self, verifier, text):
        code, output = verifier.receipt(text)
        assert (code, output.count("\n")) == (1, 1)

    def test_a_missing_file_and_a_missing_key_are_errors_of_usage(self, verifier, tmp_path, capsys):
        for arguments in ([str(tmp_path / "nowhere"), "--public-key", OTHER_KEY], [verifier.write("proof", "{}")]):
            with pytest.raises(SystemExit, match="2"):
                main(["receipt", *arguments])
        assert "verify.py receipt: error" in capsys.readouterr().err


class TestConsistency:
    def test_two_saved_checkpoints_are_compared(self, log, verifier):
        notes = {10: log.head["note"]}
        for count in (3, 2):
            log.append(count)
            notes[log.head["size"]] = log.head["note"]
        for first, second in ((10, 13), (10, 15), (13, 15), (10, 10), (15, 15)):
            proof = log.get("/consistency", **{"from": first, "to": second}).expect(200).json
            proven = (
                f"the log with {second} entries is proven to begin with the {first} entries of the earlier checkpoint."
            )
            assert verifier.consistency(proof, notes[first], notes[second]) == (0, f"atrium/{log.id}: {proven}\n")
            assert verifier.consistency(proof, notes[first])[0] == 0
        code, output = verifier.consistency(proof, notes[10], notes[15])
        assert (code, "request a proof with the sizes" in output) == (1, True)

    def test_a_fork_is_detected(self, log, verifier):
        forked_note = base64.urlsafe_b64decode(log.sign_checkpoint(10) + "==").decode()
        honest_note = log.head["note"]
        log.append(2)
        proof = log.get("/consistency", **{"from": 10}).expect(200).json
        assert verifier.consistency(proof, honest_note)[0] == 0
        code, output = verifier.consistency(proof, forked_note)
        assert (code, "does not begin with the tree of 10 entries" in output) == (1, True)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (["from"], 7),
            (["to"], 12),
            (["to"], 10),
            (["path"], []),
            (["path", 0], "0" * 64),
            (["toRootHash"], "0" * 64),
            (["toRootHash"], "none"),
            (["consistencyPath"], None),
            (["consistencyPath", 0], "0" * 64),
            (["checkpoint"], "none"),
            (["checkpoint"], None),
        ],
    )
    def test_every_change_is_detected(self, log, verifier, path, value):
        note = log.head["note"]
        log.append(4)
        proof = log.get("/consistency", **{"from": 10, "to": 13}).expect(200).json
        assert verifier.consistency(proof, note)[0] == 0
        code, output = verifier.consistency(changed(proof, path, value), note)
        assert (code, output.count("\n")) == (1, 1)

    def test_more_than_two_checkpoints_are_an_error_of_usage(self, log, verifier):
        proof = log.get("/consistency", **{"from": 10}).expect(200).json
        with pytest.raises(SystemExit, match="2"):
            verifier.consistency(proof, *[log.head["note"]] * 3)


def test_the_commands_of_the_guide_print_what_it_says(log, verifier, public_key, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verifier.write("receipt.json", prove(log, 3))
    verifier.write("earlier.txt", log.head["note"])
    log.append(5)
    verifier.write("later.txt", log.head["note"])
    verifier.write("growth.json", log.get("/consistency", **{"from": 10, "to": 15}).expect(200).json)
    examples = re.findall(r"^\$ python verify\.py (.+)\n(.+)$", GUIDE.read_text().replace("\\\n", ""), re.MULTILINE)
    # The command for cosigned receipts needs witnesses: tests/http/audit/test_witness_proofs.py runs it.
    examples = [each for each in examples if "--witness-key" not in each[0]]
    for arguments, output in examples:
        assert main(shlex.split(arguments.replace("BASE64", public_key))) == 0
        pattern = ".+".join(map(re.escape, output.split("…")))
        assert re.fullmatch(f"{pattern}\n", capsys.readouterr().out)
    assert len(examples) == 2


class TestCanonicalJson:
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | FINITE_NUMBERS | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        )
    )
    @example({"\U0001f600": 1, "\ufb33": 2, "\r": 3, "1": 4, "\x7f": '\x00\x1f\u2028"\\'})
    def test_it_is_that_of_the_service(self, value):
        assert canonical_json(json.loads(json.dumps(value))).encode() == rfc8785.dumps(value)

    @given(st.binary(min_size=8, max_size=8).map(lambda data: struct.unpack(">d", data)[0]).filter(math.isfinite))
    @example(1e21)
    @example(1e-7)
    @example(0.000001)
    @example(-0.0)
    @example(5e-324)
    @example(123456789012345680000.0)
    def test_numbers_are_those_of_ecmascript(self, number):
        assert canonical_json(number).encode() == rfc8785.dumps(number)

    @pytest.mark.parametrize("number", [2**60, -(2**60), 10**30])
    def test_integers_beyond_the_safe_range_are_doubles(self, number):
        assert canonical_json(number).encode() == rfc8785.dumps(float(number))

    @pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
    def test_values_that_json_does_not_have_are_rejected(self, number):
        with pytest.raises(ValueError, match="no such number"):
            canonical_json(number)
