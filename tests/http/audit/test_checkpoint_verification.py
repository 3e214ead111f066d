import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.authenticity import make_pending_mac
from chalicelib.kernel.audit_log.mac_chains import Chains, chain_key
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint
from tests.harness import memory_aws, rfc6962
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import (
    alter_item,
    chain_items,
    entry_item,
    hash_leaf,
    head_item,
    sign_checkpoint,
    verification_failure,
    verify_integrity,
)
from tests.harness.organizations import CreatedOrganization, create_organization

pytestmark = pytest.mark.usefixtures("no_index_retries")


class TestSavedCheckpoints:
    def save_checkpoint(self, api: ApiClient, organization: CreatedOrganization) -> str:
        return to_base64url(str(verify_integrity(api, organization)["checkpoint"]).encode())

    def test_a_checkpoint_of_an_earlier_size_is_still_valid(self, api, organization_with_ten_entries, ada, workers):
        checkpoint = self.save_checkpoint(api, organization_with_ten_entries)
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == (None, None)
        for n in range(5):
            api.patch(organization_with_ten_entries.path, caller=ada, json={"name": f"Later {n}"})
        workers.deliver()
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == (None, None)
        assert verification_failure(
            api, organization_with_ten_entries, checkpoint=checkpoint + "=" * (-len(checkpoint) % 4)
        ) == (None, None)

    def test_a_checkpoint_larger_than_the_log_shows_truncation(self, api, organization_with_ten_entries):
        checkpoint = to_base64url(sign_checkpoint(organization_with_ten_entries, 12, bytes(32)).encode())
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint) == ("truncated", 11)

    @pytest.mark.parametrize("size", [1, 6, 10])
    def test_a_checkpoint_of_another_tree_shows_a_fork(self, api, organization_with_ten_entries, size):
        checkpoint = to_base64url(sign_checkpoint(organization_with_ten_entries, size, bytes(32)).encode())
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint)[0] == "forked"

    def test_a_rewritten_log_does_not_match_the_checkpoint(self, api, organization_with_ten_entries, workers):
        checkpoint = self.save_checkpoint(api, organization_with_ten_entries)
        entries = [entry_item(organization_with_ten_entries, sequence) for sequence in range(1, 11)]
        memory_aws.delete_item(head_item(organization_with_ten_entries))
        for chain in chain_items(organization_with_ten_entries):
            memory_aws.delete_item(chain)
        for item in entries:
            pending_item = {
                n: v for n, v in item.items() if n not in ("sequence", "seal", "tree_size", "index1pk", "index1sk")
            }
            if item["sequence"] == 4:
                body = item["body"].replace(b"Ada Lovelace", b"Eve Lovelace")
                pending_item |= {"body": body, "leaf": hash_leaf(body)}
            link = Chains.read(organization_with_ten_entries.id).next_link
            # An attacker who has all keys can forge the MAC.
            mac = make_pending_mac(organization_with_ten_entries.id, item["sk"], pending_item["leaf"], link)
            proof = {"link": link.to_bytes(), "mac": mac}
            memory_aws.put_item(pending_item | proof)
            memory_aws.put_item(
                {
                    "pk": f"Q#{organization_with_ten_entries.id}",
                    "sk": item["sk"],
                    "leaf": pending_item["leaf"],
                    **proof,
                    "log": organization_with_ten_entries.id,
                }
            )
            pk, sk = chain_key(organization_with_ten_entries.id, link.shard)
            memory_aws.put_item({"pk": pk, "sk": sk, "number": link.number, "mac": mac})
        ledger.append_pending_and_return_longest_wait_ms(organization_with_ten_entries.id)
        assert verification_failure(api, organization_with_ten_entries) == (None, None)
        assert verification_failure(api, organization_with_ten_entries, checkpoint=checkpoint)[0] == "forked"
        assert workers.deliver() == []

    def test_a_checkpoint_signed_with_another_key_is_a_bad_signature(self, api, organization_with_ten_entries):
        note = checkpoints.sign_checkpoint_note(
            Checkpoint(f"atrium/{organization_with_ten_entries.id}", 10, bytes(32)), b"x" * 32
        )
        assert verification_failure(api, organization_with_ten_entries, checkpoint=to_base64url(note.encode())) == (
            "bad_signature",
            None,
        )

    @pytest.mark.parametrize("text", ["x", "%%%", "é", "", "bm90aGluZw", "A" * 9000])
    def test_an_invalid_checkpoint_is_rejected(self, api, organization_with_ten_entries, text):
        path = f"{organization_with_ten_entries.path}/audit-log/verify-integrity"
        answer = api.get(path, caller=organization_with_ten_entries.owner, query={"checkpoint": text})
        assert answer.status_and_code == "422 validation_failed"
        assert set(answer.errors) == {"query/checkpoint"}

    def test_a_checkpoint_of_another_log_is_rejected(self, api, organization_with_ten_entries, ada, workers):
        other = create_organization(api, ada)
        workers.deliver()
        checkpoint = self.save_checkpoint(api, other)
        answer = api.get(
            f"{organization_with_ten_entries.path}/audit-log/verify-integrity",
            caller=ada,
            query={"checkpoint": checkpoint},
        )
        assert answer.status_and_code == "422 validation_failed"


class TestWindows:
    @pytest.fixture(autouse=True)
    def _small_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 4)

    def verify_all_windows(self, api: ApiClient, organization: CreatedOrganization, **query: object) -> list[Json]:
        reports = [verify_integrity(api, organization, **query)]
        while reports[-1]["nextCursor"]:
            reports.append(verify_integrity(api, organization, cursor=reports[-1]["nextCursor"], **query))
        return reports

    def test_a_long_log_is_verified_window_by_window(self, api, organization_with_ten_entries):
        reports = self.verify_all_windows(api, organization_with_ten_entries)
        assert [report["checkedEntries"] for report in reports] == [4, 8, 10]
        assert {report["treeSize"] for report in reports} == {10}
        assert all(report["valid"] for report in reports)

    def test_a_modified_entry_in_a_later_window_is_found_there(self, api, organization_with_ten_entries):
        item = entry_item(organization_with_ten_entries, 9)
        alter_item(item, body=item["body"] + b" ")
        reports = self.verify_all_windows(api, organization_with_ten_entries)
        assert [report["failure"] for report in reports] == [None, None, "modified"]
        assert reports[-1]["firstInvalidSequence"] == 9

    def test_entries_appended_during_verification_are_left_for_the_next_one(
        self, api, organization_with_ten_entries, ada, workers
    ):
        first = verify_integrity(api, organization_with_ten_entries)
        api.patch(organization_with_ten_entries.path, caller=ada, json={"name": "Meanwhile"})
        workers.deliver()
        second = verify_integrity(api, organization_with_ten_entries, cursor=first["nextCursor"])
        third = verify_integrity(api, organization_with_ten_entries, cursor=second["nextCursor"])
        assert (third["valid"], third["treeSize"], third["nextCursor"]) == (True, 10, None)

    @pytest.mark.parametrize("size", [3, 4, 5, 9])
    def test_a_saved_checkpoint_is_compared_in_the_window_where_it_ends(self, api, organization_with_ten_entries, size):
        checkpoint = to_base64url(sign_checkpoint(organization_with_ten_entries, size, bytes(32)).encode())
        assert (
            self.verify_all_windows(api, organization_with_ten_entries, checkpoint=checkpoint)[-1]["failure"]
            == "forked"
        )
        leaves = [entry_item(organization_with_ten_entries, sequence)["leaf"] for sequence in range(1, size + 1)]
        checkpoint = to_base64url(
            sign_checkpoint(organization_with_ten_entries, size, rfc6962.tree_root(leaves)).encode()
        )
        assert self.verify_all_windows(api, organization_with_ten_entries, checkpoint=checkpoint)[-1]["valid"]

    def test_an_altered_cursor_or_one_of_another_log_is_rejected(
        self, api, organization_with_ten_entries, ada, workers
    ):
        cursor = str(verify_integrity(api, organization_with_ten_entries)["nextCursor"])
        other = create_organization(api, ada)
        workers.deliver()
        for path, sent_cursor in (
            (other.path, cursor),
            (organization_with_ten_entries.path, cursor[:-2] + "AA"),
            (organization_with_ten_entries.path, "x"),
        ):
            answer = api.get(f"{path}/audit-log/verify-integrity", caller=ada, query={"cursor": sent_cursor})
            assert answer.status_and_code == "400 invalid_cursor"
