"""A replacement for DynamoDB's client on SQLite that is fast enough for a log of a million entries.

It implements the four calls that `kernel/storage/table.py` makes, in DynamoDB's JSON. It follows the rules that matter
here: a page ends at its limit or at 1 MB, a transaction is atomic, and an index contains the items that have its keys.
Consumed capacity is calculated from item sizes. It rejects every expression that it does not know.
"""

import operator
import pickle
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError

from benchmarks.costs.item_sizes import read_units, wire_item_size
from infrastructure.resources import INDEX_KEYS

Wire = dict[str, Any]
Key = tuple[str, str]

_MAX_PAGE_BYTES: Final = 1024 * 1024
_LOCK_TIMEOUT_SECONDS: Final = 300
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}
_EXISTS: Final = re.compile(r"attribute_(not_)?exists\(#(\w+)\)")
_COMPARISON: Final = re.compile(r"#(\w+) (=|<|<=) :(\w+)")
_SET: Final = re.compile(r"#(\w+) = :(\w+)")
_DEFAULT: Final = re.compile(r"#(\w+) = if_not_exists\(#\1, :(\w+)\)")
_ADD: Final = re.compile(r"#(\w+) = if_not_exists\(#\1, :(\w+)\) \+ :(\w+)")
_KEY_CONDITION: Final = re.compile(
    r"#pk = :pk(?: AND (?:(begins_with)\(#sk, :sk\)|#sk (BETWEEN) :since AND :until|#sk (>) :sk))?"
)

call_observers: Final[list[Callable[[str, float, int], None]]] = []
"""Functions that receive each call: its name, its read units, and the bytes of the returned items."""


class DiskTable:
    """A table in a file that several processes can share."""

    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA cache_size = -8192")
        self._db.execute("CREATE TABLE IF NOT EXISTS items (pk TEXT, sk TEXT, data BLOB, size INT, UNIQUE (pk, sk))")
        for name in INDEX_KEYS:
            columns = "ipk TEXT, isk TEXT, pk TEXT, sk TEXT, PRIMARY KEY (ipk, isk, pk, sk)"
            self._db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) WITHOUT ROWID")

    def get_item(self, *, Key: Wire, **_: object) -> Wire:  # noqa: N803 - as botocore names it
        """Return one item, with a consistent read."""
        item = self._load_item_or_none(_key(Key))
        size = wire_item_size(item or {})
        return _notify_observers("GetItem", read_units(size), {"Item": item} if item else {}, size)

    def batch_get_item(self, *, RequestItems: Wire) -> Wire:  # noqa: N803
        """Return the existing items of a list of keys, with consistent reads."""
        ((table, request),) = RequestItems.items()
        items = [item for key in request["Keys"] if (item := self._load_item_or_none(_key(key)))]
        units = sum(read_units(wire_item_size(item)) for item in items) + len(request["Keys"]) - len(items)
        return _notify_observers("BatchGetItem", units, {"Responses": {table: items}}, sum(map(wire_item_size, items)))

    def query(
        self,
        *,
        KeyConditionExpression: str,  # noqa: N803
        ExpressionAttributeValues: Wire,  # noqa: N803
        IndexName: str | None = None,  # noqa: N803
        Limit: int | None = None,  # noqa: N803
        ScanIndexForward: bool = True,  # noqa: N803
        ExclusiveStartKey: Wire | None = None,  # noqa: N803
        ConsistentRead: bool = False,  # noqa: N803
        Select: str = "",  # noqa: N803
        **_: object,
    ) -> Wire:
        """Return a page of one partition of the table or of an index."""
        pk_name, sk_name = INDEX_KEYS[IndexName] if IndexName else ("pk", "sk")
        sql, parameters = _build_select(IndexName, KeyConditionExpression, ExpressionAttributeValues)
        if ExclusiveStartKey:
            columns = ("isk", "k.pk", "k.sk") if IndexName else ("k.sk",)
            names = (sk_name, "pk", "sk") if IndexName else ("sk",)
            sql += f" AND ({', '.join(columns)}) {'>' if ScanIndexForward else '<'} ({', '.join('?' * len(columns))})"
            parameters += [ExclusiveStartKey[name]["S"] for name in names]
        direction = "ASC" if ScanIndexForward else "DESC"
        sql += f" ORDER BY {f'isk {direction}, k.pk {direction}, ' if IndexName else ''}k.sk {direction}"
        items: list[Wire] = []
        read_bytes, last = 0, None
        for data, size in self._db.execute(sql, parameters):
            if items and read_bytes + size > _MAX_PAGE_BYTES:
                last = items[-1]
                break
            items.append(pickle.loads(data))  # noqa: S301 - written by this class  # nosec B301
            read_bytes += size
            if len(items) == Limit:
                last = items[-1]
                break
        response: Wire = {"Count": len(items)} | ({} if Select == "COUNT" else {"Items": items})
        if last:
            response["LastEvaluatedKey"] = {name: last[name] for name in ("pk", "sk", pk_name, sk_name)}
        return _notify_observers(
            "Query", read_units(read_bytes) / (1 if ConsistentRead else 2), response, 0 if Select else read_bytes
        )

    def transact_write_items(self, *, TransactItems: list[Wire]) -> Wire:  # noqa: N803
        """Execute all actions or none."""
        actions = [(kind, details) for action in TransactItems for kind, details in action.items()]
        keys = [_key(details.get("Key") or details["Item"]) for _, details in actions]
        if len(set(keys)) < len(keys):
            raise ValueError("a transaction cannot contain two actions on one item")
        with self._transaction():
            items_before = [self._load_item_or_none(key) for key in keys]
            reasons = [
                _cancellation_reason(item, details) for item, (_, details) in zip(items_before, actions, strict=True)
            ]
            if any(reason["Code"] != "None" for reason in reasons):
                error = {"Code": "TransactionCanceledException", "Message": "a condition failed"}
                raise ClientError(
                    {"Error": error, "CancellationReasons": reasons, "ResponseMetadata": {"HTTPStatusCode": 400}},
                    "TransactWriteItems",
                )
            for key, item, (kind, details) in zip(keys, items_before, actions, strict=True):
                if kind != "ConditionCheck":
                    self._replace_item(key, item, _apply_action(kind, details, item))
        return _notify_observers("TransactWriteItems", 0, {}, 0)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _load_item_or_none(self, key: Key) -> Wire | None:
        row = self._db.execute("SELECT data FROM items WHERE pk = ? AND sk = ?", key).fetchone()
        item: Wire | None = pickle.loads(row[0]) if row else None  # noqa: S301 - written by this class  # nosec B301
        return item

    def _replace_item(self, key: Key, old: Wire | None, new: Wire | None) -> None:
        for name, names in INDEX_KEYS.items():
            key_before, key_after = _index_key(old, names), _index_key(new, names)
            if key_before and key_before != key_after:
                statement = f"DELETE FROM {name} WHERE ipk = ? AND isk = ? AND pk = ? AND sk = ?"  # noqa: S608 - a constant name
                self._db.execute(statement, (*key_before, *key))
            if key_after and key_before != key_after:
                self._db.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", (*key_after, *key))  # noqa: S608 - a constant name
        if new is None:
            self._db.execute("DELETE FROM items WHERE pk = ? AND sk = ?", key)
        else:
            self._db.execute(
                "INSERT INTO items VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET data = excluded.data, size = excluded.size",
                (*key, pickle.dumps(new), wire_item_size(new)),
            )


def _notify_observers(call_name: str, units: float, response: Wire, returned_bytes: int) -> Wire:
    for watcher in call_observers:
        watcher(call_name, units, returned_bytes)
    return response


def _build_select(index: str | None, condition: str, values: Wire) -> tuple[str, list[str]]:
    match = _KEY_CONDITION.fullmatch(condition)
    if not match:
        raise ValueError(f"unknown key condition: {condition}")
    parameters = [values[":pk"]["S"]]
    if index:
        sql = f"SELECT data, size FROM {index} k JOIN items i ON i.pk = k.pk AND i.sk = k.sk WHERE ipk = ?"  # noqa: S608
    else:
        sql = "SELECT data, size FROM items k WHERE k.pk = ?"
    sk = "isk" if index else "k.sk"
    begins, between, above = match.groups()
    if begins:
        prefix = values[":sk"]["S"]
        return f"{sql} AND {sk} >= ? AND {sk} < ?", [*parameters, prefix, f"{prefix}\U0010ffff"]
    if between:
        return f"{sql} AND {sk} BETWEEN ? AND ?", [*parameters, values[":since"]["S"], values[":until"]["S"]]
    return (f"{sql} AND {sk} > ?", [*parameters, values[":sk"]["S"]]) if above else (sql, parameters)


def _cancellation_reason(item: Wire | None, details: Wire) -> Wire:
    condition = details.get("ConditionExpression", "")
    values = details.get("ExpressionAttributeValues", {})
    is_true = partial(_is_true, item or {}, values)
    if not condition or any(all(map(is_true, term.split(" AND "))) for term in condition.split(" OR ")):
        return {"Code": "None"}
    return {"Code": "ConditionalCheckFailed"} | ({"Item": item} if item else {})


def _is_true(item: Wire, values: Wire, term: str) -> bool:
    if match := _EXISTS.fullmatch(term):
        return (match[2] in item) != bool(match[1])
    if match := _COMPARISON.fullmatch(term):
        name, sign, value = match.groups()
        return name in item and _OPERATORS[sign](_comparable_value(item[name]), _comparable_value(values[f":{value}"]))
    raise ValueError(f"unknown condition: {term}")


def _comparable_value(value: Wire) -> Any:
    ((kind, content),) = value.items()
    return float(content) if kind == "N" else content


def _apply_action(kind: str, details: Wire, item: Wire | None) -> Wire | None:
    if kind != "Update":
        return details["Item"] if kind == "Put" else None
    updated, values = {**details["Key"], **(item or {})}, details.get("ExpressionAttributeValues", {})
    sets, _, removes = details["UpdateExpression"].removeprefix("SET ").partition("REMOVE ")
    for part in filter(None, re.split(r", (?=#)", sets.strip())):
        if match := _SET.fullmatch(part):
            updated[match[1]] = values[f":{match[2]}"]
        elif match := _DEFAULT.fullmatch(part):
            updated.setdefault(match[1], values[f":{match[2]}"])
        elif match := _ADD.fullmatch(part):
            start = updated.get(match[1], values[f":{match[2]}"])
            updated[match[1]] = {"N": str(int(start["N"]) + int(values[f":{match[3]}"]["N"]))}
        else:
            raise ValueError(f"unknown update: {part}")
    removed_names = {name.removeprefix("#") for name in removes.split(", ")}
    return {name: value for name, value in updated.items() if name not in removed_names}


def _key(item: Wire) -> Key:
    return item["pk"]["S"], item["sk"]["S"]


def _index_key(item: Wire | None, names: Key) -> Key | None:
    pk, sk = names
    return (item[pk]["S"], item[sk]["S"]) if item and pk in item and sk in item else None
