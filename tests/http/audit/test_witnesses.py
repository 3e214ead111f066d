"""Anchors of all logs form one log, which witnesses cosign unless it contradicts what they have cosigned before."""

import base64
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.features.audit.witnesses import tasks
from chalicelib.features.audit.witnesses.entities import Witness
from chalicelib.features.audit.witnesses.logic import anchor_log, anchored_checkpoints, publication, witness_client
from chalicelib.features.audit.witnesses.logic.witness_client import WitnessResponse
from chalicelib.features.audit.witnesses.models.settings import WitnessSettings
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entry_macs import load_signing_key_matching_public_key
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import jobs
from local.tools.schedule_anchors import schedule_first_anchors
from tests.harness import memory_aws, rfc6962
from tests.harness.index_lag import LAGS, lag_indexes
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.stored_records import load_item
from tests.harness.witnesses import ORIGIN, FakeWitness, best_cosigners, is_silent, stored_log, tree_of_anchors

OTHER_KEY = base64.b64encode(bytes(32)).decode()


def stored_witness(witness):
    items = [item for item in memory_aws.all_items() if item.get("kind") == Witness.kind]
    return next(each for each in map(Witness.from_item, items) if each.verifier_key == witness.verifier_key)


def anchored(log, size=1):
    item = table.get(anchored_checkpoints.checkpoint_key(log.id, size))
    return item and anchored_checkpoints.AnchoredCheckpoint.from_item(item)


def receipt_of(log):
    return log.get(f"/{log.entry(1)['sk']}/proof").expect(200).json


def retry_due_submissions(workers, clock, minutes):
    clock.shift(minutes=minutes)
    workers.run_sweep()
    workers.deliver()


class TestLogOfAnchors:
    def test_each_anchor_is_a_leaf_and_the_checkpoint_is_cosigned_by_all_witnesses(self, api, logs):
        logs[0].anchor()
        assert sorted(anchored(log).leaf_index for log in logs) == [0, 1, 2]
        (cosigned,) = stored_log().cosigned
        note = cosigned["note"]
        public_key = api.get("/status").json["auditPublicKey"]
        parsed = checkpoints.verify_checkpoint_note(note, [base64.b64decode(public_key)])
        assert (parsed.origin, parsed.root) == (ORIGIN, rfc6962.tree_root(tree_of_anchors()))
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]

    def test_a_log_that_grows_adds_a_leaf_and_the_witness_gets_a_consistency_proof(self, logs, witness):
        logs[0].anchor()
        for _ in range(3):
            logs[1].append()
            logs[1].anchor()
        assert [anchored(logs[1], size).leaf_index for size in (2, 3, 4)] == [3, 4, 5]
        assert [body.partition("\n")[0] for body in witness.bodies] == ["old 0", "old 3", "old 4", "old 5"]
        assert witness.latest[ORIGIN] == (6, rfc6962.tree_root(tree_of_anchors()))
        assert [each["note"] for each in stored_log().cosigned] == [stored_log().published_note]

    def test_without_growth_nothing_is_submitted(self, logs, witness):
        logs[0].anchor()
        logs[0].anchor()
        assert len(witness.bodies) == 1

    def test_without_witnesses_anchors_are_not_collected(self, logs, configure, workers):
        configure(witnesses="")
        logs[0].anchor()
        assert (logs[0].anchored_sizes, anchored(logs[0])) == ([1], None)

    def test_many_anchors_are_appended_in_batches_across_tiles(self, logs, witness, monkeypatch):
        logs[0].anchor()
        head = Head.from_item_or_empty(table.get(head_key(logs[0].id)))
        for size in range(300):
            tree = head.tree.with_appended_leaves([bytes([size % 256]) * 32] * (size + 1))
            note = ledger.Head(tree, "").unsigned_checkpoint(logs[0].id)
            seed = load_signing_key_matching_public_key().secret
            anchored_checkpoints.store_if_absent(logs[0].id, Head(tree, checkpoints.sign_checkpoint_note(note, seed)))
            if size == 200:
                logs[0].anchor()
        logs[0].anchor()
        assert witness.latest[ORIGIN] == (303, rfc6962.tree_root(tree_of_anchors()))
        assert [body.partition("\n")[0] for body in witness.bodies] == ["old 0", "old 3", "old 204"]


class TestExistingLogs:
    def test_are_collected_after_reanchor_although_they_do_not_grow(self, logs, configure, capsys, scans_allowed):
        witnesses = section(WitnessSettings).witnesses
        configure(witnesses="")
        logs[0].anchor()
        configure(witnesses=witnesses)
        logs[0].anchor()
        assert [anchored(log) for log in logs] == [None] * 3
        for expected in ("3 logs", "0 logs"):
            schedule_first_anchors()
            assert f"anchor of {expected}" in capsys.readouterr().out
            logs[0].anchor()
        assert [log.anchored_sizes for log in logs] == [[1]] * 3
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]


class TestRecovery:
    def test_an_anchor_whose_checkpoint_was_not_stored_is_collected_in_the_next_hour(self, logs, monkeypatch):
        with monkeypatch.context() as crashing:
            crashing.setattr(anchored_checkpoints, "store_if_absent", lambda *_: 1 / 0)
            with pytest.raises(AssertionError):
                logs[0].anchor()
        assert (logs[0].anchored_sizes, logs[0].awaits_anchor, anchored(logs[0])) == ([1], True, None)
        logs[0].anchor()
        assert (logs[0].awaits_anchor, anchored(logs[0]) is not None) == (False, True)

    @pytest.mark.parametrize("seconds", LAGS)
    def test_anchors_are_collected_once_although_the_index_lags(self, logs, witness, clock, seconds):
        with lag_indexes(seconds) as lag:
            for _ in range(3):
                logs[0].append()
                clock.shift(hours=1)
                logs[0].anchor()
            lag.seconds = 0
            logs[0].anchor()
        assert len(tree_of_anchors()) == 3 + len(logs[0].anchored_sizes) - 1
        assert witness.latest[ORIGIN] == (len(tree_of_anchors()), rfc6962.tree_root(tree_of_anchors()))

    def test_concurrent_collections_append_each_anchor_once(self, logs, workers, conflicts):
        for log in logs:
            head = Head.from_item_or_empty(table.get(head_key(log.id)))
            anchored_checkpoints.store_if_absent(log.id, head)
        pk, sk = anchor_log.HEAD_KEY
        message = {"task": tasks.COLLECTION_TASK, "pk": pk, "sk": sk}
        with ThreadPoolExecutor(4) as pool:
            for result in [pool.submit(tasks.collect_anchored_checkpoints, message) for _ in range(4)]:
                result.result()
        assert sorted(anchored(log).leaf_index for log in logs) == [0, 1, 2]
        assert anchor_log.load_head_or_empty().tree.root_hash() == rfc6962.tree_root(tree_of_anchors())
        workers.deliver()
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]

    def test_an_altered_checkpoint_is_reported_each_hour_and_blocks_no_other(self, logs, witness):
        for log in logs:
            anchored_checkpoints.store_if_absent(log.id, Head.from_item_or_empty(table.get(head_key(log.id))))
        key = anchored_checkpoints.checkpoint_key(logs[1].id, 1)
        genuine, note = load_item(key), anchored(logs[0]).note
        altered = [
            {"note": "garbage"},
            {"note": note},
            {"note": 1},
            {"log": logs[0].id},
            {"size": 2},
            {"leaf_index": "0"},
        ]
        for attributes in altered:
            memory_aws.put_item(genuine | attributes)
            with capture_log_records() as records:
                logs[0].anchor()
            (record,) = (each for each in records if "alteredAnchors" in each)
            assert record["alteredAnchors"] == [" ".join(key)]
            assert embedded_metrics(record, "stage") == {"AnchorsRefused": 1}
            assert receipt_of(logs[1])["witness"] is None
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]
        memory_aws.put_item(genuine)
        assert len(tree_of_anchors()) == len(logs) - 1
        logs[0].anchor()
        assert anchored(logs[1]).leaf_index == len(logs) - 1
        assert witness.latest[ORIGIN] == (len(logs), rfc6962.tree_root(tree_of_anchors()))

    def test_an_altered_head_is_reported_and_not_extended(self, logs):
        logs[0].anchor()
        item = load_item(anchor_log.HEAD_KEY)
        memory_aws.put_item({**item, "peaks": bytes(len(item["peaks"]))})
        logs[0].append()
        with capture_log_records() as records:
            logs[0].anchor()
        (record,) = (each for each in records if each.get("refused"))
        assert (record["tenant"], record["refused"]) == ("anchors", "bad_signature")
        assert embedded_metrics(record, "stage") == {"AnchorsRefused": 1}


def replay_first_cosignature(witness):
    line = witness.cosign("atrium.example/anchors\n1\nAAAA\n")
    return lambda _body: cosigned(line)


def cosign_with_other_key(witness):
    return FakeWitness("other.example", witness.public_keys).cosign_if_consistent


def forge_signature(witness):
    # It signs the text without its last newline.
    return lambda body: cosigned(witness.cosign(body.partition("\n\n")[2].rpartition("\n\n")[0]))


def cosigned(line):
    return WitnessResponse(200, "text/plain", f"{line}\n")


BAD_RESPONSES = {
    "silent": lambda _: is_silent,
    "error": lambda _: lambda _body: WitnessResponse(500, "text/html", "<html>"),
    "garbage": lambda _: lambda _body: WitnessResponse(200, "text/plain", "garbage"),
    "empty": lambda _: lambda _body: WitnessResponse(200, "text/plain", ""),
    "replayed": replay_first_cosignature,
    "other key": cosign_with_other_key,
    "forged": forge_signature,
    "unknown log": lambda _: lambda _body: WitnessResponse(404, "text/plain", ""),
    "unknown key": lambda _: lambda _body: WitnessResponse(403, "text/plain", ""),
    "limited": lambda _: lambda _body: WitnessResponse(429, "text/plain", ""),
    "malformed size": lambda _: lambda _body: WitnessResponse(409, "text/x.tlog.size", "x\n"),
    "other status": lambda _: lambda _body: WitnessResponse(999, "text/plain", ""),
}


class TestFailingWitness:
    @pytest.mark.parametrize("response", BAD_RESPONSES)
    def test_delays_no_other_and_is_asked_again_until_it_cosigns(self, logs, witness, workers, clock, response):
        witness.respond = BAD_RESPONSES[response](witness)
        with capture_log_records() as records:
            logs[0].anchor()
        assert best_cosigners() == ["w1.example", "w2.example"]
        assert [log.anchored_sizes for log in logs] == [[1]] * 3
        (failure,) = (each for each in records if "witnessFailure" in each)
        assert failure["witness"] == "w0.example"
        retry_due_submissions(workers, clock, minutes=2)
        assert len(witness.bodies) >= 2
        witness.respond = None
        retry_due_submissions(workers, clock, minutes=10)
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]
        assert stored_witness(witness).waiting_since is None

    def test_is_reported_as_silent_after_hours_while_the_logs_are_anchored(self, logs, witness, clock):
        witness.respond = is_silent
        logs[0].anchor()
        for _ in range(publication.MAX_SILENT_HOURS):
            clock.shift(hours=1)
            logs[0].append()
            with capture_log_records() as records:
                logs[0].anchor()
        (record,) = (each for each in records if "silentWitnesses" in each)
        assert record["silentWitnesses"] == ["w0.example"]
        assert embedded_metrics(record, "stage") == {"WitnessesSilent": 1}
        assert logs[0].anchored_sizes == [4, 3, 2, 1]

    def test_that_lost_our_state_gets_a_proof_from_the_size_that_it_states(self, logs, witness):
        logs[0].anchor()
        earlier = dict(witness.latest)
        logs[0].append()
        logs[0].anchor()
        witness.latest = earlier
        logs[0].append()
        logs[0].anchor()
        assert [body.partition("\n")[0] for body in witness.bodies][-2:] == ["old 4", "old 3"]
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]

    def test_whose_response_was_lost_cosigns_the_same_checkpoint_again(self, logs, witness, workers, clock):
        witness.respond = lambda body: is_silent(witness.cosign_if_consistent(body).body)
        logs[0].anchor()
        witness.respond = None
        retry_due_submissions(workers, clock, minutes=2)
        assert [body.partition("\n")[0] for body in witness.bodies] == ["old 0", "old 0", "old 3"]
        assert best_cosigners() == ["w0.example", "w1.example", "w2.example"]

    def test_with_a_clock_in_the_future_is_not_believed(self, logs, witness):
        witness.clock_offset_seconds = 3600
        logs[0].anchor()
        assert best_cosigners() == ["w1.example", "w2.example"]


def test_a_new_origin_begins_a_new_log_for_the_witnesses_with_the_same_anchors(logs, witnesses, configure):
    logs[0].anchor()
    configure(witnessed_log_origin="new.example/anchors")
    for witness in witnesses:
        witness.public_keys["new.example/anchors"] = witness.public_keys[ORIGIN]
    logs[0].anchor()
    logs[0].append()
    logs[0].anchor()
    assert {witness.latest["new.example/anchors"] for witness in witnesses} == {
        (4, rfc6962.tree_root(tree_of_anchors()))
    }
    assert [each["note"].partition("\n")[0] for each in stored_log().cosigned] == ["new.example/anchors"]


def test_after_a_rotation_of_the_signing_key_an_unchanged_log_is_signed_and_cosigned_again(
    api, logs, witnesses, witness, configure, workers, clock
):
    logs[0].anchor()
    configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=settings().audit_public_keys)
    new_key = base64.b64decode(api.get("/status").json["auditPublicKey"])
    for each in witnesses[1:]:
        each.public_keys[ORIGIN] = new_key
    logs[0].anchor()
    assert checkpoints.verify_checkpoint_note(stored_log().published_note, [new_key]).size == 3
    assert [len(each["cosignatures"]) for each in stored_log().cosigned] == [2, 3]
    witness.public_keys[ORIGIN] = new_key
    retry_due_submissions(workers, clock, minutes=2)
    logs[0].anchor()
    (cosigned,) = stored_log().cosigned
    assert (cosigned["note"], len(cosigned["cosignatures"])) == (stored_log().published_note, 3)
    assert [len(each.bodies) for each in witnesses] == [3, 2, 2]
    assert len(tree_of_anchors()) == len(logs)


class TestQuorum:
    def test_a_receipt_has_the_checkpoint_with_most_cosignatures(self, logs, witnesses):
        logs[0].anchor()
        witnesses[1].respond = witnesses[2].respond = is_silent
        logs[0].append()
        logs[0].anchor()
        log = stored_log()
        assert [len(each["cosignatures"]) for each in log.cosigned] == [1, 3]
        best = [log.find_best_checkpoint_beyond(index) for index in (0, 2, 3, 4)]
        assert [each and len(each["cosignatures"]) for each in best] == [3, 3, 1, None]

    def test_a_witness_that_is_removed_from_the_settings_is_not_asked_any_more(self, logs, witnesses, configure):
        logs[0].anchor()
        configure(witnesses=witnesses[0].setting)
        logs[0].append()
        logs[0].anchor()
        assert [len(each.bodies) for each in witnesses] == [2, 1, 1]
        assert [item["url"] for item in memory_aws.all_items() if item.get("kind") == Witness.kind] == [
            witnesses[0].url
        ]


def test_the_time_limit_of_a_request_is_far_below_that_of_a_lease():
    assert witness_client.REQUEST_SECONDS * 2 < jobs.LEASE_SECONDS
