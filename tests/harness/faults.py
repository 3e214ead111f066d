"""Fault injection for AWS calls: `with inject_fault(Fault.THROTTLED, first_call=2) as injected:` fails the second call.

Increase `first_call` from 1 until no call fails, and every call of a request has failed once.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock, get_ident
from traceback import walk_stack
from typing import Any, Final
from unittest.mock import patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from moto.core.models import botocore_stubber

from tests.harness.aws_calls import Call, Interference, interfere_with_calls

_ENDPOINT_URL: Final = "https://dynamodb.us-east-1.amazonaws.com/"
_RETRY_PAUSE_SECONDS: Final = 0.001
_sleep: Final = time.sleep
_counter_lock: Final = Lock()


CallStack = tuple[tuple[str, int], ...]
"""The functions of the service and their lines that led to a call, from the inside out."""


class ProcessDied(BaseException):
    """Simulates the end of the process. No code of the service catches it."""


class Fault(StrEnum):
    """The ways in which a call can fail."""

    THROTTLED = "refused: too many requests"
    CANCELLED_BY_THROTTLE = "a transaction cancelled because one of its items is throttled"
    CONFLICT = "a transaction cancelled, or a write of one item refused, because another transaction holds the item"
    INTERNAL_ERROR = "refused: an internal error of AWS"
    TIMED_OUT = "no answer, and not done"
    RESPONSE_LOST = "done, and no answer"
    RETRIED = "done, the answer lost, and done again by the client's own retry"
    DIED_BEFORE = "the process ends before the call"
    DIED_AFTER = "the process ends when the call was done"


_TRANSACTION: Final = "dynamodb:TransactWriteItems"
_APPLICABLE_CALLS: Final = {
    Fault.CANCELLED_BY_THROTTLE: (_TRANSACTION,),
    Fault.CONFLICT: (_TRANSACTION, "dynamodb:UpdateItem"),
}
"""Faults that apply only to some calls."""
_READS: Final = ("Get", "BatchGet", "Query", "List", "Head")


@dataclass
class InjectedFault(Interference):
    """A fault and the calls that it affects: `times` calls (None: all) from `first_call` on."""

    fault: Fault
    first_call: int
    times: int | None
    call_name: str | None
    include_reads: bool
    failed_call: str | None = None
    """The first call that failed."""
    _seen: int = 0
    _active_threads: set[int] = field(default_factory=set)
    """The threads whose current call is affected. Calls can run in parallel."""

    def before_call(self, call: Call) -> tuple[AWSResponse, dict[str, Any]] | None:
        self._active_threads.discard(get_ident())
        if not self._is_affected(call):
            return None
        self._active_threads.add(get_ident())
        self.failed_call = self.failed_call or call.name
        match self.fault:
            case Fault.DIED_BEFORE:
                raise ProcessDied(call.name)
            case Fault.TIMED_OUT:
                raise ConnectTimeoutError(endpoint_url=_ENDPOINT_URL)
            case Fault.THROTTLED:
                return _error_response(400, "ThrottlingException")
            case Fault.INTERNAL_ERROR:
                return _error_response(500, "InternalServerError")
            case Fault.CANCELLED_BY_THROTTLE:
                return _cancellation(call, "ThrottlingError")
            case Fault.CONFLICT:
                return _conflict(call)
        return None

    def before_send(self, event_name: str, request: AWSPreparedRequest) -> None:
        if get_ident() in self._active_threads and self.fault is Fault.RETRIED:
            self._active_threads.remove(get_ident())
            botocore_stubber(event_name, request)
            raise ReadTimeoutError(endpoint_url=_ENDPOINT_URL)

    def after_call(self, call: Call) -> None:
        if get_ident() not in self._active_threads:
            return
        self._active_threads.remove(get_ident())
        if self.fault is Fault.DIED_AFTER:
            raise ProcessDied(call.name)
        if self.fault is Fault.RESPONSE_LOST:
            raise ReadTimeoutError(endpoint_url=_ENDPOINT_URL)

    def _is_affected(self, call: Call) -> bool:
        if self.call_name not in (None, call.name):
            return False
        if not _is_counted(call, self.fault, include_reads=self.include_reads):
            return False
        with _counter_lock:  # Calls can run in parallel.
            self._seen += 1
            seen = self._seen
        return seen >= self.first_call and (self.times is None or seen < self.first_call + self.times)


@dataclass
class CallSites(Interference):
    """The calls of a block, each with the lines of the service that led to it."""

    calls: list[tuple[Call, CallStack]] = field(default_factory=list)

    def before_call(self, call: Call) -> None:
        with _counter_lock:
            self.calls.append((call, _current_stack()))

    def numbers_of_distinct_calls(self, fault: Fault, *, include_reads: bool) -> list[int]:
        """Return the numbers of the calls at which a fault can have different effects, as `inject_fault` counts them.

        A repeated read is left out if it comes from the same lines and nothing was written between the reads: the
        table and the queues are the same at both.
        """
        numbers, known, number, write_count = [], set(), 0, 0
        for call, stack in self.calls:
            write_count += not _is_read(call)
            if _is_counted(call, fault, include_reads=include_reads):
                number += 1
                if (write_count, stack) not in known:
                    numbers.append(number)
                known.add((write_count, stack))
        return numbers


@contextmanager
def record_call_sites() -> Iterator[CallSites]:
    """Record the calls that the block makes in this context."""
    call_sites = CallSites()
    with interfere_with_calls(call_sites):
        yield call_sites


@contextmanager
def inject_fault(
    fault: Fault,
    *,
    first_call: int = 1,
    times: int | None = 1,
    call_name: str | None = None,
    include_reads: bool = True,
) -> Iterator[InjectedFault]:
    """Inject a fault into calls that the block makes in this context. Pauses before retries are short meanwhile.

    `call_name`, such as `dynamodb:Query`, restricts the calls that are counted, and so does `include_reads=False`. A
    fault that applies only to some calls counts only those.
    """
    injected = InjectedFault(fault, first_call, times, call_name, include_reads)
    with patch.object(time, "sleep", lambda _: _sleep(_RETRY_PAUSE_SECONDS)), interfere_with_calls(injected):
        yield injected


@dataclass
class InterposedAction(Interference):
    """An action that runs before a call, given by its number, and the name of that call."""

    action: Callable[[], object]
    call_number: int
    interrupted_call: str | None = None
    _seen: int = 0

    def before_call(self, call: Call) -> None:
        with _counter_lock:
            self._seen += 1
            seen = self._seen
        if seen == self.call_number:
            self.interrupted_call = call.name
            self.action()


@contextmanager
def run_before_call(action: Callable[[], object], *, call_number: int) -> Iterator[InterposedAction]:
    """Run an action before the call of the block with a number, counted from 1 in this context."""
    overtaking = InterposedAction(action, call_number)
    with interfere_with_calls(overtaking):
        yield overtaking


def _is_counted(call: Call, fault: Fault, *, include_reads: bool) -> bool:
    """Return whether a fault applies to a call."""
    return call.name in _APPLICABLE_CALLS.get(fault, (call.name,)) and (include_reads or not _is_read(call))


def _is_read(call: Call) -> bool:
    return call.name.partition(":")[2].startswith(_READS)


def _current_stack() -> CallStack:
    """Return the lines of the service on the stack."""
    return tuple(
        (frame.f_code.co_qualname, line)
        for frame, line in walk_stack(None)
        if frame.f_globals.get("__name__", "").startswith("chalicelib.")
    )


def _error_response(status: int, code: str, **more: Any) -> tuple[AWSResponse, dict[str, Any]]:
    parsed = {"Error": {"Code": code, "Message": "arranged"}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}
    return AWSResponse(_ENDPOINT_URL, status, {}, None), parsed


def _conflict(call: Call) -> tuple[AWSResponse, dict[str, Any]]:
    if call.name == _TRANSACTION:
        return _cancellation(call, "TransactionConflict")
    return _error_response(400, "TransactionConflictException")


def _cancellation(call: Call, code: str) -> tuple[AWSResponse, dict[str, Any]]:
    other_items = len(call.parameters["TransactItems"]) - 1
    reasons = [{"Code": code, "Message": "arranged"}, *[{"Code": "None"}] * other_items]
    return _error_response(400, "TransactionCanceledException", CancellationReasons=reasons)
