"""A stand-in for DynamoDB's client, on SQLite: fast enough on one core for a log of a million entries.

It answers the four calls that `kernel/table.py` makes, in DynamoDB's own JSON, and keeps the rules that count here: a
page ends at its limit or at 1 MB, a transaction does all or nothing, an index holds the items that have its key. What a
call would cost is reckoned from the sizes of items. It refuses every expression that it doesn't know.
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

from benchmarks.costs.sizes import read_units, wire_size
from infrastructure.resources import INDEX_KEYS

Wire = dict[str, Any]
Key = tuple[str, str]

_PAGE_BYTES: Final = 1024 * 1024
_BUSY_SECONDS: Final = 300
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}
_EXISTS: Final = re.compile(r"attribute_(not_)?exists\(#(\w+)\)")
_COMPARISON: Final = re.compile(r"#(\w+) (=|<|<=) :(\w+)")
_SET: Final = re.compile(r"#(\w+) = :(\w+)")
_DEFAULT: Final = re.compile(r"#(\w+) = if_not_exists\(#\1, :(\w+)\)")
_ADD: Final = re.compile(r"#(\w+) = if_not_exists\(#\1, :(\w+)\) \+ :(\w+)")
_QUERIED: Final = re.compile(
    r"#pk = :pk(?: AND (?:(begins_with)\(#sk, :sk\)|#sk (BETWEEN) :since AND :until|#sk (>) :sk))?"
)

watching: Final[list[Callable[[str, float, int], None]]] = []
"""Who is told of each call: its name, what it would have cost in read units, and the bytes of the items it returned."""


class DiskTable:
    """A table in a file; processes may share it."""

    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA cache_size = -8192")
        self._db.execute("CREATE TABLE IF NOT EXISTS items (pk TEXT, sk TEXT, data BLOB, size INT, UNIQUE (pk, sk))")
        for name in INDEX_KEYS:
            columns = "ipk TEXT, isk TEXT, pk TEXT, sk TEXT, PRIMARY KEY (ipk, isk, pk, sk)"
            self._db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) WITHOUT ROWID")

    def get_item(self, *, Key: Wire, **_: object) -> Wire:  # noqa: N803 - as botocore names it
        """Return one item, read consistently."""
        found = self._read(_key(Key))
        size = wire_size(found or {})
        return _report("GetItem", read_units(size), {"Item": found} if found else {}, size)

    def batch_get_item(self, *, RequestItems: Wire) -> Wire:  # noqa: N803
        """Return those of the items that exist, read consistently."""
        ((table, asked),) = RequestItems.items()
        items = [item for key in asked["Keys"] if (item := self._read(_key(key)))]
        units = sum(read_units(wire_size(item)) for item in items) + len(asked["Keys"]) - len(items)
        return _report("BatchGetItem", units, {"Responses": {table: items}}, sum(map(wire_size, items)))

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
        sql, given = _search(IndexName, KeyConditionExpression, ExpressionAttributeValues)
        if ExclusiveStartKey:
            places = ("isk", "k.pk", "k.sk") if IndexName else ("k.sk",)
            names = (sk_name, "pk", "sk") if IndexName else ("sk",)
            sql += f" AND ({', '.join(places)}) {'>' if ScanIndexForward else '<'} ({', '.join('?' * len(places))})"
            given += [ExclusiveStartKey[name]["S"] for name in names]
        direction = "ASC" if ScanIndexForward else "DESC"
        sql += f" ORDER BY {f'isk {direction}, k.pk {direction}, ' if IndexName else ''}k.sk {direction}"
        items: list[Wire] = []
        read, last = 0, None
        for data, size in self._db.execute(sql, given):
            if items and read + size > _PAGE_BYTES:
                last = items[-1]
                break
            items.append(pickle.loads(data))  # noqa: S301 - what this wrote itself  # nosec B301
            read += size
            if len(items) == Limit:
                last = items[-1]
                break
        answer: Wire = {"Count": len(items)} | ({} if Select == "COUNT" else {"Items": items})
        if last:
            answer["LastEvaluatedKey"] = {name: last[name] for name in ("pk", "sk", pk_name, sk_name)}
        return _report("Query", read_units(read) / (1 if ConsistentRead else 2), answer, 0 if Select else read)

    def transact_write_items(self, *, TransactItems: list[Wire]) -> Wire:  # noqa: N803
        """Do all the actions, or none."""
        actions = [(kind, details) for action in TransactItems for kind, details in action.items()]
        keys = [_key(details.get("Key") or details["Item"]) for _, details in actions]
        if len(set(keys)) < len(keys):
            raise ValueError("a transaction can't hold two actions on one item")
        with self._transaction():
            before = [self._read(key) for key in keys]
            reasons = [_reason(item, details) for item, (_, details) in zip(before, actions, strict=True)]
            if any(reason["Code"] != "None" for reason in reasons):
                error = {"Code": "TransactionCanceledException", "Message": "a condition failed"}
                raise ClientError(
                    {"Error": error, "CancellationReasons": reasons, "ResponseMetadata": {"HTTPStatusCode": 400}},
                    "TransactWriteItems",
                )
            for key, item, (kind, details) in zip(keys, before, actions, strict=True):
                if kind != "ConditionCheck":
                    self._replace(key, item, _after(kind, details, item))
        return _report("TransactWriteItems", 0, {}, 0)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _read(self, key: Key) -> Wire | None:
        row = self._db.execute("SELECT data FROM items WHERE pk = ? AND sk = ?", key).fetchone()
        found: Wire | None = pickle.loads(row[0]) if row else None  # noqa: S301 - what this wrote itself  # nosec B301
        return found

    def _replace(self, key: Key, old: Wire | None, new: Wire | None) -> None:
        for name, names in INDEX_KEYS.items():
            was, now = _index_key(old, names), _index_key(new, names)
            if was and was != now:
                self._db.execute(f"DELETE FROM {name} WHERE ipk = ? AND isk = ? AND pk = ? AND sk = ?", (*was, *key))  # noqa: S608 - a name of ours
            if now and was != now:
                self._db.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", (*now, *key))  # noqa: S608 - a name of ours
        if new is None:
            self._db.execute("DELETE FROM items WHERE pk = ? AND sk = ?", key)
        else:
            self._db.execute(
                "INSERT INTO items VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET data = excluded.data, size = excluded.size",
                (*key, pickle.dumps(new), wire_size(new)),
            )


def _report(name: str, units: float, answer: Wire, returned: int) -> Wire:
    for watcher in watching:
        watcher(name, units, returned)
    return answer


def _search(index: str | None, condition: str, values: Wire) -> tuple[str, list[str]]:
    found = _QUERIED.fullmatch(condition)
    if not found:
        raise ValueError(f"no such query is known: {condition}")
    given = [values[":pk"]["S"]]
    if index:
        sql = f"SELECT data, size FROM {index} k JOIN items i ON i.pk = k.pk AND i.sk = k.sk WHERE ipk = ?"  # noqa: S608
    else:
        sql = "SELECT data, size FROM items k WHERE k.pk = ?"
    sk = "isk" if index else "k.sk"
    begins, between, above = found.groups()
    if begins:
        prefix = values[":sk"]["S"]
        return f"{sql} AND {sk} >= ? AND {sk} < ?", [*given, prefix, f"{prefix}\U0010ffff"]
    if between:
        return f"{sql} AND {sk} BETWEEN ? AND ?", [*given, values[":since"]["S"], values[":until"]["S"]]
    return (f"{sql} AND {sk} > ?", [*given, values[":sk"]["S"]]) if above else (sql, given)


def _reason(item: Wire | None, details: Wire) -> Wire:
    condition = details.get("ConditionExpression", "")
    values = details.get("ExpressionAttributeValues", {})
    holds = partial(_holds, item or {}, values)
    if not condition or any(all(map(holds, term.split(" AND "))) for term in condition.split(" OR ")):
        return {"Code": "None"}
    return {"Code": "ConditionalCheckFailed"} | ({"Item": item} if item else {})


def _holds(item: Wire, values: Wire, term: str) -> bool:
    if found := _EXISTS.fullmatch(term):
        return (found[2] in item) != bool(found[1])
    if found := _COMPARISON.fullmatch(term):
        name, sign, value = found.groups()
        return name in item and _COMPARED[sign](_plain(item[name]), _plain(values[f":{value}"]))
    raise ValueError(f"no such condition is known: {term}")


def _plain(value: Wire) -> Any:
    ((kind, content),) = value.items()
    return float(content) if kind == "N" else content


def _after(kind: str, details: Wire, item: Wire | None) -> Wire | None:
    if kind != "Update":
        return details["Item"] if kind == "Put" else None
    changed, values = {**details["Key"], **(item or {})}, details.get("ExpressionAttributeValues", {})
    sets, _, removes = details["UpdateExpression"].removeprefix("SET ").partition("REMOVE ")
    for part in filter(None, re.split(r", (?=#)", sets.strip())):
        if found := _SET.fullmatch(part):
            changed[found[1]] = values[f":{found[2]}"]
        elif found := _DEFAULT.fullmatch(part):
            changed.setdefault(found[1], values[f":{found[2]}"])
        elif found := _ADD.fullmatch(part):
            start = changed.get(found[1], values[f":{found[2]}"])
            changed[found[1]] = {"N": str(int(start["N"]) + int(values[f":{found[3]}"]["N"]))}
        else:
            raise ValueError(f"no such update is known: {part}")
    gone = {name.removeprefix("#") for name in removes.split(", ")}
    return {name: value for name, value in changed.items() if name not in gone}


def _key(item: Wire) -> Key:
    return item["pk"]["S"], item["sk"]["S"]


def _index_key(item: Wire | None, names: Key) -> Key | None:
    pk, sk = names
    return (item[pk]["S"], item[sk]["S"]) if item and pk in item and sk in item else None
