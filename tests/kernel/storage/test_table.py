"""Functions of the table: reads, queries, transactions and their failures, and keys of any length."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Barrier
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import Partition
from chalicelib.kernel.storage.query_results import ItemCount, QueryResult
from chalicelib.kernel.storage.table import MAX_TRANSACT_ITEMS, TransactionCancelled
from chalicelib.kernel.storage.writes import Write
from tests.harness.aws_calls import call_with_http_requests, record_calls
from tests.harness.faults import Fault, inject_fault
from tests.harness.waiting import wait_until

pytestmark = pytest.mark.usefixtures("aws")


def put_write(pk: str, sk: str = "#", **fields: object) -> Write:
    return Write("Put", (pk, sk), item={"pk": pk, "sk": sk, **fields})


def put(pk: str, sk: str = "#", **fields: object) -> None:
    table.write_transaction([put_write(pk, sk, **fields)])


def put_many(keys):
    writes = [put_write(*key) for key in keys]
    for start in range(0, len(writes), MAX_TRANSACT_ITEMS):
        table.write_transaction(writes[start : start + MAX_TRANSACT_ITEMS])


def list_sort_keys(result):
    return [item["sk"] for item in result.items]


class TestGet:
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
        assert (type(result["fraction"]), result["yes"]) == (float, True)
        assert result["yes"] is True
        assert table.get(("B", "#")) is None

    def test_string_sets_are_updated_without_a_read(self):
        for verb, texts in (("ADD", {"a", "b"}), ("ADD", {"b", "c"}), ("DELETE", {"a", "x"})):
            update, values = f"{verb} #set :some", {"some": frozenset(texts)}
            table.write_transaction([Write("Update", ("A", "#"), update=update, names=["set"], values=values)])
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "set": frozenset({"b", "c"})}

    def test_many_keys_take_one_call_per_hundred_and_repeated_or_no_keys_none(self):
        put_many((f"K{n}", "#") for n in range(210))
        with record_calls() as calls:
            result = table.get_all((f"K{n}", "#") for n in [*range(220), *range(100)])
            assert table.get_all([]) == {}
        assert calls.call_names == ["dynamodb:BatchGetItem"] * 3
        assert set(result) == {(f"K{n}", "#") for n in range(210)}

    def test_unprocessed_keys_are_requested_again_a_limited_number_of_times(self, monkeypatch):
        monkeypatch.setattr(table, "sleep_with_jittered_backoff", lambda _: None)
        put("A")
        client, unprocessed = aws.client("dynamodb"), [2]
        get_batch = client.batch_get_item

        def leave_all_unprocessed(**request: Any) -> Any:
            """Respond as a busy DynamoDB does, a number of times."""
            unprocessed[0] -= 1
            is_busy = unprocessed[0] >= 0
            return {"Responses": {}, "UnprocessedKeys": request["RequestItems"]} if is_busy else get_batch(**request)

        monkeypatch.setattr(client, "batch_get_item", leave_all_unprocessed)
        assert table.get_all([("A", "#")]) == {("A", "#"): {"pk": "A", "sk": "#"}}
        unprocessed[0] = 99
        with pytest.raises(Problem, match="unavailable") as raised:
            table.get_all([("A", "#")])
        assert raised.value.headers["Retry-After"]
        assert unprocessed[0] > 89


class TestQuery:
    @pytest.fixture(autouse=True)
    def items(self, aws):
        for sk in ("a#1", "a#2", "b#1", "b#2", "c"):
            put("P", sk, index1pk="I", index1sk=sk[::-1], facet1pk="F")
        put("Q", "z")

    @pytest.mark.parametrize(
        ("partition", "options", "sort_keys"),
        [
            ("P", {}, ["a#1", "a#2", "b#1", "b#2", "c"]),
            ("P", {"newest_first": True}, ["c", "b#2", "b#1", "a#2", "a#1"]),
            ("P", {"prefix": "b"}, ["b#1", "b#2"]),
            ("P", {"since": "a#2", "until": "b#1"}, ["a#2", "b#1"]),
            ("P", {"since": "b#2"}, ["b#2", "c"]),
            ("P", {"until": "a#2"}, ["a#1", "a#2"]),
            (Partition("I", "index1"), {}, ["a#1", "b#1", "a#2", "b#2", "c"]),
            (Partition("F", "facet1"), {"since": "b"}, ["b#1", "b#2", "c"]),
            ("nothing", {}, []),
        ],
    )
    def test_a_partition_of_table_or_index_is_read_in_order_and_in_part(self, partition, options, sort_keys):
        result = table.query(partition, **options)
        assert (list_sort_keys(result), result.last_evaluated_key) == (sort_keys, None)

    def test_a_reversed_range_is_empty_without_a_call(self):
        with aws.counting_aws_calls() as usage:
            assert table.query("P", since="b#1", until="a#2") == QueryResult([], None)
        assert usage.calls == []  # DynamoDB rejects a reversed range; the emulation in memory does not.

    def test_pages_continue_after_the_last_key(self):
        pages = [table.query("P", limit=2)]
        while position := pages[-1].last_evaluated_key:
            pages.append(table.query("P", limit=2, after=position))
        assert [sk for page in pages for sk in list_sort_keys(page)] == ["a#1", "a#2", "b#1", "b#2", "c"]
        assert len(pages) in (3, 4)

    def test_items_can_be_counted(self):
        count = table.count_items_in_one_read
        assert (count("P"), count("P", prefix="a#")) == (ItemCount(5, is_complete=True), ItemCount(2, is_complete=True))
        assert (count("P", since="a#2", until="b#3").number, count("P", since="b", until="a").number) == (3, 0)
        limited = ItemCount(2, is_complete=False), ItemCount(5, is_complete=True)
        assert (count("P", limit=2), count("P", limit=6)) == limited
        assert count(Partition("F", "facet1"), since="b#2").number == 2
        assert count(Partition("I", "index1"), until="1#b").number == 2


def test_a_partition_is_deleted_in_batches():
    sort_keys = [f"{n:03d}" for n in range(MAX_TRANSACT_ITEMS + 20)]
    put_many([*(("P", sk) for sk in sort_keys), ("Q", "#")])
    with record_calls() as calls:
        assert table.delete_batch("P") is True
    assert calls.call_names == ["dynamodb:Query", "dynamodb:TransactWriteItems"]
    assert list_sort_keys(table.query("P")) == sort_keys[MAX_TRANSACT_ITEMS:]
    assert table.delete_batch("P") is False
    assert table.query("P").items == []
    with record_calls() as calls:
        assert table.delete_batch("P") is False
    assert calls.call_names == ["dynamodb:Query"]
    assert table.get(("Q", "#"))


@pytest.mark.parametrize(
    ("limit", "max_scanned", "page_count"),
    [(1, 1, None), (1, 7, None), (2, 20, None), (3, 20, None), (7, 20, None), (100, 100, 1), (100, 5, 4), (2, 100, 4)],
)
def test_matching_items_are_returned_once_newest_first(limit, max_scanned, page_count):
    put_many(("P", f"{n:02d}") for n in range(20))
    sort_keys, pages, position = list[str](), 0, None
    while position or not pages:
        result = table.query_matching(
            ["P"], lambda item: int(item["sk"]) % 3 == 0, limit=limit, max_scanned=max_scanned, after=position
        )
        assert len(result.items) <= limit
        sort_keys, pages, position = sort_keys + list_sort_keys(result), pages + 1, result.last_evaluated_key
    assert sort_keys == ["18", "15", "12", "09", "06", "03", "00"]
    assert page_count in (None, pages)


class TestQueryMerged:
    @pytest.fixture(autouse=True)
    def items(self, aws):
        for n in range(12):
            put(f"P{n % 3}" if n < 9 else "P0", f"{n:02d}", index1pk=f"I{n % 2}", index1sk=f"{99 - n}")

    def read_pages(self, *partitions: str | Partition, limit: int, sk: str = "sk", **options: Any) -> list[list[str]]:
        result = table.query_merged(partitions, limit=limit, **options)
        pages = [[item[sk] for item in result.items]]
        while result.last_evaluated_key:
            result = table.query_merged(partitions, limit=limit, after=result.last_evaluated_key, **options)
            pages.append([item[sk] for item in result.items])
        return pages

    @pytest.mark.parametrize("limit", [1, 2, 5, 12, 100])
    def test_partitions_are_merged_newest_first_over_all_pages(self, limit):
        pages = [page for page in self.read_pages("P0", "P1", "P2", limit=limit) if page]
        assert [*chain(*pages)] == [f"{n:02d}" for n in reversed(range(12))]
        assert {len(page) for page in pages[:-1]} <= {limit}

    def test_one_partition_empty_partitions_ranges_and_indexes_can_be_read(self):
        assert self.read_pages("P1", limit=2) == [["07", "04"], ["01"]]
        assert table.query_merged(["X", "Y"], limit=2) == QueryResult([], None)
        pages = self.read_pages("P0", "P1", "P2", limit=2, since="03", until="08")
        assert [*chain(*pages)] == ["08", "07", "06", "05", "04", "03"]
        pages = self.read_pages(*(Partition(pk, "index1") for pk in ("I0", "I1")), limit=5, sk="index1sk")
        assert [*chain(*pages)] == [f"{99 - n}" for n in range(12)]

    def test_a_deleted_last_item_and_newer_items_do_not_affect_the_next_page(self):
        first = table.query_merged(["P0", "P1", "P2"], limit=3)
        table.write_transaction([Write("Delete", ("P0", "09"))])
        put("P1", "13")
        second = table.query_merged(["P0", "P1", "P2"], limit=3, after=first.last_evaluated_key)
        assert list_sort_keys(second) == ["08", "07", "06"]

    def test_a_page_limited_by_size_is_short_and_omits_nothing(self):
        for n in range(6):
            put("Large", f"{50 + n}", body="x" * 300_000)
            put("Small", f"{20 + n}")
        pages = self.read_pages("Large", "Small", limit=100)
        assert [*chain(*pages)] == [*map(str, range(55, 49, -1)), *map(str, range(25, 19, -1))]
        assert len(pages[0]) < 6

    def test_a_page_takes_one_counted_round_trip_for_all_partitions(self, monkeypatch):
        barrier, client = Barrier(16, timeout=60), aws.client("dynamodb")
        query = client.query
        monkeypatch.setattr(client, "query", lambda **request: barrier.wait() < 16 and query(**request))
        with call_with_http_requests(), record_calls() as calls, aws.counting_aws_calls() as usage:
            table.query_merged([f"P{n}" for n in range(16)], limit=1)
        assert calls.call_names == usage.calls == ["dynamodb:Query"] * 16

    def test_a_failing_partition_is_not_omitted(self):
        with inject_fault(Fault.THROTTLED, first_call=2), pytest.raises(Problem, match="unavailable"):
            table.query_merged(["P0", "P1", "P2"], limit=1)


class TestWriteTransaction:
    def test_a_failed_condition_rolls_back_and_returns_the_conflicting_items(self):
        put("A", n=1)
        update = Write("Update", ("A", "#"), update="REMOVE #n", condition="#n = :was", names=["n"], values={"was": 9})
        delete = Write("Delete", ("C", "#"), condition="attribute_exists(#pk)", names=["pk"])
        with pytest.raises(TransactionCancelled) as cancelled:
            table.write_transaction([put_write("B"), update, delete])
        assert cancelled.value.failed_items == {1: {"pk": "A", "sk": "#", "n": 1}, 2: None}
        assert not cancelled.value.is_contended
        assert table.get(("B", "#")) is None
        assert table.get(("A", "#")) == {"pk": "A", "sk": "#", "n": 1}

    def test_a_concurrent_transaction_is_reported_as_contention(self):
        with inject_fault(Fault.CONFLICT), pytest.raises(TransactionCancelled) as cancelled:
            put("A")
        assert cancelled.value == TransactionCancelled({}, is_contended=True)

    def test_a_throttled_transaction_is_repeated_a_limited_number_of_times(self):
        with inject_fault(Fault.CANCELLED_BY_THROTTLE, times=2) as injected:
            put("A")
        assert injected.failed_call
        assert table.get(("A", "#"))
        throttled = inject_fault(Fault.CANCELLED_BY_THROTTLE, times=None)
        with throttled, pytest.raises(Problem, match="unavailable") as raised:
            put("A")
        assert raised.value.status == 503

    def test_an_invalid_or_too_large_transaction_is_an_error(self):
        writes = [put_write(f"K{n}") for n in range(MAX_TRANSACT_ITEMS)]
        table.write_transaction(writes)
        with pytest.raises(ClientError):
            table.write_transaction([*writes, Write("Delete", ("more", "#"))])
        with pytest.raises(ClientError, match="ValidationException"):
            table.write_transaction([Write("Update", ("A", "#"), update="SET nonsense")])


class TestIncrement:
    KEY = ("N", "#")

    def increment(self, amount: int) -> int:
        return table.increment(self.KEY, "n", amount, ttl=99_999_999_999)

    def test_a_conflict_with_a_transaction_is_repeated_a_limited_number_of_times(self):
        with inject_fault(Fault.CONFLICT, times=None), record_calls() as calls, pytest.raises(Problem) as raised:
            self.increment(3)
        assert (raised.value.status, raised.value.headers["Retry-After"]) == (503, "1")
        assert 1 < len(calls.call_names) < 10
        assert table.get(self.KEY) is None
        with inject_fault(Fault.CONFLICT, times=2) as injected:
            assert self.increment(3) == 3
        assert injected.failed_call == "dynamodb:UpdateItem"

    def test_an_increment_waits_for_a_transaction(self, conflicts):
        with ThreadPoolExecutor(1) as threads:
            transaction = threads.submit(put, *self.KEY, n=1)
            wait_until(lambda: conflicts.is_held(self.KEY))
            assert self.increment(2) == 3
            transaction.result()
        assert conflicts.rejected_keys == {self.KEY}


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST])
def test_an_unresponsive_table_is_unavailable(fault):
    for operation in (lambda: table.get(("A", "#")), lambda: table.query("A"), lambda: table.get_all([("A", "#")])):
        with inject_fault(fault, times=None), pytest.raises(Problem, match="unavailable"):
            operation()


def test_an_item_past_its_ttl_is_expired():
    assert table.is_expired({"ttl": 1})
    assert not table.is_expired({"ttl": 99_999_999_999})
    assert not table.is_expired({})


LONGEST_KEY = ("P" * 2048, "S" * 1024)
INVALID_KEYS = [
    *((pk, "S") for pk in ("P" * 2049, "é" * 1025, "", "P\ud800")),
    *(("P", sk) for sk in ("S" * 1025, "é" * 513, "\U0001f4a9" * 257, "")),
]


def test_an_item_can_have_the_longest_key():
    table.write_transaction([writes.put_if_absent_write({"pk": LONGEST_KEY[0], "sk": LONGEST_KEY[1], "n": 1})])
    assert table.get(LONGEST_KEY)
    assert table.get_all([LONGEST_KEY, *INVALID_KEYS]).keys() == {LONGEST_KEY}
    assert len(table.query(LONGEST_KEY[0], prefix=LONGEST_KEY[1]).items) == 1


@pytest.mark.parametrize("key", INVALID_KEYS, ids=repr)
def test_an_invalid_key_is_neither_read_nor_written(key):
    with record_calls() as calls:
        assert table.get(key) is None
        assert table.get_all([key]) == {}
        for kind in ("Put", "Update", "Delete", "ConditionCheck"):
            item = {"pk": key[0], "sk": key[1]} if kind == "Put" else None
            with pytest.raises(Problem) as raised:
                table.write_transaction([Write(kind, key, item=item, condition="attribute_exists(#pk)", names=["pk"])])
            assert raised.value.code == "validation_failed"
        index_writes = [writes.put_if_absent_write({"pk": "P", "sk": "S", "index1pk": key[0], "index1sk": key[1]})]
        if key[0] != "P":
            values = {"facet1pk": key[0]}
            index_writes += [Write("Update", ("P", "S"), update="SET #n = :n", names={"n": "facet1pk"}, values=values)]
        for write in index_writes:
            with pytest.raises(Problem):
                table.write_transaction([write])
    assert calls.call_list == []


@pytest.mark.parametrize("partition", ["P" * 2049, "", Partition("P" * 2049, "index1")], ids=str)
def test_an_invalid_partition_is_empty(partition):
    with record_calls() as calls:
        assert table.query(partition).items == []
        assert table.count_items_in_one_read(partition).number == 0
        assert table.query("P", prefix="S" * 1025).items == []
    assert calls.call_list == []
