"""Makes moto's `transact_write_items` atomic and fast.

moto copies the whole table before every transaction and restores the copy when the transaction fails. With a few
hundred items that takes longer than the test itself. With threads it loses the writes of other threads, so that several
conditional writes of an item succeed. Here only the items of the transaction are saved and restored, and a lock
serializes all calls, so that no read sees a part of a transaction.

An update changes a copy of its item, so that snapshots can share items with the table.
"""

import copy
from collections.abc import Callable, Iterator
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
_WRITES: Final = ("put_item", "update_item", "delete_item")
_CALL: Final = DynamoHandler.call_action
_lock: Final = RLock()

_SavedItems = list[tuple[Table, DynamoType, DynamoType, Item | None]]


@contextmanager
def atomic_transactions() -> Iterator[None]:
    """Make transactions atomic and serialize all calls within the block."""
    with (
        patch.object(DynamoDBBackend, "transact_write_items", _transact_write_items),
        patch.object(DynamoDBBackend, "update_item", _update_item),
        patch.object(DynamoHandler, "call_action", _call_action),
        patch.object(models, "copy", _NoCopy),
    ):
        yield


class _NoCopy:
    """Replaces the module `copy` in moto, which would copy tables and items to restore them."""

    @staticmethod
    def deepcopy(value: Any) -> Any:
        return value


def _call_action(handler: DynamoHandler) -> Any:
    with _lock:
        return _CALL(handler)


def _transact_write_items(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    with _lock:
        saved = _save(backend, transact_items)
        try:
            with _unconditional_writes(backend):
                _TRANSACT(backend, transact_items)
        except BaseException:
            _restore(saved)
            raise


@contextmanager
def _unconditional_writes(backend: DynamoDBBackend) -> Iterator[None]:
    """Drop the conditions of single writes, because moto's transaction checks them before it calls the write."""
    vars(backend).update({name: _drop_condition(getattr(backend, name)) for name in _WRITES})
    try:
        yield
    finally:
        for name in _WRITES:
            del vars(backend)[name]


def _drop_condition(write: Callable[..., Any]) -> Callable[..., Any]:
    def write_unconditionally(*args: Any, condition_expression: str | None = None, **options: Any) -> Any:
        return write(*args, **options)

    return write_unconditionally


def _save(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> _SavedItems:
    saved: _SavedItems = []
    for action in transact_items:
        ((_, details),) = action.items()
        table = backend.get_table(details["TableName"])
        key = details.get("Key") or details["Item"]
        saved.append((table, *_find(table, key)))
    return saved


def _update_item(backend: DynamoDBBackend, table_name: str, key: dict[str, Any], *args: Any, **options: Any) -> Item:
    table = backend.get_table(table_name)
    pk, sk, item = _find(table, key)
    if item is not None:
        partition: Any = table.items[pk]
        partition[sk] = updated = copy.deepcopy(item)
        vars(updated).pop("plain", None)
    return _UPDATE(backend, table_name, key, *args, **options)


def _find(table: Table, key: dict[str, Any]) -> tuple[DynamoType, DynamoType, Item | None]:
    pk, sk = DynamoType(key[table.hash_key_attr]), DynamoType(key[str(table.range_key_attr)])
    item: Any = table.items[pk].get(sk) if pk in table.items else None
    return pk, sk, item


def _restore(saved: _SavedItems) -> None:
    for table, pk, sk, item in saved:
        partition: Any = table.items[pk]
        if item is None:
            partition.pop(sk, None)
        else:
            partition[sk] = item
