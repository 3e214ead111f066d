"""Everybody can list all anchors, and verify that witnesses have cosigned exactly these and that none contradict."""

import base64
import json
from collections.abc import Sequence

import pytest

from chalicelib.features.audit.exports.logic.verify_command import main
from chalicelib.features.audit.witnesses.logic import anchored_checkpoints
from chalicelib.kernel.audit_log.entry_macs import load_signing_key_matching_public_key
from chalicelib.kernel.audit_log.ledger import Head
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.merkle import CompactRange
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.stored_records import load_item
from tests.harness.witnesses import ORIGIN

LEAVES_KEY = ("A#anchors#E", "0000000000")


def pages(api, limit=100):
    """Return all pages of the list, requested without a credential."""
    return api.get_pages("/anchors", query={"limit": limit})


@pytest.fixture
def verify(api, witnesses, tmp_path, capsys):
    """A function that runs `verify.py anchors` and returns its exit code and output."""

    def run(*saved: Json, proofs: Sequence[Json] = ()) -> tuple[int, str]:
        arguments = ["anchors", "--public-key", api.get("/status").json["auditPublicKey"], "--witnessed-log", ORIGIN]
        for each in witnesses:
            arguments += ["--witness-key", each.verifier_key]
        for number, content in enumerate([*saved, *proofs]):
            file = tmp_path / str(number)
            file.write_text(json.dumps(content))
            arguments += [str(file)] if number < len(saved) else ["--proof", str(file)]
        return main(arguments), capsys.readouterr().out

    return run


def anchor_other_history(log, size):
    """Anchor a history that the service did not write, as only the holder of the signing key can."""
    tree = CompactRange().with_appended_leaves([bytes(32)] * size)
    checkpoint = Head(tree, "").unsigned_checkpoint(log.id)
    note = checkpoints.sign_checkpoint_note(checkpoint, load_signing_key_matching_public_key().secret)
    memory_aws.delete_item(dict(zip(("pk", "sk"), anchored_checkpoints.checkpoint_key(log.id, size), strict=True)))
    anchored_checkpoints.store_if_absent(log.id, Head(tree, note))
    log.anchor()


def growth_proof(log, first, second):
    return log.get("/consistency", **{"from": first, "to": second}).expect(200).json


def test_a_stage_without_anchors_lists_none(api):
    assert pages(api) == [{"items": [], "nextCursor": None, "checkpoint": None}]


def test_the_list_is_the_log_that_witnesses_cosigned(api, logs, verify):
    logs[0].anchor()
    logs[1].append()
    logs[1].anchor()
    assert [len(page["items"]) for page in pages(api, limit=2)] == [2, 2]
    logs[1].append()
    logs[1].anchor()
    saved = pages(api, limit=2)
    assert [item["index"] for page in saved for item in page["items"]] == [0, 1, 2, 3, 4]
    code, output = verify(*saved)
    assert code == 0, output
    assert output == (
        f"{ORIGIN}: these are the 5 anchors of 3 logs that 3 of 3 witnesses have cosigned, and no two of one size "
        "contradict each other.\n"
    )
    assert verify(*saved[:1]) == (1, "The anchor with index 2 is missing: pass all pages of the list.\n")
    leaves = load_item(LEAVES_KEY)
    memory_aws.put_item({**leaves, "n001": leaves["n000"]})
    assert verify(*pages(api))[1].startswith("These are not the anchors that the witnesses cosigned")
    memory_aws.put_item({**leaves, "n001": "garbage"})
    assert verify(*pages(api))[1].startswith("The anchor with index 1 is missing")


def test_all_anchors_of_a_log_are_proven_to_extend_each_other(api, logs, verify):
    for _ in range(2):
        logs[0].anchor()
        logs[0].append()
    logs[0].anchor()
    proofs = [growth_proof(logs[0], 1, 2), growth_proof(logs[0], 2, 3)]
    code, output = verify(*pages(api), proofs=proofs)
    assert (code, output.splitlines()[1:]) == (
        0,
        [f"atrium/{logs[0].id}: its 3 anchors are proven to extend each other."],
    )
    code, output = verify(*pages(api), proofs=proofs[:1])
    assert (code, output) == (1, f"atrium/{logs[0].id}: pass the proof with from=2 and to=3, too.\n")


def test_two_histories_of_one_log_are_found(api, logs, verify):
    logs[0].anchor()
    logs[0].append(2)
    anchor_other_history(logs[0], 2)
    logs[0].anchor()
    assert verify(*pages(api))[0] == 0
    code, output = verify(*pages(api), proofs=[growth_proof(logs[0], 1, 2), growth_proof(logs[0], 2, 3)])
    assert (code, output.partition(":")[0]) == (1, "The log was not only extended")
    anchor_other_history(logs[0], 3)
    code, output = verify(*pages(api))
    assert code == 1
    assert "was anchored with two histories: two anchors with 3 entries" in output


@pytest.mark.parametrize("page", [[], {}, {"items": [], "checkpoint": None}, {"items": [{}], "checkpoint": "x"}])
def test_malformed_pages_and_proofs_are_rejected(api, logs, verify, page):
    logs[0].anchor()
    assert verify(page)[0] == 1
    assert verify(*pages(api), proofs=[page])[0] == 1


def test_it_demands_the_keys_of_witnesses(tmp_path):
    (tmp_path / "page").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        main(["anchors", str(tmp_path / "page"), "--public-key", base64.b64encode(bytes(32)).decode()])
    assert ended.value.code == 2
