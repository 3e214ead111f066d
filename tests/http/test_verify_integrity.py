import base64
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from tests.harness import cloud, rfc6962
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.logs import alter, entry, finding, head, leaf_of, signed, verify
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("impatient")


class TestWholeLogs:
    def test_a_whole_log_is_valid_and_its_root_can_be_made_from_outside(
        self, api: Api, ten: Founded, ada: Person
    ) -> None:
        report = verify(api, ten)
        entries = api.items(f"{ten.path}/audit-log", as_=ada)
        leaves = [rfc6962.leaf_hash(entry) for entry in reversed(entries)]
        assert report == {
            "valid": True,
            "treeSize": 10,
            "rootHash": rfc6962.root(leaves).hex(),
            "checkpoint": report["checkpoint"],
            "pendingEntries": 0,
            "checkedEntries": 10,
            "firstInvalidSequence": None,
            "failure": None,
            "suppressed": 0,
            "nextCursor": None,
        }
        rfc6962.check_note(report["checkpoint"], ten.id, leaves, api.get("/status").json["auditPublicKey"])

    def test_what_waits_is_counted_and_not_held_against_the_log(self, api: Api, ten: Founded, ada: Person) -> None:
        for n in range(3):
            api.patch(ten.path, as_=ada, json={"name": f"Waiting {n}"})
        report = verify(api, ten)
        assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, 10, 3)

    def test_a_log_none_of_which_is_in_the_tree_yet_is_valid_and_empty(self, api: Api, ada: Person) -> None:
        report = verify(api, found(api, ada))
        assert report == {
            "valid": True,
            "treeSize": 0,
            "rootHash": rfc6962.root([]).hex(),
            "checkpoint": None,
            "pendingEntries": 1,
            "checkedEntries": 0,
            "firstInvalidSequence": None,
            "failure": None,
            "suppressed": 0,
            "nextCursor": None,
        }

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 50])
    def test_logs_of_any_size_are_appended_and_proven(self, api: Api, ada: Person, workers: Workers, size: int) -> None:
        organization = found(api, ada)
        for n in range(size - 1):
            api.patch(organization.path, as_=ada, json={"name": f"Name {n}"})
        workers.deliver()
        report = verify(api, organization)
        leaves = [rfc6962.leaf_hash(e) for e in reversed(api.items(f"{organization.path}/audit-log", as_=ada))]
        assert (report["valid"], report["treeSize"], report["rootHash"]) == (True, size, rfc6962.root(leaves).hex())

    def test_long_entries_are_proven_too(self, api: Api, ada: Person, workers: Workers) -> None:
        organization = found(api, ada, companyAddress="a" * 3900)
        api.patch(organization.path, as_=ada, json={"companyAddress": "b" * 3900})
        workers.deliver()
        assert finding(api, organization) == (None, None)

    def test_an_entry_that_is_erased_while_the_index_lags_is_no_missing_one(
        self, api: Api, ada: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organization = found(api, ada, companyAddress="a" * 3900)
        workers.deliver()
        query, stale = table.query, entry(organization, 1)
        assert "body" not in stale

        lagged: list[str] = []

        def lagging(where: str | Partition, **words: Any) -> table.QueryResult:
            answer = query(where, **words)
            if isinstance(where, str) or where.index != "index1":
                return answer
            lagged.append(where.pk)
            return replace(answer, items=[stale if i["sk"] == stale["sk"] else i for i in answer.items])

        table.write_transaction(redaction.redact_entry(organization.id, stale, is_authentic=True))
        monkeypatch.setattr(table, "query", lagging)
        assert finding(api, organization) == (None, None)
        assert lagged

    def test_admins_and_keys_with_the_scope_may_ask(
        self, api: Api, organization: Founded, grace: Person, edith: Person, stranger: Person
    ) -> None:
        path = f"{organization.path}/audit-log/verify-integrity"
        assert api.get(path, as_=grace).status == 200
        assert api.get(path, as_=make_key(api, organization, "audit-log:read")).status == 200
        assert api.get(path, as_=edith).code == "403 insufficient_role"
        assert api.get(path, as_=stranger).code == "404 not_found"


class TestTampering:
    @pytest.mark.parametrize("sequence", [1, 5, 10])
    def test_altered_text_is_found(self, api: Api, ten: Founded, sequence: int) -> None:
        item = entry(ten, sequence)
        alter(item, body=item["body"].replace(b"Ada Lovelace", b"Eve Lovelace"))
        assert finding(api, ten) == ("modified", sequence)

    @pytest.mark.parametrize("sequence", [1, 5, 10])
    def test_altered_text_with_a_hash_to_match_is_found(self, api: Api, ten: Founded, sequence: int) -> None:
        item = entry(ten, sequence)
        body = item["body"].replace(b"Ada Lovelace", b"Eve Lovelace")
        alter(item, body=body, leaf=leaf_of(body))
        assert finding(api, ten) == ("modified", sequence)

    def test_an_altered_hash_or_seal_is_found(self, api: Api, ten: Founded) -> None:
        alter(entry(ten, 7), seal=bytes(24))
        assert finding(api, ten) == ("modified", 7)
        alter(entry(ten, 4), leaf=bytes(32))
        assert finding(api, ten) == ("modified", 4)

    def test_the_first_of_several_is_named(self, api: Api, ten: Founded) -> None:
        for sequence in (9, 3, 6):
            item = entry(ten, sequence)
            alter(item, body=item["body"] + b" ")
        assert finding(api, ten) == ("modified", 3)

    @pytest.mark.parametrize("sequence", [1, 5, 9])
    def test_a_removed_entry_is_missing(self, api: Api, ten: Founded, sequence: int) -> None:
        cloud.remove(entry(ten, sequence))
        assert finding(api, ten) == ("missing", sequence)

    def test_an_entry_taken_out_of_the_sequence_is_missing(self, api: Api, ten: Founded) -> None:
        item = entry(ten, 5)
        cloud.put({name: value for name, value in item.items() if not name.startswith(("index1", "sequence", "seal"))})
        assert finding(api, ten) == ("missing", 5)

    def test_an_index_that_lags_is_waited_for(self, api: Api, ten: Founded, monkeypatch: pytest.MonkeyPatch) -> None:
        item = entry(ten, 10)
        cloud.put({name: value for name, value in item.items() if not name.startswith("index1")})
        waited = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            cloud.put(item)

        monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", (0.2, 0.5))
        monkeypatch.setattr(time, "sleep", sleep)
        assert finding(api, ten) == (None, None)
        assert waited == [0.2]

    @pytest.mark.parametrize("kept", [0, 1, 5, 9])
    def test_a_log_cut_off_is_truncated(self, api: Api, ten: Founded, kept: int) -> None:
        for sequence in range(kept + 1, 11):
            cloud.remove(entry(ten, sequence))
        assert finding(api, ten) == ("truncated", kept + 1)

    def test_a_log_removed_with_its_head_is_truncated(self, api: Api, ten: Founded) -> None:
        for item in cloud.stored():
            if item["pk"] in (f"A#{ten.id}", f"Q#{ten.id}"):
                cloud.remove(item)
        assert finding(api, ten) == ("truncated", 1)

    @pytest.mark.parametrize(("one", "other"), [(2, 3), (1, 10), (5, 9)])
    def test_two_entries_that_changed_places_are_reordered(self, api: Api, ten: Founded, one: int, other: int) -> None:
        first, second = entry(ten, one), entry(ten, other)
        places = ("sequence", "index1sk")
        alter(first, **{name: second[name] for name in places})
        alter(second, **{name: first[name] for name in places})
        assert finding(api, ten) == ("reordered", one)

    def test_contents_that_changed_places_are_found(self, api: Api, ten: Founded) -> None:
        first, second = entry(ten, 2), entry(ten, 3)
        alter(first, body=second["body"], leaf=second["leaf"])
        alter(second, body=first["body"], leaf=first["leaf"])
        assert finding(api, ten)[1] == 2

    def test_an_entry_of_another_log_does_not_fit(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        other = found(api, ada)
        workers.deliver()
        foreign = entry(other, 1)
        alter(entry(ten, 1), body=foreign["body"], leaf=foreign["leaf"], seal=foreign["seal"])
        assert finding(api, ten) == ("modified", 1)

    def test_an_entry_slipped_in_beside_another_is_found(self, api: Api, ten: Founded) -> None:
        item = entry(ten, 5)
        for sk in (item["sk"][:-1] + "~", "1" + item["sk"][1:]):
            forged = {**item, "sk": sk, "id": sk, "body": item["body"] + b" "}
            cloud.put(forged)
            assert finding(api, ten) == ("modified", 5)
            cloud.remove(forged)
        assert finding(api, ten) == (None, None)

    def test_entries_slipped_in_behind_the_end_are_found(self, api: Api, ten: Founded) -> None:
        item = entry(ten, 10)
        sk = "f" + item["sk"][1:]
        cloud.put({**item, "sk": sk, "id": sk, "sequence": 11, "index1sk": ledger.sequence_key(ten.id, 11)[1]})
        assert finding(api, ten)[0] is not None

    @pytest.mark.parametrize(("removed", "failure"), [(True, "missing"), (False, "modified")])
    def test_a_long_entrys_text_is_part_of_it(
        self, api: Api, ada: Person, workers: Workers, *, removed: bool, failure: str
    ) -> None:
        organization = found(api, ada)
        api.patch(organization.path, as_=ada, json={"companyAddress": "a" * 3900})
        workers.deliver()
        (text,) = [item for item in cloud.stored() if item["pk"] == f"B#{organization.id}"]
        if removed:
            cloud.remove(text)
        else:
            alter(text, body=text["body"].replace(b"aaa", b"bbb"))
        assert finding(api, organization) == (failure, 2)

    def test_the_log_can_still_be_read_and_written(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        cloud.remove(entry(ten, 5))
        assert api.patch(ten.path, as_=ada, json={"name": "After"}).status == 200
        workers.deliver()
        assert finding(api, ten) == ("missing", 5)
        assert len(api.items(f"{ten.path}/audit-log", as_=ada)) == 10


class TestHeads:
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda note: note.replace("\n10\n", "\n9\n"),
            lambda note: note[:-8] + "AAAA" + note[-4:],
            lambda _: "",
            lambda _: "nothing",
            lambda note: note.replace("atrium/", "other/"),
            lambda note: note.partition("\n\n")[0],
        ],
    )
    def test_a_spoiled_checkpoint_is_a_bad_signature(self, api: Api, ten: Founded, spoil: Callable[[str], str]) -> None:
        item = head(ten)
        alter(item, note=spoil(item["note"]))
        assert finding(api, ten)[0] == "bad_signature"

    def test_the_checkpoint_of_another_log_is_a_bad_signature(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        other = found(api, ada)
        for n in range(9):
            api.patch(other.path, as_=ada, json={"name": f"Name {n}"})
        workers.deliver()
        alter(head(ten), note=head(other)["note"])
        assert finding(api, ten)[0] == "bad_signature"

    def test_a_head_that_does_not_fit_its_own_checkpoint_is_found(self, api: Api, ten: Founded) -> None:
        item = head(ten)
        alter(item, size=9)
        assert finding(api, ten)[0] is not None
        alter(item, peaks=bytes(len(item["peaks"])))
        assert finding(api, ten)[0] is not None

    def test_a_head_put_back_to_an_earlier_one_is_found(
        self, api: Api, ten: Founded, ada: Person, workers: Workers
    ) -> None:
        earlier = head(ten)
        api.patch(ten.path, as_=ada, json={"name": "Later"})
        workers.deliver()
        cloud.put(earlier)
        assert finding(api, ten)[0] is not None

    def test_a_signed_head_of_another_tree_is_forked(self, api: Api, ten: Founded) -> None:
        note = signed(ten, 10, bytes(32))
        alter(head(ten), note=note)
        assert finding(api, ten)[0] == "forked"

    def test_a_head_signed_by_a_key_that_was_replaced_still_counts(
        self, api: Api, ten: Founded, ada: Person, workers: Workers, configure: Callable[..., None]
    ) -> None:
        former = api.get("/status").json["auditPublicKey"]
        key = base64.b64encode(bytes(32)).decode()
        configure(audit_signing_key=key, audit_former_public_keys=former)
        status = api.get("/status").json
        assert status["auditPublicKey"] != former
        assert status["auditPublicKeys"] == [status["auditPublicKey"], former]
        kept = to_base64url(head(ten)["note"].encode())
        api.patch(ten.path, as_=ada, json={"name": "Later"})
        workers.deliver()
        assert verify(api, ten, checkpoint=kept)["failure"] != "bad_signature"
        configure(audit_former_public_keys="")
        assert finding(api, ten, checkpoint=kept) == ("bad_signature", None)
