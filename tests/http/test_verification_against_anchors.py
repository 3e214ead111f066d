import base64
from collections.abc import Callable

import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.core.encoding import to_base64url
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.anchors import anchor, anchored, cut_off, end_of, overtake, put, read
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.faults import Fault, failing
from tests.harness.logs import finding, grow, head, signed, verify
from tests.harness.organizations import Founded, found
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture
def items_before_growth(api: Api, ten: Founded, workers: Workers) -> list[cloud.Item]:
    """Return the newest items of `ten` from before the log grew to thirteen entries and got an anchor."""
    items_before_growth = end_of(ten)
    grow(api, workers, ten, 3)
    anchor(workers)
    assert anchored(ten.id) == [13]
    return items_before_growth


@pytest.mark.usefixtures("items_before_growth")
class TestIntactLog:
    def test_is_consistent_with_its_anchor(self, api: Api, ten: Founded, workers: Workers) -> None:
        assert finding(api, ten) == (None, None)
        grow(api, workers, ten, 3)
        assert finding(api, ten) == (None, None)
        anchor(workers)
        assert finding(api, ten) == (None, None)

    def test_may_grow_and_get_an_anchor_during_its_verification(
        self, api: Api, ten: Founded, monkeypatch: pytest.MonkeyPatch, workers: Workers
    ) -> None:
        overtake(monkeypatch, lambda: anchor(workers))
        assert finding(api, ten) == (None, None)
        assert anchored(ten.id) == [14, 13]

    def test_is_valid_without_an_anchor(self, api: Api, ada: Person, workers: Workers) -> None:
        other = found(api, ada)
        assert finding(api, other) == (None, None)
        workers.deliver()
        assert finding(api, other) == (None, None)

    def test_is_valid_by_an_anchor_signed_with_a_retired_key(
        self, api: Api, ten: Founded, configure: Configure
    ) -> None:
        retired_key = api.get("/status").json["auditPublicKey"]
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode(), audit_former_public_keys=retired_key)
        assert finding(api, ten) == (None, None)

    def test_is_also_compared_with_a_checkpoint_of_the_caller(self, api: Api, ten: Founded) -> None:
        for size in (5, 13):
            checkpoint = to_base64url(signed(ten, size, bytes(32)).encode())
            assert finding(api, ten, checkpoint=checkpoint) == ("forked", None)
        checkpoint = to_base64url(signed(ten, 14, bytes(32)).encode())
        assert finding(api, ten, checkpoint=checkpoint) == ("truncated", 14)

    def test_is_not_reported_valid_while_its_anchor_is_unreadable(self, api: Api, ten: Founded) -> None:
        path = f"{ten.path}/audit-log/verify-integrity"
        for name in ("s3:ListObjectsV2", "s3:GetObject"):
            with failing(Fault.TIMED_OUT, name=name) as injected_fault:
                answer = api.get(path, as_=ten.owner)
            assert injected_fault.hit == name
            assert answer.code == "503 unavailable"
            assert answer.headers["Retry-After"]


class TestLogTruncatedInTheTable:
    def test_is_reported_truncated(self, api: Api, ten: Founded, items_before_growth: list[cloud.Item]) -> None:
        cut_off(ten, items_before_growth)
        assert finding(api, ten) == ("truncated", 11)
        checkpoint = to_base64url(items_before_growth[0]["note"].encode())
        assert finding(api, ten, checkpoint=checkpoint) == ("truncated", 11), (
            "although it extends the caller's checkpoint"
        )

    def test_would_be_valid_without_its_anchor(
        self, api: Api, ten: Founded, items_before_growth: list[cloud.Item], configure: Configure
    ) -> None:
        cut_off(ten, items_before_growth)
        configure(anchors_bucket="")
        assert finding(api, ten) == (None, None)

    def test_is_reported_truncated_if_only_pending_entries_remain(
        self, api: Api, ten: Founded, items_before_growth: list[cloud.Item], ada: Person
    ) -> None:
        cut_off(ten, [{**items_before_growth[0], "size": 0}])
        cloud.remove(head(ten))
        assert api.patch(ten.path, as_=ada, json={"name": "As if it were new"}).status == 200
        assert finding(api, ten) == ("truncated", 1)

    @pytest.mark.parametrize(("size", "failure"), [(12, "truncated"), (13, "forked"), (14, "forked")])
    def test_remains_invalid_when_it_grows(
        self, api: Api, ten: Founded, items_before_growth: list[cloud.Item], workers: Workers, size: int, failure: str
    ) -> None:
        cut_off(ten, items_before_growth)
        grow(api, workers, ten, size - 10)
        assert verify(api, ten)["failure"] == failure
        anchor(workers)
        assert anchored(ten.id) == [13]
        assert verify(api, ten)["failure"] == failure

    @pytest.mark.parametrize("window", [1, 4, 12, 13, 14])
    def test_is_detected_in_the_window_that_contains_the_anchor(
        self,
        api: Api,
        ten: Founded,
        items_before_growth: list[cloud.Item],
        workers: Workers,
        window: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        cut_off(ten, items_before_growth)
        grow(api, workers, ten, 5)
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", window)
        reports = [verify(api, ten)]
        while reports[-1]["nextCursor"]:
            reports.append(verify(api, ten, cursor=reports[-1]["nextCursor"]))
        assert reports[-1]["failure"] == "forked"
        assert all(report["valid"] for report in reports[:-1])
        assert len(reports) == -(-13 // window)


class TestWindows:
    @pytest.mark.usefixtures("items_before_growth")
    def test_only_the_first_one_reads_the_anchor(self, api: Api, ten: Founded, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 6)
        path, cursor = f"{ten.path}/audit-log/verify-integrity", None
        s3_calls = []
        for _ in range(3):
            answer = api.get(path, as_=ten.owner, query={"cursor": cursor} if cursor else {})
            s3_calls.append(answer.calls.of("s3"))
            cursor = answer.json["nextCursor"]
        assert cursor is None
        assert s3_calls == [["s3:ListObjectsV2", "s3:GetObject"], [], []]

    @pytest.mark.usefixtures("items_before_growth")
    def test_a_new_anchor_is_used_by_the_next_verification(
        self, api: Api, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 7)
        first = verify(api, ten)
        grow(api, workers, ten)
        anchor(workers)
        assert finding(api, ten, cursor=first["nextCursor"]) == (None, None)


Forge = Callable[[Founded, Founded], str]


@pytest.mark.usefixtures("items_before_growth")
class TestForgedAnchor:
    """An attacker with access to the bucket can only make a log look altered, never intact."""

    @pytest.mark.parametrize(
        "forge",
        [
            lambda _own, _other: "",
            lambda _own, _other: "nothing",
            lambda _own, _other: "é\x00\n\n",
            lambda own, _other: read(own.id, 13),
            lambda _own, other: read(other.id, 1),
            lambda own, _other: read(own.id, 13).replace("\n13\n", "\n14\n"),
            lambda own, _other: read(own.id, 13).rpartition("\n\n")[0],
            lambda own, _other: read(own.id, 13)[:-5],
            lambda own, _other: signed(own, 14, bytes(32)) + "\n" + read(own.id, 13).rpartition("\n\n")[2],
        ],
        ids=[
            "empty",
            "text",
            "binary",
            "misnamed",
            "of another log",
            "renumbered",
            "unsigned",
            "truncated",
            "of another tree",
        ],
    )
    def test_is_a_bad_signature(self, api: Api, ten: Founded, ada: Person, workers: Workers, forge: Forge) -> None:
        other = found(api, ada)
        workers.deliver()
        anchor(workers)
        put(ten.id, 14, forge(ten, other).encode())
        assert finding(api, ten) == ("bad_signature", None)
        assert verify(api, ten)["treeSize"] == 13

    def test_is_a_bad_signature_if_it_is_not_text(self, api: Api, ten: Founded) -> None:
        put(ten.id, 14, b"\xff")
        assert finding(api, ten) == ("bad_signature", None)

    def test_has_no_effect_before_the_newest_anchor(self, api: Api, ten: Founded) -> None:
        put(ten.id, 12, b"nothing")
        assert finding(api, ten) == (None, None)

    def test_is_a_bad_signature_if_its_key_is_not_accepted_any_more(
        self, api: Api, ten: Founded, configure: Configure
    ) -> None:
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode())
        assert finding(api, ten) == ("bad_signature", None)
