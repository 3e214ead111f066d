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
def earlier(api: Api, ten: Founded, workers: Workers) -> list[cloud.Item]:
    """The end of `ten` from before it grew to thirteen entries and was anchored."""
    earlier = end_of(ten)
    grow(api, workers, ten, 3)
    anchor(workers)
    assert anchored(ten.id) == [13]
    return earlier


@pytest.mark.usefixtures("earlier")
class TestAWholeLog:
    def test_begins_with_its_anchor(self, api: Api, ten: Founded, workers: Workers) -> None:
        assert finding(api, ten) == (None, None)
        grow(api, workers, ten, 3)
        assert finding(api, ten) == (None, None)
        anchor(workers)
        assert finding(api, ten) == (None, None)

    def test_may_grow_and_be_anchored_while_it_is_verified(
        self, api: Api, ten: Founded, monkeypatch: pytest.MonkeyPatch, workers: Workers
    ) -> None:
        overtake(monkeypatch, lambda: anchor(workers))
        assert finding(api, ten) == (None, None)
        assert anchored(ten.id) == [14, 13]

    def test_of_which_there_is_no_anchor_is_valid(self, api: Api, ada: Person, workers: Workers) -> None:
        other = found(api, ada)
        assert finding(api, other) == (None, None)
        workers.deliver()
        assert finding(api, other) == (None, None)

    def test_is_valid_by_an_anchor_of_a_key_that_was_replaced(
        self, api: Api, ten: Founded, configure: Configure
    ) -> None:
        former = api.get("/status").json["auditPublicKey"]
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode(), audit_former_public_keys=former)
        assert finding(api, ten) == (None, None)

    def test_is_held_against_a_kept_checkpoint_too(self, api: Api, ten: Founded) -> None:
        for size in (5, 13):
            kept = to_base64url(signed(ten, size, bytes(32)).encode())
            assert finding(api, ten, checkpoint=kept) == ("forked", None)
        kept = to_base64url(signed(ten, 14, bytes(32)).encode())
        assert finding(api, ten, checkpoint=kept) == ("truncated", 14)

    def test_is_not_said_to_be_valid_while_its_anchor_can_not_be_read(self, api: Api, ten: Founded) -> None:
        path = f"{ten.path}/audit-log/verify-integrity"
        for name in ("s3:ListObjectsV2", "s3:GetObject"):
            with failing(Fault.TIMED_OUT, name=name) as injected:
                answer = api.get(path, as_=ten.owner)
            assert injected.hit == name
            assert answer.code == "503 unavailable"
            assert answer.headers["Retry-After"]


class TestALogCutOffByWhoeverOwnsTheTable:
    def test_is_truncated(self, api: Api, ten: Founded, earlier: list[cloud.Item]) -> None:
        cut_off(ten, earlier)
        assert finding(api, ten) == ("truncated", 11)
        kept = to_base64url(earlier[0]["note"].encode())
        assert finding(api, ten, checkpoint=kept) == ("truncated", 11), "though it begins with what a caller kept"

    def test_would_be_valid_without_its_anchor(
        self, api: Api, ten: Founded, earlier: list[cloud.Item], configure: Configure
    ) -> None:
        cut_off(ten, earlier)
        configure(anchors_bucket="")
        assert finding(api, ten) == (None, None)

    def test_is_truncated_if_nothing_of_it_is_left_but_what_waits(
        self, api: Api, ten: Founded, earlier: list[cloud.Item], ada: Person
    ) -> None:
        cut_off(ten, [{**earlier[0], "size": 0}])
        cloud.remove(head(ten))
        assert api.patch(ten.path, as_=ada, json={"name": "As if it were new"}).status == 200
        assert finding(api, ten) == ("truncated", 1)

    @pytest.mark.parametrize(("size", "failure"), [(12, "truncated"), (13, "forked"), (14, "forked")])
    def test_does_not_grow_out_of_it(
        self, api: Api, ten: Founded, earlier: list[cloud.Item], workers: Workers, size: int, failure: str
    ) -> None:
        cut_off(ten, earlier)
        grow(api, workers, ten, size - 10)
        assert verify(api, ten)["failure"] == failure
        anchor(workers)
        assert anchored(ten.id) == [13]
        assert verify(api, ten)["failure"] == failure

    @pytest.mark.parametrize("window", [1, 4, 12, 13, 14])
    def test_is_found_in_whichever_window_the_anchor_ends(
        self,
        api: Api,
        ten: Founded,
        earlier: list[cloud.Item],
        workers: Workers,
        window: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        cut_off(ten, earlier)
        grow(api, workers, ten, 5)
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", window)
        reports = [verify(api, ten)]
        while reports[-1]["nextCursor"]:
            reports.append(verify(api, ten, cursor=reports[-1]["nextCursor"]))
        assert reports[-1]["failure"] == "forked"
        assert all(report["valid"] for report in reports[:-1])
        assert len(reports) == -(-13 // window)


class TestWindows:
    @pytest.mark.usefixtures("earlier")
    def test_the_anchor_is_read_in_the_first_one_only(
        self, api: Api, ten: Founded, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 6)
        path, cursor = f"{ten.path}/audit-log/verify-integrity", None
        asked = []
        for _ in range(3):
            answer = api.get(path, as_=ten.owner, query={"cursor": cursor} if cursor else {})
            asked.append(answer.calls.of("s3"))
            cursor = answer.json["nextCursor"]
        assert cursor is None
        assert asked == [["s3:ListObjectsV2", "s3:GetObject"], [], []]

    @pytest.mark.usefixtures("earlier")
    def test_what_is_anchored_meanwhile_is_left_for_the_next_time(
        self, api: Api, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 7)
        first = verify(api, ten)
        grow(api, workers, ten)
        anchor(workers)
        assert finding(api, ten, cursor=first["nextCursor"]) == (None, None)


Forge = Callable[[Founded, Founded], str]


@pytest.mark.usefixtures("earlier")
class TestAnAnchorThatTheServiceDidNotWrite:
    """Whoever owns the bucket can't make a log look whole; only as if someone had been at it."""

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
        ids=["empty", "text", "binary", "misnamed", "another's", "renumbered", "bare", "cut off", "not its tree's"],
    )
    def test_is_a_bad_signature(self, api: Api, ten: Founded, ada: Person, workers: Workers, forge: Forge) -> None:
        other = found(api, ada)
        workers.deliver()
        anchor(workers)
        put(ten.id, 14, forge(ten, other).encode())
        assert finding(api, ten) == ("bad_signature", None)
        assert verify(api, ten)["treeSize"] == 13

    def test_is_one_also_if_its_bytes_are_no_text(self, api: Api, ten: Founded) -> None:
        put(ten.id, 14, b"\xff")
        assert finding(api, ten) == ("bad_signature", None)

    def test_does_no_harm_behind_one_that_it_did(self, api: Api, ten: Founded) -> None:
        put(ten.id, 12, b"nothing")
        assert finding(api, ten) == (None, None)

    def test_is_one_of_a_key_that_counts_no_more(self, api: Api, ten: Founded, configure: Configure) -> None:
        configure(audit_signing_key=base64.b64encode(bytes(32)).decode())
        assert finding(api, ten) == ("bad_signature", None)
