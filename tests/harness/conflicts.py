"""Transactions that take time, as those of DynamoDB do, and keep others away from their items meanwhile.

A transaction in memory is over at once, so that no two ever meet. Here it holds all its items for 20 ms, those of
condition checks too, before it is answered; one whose conditions fail is over at once. Whatever else includes one of
them then is refused: a transaction is cancelled for `TransactionConflict`, a write of a single item gets a
`TransactionConflictException`. Reads are not kept away.

How to use it: take the fixture `conflicts` in a test, send requests from threads, and look at `conflicts.refused`, the
keys that somebody was refused for. Run any tests that are there already with `pytest --conflicts tests/http/test_x.py`.
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
_sleep: Final = time.sleep  # Tests shorten the pauses of the service; a transaction takes its time all the same.

Key = tuple[str, str]
Response = tuple[int, dict[str, Any], str]


@dataclass
class Conflicts:
    """What transactions hold at the moment, and how often somebody was refused for an item."""

    refusals: Counter[Key] = field(default_factory=Counter)
    _held: set[Key] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def refused(self) -> set[Key]:
        """The keys that transactions and writes were refused for."""
        return set(self.refusals)

    def holds(self, key: Key) -> bool:
        """Return whether a transaction holds the item at a key."""
        return key in self._held

    def take(self, keys: list[Key], *, to_hold: bool) -> set[Key]:
        """Return those of the keys that are held; if none is, hold them all if that is asked for."""
        with self._lock:
            if in_the_way := self._held & {*keys}:
                self.refusals.update(in_the_way)
            elif to_hold:
                self._held.update(keys)
            return in_the_way

    def release(self, keys: list[Key]) -> None:
        """Hold these keys no longer."""
        with self._lock:
            self._held.difference_update(keys)


@contextmanager
def conflicting_transactions(seconds: float = HOLD_SECONDS) -> Iterator[Conflicts]:
    """Let transactions hold their items for some seconds within the block, on top of `atomic_transactions`."""
    conflicts, answer = Conflicts(), DynamoHandler.call_action

    def call_action(handler: Any) -> Response:
        action, parameters = handler._get_action(), handler.params  # noqa: SLF001 - how moto names what is asked
        if action == "TransactWriteItems":
            return _transact([_key_of(each) for each in parameters["TransactItems"]], handler)
        if action in _SINGLE_WRITES and conflicts.take([_key_of({action: parameters})], to_hold=False):
            return _refusal("TransactionConflictException")
        found: Response = answer(handler)
        return found

    def _transact(keys: list[Key], handler: Any) -> Response:
        if in_the_way := conflicts.take(keys, to_hold=True):
            codes = ["TransactionConflict" if key in in_the_way else "None" for key in keys]
            return _refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])
        try:
            found: Response = answer(handler)
            if found[0] == HTTPStatus.OK:
                _sleep(seconds)
        finally:
            conflicts.release(keys)
        return found

    with patch.object(DynamoHandler, "call_action", call_action):
        yield conflicts


def _key_of(action: Mapping[str, Any]) -> Key:
    ((_, details),) = action.items()
    key = details.get("Key") or details["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def _refusal(code: str, **more: Any) -> Response:
    return 400, {}, json.dumps({"__type": f"{_ERRORS}{code}", "Message": "Another transaction is at the item.", **more})
