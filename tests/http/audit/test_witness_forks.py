"""Histories that contradict what witnesses have cosigned, and workers that overtake one another."""

import pytest

from chalicelib.features.audit.witnesses import tasks
from chalicelib.features.audit.witnesses.logic import anchor_log, anchored_checkpoints
from chalicelib.features.audit.witnesses.logic.witness_client import WitnessResponse
from chalicelib.kernel.audit_log.entry_macs import load_signing_key_matching_public_key
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table
from tests.harness import memory_aws, rfc6962
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.witnesses import ORIGIN, best_cosigners, stored_log, tree_of_anchors


def rewrite_history(logs):
    """Replace the log of anchors by another one, signed with the service's key."""
    for item in memory_aws.all_items():
        if item["pk"].startswith("A#anchors#") or (item["pk"], item["sk"]) == anchor_log.HEAD_KEY:
            memory_aws.delete_item(item)
        elif "leaf_index" in item:
            memory_aws.delete_item(item)
            note = item["note"].partition("\n\n")[0].split("\n")
            forged = checkpoints.Checkpoint(note[0], int(note[1]), bytes(32))
            seed = load_signing_key_matching_public_key().secret
            pending = {"index2pk": anchored_checkpoints.pending_pk(0), "index2sk": f"{item['pk']}#{item['sk']}"}
            unassigned = {name: value for name, value in item.items() if name != "leaf_index"}
            memory_aws.put_item(unassigned | pending | {"note": checkpoints.sign_checkpoint_note(forged, seed)})


class TestConcurrentWorkers:
    def test_a_submission_that_a_later_one_has_overtaken_is_no_refusal(self, logs, witness, clock):
        def overtake(body: str) -> WitnessResponse:
            witness.respond = None
            logs[0].append()
            logs[0].anchor()
            return witness.cosign_if_consistent(body)

        witness.respond = overtake
        with capture_log_records() as records:
            logs[0].anchor()
        assert not [each for each in records if "witnessRefusal" in each]
        assert witness.latest[ORIGIN] == (4, rfc6962.tree_root(tree_of_anchors()))
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]

    def test_a_publication_that_a_later_one_has_overtaken_does_not_replace_it(self, logs, witness, monkeypatch):
        sign_note = anchor_log.sign_note

        def sign_after_growth(tree: CompactRange) -> str:
            if tree.size == 3 and anchor_log.sign_note is sign_after_growth:
                monkeypatch.setattr(anchor_log, "sign_note", sign_note)
                logs[0].append()
                logs[0].anchor()
            return sign_note(tree)

        pk, sk = anchor_log.HEAD_KEY
        for log in logs:
            anchored_checkpoints.store_if_absent(log.id, Head.from_item_or_empty(table.get(head_key(log.id))))
        for batch in anchored_checkpoints.iter_pending_batches():
            anchor_log.append(batch)
        monkeypatch.setattr(anchor_log, "sign_note", sign_after_growth)
        tasks.collect_anchored_checkpoints({"task": tasks.COLLECTION_TASK, "pk": pk, "sk": sk})
        assert stored_log().published_size == len(tree_of_anchors()) > 3


class TestFork:
    @pytest.mark.parametrize("grows", [0, 1])
    def test_gets_no_cosignature_and_is_reported_each_hour(self, logs, witness, clock, grows):
        logs[0].anchor()
        honest = dict(witness.latest)
        rewrite_history(logs)
        logs[0].append(grows)
        for _ in range(2):
            with capture_log_records() as records:
                logs[0].anchor()
            refusals = [each for each in records if "witnessRefusal" in each]
            assert [embedded_metrics(each, "stage") for each in refusals] == [{"WitnessesRefused": 1}] * 3
            clock.shift(hours=1)
            logs[0].append()
        assert witness.latest == honest
        assert [checkpoints.parse(each["note"]).checkpoint.size for each in stored_log().cosigned] == [3]

    @pytest.mark.parametrize("growth", [0, 1, 2])
    def test_a_log_that_was_restored_to_an_earlier_state_gets_no_cosignature(self, logs, witness, growth):
        logs[0].anchor()
        prefixes = ("A#anchors#", "WITNESSES", f"A#{logs[0].id}#W")
        earlier = [item for item in memory_aws.all_items() if item["pk"].startswith(prefixes)]
        logs[0].append()
        logs[0].anchor()
        honest = dict(witness.latest)
        for item in memory_aws.all_items():
            if item["pk"].startswith(prefixes):
                memory_aws.delete_item(item)
        for item in earlier:
            memory_aws.put_item(item)
        for log in logs[1:][:growth]:
            log.append()
        logs[0].append()
        with capture_log_records() as records:
            logs[0].anchor()
        assert [each["witness"] for each in records if "witnessRefusal" in each] == [
            "w0.example",
            "w1.example",
            "w2.example",
        ]
        assert witness.latest == honest
