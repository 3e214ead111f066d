"""What the service asks of AWS: every call of its own clients is seen here, in the order it is made.

Hooks of botocore (`before-call`, `after-call`, `before-send`) on the kernel's session. A call counts once, however
often the client retries it. A Scan fails the test: the service has none.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import groupby
from threading import current_thread
from typing import Any, Final, Protocol

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from chalicelib.kernel.core import aws
from chalicelib.kernel.storage.table import MAX_PARALLEL_READS
from tests.harness import key_size_limits

_READS: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")


@dataclass(frozen=True)
class Call:
    """One call: `dynamodb:Query`, and what it was given. `beside`: whether it was made beside others."""

    name: str
    parameters: Mapping[str, Any]
    beside: bool = False


@dataclass
class Calls:
    """The calls of one request or message; each waited for the one before it, unless they were made side by side.

    Those come in an order that is the same every time.
    """

    made: list[Call] = field(default_factory=list)
    bytes_read: int = 0
    """How much the answers to its reads of the table hold, as they come over the wire."""

    @property
    def names(self) -> list[str]:
        """Their names, in order."""
        return [call.name for call in self.made]

    @property
    def reads(self) -> list[str]:
        """The names of those that read the table, in order."""
        return [name for name in self.names if name in _READS]

    def of(self, service: str) -> list[str]:
        """Return the names of the calls to one service."""
        return [name for name in self.names if name.startswith(f"{service}:")]


class Interference(Protocol):
    """What may happen to a call instead of its success (`faults.py`)."""

    def before(self, call: Call) -> tuple[AWSResponse, dict[str, Any]] | None:
        """Raise, or answer in place of AWS, or return None to let it pass."""

    def sent(self, event_name: str, request: AWSPreparedRequest) -> None:
        """Raise when one attempt of the call is on its way, or return."""

    def after(self, call: Call) -> None:
        """Raise although the call was done, or return."""


# A thread begins with none of them, but those that the service begins for a request have its context.
_calls: Final[ContextVar[Calls | None]] = ContextVar("calls", default=None)
_scanning: Final[ContextVar[bool]] = ContextVar("scanning", default=False)
_call: Final[ContextVar[Call | None]] = ContextVar("call", default=None)
_interference: Final[ContextVar[Interference | None]] = ContextVar("interference", default=None)
_watched: list[Any] = []


def watch() -> None:
    """Watch the clients of this process, also those made since the kernel forgot the last ones."""
    session = aws.session()
    if session in _watched:
        return
    aws.reset_clients()
    session = aws.session()
    session.events.register("before-call", _before)
    session.events.register("after-call", _after)
    session.events.register_first("before-send", _sent)
    _watched[:] = [session]


@contextmanager
def scanning() -> Iterator[None]:
    """Let an operator's command scan the table within the block, in this context; nothing else does."""
    token = _scanning.set(True)
    try:
        yield
    finally:
        _scanning.reset(token)


@contextmanager
def recorded() -> Iterator[Calls]:
    """Record the calls made within the block, in this context."""
    calls = Calls()
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)
        calls.made[:] = [call for _, run in groupby(calls.made, lambda call: call.beside) for call in _in_order(run)]
        assert not [name for name in calls.names if name.endswith(":Scan")], "nothing may scan the table"


def _in_order(run: Iterable[Call]) -> list[Call]:
    calls = [*run]
    return sorted(calls, key=lambda call: json.dumps([call.name, call.parameters])) if calls[0].beside else calls


@contextmanager
def interfering(interference: Interference) -> Iterator[None]:
    """Let `interference` have its way with the calls made within the block, in this context."""
    token = _interference.set(interference)
    try:
        yield
    finally:
        _interference.reset(token)


def _before(model: Any, params: Mapping[str, Any], **_: object) -> Any:
    forbidden = ("ExecuteStatement",) if _scanning.get() else ("Scan", "ExecuteStatement")
    assert model.name not in forbidden, "nothing may scan the table"
    service = model.service_model.service_name
    body = params["body"]
    given = json.loads(body) if service in ("dynamodb", "sqs", "sesv2", "kms") and body else {}
    if service == "s3":
        asked = params["context"]["s3_redirect"]["params"]  # what is put would be kept alive for as long as the call is
        given = {name: value for name, value in asked.items() if name != "Body"}
    call = Call(f"{service}:{model.name}", given, current_thread().name.startswith(MAX_PARALLEL_READS))
    _call.set(call)
    if (calls := _calls.get()) is not None:
        calls.made.append(call)
    interference = _interference.get()
    return (interference.before(call) if interference else None) or key_size_limits.refusal_of(call)


def _after(http_response: AWSResponse, **_: object) -> None:
    answered = http_response.raw is not None  # A stub of botocore's has none.
    if answered and (calls := _calls.get()) is not None and (made := _call.get()) and made.name in _READS:
        calls.bytes_read += len(http_response.content)
    if (interference := _interference.get()) and (call := _call.get()):
        interference.after(call)


def _sent(event_name: str, request: AWSPreparedRequest, **_: object) -> None:
    if interference := _interference.get():
        interference.sent(event_name, request)
