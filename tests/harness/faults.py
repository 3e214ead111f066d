"""Faults of AWS, put into chosen calls: `with failing(Fault.THROTTLED, at=2) as injected:` spoils the second call.

Count `at` up from 1 until nothing is hit, and every call of a request has been spoiled once.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import Any, Final
from unittest.mock import patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from moto.core.models import botocore_stubber

from tests.harness.calls import Call, interfering

_NOWHERE: Final = "https://dynamodb.us-east-1.amazonaws.com/"
_MILLISECOND: Final = 0.001
_sleep: Final = time.sleep
_counting: Final = Lock()


class Died(BaseException):
    """The process ended here. Nothing in the service catches this, as nothing survives the end of its process."""


class Fault(StrEnum):
    """What goes wrong with a call."""

    THROTTLED = "refused: too many requests"
    CANCELLED_BY_THROTTLE = "a transaction cancelled because one of its items is throttled"
    CONFLICT = "a transaction cancelled, or a write of one item refused, because another transaction holds the item"
    BROKEN = "refused: an internal error of AWS"
    TIMED_OUT = "no answer, and not done"
    UNANSWERED = "done, and no answer"
    RETRIED = "done, the answer lost, and done again by the client's own retry"
    DIED_BEFORE = "the process ends before the call"
    DIED_AFTER = "the process ends when the call was done"


_TRANSACTION: Final = "dynamodb:TransactWriteItems"
_ONLY_OF: Final = {
    Fault.CANCELLED_BY_THROTTLE: (_TRANSACTION,),
    Fault.CONFLICT: (_TRANSACTION, "dynamodb:UpdateItem"),
}
"""Faults that some calls only have."""
_READS: Final = ("Get", "BatchGet", "Query", "List", "Head")


@dataclass
class Injected:
    """A fault and the calls it is for: the `at`th and those after it, `times` in all (None: every one)."""

    fault: Fault
    at: int
    times: int | None
    name: str | None
    reads: bool
    hit: str | None = None
    """The first call that was spoiled."""
    _seen: int = 0
    _active: bool = False

    def before(self, call: Call) -> tuple[AWSResponse, dict[str, Any]] | None:
        self._active = meant = self._is_meant(call)
        if not meant:
            return None
        self.hit = self.hit or call.name
        match self.fault:
            case Fault.DIED_BEFORE:
                raise Died(call.name)
            case Fault.TIMED_OUT:
                raise ConnectTimeoutError(endpoint_url=_NOWHERE)
            case Fault.THROTTLED:
                return _refusal(400, "ThrottlingException")
            case Fault.BROKEN:
                return _refusal(500, "InternalServerError")
            case Fault.CANCELLED_BY_THROTTLE:
                return _cancellation(call, "ThrottlingError")
            case Fault.CONFLICT:
                return _conflict(call)
        return None

    def sent(self, event_name: str, request: AWSPreparedRequest) -> None:
        if self._active and self.fault is Fault.RETRIED:
            self._active = False
            botocore_stubber(event_name, request)
            raise ReadTimeoutError(endpoint_url=_NOWHERE)

    def after(self, call: Call) -> None:
        if not self._active:
            return
        self._active = False
        if self.fault is Fault.DIED_AFTER:
            raise Died(call.name)
        if self.fault is Fault.UNANSWERED:
            raise ReadTimeoutError(endpoint_url=_NOWHERE)

    def _is_meant(self, call: Call) -> bool:
        if not self._counts(call):
            return False
        with _counting:  # Calls may be made side by side.
            self._seen += 1
            seen = self._seen
        return seen >= self.at and (self.times is None or seen < self.at + self.times)

    def _counts(self, call: Call) -> bool:
        if call.name not in _ONLY_OF.get(self.fault, (call.name,)):
            return False
        if self.name and call.name != self.name:
            return False
        return self.reads or not call.name.partition(":")[2].startswith(_READS)


@contextmanager
def failing(
    fault: Fault, *, at: int = 1, times: int | None = 1, name: str | None = None, reads: bool = True
) -> Iterator[Injected]:
    """Spoil calls of the block, made in this context; pauses between tries are short meanwhile.

    `name` counts only calls such as `dynamodb:Query`, `reads=False` only those that do something; faults that only some
    calls have count only those.
    """
    injected = Injected(fault, at, times, name, reads)
    with patch.object(time, "sleep", lambda _: _sleep(_MILLISECOND)), interfering(injected):
        yield injected


@dataclass
class Overtaking:
    """Something that happens before the `at`th call is made, and what call that was."""

    what: Callable[[], object]
    at: int
    hit: str | None = None
    _seen: int = 0

    def before(self, call: Call) -> None:
        with _counting:
            self._seen += 1
            seen = self._seen
        if seen == self.at:
            self.hit = call.name
            self.what()

    def sent(self, event_name: str, request: AWSPreparedRequest) -> None:
        """Let it pass."""

    def after(self, call: Call) -> None:
        """Let it be done."""


@contextmanager
def overtaken(what: Callable[[], object], *, at: int) -> Iterator[Overtaking]:
    """Let something come between the calls of the block, before the `at`th that is made in this context."""
    overtaking = Overtaking(what, at)
    with interfering(overtaking):
        yield overtaking


def _refusal(status: int, code: str, **more: Any) -> tuple[AWSResponse, dict[str, Any]]:
    parsed = {"Error": {"Code": code, "Message": "arranged"}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}
    return AWSResponse(_NOWHERE, status, {}, None), parsed


def _conflict(call: Call) -> tuple[AWSResponse, dict[str, Any]]:
    if call.name == _TRANSACTION:
        return _cancellation(call, "TransactionConflict")
    return _refusal(400, "TransactionConflictException")


def _cancellation(call: Call, code: str) -> tuple[AWSResponse, dict[str, Any]]:
    spared = len(call.parameters["TransactItems"]) - 1
    reasons = [{"Code": code, "Message": "arranged"}, *[{"Code": "None"}] * spared]
    return _refusal(400, "TransactionCanceledException", CancellationReasons=reasons)
