"""Functions of the table: reads, queries over several partitions, transactions and their failures."""

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
from tests.harness.aws_calls import Call, interfere_with_calls, record_calls
from tests.harness.faults import Fault, inject_fault
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.usefixtures("aws")


def put(pk: str, sk: str = "#", **fields: object) -> None:
    table.write_transaction([Write("Put", (pk, sk), item={"pk": pk, "sk": sk, **fields})])


def list_sort_keys(result: table.QueryResult) -> list[str]:
    return [item["sk"] for item in result.items]


class TestGet:
    def test_get_returns_an_item_or_none(self):
        put("A", n=1)
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "n": 1}
        assert table.get(("B", "#")) is None

    def test_values_are_returned_unchanged(self):
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
        result = table.get(("A", "#"))
        assert result == {"pk": "A", "sk": "#", **values}
        assert result is not None
        assert isinstance(result["fraction"], float)
        assert result["yes"] is True

    def test_string_sets_are_updated_without_a_read(self):
        for verb, texts in (("ADD", {"a", "b"}), ("ADD", {"b", "c"}), ("DELETE", {"a", "x"})):
            write = Write(
                "Update", ("A", "#"), update=f"{verb} #set :some", names=["set"], values={"some": frozenset(texts)}
            )
            table.write_transaction([write])
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "set": frozenset({"b", "c"})}

    def test_many_keys_take_one_call_per_hundred(self):
        for n in range(0, 250, 25):
            table.write_transaction(
                [Write("Put", (f"K{m}", "#"), item={"pk": f"K{m}", "sk": "#", "n": m}) for m in range(n, n + 25)]
            )
        with record_calls() as calls:
            result = table.get_all((f"K{n}", "#") for n in range(260))
        assert calls.call_names == ["dynamodb:BatchGetItem"] * 3
        assert {item["n"] for item in result.values()} == set(range(250))

    def test_a_repeated_key_is_requested_once(self):
        put("A")
        assert list(table.get_all([("A", "#"), ("A", "#")])) == [("A", "#")]

    def test_no_keys_take_no_call(self):
        with record_calls() as calls:
            assert table.get_all([]) == {}
        assert calls.call_names == []


class PartialBatches:
    """Answers the first batches with all of their keys unprocessed, as a busy DynamoDB does."""

    def __init__(self, remaining: int) -> None:
        self.remaining = remaining

    def before_call(self, call: Call) -> Any:
        if call.name != "dynamodb:BatchGetItem" or not self.remaining:
            return None
        self.remaining -= 1
        keys = {name: {"Keys": request["Keys"]} for name, request in call.parameters["RequestItems"].items()}
        parsed = {"Responses": {}, "UnprocessedKeys": keys, "ResponseMetadata": {"HTTPStatusCode": 200}}
        return AWSResponse("", 200, {}, None), parsed

    def before_send(self, event_name: str, request: Any) -> None:
        """Do nothing."""

    def after_call(self, call: Call) -> None:
        """Do nothing."""


class TestUnprocessedKeys:
    def test_unprocessed_keys_are_requested_again(self, monkeypatch):
        monkeypatch.setattr(table, "sleep_with_jittered_backoff", lambda _: None)
        put("A")
        with interfere_with_calls(PartialBatches(2)):
            assert table.get_all([("A", "#")]) == {("A", "#"): {"pk": "A", "sk": "#"}}

    def test_retries_are_limited(self, monkeypatch):
        monkeypatch.setattr(table, "sleep_with_jittered_backoff", lambda _: None)
        with (
            interfere_with_calls(PartialBatches(99)),
            record_calls() as calls,
            pytest.raises(Problem, match="unavailable") as raised,
        ):
            table.get_all([("A", "#")])
        assert raised.value.headers["Retry-After"]
        assert len(calls.call_names) < 10


class TestQuery:
    @pytest.fixture(autouse=True)
    def _items(self, _aws: None) -> None:
        for sk in ("a#1", "a#2", "b#1", "b#2", "c"):
            put("P", sk, index1pk="I", index1sk=sk[::-1], facet1pk="F")
        put("Q", "z")

    def test_a_partition_is_read_in_both_orders(self):
        assert list_sort_keys(table.query("P")) == ["a#1", "a#2", "b#1", "b#2", "c"]
        assert list_sort_keys(table.query("P", newest_first=True)) == ["c", "b#2", "b#1", "a#2", "a#1"]
        assert table.query("nothing") == table.QueryResult([], None)

    def test_prefixes_and_ranges_limit_the_result(self):
        assert list_sort_keys(table.query("P", prefix="b")) == ["b#1", "b#2"]
        assert list_sort_keys(table.query("P", since="a#2", until="b#1")) == ["a#2", "b#1"]
        assert list_sort_keys(table.query("P", since="b#2")) == ["b#2", "c"]
        assert list_sort_keys(table.query("P", until="a#2")) == ["a#1", "a#2"]

    def test_a_reversed_range_is_empty_without_a_call(self):
        with aws.counting_aws_calls() as usage:
            assert table.query("P", since="b#1", until="a#2") == table.QueryResult([], None)
        assert usage.calls == []  # DynamoDB rejects a reversed range; the emulation in memory does not.

    def test_pages_continue_after_the_last_key(self):
        sort_keys, position = [], None
        for _ in range(4):
            page = table.query("P", limit=2, after=position)
            sort_keys += list_sort_keys(page)
            position = page.last_evaluated_key
            if position is None:
                break
        assert sort_keys == ["a#1", "a#2", "b#1", "b#2", "c"]
        assert position is None

    def test_indexes_and_facets_can_be_queried(self):
        assert list_sort_keys(table.query(Partition("I", "index1"))) == ["a#1", "b#1", "a#2", "b#2", "c"]
        assert list_sort_keys(table.query(Partition("F", "facet1"), since="b")) == ["b#1", "b#2", "c"]

    def test_items_can_be_counted(self):
        assert table.count_items_in_one_read("P") == 5
        assert table.count_items_in_one_read("P", since="a#2", until="b#3") == 3
        assert table.count_items_in_one_read("P", since="b", until="a") == 0
        assert table.count_items_in_one_read(Partition("F", "facet1"), since="b#2") == 2
        assert table.count_items_in_one_read(Partition("I", "index1"), until="1#b") == 2


class TestDeleteBatch:
    def test_a_partition_is_deleted_in_batches(self):
        number = MAX_TRANSACT_ITEMS + 20
        for n in range(number):
            put("P", f"{n:03d}")
        put("Q")
        with record_calls() as calls:
            assert table.delete_batch("P") is True
        assert calls.call_names == ["dynamodb:Query", "dynamodb:TransactWriteItems"]
        assert list_sort_keys(table.query("P")) == [f"{n:03d}" for n in range(MAX_TRANSACT_ITEMS, number)]
        assert table.delete_batch("P") is False
        assert table.query("P").items == []
        assert table.get(("Q", "#"))

    def test_an_empty_partition_takes_no_write(self):
        with record_calls() as calls:
            assert table.delete_batch("P") is False
        assert calls.call_names == ["dynamodb:Query"]


class TestQueryFiltered:
    @pytest.fixture(autouse=True)
    def _items(self, _aws: None) -> None:
        for n in range(20):
            put("P", f"{n:02d}", n=n)

    @staticmethod
    def read_all(limit: int, max_scanned: int) -> tuple[list[str], int]:
        sort_keys, pages, position = [], 0, None
        while True:
            result = table.query_newest_matching(
                ["P"], lambda item: item["n"] % 3 == 0, limit=limit, max_scanned=max_scanned, after=position
            )
            assert len(result.items) <= limit
            sort_keys += list_sort_keys(result)
            pages += 1
            if (position := result.last_evaluated_key) is None:
                return sort_keys, pages

    @pytest.mark.parametrize(("limit", "max_scanned"), [(1, 1), (1, 7), (2, 20), (3, 20), (7, 20), (100, 100)])
    def test_matching_items_are_returned_once_newest_first(self, limit, max_scanned):
        assert self.read_all(limit, max_scanned)[0] == ["18", "15", "12", "09", "06", "03", "00"]

    def test_a_page_reads_at_most_max_scanned_items(self):
        assert self.read_all(100, 5)[1] == 4
        assert self.read_all(2, 100)[1] == 4


class ConcurrentQueries:
    """Delays queries until a number of them has been sent."""

    def __init__(self, calls: int) -> None:
        self.barrier = Barrier(calls, timeout=60)

    def before_call(self, _call: Call) -> None:
        self.barrier.wait()

    def before_send(self, event_name: str, request: Any) -> None:
        """Do nothing."""

    def after_call(self, call: Call) -> None:
        """Do nothing."""


class TestQueryMerged:
    @pytest.fixture(autouse=True)
    def _items(self, _aws: None) -> None:
        for n in range(12):
            put(f"P{n % 3}" if n < 9 else "P0", f"{n:02d}", index1pk=f"I{n % 2}", index1sk=f"{99 - n}")

    def read_pages(self, *partitions: str | Partition, limit: int, sk: str = "sk", **options: Any) -> list[list[str]]:
        """Return the sort keys of all pages."""
        result = table.query_merged(partitions, limit=limit, **options)
        pages = [[item[sk] for item in result.items]]
        while result.last_evaluated_key:
            result = table.query_merged(partitions, limit=limit, after=result.last_evaluated_key, **options)
            pages.append([item[sk] for item in result.items])
        return pages

    @pytest.mark.parametrize("limit", [1, 2, 5, 12, 100])
    def test_partitions_are_merged_newest_first_over_all_pages(self, limit):
        pages = [page for page in self.read_pages("P0", "P1", "P2", limit=limit) if page]
        assert [sk for page in pages for sk in page] == [f"{n:02d}" for n in reversed(range(12))]
        assert {len(page) for page in pages[:-1]} <= {limit}

    def test_one_partition_is_returned_alone(self):
        assert self.read_pages("P1", limit=2) == [["07", "04"], ["01"]]

    def test_empty_partitions_return_nothing(self):
        assert table.query_merged(["X", "Y"], limit=2) == table.QueryResult([], None)

    def test_ranges_apply_to_later_pages_too(self):
        pages = self.read_pages("P0", "P1", "P2", limit=2, since="03", until="08")
        assert [sk for page in pages for sk in page] == ["08", "07", "06", "05", "04", "03"]

    def test_index_partitions_can_be_merged(self):
        pages = self.read_pages(*(Partition(pk, "index1") for pk in ("I0", "I1")), limit=5, sk="index1sk")
        assert [sk for page in pages for sk in page] == [f"{99 - n}" for n in range(12)]

    def test_a_deleted_last_item_and_newer_items_do_not_affect_the_next_page(self):
        first = table.query_merged(["P0", "P1", "P2"], limit=3)
        table.write_transaction([Write("Delete", ("P0", "09"))])
        put("P1", "13")
        assert list_sort_keys(table.query_merged(["P0", "P1", "P2"], limit=3, after=first.last_evaluated_key)) == [
            "08",
            "07",
            "06",
        ]

    def test_a_page_limited_by_size_is_short_and_omits_nothing(self):
        for n in range(6):
            put("Large", f"{50 + n}", body="x" * 300_000)
            put("Small", f"{20 + n}")
        pages = self.read_pages("Large", "Small", limit=100)
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

    def test_a_page_takes_one_round_trip_for_all_partitions(self):
        with interfere_with_calls(ConcurrentQueries(16)), record_calls() as calls:
            table.query_merged([f"P{n}" for n in range(16)], limit=1)
        assert calls.call_names == ["dynamodb:Query"] * 16

    def test_the_calls_are_counted_for_the_request(self):
        with aws.counting_aws_calls() as usage:
            table.query_merged(["P0", "P1", "P2"], limit=1)
        assert usage.calls == ["dynamodb:Query"] * 3

    def test_a_failing_partition_is_not_omitted(self):
        with inject_fault(Fault.THROTTLED, first_call=2), pytest.raises(Problem, match="unavailable"):
            table.query_merged(["P0", "P1", "P2"], limit=1)


class TestWriteTransaction:
    def test_a_failed_condition_rolls_back_and_returns_the_conflicting_items(self):
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

    def test_a_concurrent_transaction_is_reported_as_contention(self):
        with inject_fault(Fault.CONFLICT), pytest.raises(TransactionCancelled) as cancelled:
            put("A")
        assert cancelled.value == TransactionCancelled({}, is_contended=True)

    def test_a_throttled_transaction_is_repeated(self):
        with inject_fault(Fault.CANCELLED_BY_THROTTLE, times=2) as injected:
            put("A")
        assert injected.failed_call
        assert table.get(("A", "#"))

    def test_retries_are_limited(self):
        with (
            inject_fault(Fault.CANCELLED_BY_THROTTLE, times=None),
            pytest.raises(Problem, match="unavailable") as raised,
        ):
            put("A")
        assert raised.value.status == 503

    def test_an_invalid_request_is_not_hidden(self):
        invalid_write = Write("Update", ("A", "#"), update="SET nonsense")
        with pytest.raises(ClientError, match="ValidationException"):
            table.write_transaction([invalid_write])

    def test_the_maximum_number_of_items_is_accepted(self):
        writes = [Write("Put", (f"K{n}", "#"), item={"pk": f"K{n}", "sk": "#"}) for n in range(MAX_TRANSACT_ITEMS)]
        table.write_transaction(writes)
        with pytest.raises(ClientError):
            table.write_transaction([*writes, Write("Delete", ("more", "#"))])


class TestIncrement:
    KEY = ("N", "#")

    def test_a_conflict_with_a_transaction_is_repeated(self):
        with inject_fault(Fault.CONFLICT, times=2) as injected:
            assert table.increment(self.KEY, "n", 3, ttl=99_999_999_999) == 3
        assert injected.failed_call == "dynamodb:UpdateItem"

    def test_retries_are_limited(self):
        with inject_fault(Fault.CONFLICT, times=None), record_calls() as calls, pytest.raises(Problem) as raised:
            table.increment(self.KEY, "n", 3, ttl=99_999_999_999)
        assert (raised.value.status, raised.value.headers["Retry-After"]) == (503, "1")
        assert 1 < len(calls.call_names) < 10
        assert table.get(self.KEY) is None

    def test_an_increment_waits_for_a_transaction(self, conflicts):
        def run_transaction(_: int) -> None:
            table.write_transaction([Write("Put", self.KEY, item={"pk": "N", "sk": "#", "n": 1})])

        with ThreadPoolExecutor(1) as threads:
            transaction = threads.submit(run_transaction, 0)
            wait_until(lambda: conflicts.is_held(self.KEY))
            assert table.increment(self.KEY, "n", 2, ttl=99_999_999_999) == 3
            transaction.result()
        assert conflicts.rejected_keys == {self.KEY}


class TestUnresponsiveTable:
    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST])
    def test_an_unresponsive_table_is_unavailable(self, fault):
        for operation in (lambda: table.get(("A", "#")), lambda: table.query("A"), lambda: table.get_all([("A", "#")])):
            with inject_fault(fault, times=None), pytest.raises(Problem, match="unavailable"):
                operation()


def test_an_item_past_its_ttl_is_expired():
    assert table.is_expired({"ttl": 1})
    assert not table.is_expired({"ttl": 99_999_999_999})
    assert not table.is_expired({})
