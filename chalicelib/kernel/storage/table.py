"""The only module that calls DynamoDB. Reads of the table are consistent, and each page of a list is one Query."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws, threads
from chalicelib.kernel.core.clock import sleep_with_jittered_backoff
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import key_lengths
from chalicelib.kernel.storage.entity import Item, ItemKey, Partition
from chalicelib.kernel.storage.item_json import item_from_dynamodb_json, item_to_dynamodb_json
from chalicelib.kernel.storage.query_results import ItemCount, QueryResult
from chalicelib.kernel.storage.search_keys import LAST_SORT_KEY
from chalicelib.kernel.storage.writes import ItemUpdate, Write, key_to_dynamodb_json

T = TypeVar("T")
R = TypeVar("R")

_BATCH_SIZE: Final = 100
_MAX_ATTEMPTS: Final = 4
_MAX_THREADS: Final = 16

PARALLEL_READ_THREAD_PREFIX: Final = "side by side"
"""Prefix of the names of the threads that call AWS in parallel."""

_CONFLICTS: Final = frozenset({"TransactionConflictException", "ReplicatedWriteConflictException"})
"""Errors of a single-item write while a transaction, or a write in another region, holds the item."""

MAX_TRANSACT_ITEMS: Final = 100
"""Maximum number of items in one transaction."""


@dataclass
class TransactionCancelled(Exception):
    """Raised when a transaction was cancelled; nothing was written.

    `failed_items`: the existing item, or None, by the index of each write whose condition failed. `is_contended`:
    whether another transaction was in progress on the same items.
    """

    failed_items: Mapping[int, Item | None]
    is_contended: bool


def get(key: ItemKey) -> Item | None:
    """Return one item, or None. A key longer than DynamoDB's maximum has no item."""
    if not key_lengths.is_valid_key_length(*key):
        return None
    response = _call_with_retries(
        "get_item", TableName=settings().table_name, Key=key_to_dynamodb_json(key), ConsistentRead=True
    )
    return item_from_dynamodb_json(response["Item"]) if "Item" in response else None


def get_all(keys: Iterable[ItemKey], attributes: Sequence[str] = ()) -> dict[ItemKey, Item]:
    """Return the items that exist at some keys, with one round trip for each 100 keys.

    `attributes`: the attributes to read, including the keys; all if empty.
    """
    valid_keys = [key for key in dict.fromkeys(keys) if key_lengths.is_valid_key_length(*key)]
    items: dict[ItemKey, Item] = {}
    for start in range(0, len(valid_keys), _BATCH_SIZE):
        items |= _get_batch(
            [key_to_dynamodb_json(key) for key in valid_keys[start : start + _BATCH_SIZE]],
            _projection_arguments(attributes),
        )
    return items


def _projection_arguments(attributes: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that restrict a read to some attributes."""
    if not attributes:
        return {}
    names = {f"#only{number}": name for number, name in enumerate(sorted({*attributes}))}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}


def _get_batch(keys: list[dict[str, Any]], projection: Mapping[str, Any]) -> dict[ItemKey, Item]:
    name, items = settings().table_name, {}
    for attempt in range(_MAX_ATTEMPTS):
        response = _call_with_retries(
            "batch_get_item", RequestItems={name: {"Keys": keys, "ConsistentRead": True, **projection}}
        )
        for wire_item in response["Responses"].get(name, []):
            item = item_from_dynamodb_json(wire_item)
            items[item["pk"], item["sk"]] = item
        keys = response.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
        if not keys:
            return items
        sleep_with_jittered_backoff(attempt)
    raise unavailable("The database is busy.")


def query(
    partition: str | Partition,
    *,
    after: Item | None = None,
    limit: int | None = None,
    prefix: str = "",
    until: str | None = None,
    since: str | None = None,
    newest_first: bool = False,
    attributes: Sequence[str] = (),
) -> QueryResult:
    """Return the items of one partition, at most 1 MB of them, in the order of their sort key.

    `partition`: a partition key of the table, or a partition of an index (`facet…` has the table's sort key). `prefix`,
    or `since` and `until` (both inclusive), restrict the sort key. `after`: `last_evaluated_key` of the previous page.
    `attributes`: the attributes to read; all if empty.
    """
    if _is_empty_range(partition, prefix, since, until):
        return QueryResult([], None)
    arguments = _key_condition_arguments(partition, prefix, since, until) | {"ScanIndexForward": not newest_first}
    projection = _projection_arguments(attributes)
    projection.get("ExpressionAttributeNames", {}).update(arguments["ExpressionAttributeNames"])
    arguments |= projection
    arguments |= {"Limit": limit} if limit else {}
    arguments |= {"ExclusiveStartKey": item_to_dynamodb_json(after)} if after else {}
    response = _call_with_retries("query", **arguments)
    last_key = response.get("LastEvaluatedKey")
    return QueryResult(
        [item_from_dynamodb_json(item) for item in response["Items"]],
        item_from_dynamodb_json(last_key) if last_key else None,
    )


def read_current(items: Iterable[Item], partition: Partition | None = None) -> list[Item]:
    """Return the current state of items that were read from an eventually consistent index, without deleted ones.

    `partition`: the index partition that was read; items that have left it are dropped as well.
    """
    keys = [(item["pk"], item["sk"]) for item in items]
    current = get_all(keys)
    current_items = [current[key] for key in keys if key in current]
    return [
        item
        for item in current_items
        if partition is None or item.get(_partition_and_sort_key_names(partition.index)[0]) == partition.pk
    ]


def query_merged(
    partitions: Sequence[str | Partition],
    *,
    limit: int,
    after: Item | None = None,
    since: str | None = None,
    until: str | None = None,
    newest_first: bool = True,
    attributes: Sequence[str] = (),
) -> QueryResult:
    """Return at most `limit` items of several partitions as one sorted list, with parallel Queries.

    A page takes one round trip and bounded cost: each partition is read for `limit` items or 1 MB, so a page may be
    short. `last_evaluated_key` is the position in all partitions; of items with equal sort keys, one may be skipped.
    `since`, `until` and `attributes` are those of `query`; sort keys are read in any case.
    """
    sort_key_names = {sort_key_attribute_name(partition) for partition in partitions}
    if after and newest_first:
        until = min(until or LAST_SORT_KEY, _upper_bound_before(after["at"]))
    elif after:
        since = max(since or "", lower_bound_after(after["at"]))
    query_partition = partial(
        query,
        limit=limit,
        since=since,
        until=until,
        newest_first=newest_first,
        attributes=[*attributes, *sort_key_names] if attributes else (),
    )
    results = zip(map(sort_key_attribute_name, partitions), gather(query_partition, partitions), strict=True)
    return _merge_results([*results], limit, newest_first=newest_first)


def _merge_results(results: Sequence[tuple[str, QueryResult]], limit: int, *, newest_first: bool) -> QueryResult:
    """Return at most `limit` items of query results as one sorted list. Each result has the name of its sort key."""
    last_sort_keys = [result.last_evaluated_key[name] for name, result in results if result.last_evaluated_key]
    complete_until = (max if newest_first else min)(last_sort_keys, default=None)
    items = sorted(
        ((item[sort_key_name], item) for sort_key_name, result in results for item in result.items),
        key=itemgetter(0),
        reverse=newest_first,
    )
    complete_items = [
        (sort_key, item)
        for sort_key, item in items
        if complete_until is None or (sort_key >= complete_until if newest_first else sort_key <= complete_until)
    ]
    page = complete_items[:limit]
    has_more = bool(page) and (complete_until is not None or len(page) < len(items))
    return QueryResult([item for _, item in page], {"at": page[-1][0]} if has_more else None)


def query_matching(
    partitions: Sequence[str | Partition],
    predicate: Callable[[Item], bool],
    *,
    limit: int,
    max_scanned: int,
    **options: Any,
) -> QueryResult:
    """Return at most `limit` items that satisfy a predicate, out of the next `max_scanned` items.

    `options`: those of `query_merged`. Either all partitions belong to the table, or all to the same index. A page may
    be short or empty although the list continues.
    """
    result = query_merged(partitions, limit=max_scanned, **options)
    matching = [item for item in result.items if predicate(item)]
    if len(matching) <= limit:
        return QueryResult(matching, result.last_evaluated_key)
    return QueryResult(matching[:limit], {"at": matching[limit - 1][sort_key_attribute_name(partitions[0])]})


def gather(function: Callable[[T], R], arguments: Sequence[T]) -> list[R]:
    """Return the results of calling a function with each argument, in parallel threads."""
    if len(arguments) <= 1:
        return [function(each) for each in arguments]
    calls = [partial(function, each) for each in arguments]
    return threads.call_in_threads(calls, max_threads=_MAX_THREADS, name=PARALLEL_READ_THREAD_PREFIX)


def _upper_bound_before(sort_key: str) -> str:
    return sort_key[:-1] + chr(ord(sort_key[-1]) - 1) + LAST_SORT_KEY


def lower_bound_after(sort_key: str) -> str:
    """Return the inclusive lower bound of the sort keys that follow a sort key."""
    return sort_key + " "


def iter_item_pages(partition: str | Partition, **options: Any) -> Iterator[list[Item]]:
    """Yield the items of `query` page by page, to the end. There is at least one page, possibly empty."""
    last_key = None
    while True:
        result = query(partition, after=last_key, **options)
        yield result.items
        if (last_key := result.last_evaluated_key) is None:
            return


def query_all(pk: str, prefix: str) -> list[Item]:
    """Return all items of a partition whose sort key has a prefix: one Query for each 1 MB."""
    return [item for items in iter_item_pages(pk, prefix=prefix) for item in items]


def count_items_in_one_read(
    partition: str | Partition,
    *,
    prefix: str = "",
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
) -> ItemCount:
    """Return the number of items of a partition within the first 1 MB, at most `limit`.

    `prefix`, `since` and `until` restrict the sort key, as those of `query` do.
    """
    if _is_empty_range(partition, prefix, since, until):
        return ItemCount(0, is_complete=True)
    arguments = _key_condition_arguments(partition, prefix, since, until) | ({"Limit": limit} if limit else {})
    response = _call_with_retries("query", Select="COUNT", **arguments)
    return ItemCount(int(response["Count"]), is_complete="LastEvaluatedKey" not in response)


def _is_empty_range(partition: str | Partition, prefix: str, since: str | None, until: str | None) -> bool:
    """Return whether the range cannot contain items and DynamoDB would reject the request.

    This is the case for keys that are too long and for a lower bound above the upper one.
    """
    is_reversed = since is not None and until is not None and since > until
    return is_reversed or not key_lengths.is_valid_key_length(_to_partition(partition).pk, prefix or None)


def _key_condition_arguments(
    partition_or_pk: str | Partition, prefix: str, since: str | None, until: str | None
) -> dict[str, Any]:
    """Return the arguments of a Query that select a partition and a range of sort keys."""
    partition = _to_partition(partition_or_pk)
    pk_name, sk_name = _partition_and_sort_key_names(partition.index)
    names, values = {"#pk": pk_name}, {":pk": partition.pk}
    condition = "#pk = :pk"
    if prefix:
        condition, values[":sk"] = f"{condition} AND begins_with(#sk, :sk)", prefix
    elif since is not None or until is not None:
        condition = f"{condition} AND #sk BETWEEN :since AND :until"
        values |= {":since": since or " ", ":until": until or LAST_SORT_KEY}
    if "#sk" in condition:
        names["#sk"] = sk_name
    arguments: dict[str, Any] = {
        "TableName": settings().table_name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
    }
    return arguments | ({"IndexName": partition.index} if partition.index else {"ConsistentRead": True})


def _to_partition(partition_or_pk: str | Partition) -> Partition:
    return Partition(partition_or_pk) if isinstance(partition_or_pk, str) else partition_or_pk


def sort_key_attribute_name(partition: str | Partition) -> str:
    """Return the name of the sort key attribute of a partition."""
    return _partition_and_sort_key_names(_to_partition(partition).index)[1]


def delete_batch(pk: str) -> bool:
    """Delete the first items of a partition, as many as fit into a transaction. Return whether there may be more."""
    result = query(pk, limit=MAX_TRANSACT_ITEMS)
    if result.items:
        write_transaction([Write("Delete", (item["pk"], item["sk"])) for item in result.items])
    return result.last_evaluated_key is not None


def write_transaction(writes: Sequence[Write]) -> None:
    """Write all items in one transaction, or none.

    Raises TransactionCancelled if a condition failed or another transaction was in progress on the same items. Raises
    Problem `unavailable` if DynamoDB throttles the request or does not answer.
    """
    for attempt in range(_MAX_ATTEMPTS):
        try:
            _call_with_retries("transact_write_items", TransactItems=[w.to_transact_action() for w in writes])
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise
            reasons = error.response["CancellationReasons"]
            if not any(reason["Code"] in aws.THROTTLING_CODES for reason in reasons):
                raise _error_from_cancellation_reasons(reasons, error) from error
            sleep_with_jittered_backoff(attempt)
        else:
            return
    raise unavailable("The database is busy.")


def increment(key: ItemKey, name: str, amount: int, *, ttl: int) -> int:
    """Add an amount to a numeric attribute of an item and return the sum. A missing item or attribute counts as 0.

    Raises Problem `unavailable`, after which the update may or may not be stored. Retries of the AWS client may apply
    it twice.
    """
    update = ItemUpdate(key, set={"ttl": ttl}, add={name: amount}).to_write()
    response = _call_with_retries("update_item", ReturnValues="UPDATED_NEW", **update.to_transact_action()["Update"])
    return int(response["Attributes"][name]["N"])


def _error_from_cancellation_reasons(reasons: list[dict[str, Any]], error: Exception) -> Exception:
    codes = {reason["Code"] for reason in reasons} - {"None"}
    if not codes <= {"ConditionalCheckFailed", "TransactionConflict"}:
        return error
    failed = {
        position: item_from_dynamodb_json(reason["Item"]) if reason.get("Item") else None
        for position, reason in enumerate(reasons)
        if reason["Code"] == "ConditionalCheckFailed"
    }
    return TransactionCancelled(failed, is_contended="TransactionConflict" in codes)


def is_expired(item: Item) -> bool:
    """Return whether the item's TTL has passed. DynamoDB deletes expired items with a delay."""
    return "ttl" in item and int(item["ttl"]) <= time.time()


def _dynamodb_client() -> Any:
    return aws.client("dynamodb")


def _call_with_retries(method_name: str, **arguments: Any) -> Any:
    """Call DynamoDB and return the response. Retries single-item writes that a transaction blocked.

    Raises Problem `unavailable`, and ClientError for what only the caller can handle: a cancelled transaction or a
    failed condition.
    """
    for attempt in range(_MAX_ATTEMPTS):
        try:
            with aws.raise_unavailable_on_aws_outage("database"):
                return getattr(_dynamodb_client(), method_name)(**arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _CONFLICTS:
                raise
        sleep_with_jittered_backoff(attempt)
    raise unavailable("The database is busy.")


def _partition_and_sort_key_names(index: str | None) -> tuple[str, str]:
    if index is None:
        return "pk", "sk"
    return f"{index}pk", "sk" if index.startswith("facet") else f"{index}sk"
