import base64
import time
from unittest.mock import Mock

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.audit_log.authenticity import make_pending_mac
from chalicelib.kernel.audit_log.entries import EntryItem
from chalicelib.kernel.audit_log.mac_chains import Chains, chain_key
from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint
from chalicelib.kernel.storage import table
from tests.harness import memory_aws, rfc6962
from tests.harness.audit_logs import alter_item, hash_leaf, sign_checkpoint
from tests.harness.exports import append_entries
from tests.harness.index_lag import lag_indexes
from tests.harness.organizations import create_organization
from tests.harness.stored_logs import INTACT, StoredLog

FORKED, BAD_SIGNATURE = ("forked", None), ("bad_signature", None)
INTACT_REPORT = {"valid": True, "firstInvalidSequence": None, "failure": None, "suppressed": 0, "nextCursor": None}


def leaf_hashes(log):
    return [rfc6962.leaf_hash(entry) for entry in sorted(log.entries(), key=lambda entry: entry["sequence"])]


def create_long_log(api, workers, owner):
    """Return the log of a new organization, whose first two entries have separate bodies."""
    organization = create_organization(api, owner, companyAddress="a" * 3900)
    api.patch(organization.path, caller=owner, json={"companyAddress": "b" * 3900})
    workers.deliver()
    return StoredLog(api, workers, organization)


class TestIntactLogs:
    def test_are_valid_and_the_root_is_reproducible(self, api, log):
        report, leaves = log.verify(), leaf_hashes(log)
        root, checkpoint = rfc6962.tree_root(leaves).hex(), report["checkpoint"]
        sizes = {"treeSize": 10, "pendingEntries": 0, "checkedEntries": 10}
        assert report == {**INTACT_REPORT, **sizes, "rootHash": root, "checkpoint": checkpoint}
        rfc6962.check_checkpoint(checkpoint, log.id, leaves, api.get("/status").json["auditPublicKey"])

    def test_pending_entries_are_counted_and_valid(self, log):
        for n in range(3):
            log.rename(f"Waiting {n}")
        report = log.verify()
        assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, 10, 3)

    def test_a_log_without_sequenced_entries_is_valid_and_empty(self, api, ada, workers):
        report = StoredLog(api, workers, create_organization(api, ada)).verify()
        sizes = {"treeSize": 0, "pendingEntries": 1, "checkedEntries": 0}
        assert report == {**INTACT_REPORT, **sizes, "rootHash": rfc6962.tree_root([]).hex(), "checkpoint": None}

    def test_logs_of_any_size_are_proven(self, short_log):
        for size in (1, 2, 3, 7, 8, 50):
            append_entries(short_log.id, size - short_log.head["size"])
            report, root = short_log.verify(), rfc6962.tree_root(leaf_hashes(short_log)).hex()
            assert (report["valid"], report["treeSize"], report["rootHash"]) == (True, size, root)

    def test_an_entry_erased_while_the_index_lags_is_not_missing(self, api, ada, workers):
        log = create_long_log(api, workers, ada)
        assert (log.failure(), "body" in log.entry(1)) == (INTACT, False)
        with lag_indexes(60) as lag:
            table.write_transaction(redaction.redaction_writes(log.id, log.entry(1), should_sign=True))
            assert log.failure() == INTACT
        assert lag.queries

    def test_a_lagging_index_is_queried_again(self, log, monkeypatch):
        item, delays = log.entry(10), list[float]()
        log.remove_attributes(10, "index1pk", "index1sk")
        monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", (0.2, 0.5))

        def restore_item(seconds: float) -> None:
            delays.append(seconds)
            memory_aws.put_item(item)

        monkeypatch.setattr(time, "sleep", restore_item)
        assert log.failure() == INTACT
        assert delays == [0.2]


def exchange(log: StoredLog, sequence: int, other_sequence: int, *names: str) -> None:
    first, second = log.entry(sequence), log.entry(other_sequence)
    alter_item(first, **{name: second[name] for name in names})
    alter_item(second, **{name: first[name] for name in names})


def insert_copy(log: StoredLog, original: int, prefix: str, suffix: str = "", **attributes: object) -> None:
    """Insert a copy of an entry, with another start or end of its id."""
    item = log.entry(original)
    sk = prefix + item["sk"][len(prefix) : len(item["sk"]) - len(suffix)] + suffix
    memory_aws.put_item({**item, "sk": sk, "id": sk, **attributes})


def append_copy(log):
    sort_key = ledger.sequence_index_or_batch_key(log.id, 11)[1]
    insert_copy(log, 10, "f", sequence=11, index1sk=sort_key)


def remove_everything(log):
    for item in memory_aws.all_items():
        if item["pk"] in (f"A#{log.id}", f"Q#{log.id}"):
            memory_aws.delete_item(item)


def restore_older_head(log):
    older_head = log.head
    log.append()
    memory_aws.put_item(older_head)


POSITION = ("sequence", "index1sk")
UNSEQUENCED = ("sequence", "index1pk", "index1sk", "seal")
TAMPERING = {
    "inner body": (lambda log: log.alter_body(5), ("modified", 5)),
    "last body and hash": (lambda log: log.alter_body(10, with_leaf=True), ("modified", 10)),
    "several bodies": (lambda log: [log.alter_body(sequence) for sequence in (9, 3, 6)], ("modified", 3)),
    "without sequence": (lambda log: log.remove_attributes(5, *UNSEQUENCED), ("missing", 5)),
    "all removed": (lambda log: log.remove(*range(1, 11)), ("truncated", 1)),
    "all but one removed": (lambda log: log.remove(*range(2, 11)), ("truncated", 2)),
    "half removed": (lambda log: log.remove(*range(6, 11)), ("truncated", 6)),
    "removed with the head": (remove_everything, ("truncated", 1)),
    "neighbours exchanged": (lambda log: exchange(log, 2, 3, *POSITION), ("reordered", 2)),
    "bodies exchanged": (lambda log: exchange(log, 2, 3, "body", "leaf"), ("modified", 2)),
    "inserted after": (lambda log: insert_copy(log, 5, "", "~", body=b"{} "), ("modified", 5)),
    "inserted before": (lambda log: insert_copy(log, 5, "1", body=b"{} "), ("modified", 5)),
    "appended": (append_copy, ("forked", 11)),
    "size in the head": (lambda log: log.alter_head(size=9), BAD_SIGNATURE),
    "invalid checkpoint": (lambda log: log.alter_head(note="nothing"), BAD_SIGNATURE),
    "unsigned checkpoint": (lambda log: log.alter_head(note=log.head["note"].partition("\n\n")[0]), BAD_SIGNATURE),
    "peaks in the head": (lambda log: log.alter_head(peaks=bytes(len(log.head["peaks"]))), FORKED),
    "older head": (restore_older_head, ("forked", 11)),
    "checkpoint of another tree": (
        lambda log: log.alter_head(note=sign_checkpoint(log.organization, 10, bytes(32))),
        FORKED,
    ),
}


class TestTampering:
    @pytest.mark.parametrize(("tamper", "failure"), TAMPERING.values(), ids=TAMPERING)
    def test_is_found_at_the_first_affected_sequence(self, log, tamper, failure):
        tamper(log)
        assert log.failure() == failure

    def test_with_parts_of_another_log_is_found(self, log, short_log):
        short_log.append(9)
        head = log.head
        log.alter_head(note=short_log.head["note"])
        assert log.failure()[0] == "bad_signature"
        memory_aws.put_item(head)
        log.alter(1, **{name: short_log.entry(1)[name] for name in ("body", "leaf", "seal")})
        assert log.failure() == ("modified", 1)

    def test_with_a_separate_body_is_found(self, api, ada, workers):
        log = create_long_log(api, workers, ada)
        body_item = next(i for i in memory_aws.all_items() if (i["pk"], i["sk"]) == (f"B#{log.id}", log.entry(2)["sk"]))
        alter_item(body_item, body=body_item["body"].replace(b"aaa", b"bbb"))
        assert log.failure() == ("modified", 2)
        memory_aws.delete_item(body_item)
        assert log.failure() == ("missing", 2)

    def test_leaves_the_log_readable_and_writable(self, log):
        log.remove(5)
        log.append()
        assert log.failure() == ("missing", 5)
        assert len(log.entries()) == 10


def test_a_head_signed_with_a_retired_key_is_valid_while_the_key_is_listed(api, log, configure):
    retired_key = api.get("/status").json["auditPublicKey"]
    configure(audit_signing_key=base64.b64encode(bytes(32)).decode(), audit_former_public_keys=retired_key)
    status = api.get("/status").json
    assert status["auditPublicKey"] != retired_key
    assert status["auditPublicKeys"] == [status["auditPublicKey"], retired_key]
    checkpoint = to_base64url(log.head["note"].encode())
    log.append()
    assert log.verify(checkpoint=checkpoint)["failure"] != "bad_signature"
    configure(audit_former_public_keys="")
    assert log.failure(checkpoint=checkpoint) == BAD_SIGNATURE


@pytest.mark.parametrize("error", [KeyError, TypeError, ValueError])
def test_an_authentic_entry_that_cannot_be_decoded_is_modified(log, monkeypatch, error):
    monkeypatch.setattr(EntryItem, "from_canonical_bytes", Mock(side_effect=error))
    assert log.failure() == ("modified", 1)


LEDGER_ATTRIBUTES = ("sequence", "seal", "tree_size", "index1pk", "index1sk")


def rewrite_with_all_keys(log):
    """Replace an entry and make everything that follows from it consistent, as an attacker who has all keys can."""
    entries = [log.entry(sequence) for sequence in range(1, 11)]
    for item in log.head_and_chains():
        memory_aws.delete_item(item)
    for entry in entries:
        pending = {name: value for name, value in entry.items() if name not in LEDGER_ATTRIBUTES}
        if entry["sequence"] == 4:
            body = entry["body"].replace(b"Ada Lovelace", b"Eve Lovelace")
            pending |= {"body": body, "leaf": hash_leaf(body)}
        link = Chains.read(log.id).next_link
        mac = make_pending_mac(log.id, entry["sk"], pending["leaf"], link)
        proof = {"leaf": pending["leaf"], "link": link.to_bytes(), "mac": mac}
        memory_aws.put_item(pending | proof)
        memory_aws.put_item({"pk": f"Q#{log.id}", "sk": entry["sk"], "log": log.id, **proof})
        pk, sk = chain_key(log.id, link.shard)
        memory_aws.put_item({"pk": pk, "sk": sk, "number": link.number, "mac": mac})
    ledger.append_pending_and_return_longest_wait_ms(log.id)


class TestSavedCheckpoints:
    def test_a_checkpoint_of_an_earlier_size_is_still_valid(self, log):
        checkpoint = log.save_checkpoint()
        assert log.failure(checkpoint=checkpoint) == INTACT
        log.append(5)
        note = from_base64url(checkpoint).decode()
        for text in (checkpoint, checkpoint + "=" * (-len(checkpoint) % 4), note, note.rstrip()):
            assert log.failure(checkpoint=text) == INTACT

    def test_a_checkpoint_of_another_tree_shows_a_fork_and_a_larger_one_truncation(self, log):
        for size in (1, 6, 10):
            assert log.failure(checkpoint=log.sign_checkpoint(size)) == FORKED, size
        assert log.failure(checkpoint=log.sign_checkpoint(12)) == ("truncated", 11)

    def test_a_rewritten_log_does_not_match_the_checkpoint(self, log, workers):
        checkpoint = log.save_checkpoint()
        rewrite_with_all_keys(log)
        assert log.failure() == INTACT
        assert log.failure(checkpoint=checkpoint)[0] == "forked"
        assert workers.deliver() == []

    def test_a_checkpoint_signed_with_another_key_is_a_bad_signature(self, log):
        note = checkpoints.sign_checkpoint_note(Checkpoint(f"atrium/{log.id}", 10, bytes(32)), b"x" * 32)
        assert log.failure(checkpoint=to_base64url(note.encode())) == BAD_SIGNATURE

    def test_an_invalid_checkpoint_or_one_of_another_log_is_rejected(self, log, short_log):
        for text in ("x", "%%%", "é", "", "bm90aGluZw", "A" * 9000, short_log.save_checkpoint()):
            assert [*log.get("/verify-integrity", checkpoint=text).errors] == ["query/checkpoint"]


class TestWindows:
    @pytest.fixture(autouse=True)
    def small_windows(self, monkeypatch):
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 4)

    def test_a_long_log_is_verified_window_by_window_and_a_modified_entry_is_found_in_its_window(self, log):
        reports = [(each["checkedEntries"], each["treeSize"], each["valid"]) for each in log.verify_all_windows()]
        assert reports == [(4, 10, True), (8, 10, True), (10, 10, True)]
        log.alter_body(9)
        faults = [(each["failure"], each["firstInvalidSequence"]) for each in log.verify_all_windows()]
        assert faults == [INTACT, INTACT, ("modified", 9)]

    def test_entries_appended_during_verification_are_left_for_the_next_one(self, log):
        first = log.verify()
        log.append()
        second = log.verify(cursor=first["nextCursor"])
        third = log.verify(cursor=second["nextCursor"])
        assert (third["valid"], third["treeSize"], third["nextCursor"]) == (True, 10, None)

    @pytest.mark.parametrize("size", [3, 4, 5, 9])
    def test_a_saved_checkpoint_is_compared_in_the_window_where_it_ends(self, log, size):
        assert log.verify_all_windows(checkpoint=log.sign_checkpoint(size))[-1]["failure"] == "forked"
        root = rfc6962.tree_root([log.entry(sequence)["leaf"] for sequence in range(1, size + 1)])
        assert log.verify_all_windows(checkpoint=log.sign_checkpoint(size, root))[-1]["valid"]

    def test_an_altered_cursor_or_one_of_another_log_is_rejected(self, log, short_log):
        cursor = log.verify()["nextCursor"]
        for target, sent_cursor in ((short_log, cursor), (log, cursor[:-2] + "AA"), (log, "x")):
            assert target.get("/verify-integrity", cursor=sent_cursor).status_and_code == "400 invalid_cursor"
