"""Records the AWS calls of the service in order, and lets tests interfere with them.

Uses botocore's hooks (`before-call`, `after-call`, `before-send`) on the kernel's session. A call with retries counts
once. A Scan or an inconsistent read of the table fails the test.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import groupby
from threading import current_thread
from typing import Any, Final, TypeVar

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from chalicelib.kernel.core import aws
from chalicelib.kernel.storage.table import PARALLEL_READ_THREAD_PREFIX
from tests.harness import key_size_limits

Response = tuple[AWSResponse, dict[str, Any]]
T = TypeVar("T")

_READS: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")


@dataclass(frozen=True)
class Call:
    """A call: its name, such as `dynamodb:Query`, its parameters, and whether others ran in parallel with it."""

    name: str
    parameters: Mapping[str, Any]
    is_concurrent: bool = False


@dataclass
class RecordedCalls:
    """The calls of one request or message, in the order in which they were made.

    Parallel calls are sorted, so that their order does not depend on chance.
    """

    call_list: list[Call] = field(default_factory=list)
    read_results: list[Mapping[str, Any]] = field(default_factory=list, repr=False)

    @property
    def bytes_read(self) -> int:
        """The total size of the results of reads of the table, as JSON, in bytes."""
        return sum(len(json.dumps(to_json(result))) for result in self.read_results)

    @property
    def call_names(self) -> list[str]:
        return [call.name for call in self.call_list]

    @property
    def read_names(self) -> list[str]:
        """The names of the calls that read the table, in order."""
        return [name for name in self.call_names if name in _READS]

    def names_of_service(self, service: str) -> list[str]:
        return [name for name in self.call_names if name.startswith(f"{service}:")]


class Interference:
    """What can happen to a call other than its success (`faults.py`). Subclasses override one or more methods."""

    def before_call(self, call: Call) -> Response | None:
        """Raise, return a response in place of that of AWS, or return None to let the call pass."""
        return None

    def before_send(self, event_name: str, request: AWSPreparedRequest) -> None:
        """Raise before an attempt of the call is sent, or return."""
        return

    def after_call(self, call: Call) -> None:
        """Raise although the call succeeded, or return."""
        return


# New threads start without these values, except those that the service starts for a request: they get its context.
_calls: Final[ContextVar[RecordedCalls | None]] = ContextVar("calls", default=None)
_scanning: Final[ContextVar[bool]] = ContextVar("scanning", default=False)
_call: Final[ContextVar[Call | None]] = ContextVar("call", default=None)
_sending_requests: Final[ContextVar[bool]] = ContextVar("sending_requests", default=False)
_interference: Final[ContextVar[Interference | None]] = ContextVar("interference", default=None)
_watched_sessions: list[Any] = []


def watch_clients() -> None:
    """Register the hooks with the current AWS session, unless they are registered already."""
    session = aws.session()
    if session in _watched_sessions:
        return
    aws.reset_clients()
    session = aws.session()
    session.events.register("creating-client-class.dynamodb", _mark_as_watched)
    session.events.register("before-call", _before_call)
    session.events.register("after-call", _after_call)
    session.events.register_first("before-send", _before_send)
    _watched_sessions[:] = [session]


@contextmanager
def _set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def allow_scans() -> AbstractContextManager[None]:
    """Allow the block to scan the table, which only commands of operators do."""
    return _set_within(_scanning, True)  # noqa: FBT003


def call_with_http_requests() -> AbstractContextManager[None]:
    """Let the calls of the block send HTTP requests, which a meter observes."""
    return _set_within(_sending_requests, True)  # noqa: FBT003


@contextmanager
def record_calls() -> Iterator[RecordedCalls]:
    """Record the calls that the block makes in this context."""
    calls = RecordedCalls()
    try:
        with _set_within(_calls, calls):
            yield calls
    finally:
        calls.call_list[:] = [
            call
            for _, run in groupby(calls.call_list, lambda call: call.is_concurrent)
            for call in _sorted_if_parallel(run)
        ]
        assert not [name for name in calls.call_names if name.endswith(":Scan")], "no code may scan the table"


def _sorted_if_parallel(run: Iterable[Call]) -> list[Call]:
    calls = [*run]
    return sorted(calls, key=lambda call: json.dumps([call.name, call.parameters])) if calls[0].is_concurrent else calls


def interfere_with_calls(interference: Interference) -> AbstractContextManager[None]:
    """Apply an interference to the calls that the block makes in this context."""
    return _set_within(_interference, interference)


def can_call_directly(client: Any) -> bool:
    """Return whether a call may skip the HTTP request: nothing but `record_call_or_reject` observes its client."""
    return _interference.get() is None and not _sending_requests.get() and getattr(client, "is_watched", False)


def record_call_or_reject(name: str, parameters: Mapping[str, Any]) -> Response | None:
    """Record a call. Return the response that it gets instead of DynamoDB's, or None if it is to be executed."""
    forbidden = ("ExecuteStatement",) if _scanning.get() else ("Scan", "ExecuteStatement")
    assert name.partition(":")[2] not in forbidden, "no code may scan the table"
    assert _is_consistent_or_reads_index(name, parameters), "the table is read consistently"
    call = Call(name, parameters, current_thread().name.startswith(PARALLEL_READ_THREAD_PREFIX))
    _call.set(call)
    if (calls := _calls.get()) is not None:
        calls.call_list.append(call)
    interference = _interference.get()
    return (interference.before_call(call) if interference else None) or key_size_limits.key_size_error(call)


def _is_consistent_or_reads_index(name: str, parameters: Mapping[str, Any]) -> bool:
    if name == "dynamodb:BatchGetItem":
        return all(keys.get("ConsistentRead") for keys in parameters["RequestItems"].values())
    reads_table = name in ("dynamodb:GetItem", "dynamodb:Query") and "IndexName" not in parameters
    return not reads_table or bool(parameters.get("ConsistentRead"))


def record_result(result: Mapping[str, Any]) -> None:
    """Record the result of the current call."""
    if (calls := _calls.get()) is not None and (call := _call.get()) and call.name in _READS:
        calls.read_results.append(result)


def to_json(value: Any) -> Any:
    """Return a copy of a value with binary values in base64."""
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _mark_as_watched(class_attributes: dict[str, Any], **_: object) -> None:
    class_attributes["is_watched"] = True


def _before_call(model: Any, params: Mapping[str, Any], **_: object) -> Any:
    service = model.service_model.service_name
    body = params["body"]
    parameters = json.loads(body) if service in ("dynamodb", "sqs", "sesv2", "kms") and body else {}
    if service == "sts":
        parameters = {**body}
    if service == "s3":
        s3_parameters = params["context"]["s3_redirect"]["params"]
        # A recorded body would stay in memory as long as the call.
        parameters = {name: value for name, value in s3_parameters.items() if name != "Body"}
    return record_call_or_reject(f"{service}:{model.name}", parameters)


def _after_call(http_response: AWSResponse, parsed: Mapping[str, Any], **_: object) -> None:
    is_real_response = http_response.raw is not None  # The raw response is None if a hook replaced the response.
    if is_real_response:
        record_result({name: value for name, value in parsed.items() if name != "ResponseMetadata"})
    if (interference := _interference.get()) and (call := _call.get()):
        interference.after_call(call)


def _before_send(event_name: str, request: AWSPreparedRequest, **_: object) -> None:
    if interference := _interference.get():
        interference.before_send(event_name, request)
