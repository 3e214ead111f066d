"""Envelope: what an answer takes on its way through AWS Lambda, and the limit of that.

A function returns its answer as JSON with the body as a text inside, and Lambda takes 6,291,556 bytes of it. A quote or
a backslash of the body takes two bytes there and a control character six; so does each character beyond ASCII, because
Python's runtimes up to 3.11 write those as numbers, and later ones never write more.
"""

import json
from collections.abc import Sequence
from typing import Final

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.request import Response
from chalicelib.kernel.operations.operation import Operation

MAX_ENVELOPE_BYTES: Final = 6_291_556
_RESERVED_BYTES: Final = 4096
"""For the status, and for headers that an answer gets behind the pipeline: of CORS, the version, the request's id."""
_MAX_BYTES_PER_BYTE: Final = 6
"""What one byte of UTF-8 takes inside JSON at most."""


def fits_envelope(response: Response) -> bool:
    """Return whether Lambda takes an answer. Only one that may be too large is measured."""
    if not response.body:
        return True
    reserved = _RESERVED_BYTES + sum(len(name) + _escaped(value) for name, value in response.headers.items())
    if reserved + len(response.body) * _MAX_BYTES_PER_BYTE <= MAX_ENVELOPE_BYTES:
        return True
    return reserved + _escaped(response.body.decode()) <= MAX_ENVELOPE_BYTES


def count_fitting_items(items: Sequence[bytes], rest: Response) -> int:
    """Return how many of the items of a list fit into one answer beside the `rest` of it: the first ones."""
    left = MAX_ENVELOPE_BYTES - _RESERVED_BYTES - sum(_escaped(v) + len(name) for name, v in rest.headers.items())
    left -= len(rest.body) * _MAX_BYTES_PER_BYTE
    for number, item in enumerate(items):
        left -= _escaped(item.decode())
        if left < 0:
            return number
    return len(items)


def response_too_large(operation: Operation) -> Problem:
    """Return the problem of an answer that no envelope holds: it says what to ask for instead."""
    if operation.mutates:
        advice = "Nothing was changed. Send less, or make what is there already smaller first."
    else:
        advice = operation.alternative or "Ask for its parts, by operations of their own."
    detail = f"The answer would take more than the {MAX_ENVELOPE_BYTES:,} bytes that one answer has. {advice}"
    return Problem("limit_exceeded", detail)


def _escaped(text: str) -> int:
    """Return how many bytes a text takes as JSON, with its quotes."""
    return len(json.dumps(text))
