"""Read the body of an HTTP/1.1 request (RFC 9112, section 6)."""

import re
from email.message import Message
from io import BufferedIOBase
from typing import Final

from chalicelib.kernel.core.problems import Problem
from infrastructure.gateway import PROBLEMS

MAX_BODY_BYTES: Final = 10_000_000

_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_ENDS_OF_LINE: Final = (b"\r\n", b"\n")
_LONGEST_LINE: Final = 65_536
_NOT_A_LENGTH: Final = "Content-Length must be one whole number."
_NOT_CHUNKED: Final = "Transfer-Encoding must be `chunked`, without Content-Length, and the body in chunks."
_CUT_OFF: Final = "The body is shorter than its headers say."


def read_body(headers: Message, stream: BufferedIOBase) -> bytes:
    """Return the body that follows these headers.

    Raises Problem `payload_too_large`, or `invalid_header` if the body does not match the headers. Then the start of
    the next request in the stream is unknown.
    """
    if "Transfer-Encoding" in headers:
        if headers["Transfer-Encoding"].strip().lower() != "chunked" or "Content-Length" in headers:
            raise _malformed(_NOT_CHUNKED)
        return _chunks(stream)
    lengths = set(headers.get_all("Content-Length", ["0"]))
    length = lengths.pop()
    if lengths or not re.fullmatch("[0-9]{1,18}", length):
        raise _malformed(_NOT_A_LENGTH)
    return _exactly(int(length), stream)


def _chunks(stream: BufferedIOBase) -> bytes:
    body = bytearray()
    while size := _CHUNK_SIZE.fullmatch(stream.readline(_LONGEST_LINE)):
        count = int(size[1], 16)
        if not count:
            while stream.readline(_LONGEST_LINE) not in (*_ENDS_OF_LINE, b""):
                pass  # Trailer fields are ignored.
            return bytes(body)
        body += _exactly(count, stream, before=len(body))
        if stream.readline(len("\r\n")) not in _ENDS_OF_LINE:
            break
    raise _malformed(_NOT_CHUNKED)


def _exactly(count: int, stream: BufferedIOBase, before: int = 0) -> bytes:
    if before + count > MAX_BODY_BYTES:
        raise PROBLEMS["REQUEST_TOO_LARGE"]
    body = stream.read(count)
    if len(body) < count:
        raise _malformed(_CUT_OFF)
    return body


def _malformed(why: str) -> Problem:
    return Problem("invalid_header", why)
