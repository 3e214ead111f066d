import base64
import time
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from tests.harness import memory_aws, rfc6962
from tests.harness.audit_logs import (
    alter_item,
    entry_item,
    hash_leaf,
    head_item,
    sign_checkpoint,
    verification_failure,
    verify_integrity,
)
from tests.harness.organizations import create_api_key, create_organization

pytestmark = pytest.mark.usefixtures("no_index_retries")


class TestIntactLogs:
    def test_are_valid_and_the_root_is_reproducible(self, api, organization_with_ten_entries, ada):
        report = verify_integrity(api, organization_with_ten_entries)
        entries = api.get_items(f"{organization_with_ten_entries.path}/audit-log", caller=ada)
        leaves = [rfc6962.leaf_hash(entry) for entry in reversed(entries)]
        assert report == {
            "valid": True,
            "treeSize": 10,
            "rootHash": rfc6962.tree_root(leaves).hex(),
            "checkpoint": report["checkpoint"],
            "pendingEntries": 0,
            "checkedEntries": 10,
            "firstInvalidSequence": None,
            "failure": None,
            "suppressed": 0,
            "nextCursor": None,
        }
        rfc6962.check_checkpoint(
            report["checkpoint"], organization_with_ten_entries.id, leaves, api.get("/status").json["auditPublicKey"]
        )

    def test_pending_entries_are_counted_and_valid(self, api, organization_with_ten_entries, ada):
        for n in range(3):
            api.patch(organization_with_ten_entries.path, caller=ada, json={"name": f"Waiting {n}"})
        report = verify_integrity(api, organization_with_ten_entries)
        assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, 10, 3)

    def test_a_log_without_sequenced_entries_is_valid_and_empty(self, api, ada):
        report = verify_integrity(api, create_organization(api, ada))
        assert report == {
            "valid": True,
            "treeSize": 0,
            "rootHash": rfc6962.tree_root([]).hex(),
            "checkpoint": None,
            "pendingEntries": 1,
            "checkedEntries": 0,
            "firstInvalidSequence": None,
            "failure": None,
            "suppressed": 0,
            "nextCursor": None,
        }

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 50])
    def test_logs_of_any_size_are_proven(self, api, ada, workers, size):
        organization = create_organization(api, ada)
        for n in range(size - 1):
            api.patch(organization.path, caller=ada, json={"name": f"Name {n}"})
        workers.deliver()
        report = verify_integrity(api, organization)
        leaves = [
            rfc6962.leaf_hash(log_entry)
            for log_entry in reversed(api.get_items(f"{organization.path}/audit-log", caller=ada))
        ]
        assert (report["valid"], report["treeSize"], report["rootHash"]) == (
            True,
            size,
            rfc6962.tree_root(leaves).hex(),
        )

    def test_long_entries_are_proven(self, api, ada, workers):
        organization = create_organization(api, ada, companyAddress="a" * 3900)
        api.patch(organization.path, caller=ada, json={"companyAddress": "b" * 3900})
        workers.deliver()
        assert verification_failure(api, organization) == (None, None)

    def test_an_entry_erased_while_the_index_lags_is_not_missing(self, api, ada, workers, monkeypatch):
        organization = create_organization(api, ada, companyAddress="a" * 3900)
        workers.deliver()
        query, stale = table.query, entry_item(organization, 1)
        assert "body" not in stale

        lagging_partitions: list[str] = []

        def query_lagging_index(partition: str | Partition, **options: Any) -> table.QueryResult:
            answer = query(partition, **options)
            if isinstance(partition, str) or partition.index != "index1":
                return answer
            lagging_partitions.append(partition.pk)
            return replace(answer, items=[stale if item["sk"] == stale["sk"] else item for item in answer.items])

        table.write_transaction(redaction.redaction_writes(organization.id, stale, should_sign=True))
        monkeypatch.setattr(table, "query", query_lagging_index)
        assert verification_failure(api, organization) == (None, None)
        assert lagging_partitions

    def test_requires_an_admin_or_a_key_with_the_scope(self, api, organization, grace, edith, stranger):
        path = f"{organization.path}/audit-log/verify-integrity"
        assert api.get(path, caller=grace).status == 200
        assert api.get(path, caller=create_api_key(api, organization, "audit-log:read")).status == 200
        assert api.get(path, caller=edith).status_and_code == "403 insufficient_role"
        assert api.get(path, caller=stranger).status_and_code == "404 not_found"


class TestTampering:
    @pytest.mark.parametrize("sequence", [1, 5, 10])
    def test_an_altered_body_is_detected(self, api, organization_with_ten_entries, sequence):
        item = entry_item(organization_with_ten_entries, sequence)
        alter_item(item, body=item["body"].replace(b"Ada Lovelace", b"Eve Lovelace"))
        assert verification_failure(api, organization_with_ten_entries) == ("modified", sequence)

    @pytest.mark.parametrize("sequence", [1, 5, 10])
    def test_an_altered_body_with_a_matching_hash_is_detected(self, api, organization_with_ten_entries, sequence):
        item = entry_item(organization_with_ten_entries, sequence)
        body = item["body"].replace(b"Ada Lovelace", b"Eve Lovelace")
        alter_item(item, body=body, leaf=hash_leaf(body))
        assert verification_failure(api, organization_with_ten_entries) == ("modified", sequence)

    def test_an_altered_hash_or_seal_is_detected(self, api, organization_with_ten_entries):
        alter_item(entry_item(organization_with_ten_entries, 7), seal=bytes(24))
        assert verification_failure(api, organization_with_ten_entries) == ("modified", 7)
        alter_item(entry_item(organization_with_ten_entries, 4), leaf=bytes(32))
        assert verification_failure(api, organization_with_ten_entries) == ("modified", 4)

    def test_the_first_of_several_alterations_is_reported(self, api, organization_with_ten_entries):
        for sequence in (9, 3, 6):
            item = entry_item(organization_with_ten_entries, sequence)
            alter_item(item, body=item["body"] + b" ")
        assert verification_failure(api, organization_with_ten_entries) == ("modified", 3)

    @pytest.mark.parametrize("sequence", [1, 5, 9])
    def test_a_removed_entry_is_missing(self, api, organization_with_ten_entries, sequence):
        memory_aws.delete_item(entry_item(organization_with_ten_entries, sequence))
        assert verification_failure(api, organization_with_ten_entries) == ("missing", sequence)

    def test_an_entry_without_sequence_is_missing(self, api, organization_with_ten_entries):
        item = entry_item(organization_with_ten_entries, 5)
        memory_aws.put_item(
            {
                attribute: value
                for attribute, value in item.items()
                if not attribute.startswith(("index1", "sequence", "seal"))
            }
        )
        assert verification_failure(api, organization_with_ten_entries) == ("missing", 5)

    def test_a_lagging_index_is_queried_again(self, api, organization_with_ten_entries, monkeypatch):
        item = entry_item(organization_with_ten_entries, 10)
        memory_aws.put_item(
            {attribute: value for attribute, value in item.items() if not attribute.startswith("index1")}
        )
        delays = []

        def restore_item(seconds: float) -> None:
            delays.append(seconds)
            memory_aws.put_item(item)

        monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", (0.2, 0.5))
        monkeypatch.setattr(time, "sleep", restore_item)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)
        assert delays == [0.2]

    @pytest.mark.parametrize("remaining_count", [0, 1, 5, 9])
    def test_a_shortened_log_is_truncated(self, api, organization_with_ten_entries, remaining_count):
        for sequence in range(remaining_count + 1, 11):
            memory_aws.delete_item(entry_item(organization_with_ten_entries, sequence))
        assert verification_failure(api, organization_with_ten_entries) == ("truncated", remaining_count + 1)

    def test_a_log_removed_with_its_head_is_truncated(self, api, organization_with_ten_entries):
        for item in memory_aws.all_items():
            if item["pk"] in (f"A#{organization_with_ten_entries.id}", f"Q#{organization_with_ten_entries.id}"):
                memory_aws.delete_item(item)
        assert verification_failure(api, organization_with_ten_entries) == ("truncated", 1)

    @pytest.mark.parametrize(("sequence", "other_sequence"), [(2, 3), (1, 10), (5, 9)])
    def test_two_exchanged_entries_are_reordered(self, api, organization_with_ten_entries, sequence, other_sequence):
        first, second = (
            entry_item(organization_with_ten_entries, sequence),
            entry_item(organization_with_ten_entries, other_sequence),
        )
        sequence_attributes = ("sequence", "index1sk")
        alter_item(first, **{attribute: second[attribute] for attribute in sequence_attributes})
        alter_item(second, **{attribute: first[attribute] for attribute in sequence_attributes})
        assert verification_failure(api, organization_with_ten_entries) == ("reordered", sequence)

    def test_two_exchanged_bodies_are_detected(self, api, organization_with_ten_entries):
        first, second = entry_item(organization_with_ten_entries, 2), entry_item(organization_with_ten_entries, 3)
        alter_item(first, body=second["body"], leaf=second["leaf"])
        alter_item(second, body=first["body"], leaf=first["leaf"])
        assert verification_failure(api, organization_with_ten_entries)[1] == 2

    def test_an_entry_of_another_log_is_detected(self, api, organization_with_ten_entries, ada, workers):
        other_organization = create_organization(api, ada)
        workers.deliver()
        foreign_entry = entry_item(other_organization, 1)
        alter_item(
            entry_item(organization_with_ten_entries, 1),
            body=foreign_entry["body"],
            leaf=foreign_entry["leaf"],
            seal=foreign_entry["seal"],
        )
        assert verification_failure(api, organization_with_ten_entries) == ("modified", 1)

    def test_an_inserted_entry_is_detected(self, api, organization_with_ten_entries):
        item = entry_item(organization_with_ten_entries, 5)
        for sk in (item["sk"][:-1] + "~", "1" + item["sk"][1:]):
            forged_entry = {**item, "sk": sk, "id": sk, "body": item["body"] + b" "}
            memory_aws.put_item(forged_entry)
            assert verification_failure(api, organization_with_ten_entries) == ("modified", 5)
            memory_aws.delete_item(forged_entry)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)

    def test_appended_entries_are_detected(self, api, organization_with_ten_entries):
        item = entry_item(organization_with_ten_entries, 10)
        sk = "f" + item["sk"][1:]
        memory_aws.put_item(
            {
                **item,
                "sk": sk,
                "id": sk,
                "sequence": 11,
                "index1sk": ledger.sequence_index_or_batch_key(organization_with_ten_entries.id, 11)[1],
            }
        )
        assert verification_failure(api, organization_with_ten_entries)[0] is not None

    @pytest.mark.parametrize(("is_removed", "failure"), [(True, "missing"), (False, "modified")])
    def test_a_long_entry_includes_its_separate_body(self, api, ada, workers, *, is_removed, failure):
        organization = create_organization(api, ada)
        api.patch(organization.path, caller=ada, json={"companyAddress": "a" * 3900})
        workers.deliver()
        (body_item,) = [item for item in memory_aws.all_items() if item["pk"] == f"B#{organization.id}"]
        if is_removed:
            memory_aws.delete_item(body_item)
        else:
            alter_item(body_item, body=body_item["body"].replace(b"aaa", b"bbb"))
        assert verification_failure(api, organization) == (failure, 2)

    def test_an_altered_log_remains_readable_and_writable(self, api, organization_with_ten_entries, ada, workers):
        memory_aws.delete_item(entry_item(organization_with_ten_entries, 5))
        assert api.patch(organization_with_ten_entries.path, caller=ada, json={"name": "After"}).status == 200
        workers.deliver()
        assert verification_failure(api, organization_with_ten_entries) == ("missing", 5)
        assert len(api.get_items(f"{organization_with_ten_entries.path}/audit-log", caller=ada)) == 10


class TestHeads:
    @pytest.mark.parametrize(
        "alter_note",
        [
            lambda note: note.replace("\n10\n", "\n9\n"),
            lambda note: note[:-8] + "AAAA" + note[-4:],
            lambda _: "",
            lambda _: "nothing",
            lambda note: note.replace("atrium/", "other/"),
            lambda note: note.partition("\n\n")[0],
        ],
    )
    def test_an_altered_checkpoint_is_a_bad_signature(self, api, organization_with_ten_entries, alter_note):
        item = head_item(organization_with_ten_entries)
        alter_item(item, note=alter_note(item["note"]))
        assert verification_failure(api, organization_with_ten_entries)[0] == "bad_signature"

    def test_the_checkpoint_of_another_log_is_a_bad_signature(self, api, organization_with_ten_entries, ada, workers):
        other_organization = create_organization(api, ada)
        for n in range(9):
            api.patch(other_organization.path, caller=ada, json={"name": f"Name {n}"})
        workers.deliver()
        alter_item(head_item(organization_with_ten_entries), note=head_item(other_organization)["note"])
        assert verification_failure(api, organization_with_ten_entries)[0] == "bad_signature"

    def test_a_head_that_contradicts_its_checkpoint_is_detected(self, api, organization_with_ten_entries):
        item = head_item(organization_with_ten_entries)
        alter_item(item, size=9)
        assert verification_failure(api, organization_with_ten_entries)[0] is not None
        alter_item(item, peaks=bytes(len(item["peaks"])))
        assert verification_failure(api, organization_with_ten_entries)[0] is not None

    def test_a_restored_older_head_is_detected(self, api, organization_with_ten_entries, ada, workers):
        older_head = head_item(organization_with_ten_entries)
        api.patch(organization_with_ten_entries.path, caller=ada, json={"name": "Later"})
        workers.deliver()
        memory_aws.put_item(older_head)
        assert verification_failure(api, organization_with_ten_entries)[0] is not None

    def test_a_signed_head_of_another_tree_is_forked(self, api, organization_with_ten_entries):
        note = sign_checkpoint(organization_with_ten_entries, 10, bytes(32))
        alter_item(head_item(organization_with_ten_entries), note=note)
        assert verification_failure(api, organization_with_ten_entries)[0] == "forked"

    def test_a_head_signed_with_a_retired_key_is_valid_while_the_key_is_listed(
        self, api, organization_with_ten_entries, ada, workers, configure
    ):
        retired_key = api.get("/status").json["auditPublicKey"]
        key = base64.b64encode(bytes(32)).decode()
        configure(audit_signing_key=key, audit_former_public_keys=retired_key)
        status = api.get("/status").json
        assert status["auditPublicKey"] != retired_key
        assert status["auditPublicKeys"] == [status["auditPublicKey"], retired_key]
        checkpoint = to_base64url(head_item(organization_with_ten_entries)["note"].encode())
        api.patch(organization_with_ten_entries.path, caller=ada, json={"name": "Later"})
        workers.deliver()
        assert verify_integrity(api, organization_with_ten_entries, checkpoint=checkpoint)["failure"] != "bad_signature"
        configure(audit_former_public_keys="")
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == (
            "bad_signature",
            None,
        )
