"""The maximum size of a response: AWS Lambda accepts 6,291,556 bytes as the result of a function.

The result is JSON that contains the response body as a string. A quote or a backslash in the body takes two bytes
there, and a control character six. So does each character beyond ASCII, because Lambda's runtimes up to Python 3.11
escape it. Later runtimes never need more.
"""

import json
from collections.abc import Sequence
from typing import Final

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.operations.operation import Operation

MAX_ENVELOPE_BYTES: Final = 6_291_556
"""Size of a response of a Lambda function to API Gateway, as JSON."""

_RESERVED_BYTES: Final = 4096
"""Space for the status and for the headers that are added after the pipeline: CORS, API version and request id."""
_MAX_BYTES_PER_BYTE: Final = 6
"""Maximum number of bytes that one byte of UTF-8 takes within a JSON string."""


def is_within_response_size_limit(response: Response) -> bool:
    """Return whether Lambda accepts a response. The exact size is computed only if it may be too large."""
    if not response.body:
        return True
    reserved = _reserved_bytes(response)
    if reserved + len(response.body) * _MAX_BYTES_PER_BYTE <= MAX_ENVELOPE_BYTES:
        return True
    return reserved + _json_length(response.body.decode()) <= MAX_ENVELOPE_BYTES


def count_fitting_items(items: Sequence[bytes], empty_page: Response) -> int:
    """Return how many of the first items of a list fit into one response. `empty_page`: the response without items."""
    remaining_bytes = MAX_ENVELOPE_BYTES - _reserved_bytes(empty_page) - len(empty_page.body) * _MAX_BYTES_PER_BYTE
    for number, item in enumerate(items):
        remaining_bytes -= _json_length(item.decode())
        if remaining_bytes < 0:
            return number
    return len(items)


def response_too_large_problem(operation: Operation) -> Problem:
    """Return the problem of a response that is too large, with advice on what to request instead."""
    if operation.emits_events:
        advice = "Nothing was changed. Send less data, or reduce the stored data first."
    else:
        advice = operation.alternative or "Use the operations that return parts of it."
    detail = f"The response would exceed the maximum size of {MAX_ENVELOPE_BYTES:,} bytes. {advice}"
    return Problem("limit_exceeded", detail)


def _reserved_bytes(response: Response) -> int:
    return _RESERVED_BYTES + sum(len(name) + _json_length(value) for name, value in response.headers.items())


def _json_length(text: str) -> int:
    """Return the length of a text as a JSON string, with its quotes."""
    return len(json.dumps(text))
