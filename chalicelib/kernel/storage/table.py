"""The one table: the only place that speaks DynamoDB. Reads are consistent; lists are one Query a page."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Final, Literal, TypeVar

from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import backoff_seconds
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import key_lengths
from chalicelib.kernel.storage.entity import Item, ItemKey, Partition
from chalicelib.kernel.storage.item_json import from_wire, to_wire, value_to_wire

T = TypeVar("T")
R = TypeVar("R")

_BATCH: Final = 100
_MAX_TRIES: Final = 4
_MAX_THREADS: Final = 16
_HIGHEST: Final = "\U0010ffff"
"""Sorts behind whatever sort keys are made of."""

MAX_PARALLEL_READS: Final = "side by side"
"""What the names of threads begin with that ask at the same time as others."""

_CONFLICTS: Final = frozenset({"TransactionConflictException", "ReplicatedWriteConflictException"})
"""What refuses a write of a single item while a transaction, or a write in another region, holds that item."""

MAX_TRANSACT_ITEMS: Final = 100
"""What a transaction holds."""


@dataclass(frozen=True)
class Write:
    """One action of a transaction, with expressions in DynamoDB's own language: `#x` and `:x` stand for x.

    `names`: what stands for attributes, or with the attribute that each of it stands for where that is another. A
    failed condition returns the item that stood in the way.
    """

    kind: Literal["Put", "Update", "Delete", "ConditionCheck"]
    key: ItemKey
    item: Item | None = None
    update: str = ""
    condition: str = ""
    names: Sequence[str] | Mapping[str, str] = ()
    values: Mapping[str, Any] | None = None

    def wire(self) -> dict[str, Any]:
        """Return the action as TransactWriteItems takes it. Raises Problem if a key is longer than the table takes."""
        key_lengths.check_key_lengths({**(self.item or {}), **(self.values or {})})
        action: dict[str, Any] = {"TableName": settings().table_name}
        if self.kind == "Put":
            action["Item"] = to_wire(self.item or {})
        else:
            action["Key"] = _key_to_wire(self.key)
        if self.update:
            action["UpdateExpression"] = self.update
        if self.condition:
            action["ConditionExpression"] = self.condition
            action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if self.names:
            attributes = self.names if isinstance(self.names, Mapping) else {name: name for name in self.names}
            action["ExpressionAttributeNames"] = {f"#{name}": attribute for name, attribute in attributes.items()}
        if self.values:
            action["ExpressionAttributeValues"] = {f":{name}": value_to_wire(v) for name, v in self.values.items()}
        return {self.kind: action}


def put_new(item: Item) -> Write:
    """Return the write that puts an item on condition that none has its key."""
    return Write("Put", (item["pk"], item["sk"]), item=item, condition="attribute_not_exists(#pk)", names=["pk"])


@dataclass
class TransactionCancelled(Exception):
    """A transaction that did nothing. `failed` maps the position of each failed write to the item that was there."""

    failed: Mapping[int, Item | None]
    contended: bool


@dataclass(frozen=True)
class QueryResult:
    """What a Query found. `last`: the key to go on after, or None at the end."""

    items: list[Item]
    last_evaluated_key: Item | None


def get(key: ItemKey) -> Item | None:
    """Return one item, or None; at a key longer than the table takes there is none."""
    if not key_lengths.key_fits(*key):
        return None
    answer = _call("get_item", TableName=settings().table_name, Key=_key_to_wire(key), ConsistentRead=True)
    return from_wire(answer["Item"]) if "Item" in answer else None


def get_all(keys: Iterable[ItemKey], attributes: Sequence[str] = ()) -> dict[ItemKey, Item]:
    """Return the items that exist, in one round trip for each hundred keys; at keys too long for the table none do.

    `attributes`: those to read of each, keys included; all if there are none.
    """
    wanted = [key for key in dict.fromkeys(keys) if key_lengths.key_fits(*key)]
    found: dict[ItemKey, Item] = {}
    for start in range(0, len(wanted), _BATCH):
        found |= _get_batch([_key_to_wire(key) for key in wanted[start : start + _BATCH]], _projected(attributes))
    return found


def _projected(attributes: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a read that name what to read of each item."""
    if not attributes:
        return {}
    names = {f"#only{number}": name for number, name in enumerate(sorted({*attributes}))}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}


def _get_batch(keys: list[dict[str, Any]], projected: Mapping[str, Any]) -> dict[ItemKey, Item]:
    name, found = settings().table_name, {}
    for attempt in range(_MAX_TRIES):
        answer = _call("batch_get_item", RequestItems={name: {"Keys": keys, "ConsistentRead": True, **projected}})
        for wire in answer["Responses"].get(name, []):
            item = from_wire(wire)
            found[item["pk"], item["sk"]] = item
        keys = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", [])
        if not keys:
            return found
        backoff_seconds(attempt)
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
    """Return the items of one partition, in order of their sort key, at most 1 MB of them.

    `where`: a partition of the table by its key, or one of an index (`facet…` has the table's sort key). `begins`, or
    `since` and `until` (both inclusive), narrow the sort key; `after` goes on after an earlier page's `last`.
    `attributes`: those to read of each item; all if there are none.
    """
    if _is_empty(partition, prefix, since, until):
        return QueryResult([], None)
    arguments = _key_condition(partition, prefix, since, until) | {"ScanIndexForward": not newest_first}
    projected = _projected(attributes)
    projected.get("ExpressionAttributeNames", {}).update(arguments["ExpressionAttributeNames"])
    arguments |= projected
    arguments |= {"Limit": limit} if limit else {}
    arguments |= {"ExclusiveStartKey": to_wire(after)} if after else {}
    answer = _call("query", **arguments)
    last = answer.get("LastEvaluatedKey")
    return QueryResult([from_wire(item) for item in answer["Items"]], from_wire(last) if last else None)


def read_current(items: Iterable[Item], where: Partition | None = None) -> list[Item]:
    """Return items that an index showed as the table has them now, without those that are gone: an index lags.

    `where`: the partition that it showed them in; without those that stand there no longer, either.
    """
    keys = [(item["pk"], item["sk"]) for item in items]
    present = get_all(keys)
    found = [present[key] for key in keys if key in present]
    return [item for item in found if where is None or item.get(_key_names(where.index)[0]) == where.pk]


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
    """Return the items of several partitions as one list, `limit` at most: a Query of each, side by side.

    So a page is one round trip, and its price is bounded: each partition is read for `limit` items, or for 1 MB of
    them; where one has more than that, the page is short. `last` is where the list goes on in all of them: of items
    with the same sort key one may be left out. `since`, `until` and `attributes` are those of `query`; what
    partitions are sorted by is read in any case.
    """
    sorted_by = {sort_key_of(partition) for partition in partitions}
    if after and newest_first:
        until = min(until or _HIGHEST, _just_before(after["at"]))
    elif after:
        since = max(since or "", just_after(after["at"]))
    ask = partial(
        query,
        limit=limit,
        since=since,
        until=until,
        newest_first=newest_first,
        attributes=[*attributes, *sorted_by] if attributes else (),
    )
    founds = [(sort_key_of(p), found) for p, found in zip(partitions, gather(ask, partitions), strict=True)]
    ends = [found.last_evaluated_key[sk] for sk, found in founds if found.last_evaluated_key]
    known_to = (max if newest_first else min)(ends, default=None)
    items = sorted(((i[sk], i) for sk, found in founds for i in found.items), key=itemgetter(0), reverse=newest_first)
    known = [(at, i) for at, i in items if known_to is None or (at >= known_to if newest_first else at <= known_to)]
    page = known[:limit]
    more = bool(page) and (known_to is not None or len(page) < len(items))
    return QueryResult([item for _, item in page], {"at": page[-1][0]} if more else None)


def query_filtered(
    partitions: Sequence[str | Partition],
    passes: Callable[[Item], bool],
    *,
    limit: int,
    most: int,
    after: Item | None = None,
    since: str | None = None,
    until: str | None = None,
) -> QueryResult:
    """Return the newest items of some partitions that pass, `limit` at most, of up to `most` that are looked at.

    The partitions are all of the table, or of one index. The rest is as of `merged`: a page may be short, or empty, and
    the list goes on behind it all the same.
    """
    found = query_merged(partitions, limit=most, after=after, since=since, until=until)
    passing = [item for item in found.items if passes(item)]
    if len(passing) <= limit:
        return QueryResult(passing, found.last_evaluated_key)
    return QueryResult(passing[:limit], {"at": passing[limit - 1][sort_key_of(partitions[0])]})


def gather(ask: Callable[[T], R], about: Sequence[T]) -> list[R]:
    """Return the answers to questions that are asked at the same time: one round trip if each takes one."""
    if len(about) <= 1:
        return [ask(each) for each in about]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(about), _MAX_THREADS), MAX_PARALLEL_READS) as threads:
        # In the context of the request, so that what is asked counts as asked by it.
        answers = [threads.submit(copy_context().run, ask, each) for each in about]
    return [answer.result() for answer in answers]


def _just_before(sort_key: str) -> str:
    return sort_key[:-1] + chr(ord(sort_key[-1]) - 1) + _HIGHEST


def just_after(sort_key: str) -> str:
    """Return where to begin so that a sort key itself is left out, and nothing behind it."""
    return sort_key + " "


def iter_pages(where: str | Partition, **words: Any) -> Iterator[list[Item]]:
    """Yield what `query` finds, with the same words, page by page to the end; the first is there, be it empty."""
    last = None
    while True:
        found = query(where, after=last, **words)
        yield found.items
        if (last := found.last_evaluated_key) is None:
            return


def query_all(pk: str, prefix: str) -> list[Item]:
    """Return all items of a partition that begin so: one Query, if they are less than 1 MB."""
    return [item for items in iter_pages(pk, prefix=prefix) for item in items]


def count_items(where: str | Partition, *, since: str | None = None, until: str | None = None) -> int:
    """Return how many items of a partition `query` would find; of very many at least so many.

    That is as many as there are in the first 1 MB.
    """
    if _is_empty(where, "", since, until):
        return 0
    answer = _call("query", Select="COUNT", **_key_condition(where, "", since, until))
    return int(answer["Count"])


def _is_empty(where: str | Partition, begins: str, since: str | None, until: str | None) -> bool:
    """Return whether nothing can stand there, so that DynamoDB would refuse the question.

    Its keys are too long, or it is asked for between two ends that are the wrong way round.
    """
    backwards = since is not None and until is not None and since > until
    return backwards or not key_lengths.key_fits(_partition(where).pk, begins or None)


def _key_condition(where: str | Partition, begins: str, since: str | None, until: str | None) -> dict[str, Any]:
    """Return the arguments of a Query that say where it looks."""
    partition = _partition(where)
    pk_name, sk_name = _key_names(partition.index)
    names, values = {"#pk": pk_name}, {":pk": partition.pk}
    condition = "#pk = :pk"
    if begins:
        condition, values[":sk"] = f"{condition} AND begins_with(#sk, :sk)", begins
    elif since is not None or until is not None:
        condition = f"{condition} AND #sk BETWEEN :since AND :until"
        values |= {":since": since or " ", ":until": until or _HIGHEST}
    if "#sk" in condition:
        names["#sk"] = sk_name
    arguments: dict[str, Any] = {
        "TableName": settings().table_name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
    }
    return arguments | ({"IndexName": partition.index} if partition.index else {"ConsistentRead": True})


def _partition(where: str | Partition) -> Partition:
    return Partition(where) if isinstance(where, str) else where


def sort_key_of(where: str | Partition) -> str:
    """Return the name of the attribute that a partition is sorted by."""
    return _key_names(_partition(where).index)[1]


def delete_batch(pk: str) -> bool:
    """Remove the first items of a partition, as many as a transaction holds; return whether there may be more."""
    found = query(pk, limit=MAX_TRANSACT_ITEMS)
    if found.items:
        write_transaction([Write("Delete", (item["pk"], item["sk"])) for item in found.items])
    return found.last_evaluated_key is not None


def write_transaction(writes: Sequence[Write]) -> None:
    """Do all the writes, or none, in one transaction.

    Raises Cancelled if a condition failed or another transaction was at the same items, Problem `unavailable` if the
    table throttles or does not answer.
    """
    for attempt in range(_MAX_TRIES):
        try:
            _call("transact_write_items", TransactItems=[w.wire() for w in writes])
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise
            reasons = error.response["CancellationReasons"]
            if not any(aws.is_throttle(reason["Code"]) for reason in reasons):
                raise _cancellation_error(reasons, error) from error
            backoff_seconds(attempt)
        else:
            return
    raise unavailable("The database is busy.")


def increment(key: ItemKey, name: str, amount: int, *, ttl: int) -> int:
    """Add to a number of an item, in one write, and return the sum; without the item, or the number, it begins at 0.

    Raises Problem `unavailable`; then nobody knows whether it was done. The client's own tries may do it twice.
    """
    answer = _call(
        "update_item",
        TableName=settings().table_name,
        Key=_key_to_wire(key),
        ReturnValues="UPDATED_NEW",
        UpdateExpression="ADD #name :amount SET #ttl = :ttl",
        ExpressionAttributeNames={"#name": name, "#ttl": "ttl"},
        ExpressionAttributeValues=to_wire({":amount": amount, ":ttl": ttl}),
    )
    return int(answer["Attributes"][name]["N"])


def _cancellation_error(reasons: list[dict[str, Any]], error: Exception) -> Exception:
    codes = {reason["Code"] for reason in reasons} - {"None"}
    if not codes <= {"ConditionalCheckFailed", "TransactionConflict"}:
        return error
    failed = {
        position: from_wire(reason["Item"]) if reason.get("Item") else None
        for position, reason in enumerate(reasons)
        if reason["Code"] == "ConditionalCheckFailed"
    }
    return TransactionCancelled(failed, contended="TransactionConflict" in codes)


def is_expired(item: Item) -> bool:
    """Return whether the table would have removed the item by now; it does so late."""
    return "ttl" in item and int(item["ttl"]) <= time.time()


def _dynamodb() -> Any:
    return aws.client("dynamodb")


def _call(method: str, **arguments: Any) -> Any:
    """Return what DynamoDB answers. A write of one item is sent again if a transaction held the item: it did nothing.

    Every call goes through here. Raises Problem `unavailable`, and ClientError for what only the caller can judge: a
    cancelled transaction, a failed condition.
    """
    for attempt in range(_MAX_TRIES):
        try:
            with aws.translate_errors("database"):
                return getattr(_dynamodb(), method)(**arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _CONFLICTS:
                raise
        backoff_seconds(attempt)
    raise unavailable("The database is busy.")


def _key_names(index: str | None) -> tuple[str, str]:
    if index is None:
        return "pk", "sk"
    return f"{index}pk", "sk" if index.startswith("facet") else f"{index}sk"


def _key_to_wire(key: ItemKey) -> dict[str, Any]:
    key_lengths.check_key_lengths({"pk": key[0], "sk": key[1]})
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}
