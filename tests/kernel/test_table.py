from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from chalicelib.kernel.storage.table import MAX_TRANSACT_ITEMS, TransactionCancelled
from chalicelib.kernel.storage.writes import Write
from tests.harness.calls import Call, interfering, recorded
from tests.harness.conflicts import Conflicts
from tests.harness.faults import Fault, failing
from tests.harness.waiting import until

pytestmark = pytest.mark.usefixtures("aws")


def put(pk: str, sk: str = "#", **fields: object) -> None:
    table.write_transaction([Write("Put", (pk, sk), item={"pk": pk, "sk": sk, **fields})])


def sort_keys(found: table.QueryResult) -> list[str]:
    return [item["sk"] for item in found.items]


class TestGet:
    def test_one_item_or_none(self) -> None:
        put("A", n=1)
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "n": 1}
        assert table.get(("B", "#")) is None

    def test_values_come_back_as_they_were(self) -> None:
        values: dict[str, Any] = {
            "text": "Zoë",
            "empty": "",
            "number": -7,
            "fraction": 0.25,
            "yes": True,
            "no": False,
            "nothing": None,
            "bytes": b"\x00\xff",
            "list": [1, "a", [None, {"x": b"y"}]],
            "object": {"a": {"b": []}},
            "large": 2**53,
        }
        put("A", **values)
        found = table.get(("A", "#"))
        assert found == {"pk": "A", "sk": "#", **values}
        assert found is not None
        assert isinstance(found["fraction"], float)
        assert found["yes"] is True

    def test_sets_grow_and_shrink_without_being_read(self) -> None:
        for verb, texts in (("ADD", {"a", "b"}), ("ADD", {"b", "c"}), ("DELETE", {"a", "x"})):
            write = Write(
                "Update", ("A", "#"), update=f"{verb} #set :some", names=["set"], values={"some": frozenset(texts)}
            )
            table.write_transaction([write])
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "set": frozenset({"b", "c"})}

    def test_many_keys_take_a_round_trip_for_each_hundred(self) -> None:
        for n in range(0, 250, 25):
            table.write_transaction(
                [Write("Put", (f"K{m}", "#"), item={"pk": f"K{m}", "sk": "#", "n": m}) for m in range(n, n + 25)]
            )
        with recorded() as calls:
            found = table.get_all((f"K{n}", "#") for n in range(260))
        assert calls.names == ["dynamodb:BatchGetItem"] * 3
        assert {item["n"] for item in found.values()} == set(range(250))

    def test_a_key_given_twice_is_asked_once(self) -> None:
        put("A")
        assert list(table.get_all([("A", "#"), ("A", "#")])) == [("A", "#")]

    def test_no_keys_take_no_call(self) -> None:
        with recorded() as calls:
            assert table.get_all([]) == {}
        assert calls.names == []


class Sparing:
    """DynamoDB as it is when busy: it answers a batch only in part, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def before(self, call: Call) -> Any:
        if call.name != "dynamodb:BatchGetItem" or not self.times:
            return None
        self.times -= 1
        keys = {name: {"Keys": asked["Keys"]} for name, asked in call.parameters["RequestItems"].items()}
        parsed = {"Responses": {}, "UnprocessedKeys": keys, "ResponseMetadata": {"HTTPStatusCode": 200}}
        return AWSResponse("", 200, {}, None), parsed

    def sent(self, event_name: str, request: Any) -> None:
        """Let it pass."""

    def after(self, call: Call) -> None:
        """Let it stand."""


class TestUnprocessedKeys:
    def test_they_are_asked_for_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table, "back_off", lambda _: None)
        put("A")
        with interfering(Sparing(2)):
            assert table.get_all([("A", "#")]) == {("A", "#"): {"pk": "A", "sk": "#"}}

    def test_not_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table, "back_off", lambda _: None)
        with interfering(Sparing(99)), recorded() as calls, pytest.raises(Problem, match="unavailable") as refused:
            table.get_all([("A", "#")])
        assert refused.value.headers["Retry-After"]
        assert len(calls.names) < 10


class TestQuery:
    @pytest.fixture(autouse=True)
    def _items(self, _aws: None) -> None:
        for sk in ("a#1", "a#2", "b#1", "b#2", "c"):
            put("P", sk, index1pk="I", index1sk=sk[::-1], facet1pk="F")
        put("Q", "z")

    def test_a_partition_in_order_or_the_other_way_round(self) -> None:
        assert sort_keys(table.query("P")) == ["a#1", "a#2", "b#1", "b#2", "c"]
        assert sort_keys(table.query("P", newest_first=True)) == ["c", "b#2", "b#1", "a#2", "a#1"]
        assert table.query("nothing") == table.QueryResult([], None)

    def test_what_begins_or_lies_between(self) -> None:
        assert sort_keys(table.query("P", prefix="b")) == ["b#1", "b#2"]
        assert sort_keys(table.query("P", since="a#2", until="b#1")) == ["a#2", "b#1"]
        assert sort_keys(table.query("P", since="b#2")) == ["b#2", "c"]
        assert sort_keys(table.query("P", until="a#2")) == ["a#1", "a#2"]

    def test_nothing_is_asked_for_between_ends_that_are_the_wrong_way_round(self) -> None:
        with aws.count_calls() as usage:
            assert table.query("P", since="b#1", until="a#2") == table.QueryResult([], None)
        assert usage.calls == []  # DynamoDB refuses such a span; the one in memory doesn't.

    def test_page_after_page(self) -> None:
        seen, position = [], None
        for _ in range(4):
            found = table.query("P", limit=2, after=position)
            seen += sort_keys(found)
            position = found.last_evaluated_key
            if position is None:
                break
        assert seen == ["a#1", "a#2", "b#1", "b#2", "c"]
        assert position is None

    def test_an_index_and_a_facet(self) -> None:
        assert sort_keys(table.query(Partition("I", "index1"))) == ["a#1", "b#1", "a#2", "b#2", "c"]
        assert sort_keys(table.query(Partition("F", "facet1"), since="b")) == ["b#1", "b#2", "c"]

    def test_counting(self) -> None:
        assert table.count_items("P") == 5
        assert table.count_items("P", since="a#2", until="b#3") == 3
        assert table.count_items("P", since="b", until="a") == 0
        assert table.count_items(Partition("F", "facet1"), since="b#2") == 2
        assert table.count_items(Partition("I", "index1"), until="1#b") == 2


class TestClear:
    def test_a_partition_goes_some_dozens_at_a_time_and_nothing_else(self) -> None:
        number = MAX_TRANSACT_ITEMS + 20
        for n in range(number):
            put("P", f"{n:03d}")
        put("Q")
        with recorded() as calls:
            assert table.delete_batch("P") is True
        assert calls.names == ["dynamodb:Query", "dynamodb:TransactWriteItems"]
        assert sort_keys(table.query("P")) == [f"{n:03d}" for n in range(MAX_TRANSACT_ITEMS, number)]
        assert table.delete_batch("P") is False
        assert table.query("P").items == []
        assert table.get(("Q", "#"))

    def test_what_is_empty_takes_no_write(self) -> None:
        with recorded() as calls:
            assert table.delete_batch("P") is False
        assert calls.names == ["dynamodb:Query"]


class TestSifted:
    @pytest.fixture(autouse=True)
    def _items(self, _aws: None) -> None:
        for n in range(20):
            put("P", f"{n:02d}", n=n)

    @staticmethod
    def listed(limit: int, most: int) -> tuple[list[str], int]:
        seen, pages, position = [], 0, None
        while True:
            found = table.query_filtered(
                ["P"], lambda item: item["n"] % 3 == 0, limit=limit, max_scanned=most, after=position
            )
            assert len(found.items) <= limit
            seen += sort_keys(found)
            pages += 1
            if (position := found.last_evaluated_key) is None:
                return seen, pages

    @pytest.mark.parametrize(("limit", "most"), [(1, 1), (1, 7), (2, 20), (3, 20), (7, 20), (100, 100)])
    def test_what_passes_is_there_once_the_newest_first(self, limit: int, most: int) -> None:
        assert self.listed(limit, most)[0] == ["18", "15", "12", "09", "06", "03", "00"]

    def test_a_page_looks_at_so_many(self) -> None:
        assert self.listed(100, 5)[1] == 4
        assert self.listed(2, 100)[1] == 4


class Together:
    """DynamoDB as it is when each Query takes as long as all others: it answers none before so many are asked."""

    def __init__(self, calls: int) -> None:
        self.barrier = Barrier(calls, timeout=10)

    def before(self, _call: Call) -> None:
        self.barrier.wait()

    def sent(self, event_name: str, request: Any) -> None:
        """Let it pass."""

    def after(self, call: Call) -> None:
        """Let it stand."""


class TestMerged:
    @pytest.fixture(autouse=True)
    def _items(self, _aws: None) -> None:
        for n in range(12):
            put(f"P{n % 3}" if n < 9 else "P0", f"{n:02d}", index1pk=f"I{n % 2}", index1sk=f"{99 - n}")

    def walk(self, *partitions: str | Partition, limit: int, sk: str = "sk", **words: Any) -> list[list[str]]:
        """The sort keys of all pages."""
        found = table.query_merged(partitions, limit=limit, **words)
        pages = [[item[sk] for item in found.items]]
        while found.last_evaluated_key:
            found = table.query_merged(partitions, limit=limit, after=found.last_evaluated_key, **words)
            pages.append([item[sk] for item in found.items])
        return pages

    @pytest.mark.parametrize("limit", [1, 2, 5, 12, 100])
    def test_they_are_one_list_the_newest_first_page_after_page(self, limit: int) -> None:
        pages = [page for page in self.walk("P0", "P1", "P2", limit=limit) if page]
        assert [sk for page in pages for sk in page] == [f"{n:02d}" for n in reversed(range(12))]
        assert {len(page) for page in pages[:-1]} <= {limit}

    def test_of_one_partition_they_are_that(self) -> None:
        assert self.walk("P1", limit=2) == [["07", "04"], ["01"]]

    def test_of_none_that_holds_anything_they_are_nothing(self) -> None:
        assert table.query_merged(["X", "Y"], limit=2) == table.QueryResult([], None)

    def test_what_lies_between_also_behind_a_cursor(self) -> None:
        between = self.walk("P0", "P1", "P2", limit=2, since="03", until="08")
        assert [sk for page in between for sk in page] == ["08", "07", "06", "05", "04", "03"]

    def test_of_an_index(self) -> None:
        pages = self.walk(*(Partition(pk, "index1") for pk in ("I0", "I1")), limit=5, sk="index1sk")
        assert [sk for page in pages for sk in page] == [f"{99 - n}" for n in range(12)]

    def test_what_it_stood_at_may_be_gone_and_what_is_newer_stays_out(self) -> None:
        first = table.query_merged(["P0", "P1", "P2"], limit=3)
        table.write_transaction([Write("Delete", ("P0", "09"))])
        put("P1", "13")
        assert sort_keys(table.query_merged(["P0", "P1", "P2"], limit=3, after=first.last_evaluated_key)) == [
            "08",
            "07",
            "06",
        ]

    def test_where_one_holds_more_than_a_megabyte_the_page_is_short_and_misses_nothing(self) -> None:
        for n in range(6):
            put("Large", f"{50 + n}", body="x" * 300_000)
            put("Small", f"{20 + n}")
        pages = self.walk("Large", "Small", limit=100)
        assert [sk for page in pages for sk in page] == [
            "55",
            "54",
            "53",
            "52",
            "51",
            "50",
            *map(str, range(25, 19, -1)),
        ]
        assert len(pages[0]) < 6

    def test_a_page_is_one_round_trip_however_many_there_are(self) -> None:
        with interfering(Together(16)), recorded() as calls:
            table.query_merged([f"P{n}" for n in range(16)], limit=1)
        assert calls.names == ["dynamodb:Query"] * 16

    def test_what_it_asks_counts_as_asked_by_the_request(self) -> None:
        with aws.count_calls() as usage:
            table.query_merged(["P0", "P1", "P2"], limit=1)
        assert usage.calls == ["dynamodb:Query"] * 3

    def test_one_that_does_not_answer_is_no_shorter_list(self) -> None:
        with failing(Fault.THROTTLED, at=2), pytest.raises(Problem, match="unavailable"):
            table.query_merged(["P0", "P1", "P2"], limit=1)


class TestWrite:
    def test_a_failed_condition_undoes_all_and_shows_what_stood_in_the_way(self) -> None:
        put("A", n=1)
        writes = [
            Write("Put", ("B", "#"), item={"pk": "B", "sk": "#"}),
            Write("Update", ("A", "#"), update="REMOVE #n", condition="#n = :was", names=["n"], values={"was": 9}),
            Write("Delete", ("C", "#"), condition="attribute_exists(#pk)", names=["pk"]),
        ]
        with pytest.raises(TransactionCancelled) as cancelled:
            table.write_transaction(writes)
        assert cancelled.value.failed_items == {1: {"pk": "A", "sk": "#", "n": 1}, 2: None}
        assert not cancelled.value.is_contended
        assert table.get(("B", "#")) is None
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "n": 1}

    def test_another_transaction_at_the_same_item_is_told(self) -> None:
        with failing(Fault.CONFLICT), pytest.raises(TransactionCancelled) as cancelled:
            put("A")
        assert cancelled.value == TransactionCancelled({}, is_contended=True)

    def test_one_that_is_throttled_is_tried_again(self) -> None:
        with failing(Fault.CANCELLED_BY_THROTTLE, times=2) as injected:
            put("A")
        assert injected.hit
        assert table.get(("A", "#"))

    def test_not_for_ever(self) -> None:
        with failing(Fault.CANCELLED_BY_THROTTLE, times=None), pytest.raises(Problem, match="unavailable") as refused:
            put("A")
        assert refused.value.status == 503

    def test_a_fault_of_our_own_is_not_hidden(self) -> None:
        wrong = Write("Update", ("A", "#"), update="SET nonsense")
        with pytest.raises(ClientError, match="ValidationException"):
            table.write_transaction([wrong])

    def test_it_holds_as_much_as_it_says(self) -> None:
        writes = [Write("Put", (f"K{n}", "#"), item={"pk": f"K{n}", "sk": "#"}) for n in range(MAX_TRANSACT_ITEMS)]
        table.write_transaction(writes)
        with pytest.raises(ClientError):
            table.write_transaction([*writes, Write("Delete", ("more", "#"))])


class TestAdd:
    KEY = ("N", "#")

    def test_a_write_whose_item_a_transaction_holds_is_sent_again(self) -> None:
        with failing(Fault.CONFLICT, times=2) as injected:
            assert table.increment(self.KEY, "n", 3, ttl=99_999_999_999) == 3
        assert injected.hit == "dynamodb:UpdateItem"

    def test_not_for_ever(self) -> None:
        with failing(Fault.CONFLICT, times=None), recorded() as calls, pytest.raises(Problem) as refused:
            table.increment(self.KEY, "n", 3, ttl=99_999_999_999)
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "1")
        assert 1 < len(calls.names) < 10
        assert table.get(self.KEY) is None

    def test_beside_a_transaction_that_takes_time(self, conflicts: Conflicts) -> None:
        def hold(_: int) -> None:
            table.write_transaction([Write("Put", self.KEY, item={"pk": "N", "sk": "#", "n": 1})])

        with ThreadPoolExecutor(1) as threads:
            held = threads.submit(hold, 0)
            until(lambda: conflicts.holds(self.KEY))
            assert table.increment(self.KEY, "n", 2, ttl=99_999_999_999) == 3
            held.result()
        assert conflicts.refused == {self.KEY}


class TestThrottles:
    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.BROKEN, Fault.TIMED_OUT, Fault.UNANSWERED])
    def test_what_does_not_answer_is_unavailable(self, fault: Fault) -> None:
        for act in (lambda: table.get(("A", "#")), lambda: table.query("A"), lambda: table.get_all([("A", "#")])):
            with failing(fault, times=None), pytest.raises(Problem, match="unavailable"):
                act()


def test_what_the_table_should_have_removed_by_now_is_expired() -> None:
    assert table.is_expired({"ttl": 1})
    assert not table.is_expired({"ttl": 99_999_999_999})
    assert not table.is_expired({})
