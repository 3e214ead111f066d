"""Simulates the conflicts of concurrent DynamoDB transactions.

moto executes a transaction instantly, so that two never conflict. Here a successful transaction holds all its items,
including those of condition checks, for 20 ms before it returns. A transaction with a failed condition returns at once.
Meanwhile other writes of the held items are rejected: a transaction is cancelled with `TransactionConflict`, a write of
a single item fails with `TransactionConflictException`. Reads are not affected.

Use the fixture `conflicts`, send requests from threads, and check `conflicts.rejected_keys`, the keys of writes that
were rejected. `pytest --conflicts tests/http/test_x.py` runs existing tests this way.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock
from typing import Any, Final
from unittest.mock import patch

from moto.dynamodb.responses import DynamoHandler

HOLD_SECONDS: Final = 0.02

_ERRORS: Final = "com.amazonaws.dynamodb.v20120810#"
_SINGLE_WRITES: Final = ("PutItem", "UpdateItem", "DeleteItem")
_sleep: Final = time.sleep  # Tests replace time.sleep to shorten the service's pauses, but not these.

ItemKey = tuple[str, str]
Response = tuple[int, dict[str, Any], str]


@dataclass
class Conflicts:
    """The items that transactions hold, and the number of rejected writes by item."""

    rejections: Counter[ItemKey] = field(default_factory=Counter)
    _held: set[ItemKey] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def rejected_keys(self) -> set[ItemKey]:
        return set(self.rejections)

    def is_held(self, key: ItemKey) -> bool:
        return key in self._held

    def try_hold(self, keys: list[ItemKey], *, hold: bool) -> set[ItemKey]:
        """Return the keys that are held. If none is and `hold` is set, hold them all."""
        with self._lock:
            if held_keys := self._held & {*keys}:
                self.rejections.update(held_keys)
            elif hold:
                self._held.update(keys)
            return held_keys

    def release(self, keys: list[ItemKey]) -> None:
        with self._lock:
            self._held.difference_update(keys)


@contextmanager
def conflicting_transactions(seconds: float = HOLD_SECONDS) -> Iterator[Conflicts]:
    """Make transactions hold their items for some seconds within the block. Requires `atomic_transactions`."""
    conflicts, call_original = Conflicts(), DynamoHandler.call_action

    def call_action(handler: Any) -> Response:
        action, parameters = handler._get_action(), handler.params  # noqa: SLF001 - moto has no public accessor
        if action == "TransactWriteItems":
            return _call_transaction([_key_of(each) for each in parameters["TransactItems"]], handler)
        if action in _SINGLE_WRITES and conflicts.try_hold([_key_of({action: parameters})], hold=False):
            return _error_response("TransactionConflictException")
        response: Response = call_original(handler)
        return response

    def _call_transaction(keys: list[ItemKey], handler: Any) -> Response:
        if held_keys := conflicts.try_hold(keys, hold=True):
            reasons = [{"Code": "TransactionConflict" if key in held_keys else "None"} for key in keys]
            return _error_response("TransactionCanceledException", CancellationReasons=reasons)
        try:
            response: Response = call_original(handler)
            if response[0] == HTTPStatus.OK:
                _sleep(seconds)
        finally:
            conflicts.release(keys)
        return response

    with patch.object(DynamoHandler, "call_action", call_action):
        yield conflicts


def _key_of(action: Mapping[str, Any]) -> ItemKey:
    ((_, details),) = action.items()
    key = details.get("Key") or details["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def _error_response(code: str, **extra: Any) -> Response:
    error = {"__type": f"{_ERRORS}{code}", "Message": "Another transaction holds the item.", **extra}
    return 400, {}, json.dumps(error)
