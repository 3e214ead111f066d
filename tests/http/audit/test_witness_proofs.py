"""A receipt proves which history witnesses have cosigned, and `verify.py` demands k of n cosignatures."""

import base64
import json
import re
import shlex
from collections.abc import Sequence
from threading import get_ident
from time import monotonic, sleep
from typing import Any, Final

import pytest

from chalicelib.features.audit.exports.logic.verify_command import main
from chalicelib.kernel.audit_log.entry_macs import load_signing_key_matching_public_key
from chalicelib.kernel.crypto.checkpoints import ED25519, Checkpoint, sign_checkpoint_note
from chalicelib.kernel.crypto.cosignatures import parse_verifier_key
from local.paths import ROOT
from tests.harness import memory_aws, rfc6962
from tests.harness.api import Json
from tests.harness.aws_calls import Call, Interference, interfere_with_calls
from tests.harness.exports import append_entries
from tests.harness.log_records import capture_log_records
from tests.harness.stored_records import load_item
from tests.harness.witnesses import ORIGIN, anchor_leaf_hash, is_consistent, is_silent

GUIDE: Final = ROOT / "docs/guides/proofs.md"


class Delay(Interference):
    """Delays each AWS call, and records when it began and ended."""

    def __init__(self) -> None:
        self.intervals = list[tuple[float, float]]()
        self.begun = dict[int, float]()

    def before_call(self, call: Call) -> None:
        self.begun[get_ident()] = monotonic()
        sleep(0.1)

    def after_call(self, call: Call) -> None:
        self.intervals.append((self.begun[get_ident()], monotonic()))

    @property
    def round_trips(self) -> int:
        """Return the number of calls of which each began after the one before had ended."""
        count, ended_at = 0, 0.0
        for begun_at, end in sorted(self.intervals, key=lambda interval: interval[1]):
            if begun_at >= ended_at:
                count, ended_at = count + 1, end
        return count


def receipt(log, sequence=1, witnessed_size=None):
    query = {"witnessedSize": witnessed_size} if witnessed_size else {}
    return log.get(f"/{log.entry(sequence)['sk']}/proof", **query).expect(200).json


def leaves_of(log):
    entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{log.id}" and "sequence" in item]
    return [entry["leaf"] for entry in sorted(entries, key=lambda entry: entry["sequence"])]


def anchor_leaves():
    items = [item for item in memory_aws.all_items() if "leaf_index" in item]
    notes = [item["note"] for item in sorted(items, key=lambda item: item["leaf_index"])]
    return [anchor_leaf_hash(note) for note in notes]


def with_invalid_last_signature(note):
    lines = note.split("\n")
    lines[-2] = lines[-2][:-12] + "AAAAAAAAAA=="
    return "\n".join(lines)


def root_in(note):
    return base64.b64decode(note.split("\n")[2])


@pytest.fixture
def verify(api, witnesses, tmp_path, capsys):
    """A function that runs `verify.py receipt` and returns its exit code and output."""

    def run(
        proof: Json, options: Sequence[str] = (), keys: Any = None, origin: str = ORIGIN, earlier: Json | None = None
    ) -> tuple[int, str]:
        files = {"proof": proof, "earlier": earlier}
        for name, content in files.items():
            (tmp_path / name).write_text(json.dumps(content))
        arguments = ["receipt", str(tmp_path / "proof"), "--public-key", api.get("/status").json["auditPublicKey"]]
        for key in [each.verifier_key for each in witnesses] if keys is None else keys:
            arguments += ["--witness-key", key]
        arguments += ["--witnessed-log", origin, *options]
        arguments += ["--earlier", str(tmp_path / "earlier")] if earlier else []
        return main(arguments), capsys.readouterr().out

    return run


class TestReceipt:
    def test_leads_from_the_entry_through_the_anchor_to_the_cosigned_checkpoint(self, logs):
        logs[0].append(4)
        logs[0].anchor()
        logs[0].append(2)
        proof = receipt(logs[0], 3)
        witness, leaves = proof["witness"], leaves_of(logs[0])
        assert (proof["treeSize"], witness["anchor"]["treeSize"]) == (7, 5)
        assert witness["anchor"]["path"] == rfc6962.inclusion_path(leaves[:5], 2)
        assert root_in(witness["anchor"]["checkpoint"]) == rfc6962.tree_root(leaves[:5])
        assert witness["path"] == rfc6962.inclusion_path(anchor_leaves(), witness["index"])
        assert (witness["treeSize"], root_in(witness["checkpoint"])) == (3, rfc6962.tree_root(anchor_leaves()))
        names = re.findall("^— ([^ ]+) ", witness["checkpoint"], re.MULTILINE)
        assert names[0] == ORIGIN
        assert sorted(names[1:]) == witness["cosignedBy"] == ["w0.example", "w1.example", "w2.example"]

    def test_gets_the_cosignatures_of_a_silent_and_of_a_new_witness_later(self, logs, witnesses, configure):
        configure(witnesses=", ".join(each.setting for each in witnesses[:2]))
        witnesses[0].respond = is_silent
        logs[0].anchor()
        assert receipt(logs[0])["witness"]["cosignedBy"] == ["w1.example"]
        witnesses[0].respond = None
        configure(witnesses=", ".join(each.setting for each in witnesses))
        logs[1].append()
        logs[0].anchor()
        witness = receipt(logs[0])["witness"]
        assert (witness["cosignedBy"], witness["treeSize"]) == (["w0.example", "w1.example", "w2.example"], 4)

    def test_has_no_cosignatures_before_the_log_was_anchored_and_without_witnesses(self, logs, configure, short_log):
        assert receipt(logs[0])["witness"] is None
        logs[0].anchor()
        logs[0].append()
        assert receipt(logs[0], 2)["witness"] is None
        assert receipt(logs[0], 1)["witness"] is not None
        configure(witnesses="")
        short_log.append()
        short_log.anchor()
        assert receipt(short_log, 2)["witness"] is None

    def test_has_none_while_all_witnesses_are_silent(self, logs, witnesses):
        for each in witnesses:
            each.respond = is_silent
        logs[0].anchor()
        assert receipt(logs[0])["witness"] is None

    def test_proves_that_the_cosigned_log_extends_that_of_an_earlier_receipt(self, logs):
        logs[0].anchor()
        earlier = receipt(logs[0])["witness"]
        for log in logs:
            log.append()
        logs[0].anchor()
        later = receipt(logs[0], 2, witnessed_size=earlier["treeSize"])["witness"]
        path = [bytes.fromhex(each) for each in later["consistencyPath"]]
        sizes_and_roots = [(each["treeSize"], root_in(each["checkpoint"])) for each in (earlier, later)]
        assert is_consistent(*sizes_and_roots[0], *sizes_and_roots[1], path)
        assert receipt(logs[0], 2)["witness"]["consistencyPath"] is None
        assert receipt(logs[0], 2, witnessed_size=later["treeSize"])["witness"]["consistencyPath"] == []
        assert receipt(logs[0], 2, witnessed_size=100)["witness"]["consistencyPath"] is None

    def test_of_a_large_log_takes_three_round_trips(self, logs):
        append_entries(logs[0].id, 600)
        logs[0].anchor()
        append_entries(logs[0].id, 300)
        entry_id = logs[0].entry(3)["sk"]
        delay = Delay()
        with interfere_with_calls(delay):
            answer = logs[0].get(f"/{entry_id}/proof").expect(200)
        assert answer.json["witness"]["anchor"]["treeSize"] == 601
        assert len(answer.calls.call_names) == len(delay.intervals)
        assert delay.round_trips == 3

    def test_has_none_if_the_hashes_of_the_log_of_anchors_were_altered(self, logs):
        logs[0].anchor()
        tile = load_item(("A#anchors#H", "0#0000000000"))
        memory_aws.put_item({**tile, "n000": bytes(32), "n001": bytes(32), "n002": bytes(32)})
        with capture_log_records() as records:
            assert receipt(logs[0])["witness"] is None
        assert [each["witnessProofMissing"] for each in records if "witnessProofMissing" in each] == [
            "the hashes of the log of anchors were altered"
        ]


class TestVerifier:
    def test_accepts_a_receipt_with_all_cosignatures(self, logs, verify):
        logs[0].anchor()
        code, output = verify(receipt(logs[0]))
        assert code == 0, output
        assert f"{ORIGIN}: 3 of 3 witnesses have cosigned this history, the last of them at 20" in output

    def test_demands_k_of_n(self, logs, witnesses, verify):
        witnesses[1].respond = is_silent
        logs[0].anchor()
        proof = receipt(logs[0])
        code, output = verify(proof)
        assert (code, output) == (
            1,
            "2 of 3 witnesses have cosigned, and 3 are required: request the proof again later.\n",
        )
        assert verify(proof, ["--require-witnesses", "2"])[0] == 0
        assert verify(proof, keys=[witnesses[0].verifier_key])[0] == 0
        assert verify(proof, keys=[witnesses[1].verifier_key])[0] == 1

    def test_prints_what_the_guide_says(self, logs, witnesses, verify):
        (example,) = re.findall(
            r"^\$ python verify\.py (.+ --witness-key .+)\n(.+\n.+\n)",
            GUIDE.read_text().replace("\\\n", ""),
            re.MULTILINE,
        )
        arguments, expected = example
        options = shlex.split(arguments)
        assert (options[:2], options.count("--witness-key")) == (["receipt", "receipt.json"], len(witnesses))
        assert options[options.index("--witnessed-log") + 1] in expected
        required = options[options.index("--require-witnesses") + 1]
        logs[0].append(9)
        witnesses[1].respond = is_silent
        logs[0].anchor()
        code, output = verify(receipt(logs[0], 3), ["--require-witnesses", required])
        expected = expected.replace(options[options.index("--witnessed-log") + 1], ORIGIN)
        pattern = re.sub(r"20\d\d-[-:\dT]+Z", "…", expected)
        assert code == 0
        assert re.fullmatch(".+".join(map(re.escape, pattern.split("…"))), output), output

    def test_does_not_count_a_witness_twice(self, logs, witnesses, verify):
        logs[0].anchor()
        keys = [witnesses[0].verifier_key] * 2
        with pytest.raises(SystemExit):
            verify(receipt(logs[0]), ["--require-witnesses", "2"], keys)

    def test_rejects_a_receipt_without_cosignatures(self, logs, verify):
        code, output = verify(receipt(logs[0]))
        assert (code, output.partition(".")[0]) == (1, "The receipt has no cosignatures")

    def test_rejects_the_log_of_anchors_of_another_origin(self, logs, verify):
        logs[0].anchor()
        code, output = verify(receipt(logs[0]), origin="other.example/anchors")
        assert (code, output) == (
            1,
            f"The witnesses cosigned the log {ORIGIN}, and you expect other.example/anchors.\n",
        )

    @pytest.mark.parametrize("name", ["anchor path", "anchor checkpoint", "index", "path", "checkpoint", "cosignature"])
    def test_rejects_an_altered_proof(self, logs, verify, name):
        logs[0].append(3)
        logs[0].anchor()
        proof, other = receipt(logs[0], 2), receipt(logs[1], 1)
        witness = proof["witness"]
        if name == "anchor path":
            witness["anchor"]["path"][0] = "0" * 64
        elif name == "anchor checkpoint":
            witness["anchor"]["checkpoint"] = other["witness"]["anchor"]["checkpoint"]
        elif name == "index":
            witness["index"] = (witness["index"] + 1) % 3
        elif name == "path":
            witness["path"] = []
        elif name == "checkpoint":
            witness["checkpoint"] = proof["checkpoint"]
        else:
            witness["checkpoint"] = with_invalid_last_signature(witness["checkpoint"])
        assert verify(proof, ["--require-witnesses", "1"])[0] == 1

    def test_ignores_an_invalid_signature_of_a_key_that_is_not_trusted(self, logs, witnesses, verify):
        logs[0].anchor()
        proof = receipt(logs[0])
        note = with_invalid_last_signature(proof["witness"]["checkpoint"])
        proof["witness"]["checkpoint"] = note
        (name,) = re.findall("^— ([^ ]+) ", note.splitlines()[-1])
        trusted = [each.verifier_key for each in witnesses if each.name != name]
        code, output = verify(proof, keys=trusted)
        assert code == 0, output
        assert "2 of 2 witnesses have cosigned" in output

    @pytest.mark.parametrize("witness", [1, [], {}, {"anchor": {}}, {"anchor": {"checkpoint": 1}}])
    def test_rejects_a_malformed_proof(self, logs, verify, witness):
        assert verify(receipt(logs[0]) | {"witness": witness})[0] == 1

    def test_compares_the_cosigned_log_with_that_of_an_earlier_receipt(self, logs, verify):
        logs[0].anchor()
        earlier = receipt(logs[0])
        logs[0].append()
        logs[0].anchor()
        with_path = receipt(logs[0], 2, earlier["witness"]["treeSize"])
        assert verify(with_path, earlier=earlier)[0] == 0
        assert verify(earlier, earlier=earlier)[0] == 0
        code, output = verify(receipt(logs[0], 2), earlier=earlier)
        assert (code, output.partition(":")[2]) == (1, " request it with witnessedSize=3.\n")
        with_path["witness"]["consistencyPath"][0] = "0" * 64
        assert verify(with_path, earlier=earlier)[0] == 1

    def test_rejects_another_history_although_the_key_of_the_service_has_signed_it(self, logs, verify):
        logs[0].anchor()
        proof = receipt(logs[0])
        witness = proof["witness"]
        _, cosignatures = witness["checkpoint"].split("\n— w", 1)
        witness |= {"index": 0, "path": [], "treeSize": 1}
        fork = Checkpoint(ORIGIN, 1, anchor_leaf_hash(witness["anchor"]["checkpoint"]))
        forged = sign_checkpoint_note(fork, load_signing_key_matching_public_key().secret)
        assert verify(proof | {"witness": witness | {"checkpoint": forged}})[1].startswith("0 of 3 witnesses")
        with_cosignatures = f"{forged}— w{cosignatures}"
        code, output = verify(proof | {"witness": witness | {"checkpoint": with_cosignatures}})
        assert (code, output) == (1, "The cosignature of w0.example is wrong.\n")


def test_the_verifier_key_of_the_log_is_the_one_that_witnesses_need(api, capsys):
    public_key = api.get("/status").json["auditPublicKey"]
    assert main(["log-key", ORIGIN, "--public-key", public_key]) == 0
    key = parse_verifier_key(capsys.readouterr().out.rstrip("\n"))
    assert (key.name, key.public_key, key.signature_type) == (ORIGIN, base64.b64decode(public_key), ED25519)


@pytest.mark.parametrize(
    "options",
    [
        ["--witness-key", "w0.example+00000000+AAAA"],
        ["--witness-key", "x"],
        ["--require-witnesses", "1"],
        ["--earlier", "proof"],
    ],
)
def test_unusable_arguments_end_with_code_2(tmp_path, options):
    (tmp_path / "proof").write_text("{}")
    key = base64.b64encode(bytes(32)).decode()
    with pytest.raises(SystemExit) as ended:
        main(["receipt", str(tmp_path / "proof"), "--public-key", key, *options])
    assert ended.value.code == 2
