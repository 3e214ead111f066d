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


class TestKeptCheckpoints:
    def keep(self, api: Api, organization: Founded) -> str:
        return to_base64url(str(verify(api, organization)["checkpoint"]).encode())

    def test_one_of_an_earlier_size_still_holds(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        kept = self.keep(api, ten)
        assert finding(api, ten, checkpoint=kept) == (None, None)
        for n in range(5):
            api.patch(ten.path, as_=ada, json={"name": f"Later {n}"})
        workers.deliver()
        assert finding(api, ten, checkpoint=kept) == (None, None)
        assert finding(api, ten, checkpoint=kept + "=" * (-len(kept) % 4)) == (None, None)

    def test_one_that_is_longer_than_the_log_tells_that_it_was_truncated(self, api: Api, ten: Founded) -> None:
        kept = to_base64url(signed(ten, 12, bytes(32)).encode())
        assert finding(api, ten, checkpoint=kept) == ("truncated", 11)

    @pytest.mark.parametrize("size", [1, 6, 10])
    def test_one_of_another_tree_tells_that_it_was_forked(self, api: Api, ten: Founded, size: int) -> None:
        kept = to_base64url(signed(ten, size, bytes(32)).encode())
        assert finding(api, ten, checkpoint=kept)[0] == "forked"

    def test_a_log_written_anew_does_not_fit_it(self, api: Api, ten: Founded, workers: Workers) -> None:
        kept = self.keep(api, ten)
        whole = [entry(ten, sequence) for sequence in range(1, 11)]
        cloud.remove(head(ten))
        for chain in chains(ten):
            cloud.remove(chain)
        for item in whole:
            fresh = {
                n: v for n, v in item.items() if n not in ("sequence", "seal", "tree_size", "index1pk", "index1sk")
            }
            if item["sequence"] == 4:
                body = item["body"].replace(b"Ada Lovelace", b"Eve Lovelace")
                fresh |= {"body": body, "leaf": leaf_of(body)}
            link = Chains.read(ten.id).link
            mac = make_pending_mac(ten.id, item["sk"], fresh["leaf"], link)  # By whoever has all keys.
            proof = {"link": link.to_bytes(), "mac": mac}
            cloud.put(fresh | proof)
            cloud.put({"pk": f"Q#{ten.id}", "sk": item["sk"], "leaf": fresh["leaf"], **proof, "log": ten.id})
            pk, sk = chain_key(ten.id, link.shard)
            cloud.put({"pk": pk, "sk": sk, "number": link.number, "mac": mac})
        ledger.append_pending(ten.id)
        assert finding(api, ten) == (None, None)
        assert finding(api, ten, checkpoint=kept)[0] == "forked"
        assert workers.deliver() == []

    def test_one_that_we_never_signed_is_a_bad_signature(self, api: Api, ten: Founded) -> None:
        note = checkpoints.sign(Checkpoint(f"atrium/{ten.id}", 10, bytes(32)), b"x" * 32)
        assert finding(api, ten, checkpoint=to_base64url(note.encode())) == ("bad_signature", None)

    @pytest.mark.parametrize("text", ["x", "%%%", "é", "", "bm90aGluZw", "A" * 9000])
    def test_what_is_none_is_refused(self, api: Api, ten: Founded, text: str) -> None:
        path = f"{ten.path}/audit-log/verify-integrity"
        answer = api.get(path, as_=ten.owner, query={"checkpoint": text})
        assert answer.code == "422 validation_failed"
        assert set(answer.faults) == {"query/checkpoint"}

    def test_one_of_another_log_is_refused(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        other = found(api, ada)
        workers.deliver()
        kept = self.keep(api, other)
        answer = api.get(f"{ten.path}/audit-log/verify-integrity", as_=ada, query={"checkpoint": kept})
        assert answer.code == "422 validation_failed"


class TestWindows:
    @pytest.fixture(autouse=True)
    def _narrow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 4)

    def walk(self, api: Api, organization: Founded, **query: object) -> list[Json]:
        reports = [verify(api, organization, **query)]
        while reports[-1]["nextCursor"]:
            reports.append(verify(api, organization, cursor=reports[-1]["nextCursor"], **query))
        return reports

    def test_a_long_log_is_verified_step_by_step(self, api: Api, ten: Founded) -> None:
        reports = self.walk(api, ten)
        assert [report["checkedEntries"] for report in reports] == [4, 8, 10]
        assert {report["treeSize"] for report in reports} == {10}
        assert all(report["valid"] for report in reports)

    def test_a_fault_in_a_later_window_is_found_there(self, api: Api, ten: Founded) -> None:
        item = entry(ten, 9)
        alter(item, body=item["body"] + b" ")
        reports = self.walk(api, ten)
        assert [report["failure"] for report in reports] == [None, None, "modified"]
        assert reports[-1]["firstInvalidSequence"] == 9

    def test_what_is_appended_meanwhile_is_left_for_the_next_time(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        first = verify(api, ten)
        api.patch(ten.path, as_=ada, json={"name": "Meanwhile"})
        workers.deliver()
        second = verify(api, ten, cursor=first["nextCursor"])
        third = verify(api, ten, cursor=second["nextCursor"])
        assert (third["valid"], third["treeSize"], third["nextCursor"]) == (True, 10, None)

    @pytest.mark.parametrize("size", [3, 4, 5, 9])
    def test_a_kept_checkpoint_is_compared_in_whichever_window_it_ends(self, api: Api, ten: Founded, size: int) -> None:
        kept = to_base64url(signed(ten, size, bytes(32)).encode())
        assert self.walk(api, ten, checkpoint=kept)[-1]["failure"] == "forked"
        leaves = [entry(ten, sequence)["leaf"] for sequence in range(1, size + 1)]
        kept = to_base64url(signed(ten, size, rfc6962.root(leaves)).encode())
        assert self.walk(api, ten, checkpoint=kept)[-1]["valid"]

    def test_a_cursor_of_another_log_or_altered_is_refused(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        cursor = str(verify(api, ten)["nextCursor"])
        other = found(api, ada)
        workers.deliver()
        for path, sent in ((other.path, cursor), (ten.path, cursor[:-2] + "AA"), (ten.path, "x")):
            answer = api.get(f"{path}/audit-log/verify-integrity", as_=ada, query={"cursor": sent})
            assert answer.code == "400 invalid_cursor"
