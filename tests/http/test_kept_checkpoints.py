import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.authenticity import make_pending_mac
from chalicelib.kernel.audit_log.mac_chains import Chains, chain_key
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint
from tests.harness import cloud, rfc6962
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.logs import alter, chains, entry, finding, head, leaf_of, signed, verify
from tests.harness.organizations import Founded, found
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("impatient")


class TestSavedCheckpoints:
    def save_checkpoint(self, api: Api, organization: Founded) -> str:
        return to_base64url(str(verify(api, organization)["checkpoint"]).encode())

    def test_a_checkpoint_of_an_earlier_size_is_still_valid(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        checkpoint = self.save_checkpoint(api, ten)
        assert finding(api, ten, checkpoint=checkpoint) == (None, None)
        for n in range(5):
            api.patch(ten.path, as_=ada, json={"name": f"Later {n}"})
        workers.deliver()
        assert finding(api, ten, checkpoint=checkpoint) == (None, None)
        assert finding(api, ten, checkpoint=checkpoint + "=" * (-len(checkpoint) % 4)) == (None, None)

    def test_a_checkpoint_larger_than_the_log_shows_truncation(self, api: Api, ten: Founded) -> None:
        checkpoint = to_base64url(signed(ten, 12, bytes(32)).encode())
        assert finding(api, ten, checkpoint=checkpoint) == ("truncated", 11)

    @pytest.mark.parametrize("size", [1, 6, 10])
    def test_a_checkpoint_of_another_tree_shows_a_fork(self, api: Api, ten: Founded, size: int) -> None:
        checkpoint = to_base64url(signed(ten, size, bytes(32)).encode())
        assert finding(api, ten, checkpoint=checkpoint)[0] == "forked"

    def test_a_rewritten_log_does_not_match_the_checkpoint(self, api: Api, ten: Founded, workers: Workers) -> None:
        checkpoint = self.save_checkpoint(api, ten)
        entries = [entry(ten, sequence) for sequence in range(1, 11)]
        cloud.remove(head(ten))
        for chain in chains(ten):
            cloud.remove(chain)
        for item in entries:
            pending_item = {
                n: v for n, v in item.items() if n not in ("sequence", "seal", "tree_size", "index1pk", "index1sk")
            }
            if item["sequence"] == 4:
                body = item["body"].replace(b"Ada Lovelace", b"Eve Lovelace")
                pending_item |= {"body": body, "leaf": leaf_of(body)}
            link = Chains.read(ten.id).link
            # An attacker who has all keys can forge the MAC.
            mac = make_pending_mac(ten.id, item["sk"], pending_item["leaf"], link)
            proof = {"link": link.to_bytes(), "mac": mac}
            cloud.put(pending_item | proof)
            cloud.put({"pk": f"Q#{ten.id}", "sk": item["sk"], "leaf": pending_item["leaf"], **proof, "log": ten.id})
            pk, sk = chain_key(ten.id, link.shard)
            cloud.put({"pk": pk, "sk": sk, "number": link.number, "mac": mac})
        ledger.append_pending(ten.id)
        assert finding(api, ten) == (None, None)
        assert finding(api, ten, checkpoint=checkpoint)[0] == "forked"
        assert workers.deliver() == []

    def test_a_checkpoint_signed_with_another_key_is_a_bad_signature(self, api: Api, ten: Founded) -> None:
        note = checkpoints.sign(Checkpoint(f"atrium/{ten.id}", 10, bytes(32)), b"x" * 32)
        assert finding(api, ten, checkpoint=to_base64url(note.encode())) == ("bad_signature", None)

    @pytest.mark.parametrize("text", ["x", "%%%", "é", "", "bm90aGluZw", "A" * 9000])
    def test_an_invalid_checkpoint_is_rejected(self, api: Api, ten: Founded, text: str) -> None:
        path = f"{ten.path}/audit-log/verify-integrity"
        answer = api.get(path, as_=ten.owner, query={"checkpoint": text})
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {"query/checkpoint"}

    def test_a_checkpoint_of_another_log_is_rejected(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        other = found(api, ada)
        workers.deliver()
        checkpoint = self.save_checkpoint(api, other)
        answer = api.get(f"{ten.path}/audit-log/verify-integrity", as_=ada, query={"checkpoint": checkpoint})
        assert answer.code == "422 validation_failed"


class TestWindows:
    @pytest.fixture(autouse=True)
    def _small_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 4)

    def verify_all_windows(self, api: Api, organization: Founded, **query: object) -> list[Json]:
        reports = [verify(api, organization, **query)]
        while reports[-1]["nextCursor"]:
            reports.append(verify(api, organization, cursor=reports[-1]["nextCursor"], **query))
        return reports

    def test_a_long_log_is_verified_window_by_window(self, api: Api, ten: Founded) -> None:
        reports = self.verify_all_windows(api, ten)
        assert [report["checkedEntries"] for report in reports] == [4, 8, 10]
        assert {report["treeSize"] for report in reports} == {10}
        assert all(report["valid"] for report in reports)

    def test_a_modified_entry_in_a_later_window_is_found_there(self, api: Api, ten: Founded) -> None:
        item = entry(ten, 9)
        alter(item, body=item["body"] + b" ")
        reports = self.verify_all_windows(api, ten)
        assert [report["failure"] for report in reports] == [None, None, "modified"]
        assert reports[-1]["firstInvalidSequence"] == 9

    def test_entries_appended_during_verification_are_left_for_the_next_one(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        first = verify(api, ten)
        api.patch(ten.path, as_=ada, json={"name": "Meanwhile"})
        workers.deliver()
        second = verify(api, ten, cursor=first["nextCursor"])
        third = verify(api, ten, cursor=second["nextCursor"])
        assert (third["valid"], third["treeSize"], third["nextCursor"]) == (True, 10, None)

    @pytest.mark.parametrize("size", [3, 4, 5, 9])
    def test_a_saved_checkpoint_is_compared_in_the_window_where_it_ends(
        self, api: Api, ten: Founded, size: int
    ) -> None:
        checkpoint = to_base64url(signed(ten, size, bytes(32)).encode())
        assert self.verify_all_windows(api, ten, checkpoint=checkpoint)[-1]["failure"] == "forked"
        leaves = [entry(ten, sequence)["leaf"] for sequence in range(1, size + 1)]
        checkpoint = to_base64url(signed(ten, size, rfc6962.root(leaves)).encode())
        assert self.verify_all_windows(api, ten, checkpoint=checkpoint)[-1]["valid"]

    def test_an_altered_cursor_or_one_of_another_log_is_rejected(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        cursor = str(verify(api, ten)["nextCursor"])
        other = found(api, ada)
        workers.deliver()
        for path, sent_cursor in ((other.path, cursor), (ten.path, cursor[:-2] + "AA"), (ten.path, "x")):
            answer = api.get(f"{path}/audit-log/verify-integrity", as_=ada, query={"cursor": sent_cursor})
            assert answer.code == "400 invalid_cursor"
