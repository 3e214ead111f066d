"""Recursive-loop detection, as Lambda does it: an invocation in the seventeenth turn of a loop is dropped.

A turn is an invocation of a function. The AWS SDK forwards the trace header of an invocation, SQS stores it with each
message as the attribute `AWSTraceHeader`, and its part `Lineage` counts the turns of each function. Source: AWS Lambda
Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

from infrastructure.resources import RECURSIVE_FUNCTIONS

MAX_TURNS: Final = 16
"""Invocations of a function in one chain of requests, after which Lambda drops the next one."""

_TRACE_ATTRIBUTE: Final = "AWSTraceHeader"
_LINEAGE: Final = re.compile(r"(?:^|;)Lineage=([^;]*)")
_TURNS: Final = re.compile(r"(\w+):(\d{1,9})")

Turns = Mapping[str, int]

_current_turns: ContextVar[Turns] = ContextVar("current_turns", default=MappingProxyType({}))


def is_dropped(function: str, message: Mapping[str, Any]) -> bool:
    """Return whether Lambda drops a message instead of invoking a function with it."""
    return function not in RECURSIVE_FUNCTIONS and _turns_of(message).get(function, 0) >= MAX_TURNS


@contextmanager
def invocation_scope(function: str, batch: Iterable[Mapping[str, Any]]) -> Iterator[None]:
    """Count an invocation with a batch as the next turn of each chain of its messages.

    The messages that it sends carry the highest counts, because nobody knows which message of the batch causes them.
    """
    turns = dict[str, int]()
    for message in batch:
        for name, count in _turns_of(message).items():
            turns[name] = max(count, turns.get(name, 0))
    token = _current_turns.set(turns | {function: turns.get(function, 0) + 1})
    try:
        yield
    finally:
        _current_turns.reset(token)


def forward_trace_header(sqs: Any) -> None:
    """Let a client add the trace header of the current invocation to the messages that it sends."""
    for call in ("SendMessage", "SendMessageBatch"):
        sqs.meta.events.register(f"provide-client-params.sqs.{call}", _add_trace_header, unique_id=f"trace-{call}")


def _add_trace_header(params: dict[str, Any], **_: object) -> dict[str, Any]:
    turns = _current_turns.get()
    if not turns:
        return params
    header = "Lineage=" + "|".join(f"{function}:{count}" for function, count in turns.items())
    attributes = {"MessageSystemAttributes": {_TRACE_ATTRIBUTE: {"StringValue": header, "DataType": "String"}}}
    if "Entries" in params:
        return params | {"Entries": [entry | attributes for entry in params["Entries"]]}
    return params | attributes


def _turns_of(message: Mapping[str, Any]) -> Turns:
    lineage = _LINEAGE.search(message.get("Attributes", {}).get(_TRACE_ATTRIBUTE, ""))
    return {function: int(count) for function, count in _TURNS.findall(lineage[1])} if lineage else {}
