"""Makes moto's `transact_write_items` behave as DynamoDB's does.

moto copies the whole table at every transaction and puts the copy back when one fails: with a few hundred items that
takes longer than the test, and with threads it loses other threads' writes, so that several conditional writers win.
Here only the items that a transaction names are kept and put back, and one lock orders all calls, so that no reader
sees half a transaction. `ReturnValuesOnConditionCheckFailure` is honoured by moto itself.

An update is written to a copy of its item: an item that somebody keeps, a snapshot say, never changes.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final
from unittest.mock import patch

from moto.dynamodb import models
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

_TRANSACT: Final = DynamoDBBackend.transact_write_items
_UPDATE: Final = DynamoDBBackend.update_item
_CALL: Final = DynamoHandler.call_action
_lock: Final = RLock()

Kept = list[tuple[Table, DynamoType, DynamoType, Item | None]]


@contextmanager
def atomic_transactions() -> Iterator[None]:
    """Let transactions be all or nothing, and calls one after the other, within the block."""
    with (
        patch.object(DynamoDBBackend, "transact_write_items", _transact_write_items),
        patch.object(DynamoDBBackend, "update_item", _update_item),
        patch.object(DynamoHandler, "call_action", _call_action),
        patch.object(models, "copy", _Shared),
    ):
        yield


class _Shared:
    """Stands for the module `copy` in moto, which copies tables and items there in case it has to put them back."""

    @staticmethod
    def deepcopy(value: Any) -> Any:
        return value


def _call_action(handler: DynamoHandler) -> Any:
    with _lock:
        return _CALL(handler)


def _transact_write_items(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    with _lock:
        kept = _keep(backend, transact_items)
        try:
            _TRANSACT(backend, transact_items)
        except BaseException:
            _put_back(kept)
            raise


def _keep(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> Kept:
    kept: Kept = []
    for action in transact_items:
        ((_, details),) = action.items()
        table = backend.get_table(details["TableName"])
        key = details.get("Key") or details["Item"]
        kept.append((table, *_found(table, key)))
    return kept


def _update_item(backend: DynamoDBBackend, table_name: str, key: dict[str, Any], *args: Any, **words: Any) -> Item:
    table = backend.get_table(table_name)
    pk, sk, item = _found(table, key)
    if item is not None:
        partition: Any = table.items[pk]
        partition[sk] = written = copy.deepcopy(item)
        vars(written).pop("plain", None)
    return _UPDATE(backend, table_name, key, *args, **words)


def _found(table: Table, key: dict[str, Any]) -> tuple[DynamoType, DynamoType, Item | None]:
    pk, sk = DynamoType(key[table.hash_key_attr]), DynamoType(key[str(table.range_key_attr)])
    item: Any = table.items[pk].get(sk) if pk in table.items else None
    return pk, sk, item


def _put_back(kept: Kept) -> None:
    for table, pk, sk, item in kept:
        partition: Any = table.items[pk]
        if item is None:
            partition.pop(sk, None)
        else:
            partition[sk] = item
