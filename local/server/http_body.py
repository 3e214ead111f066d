"""Read the body of an HTTP/1.1 request (RFC 9112, section 6)."""

import re
from email.message import Message
from io import BufferedIOBase
from typing import Final

from chalicelib.kernel.core.problems import Problem
from infrastructure.gateway import PROBLEMS

MAX_BODY_BYTES: Final = 10_000_000

_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_LINE_ENDS: Final = (b"\r\n", b"\n")
_MAX_LINE_BYTES: Final = 65_536
_INVALID_LENGTH: Final = "Content-Length must be one whole number."
_INVALID_CHUNKS: Final = "Transfer-Encoding must be `chunked`, without Content-Length, and the body in chunks."
_TRUNCATED: Final = "The body is shorter than its headers say."


def read_body(headers: Message, stream: BufferedIOBase) -> bytes:
    """Return the body that follows these headers.

    Raises Problem `payload_too_large`, or `invalid_header` if the body does not match the headers. Then the start of
    the next request in the stream is unknown.
    """
    if "Transfer-Encoding" in headers:
        if headers["Transfer-Encoding"].strip().lower() != "chunked" or "Content-Length" in headers:
            raise _invalid_body(_INVALID_CHUNKS)
        return _read_chunks(stream)
    lengths = set(headers.get_all("Content-Length", ["0"]))
    length = lengths.pop()
    if lengths or not re.fullmatch("[0-9]{1,18}", length):
        raise _invalid_body(_INVALID_LENGTH)
    return _read_exactly(int(length), stream)


def _read_chunks(stream: BufferedIOBase) -> bytes:
    body = bytearray()
    while size := _CHUNK_SIZE.fullmatch(stream.readline(_MAX_LINE_BYTES)):
        count = int(size[1], 16)
        if not count:
            while stream.readline(_MAX_LINE_BYTES) not in (*_LINE_ENDS, b""):
                pass  # Trailer fields are ignored.
            return bytes(body)
        body += _read_exactly(count, stream, before=len(body))
        if stream.readline(len("\r\n")) not in _LINE_ENDS:
            break
    raise _invalid_body(_INVALID_CHUNKS)


def _read_exactly(count: int, stream: BufferedIOBase, before: int = 0) -> bytes:
    if before + count > MAX_BODY_BYTES:
        raise PROBLEMS["REQUEST_TOO_LARGE"]
    body = stream.read(count)
    if len(body) < count:
        raise _invalid_body(_TRUNCATED)
    return body


def _invalid_body(why: str) -> Problem:
    return Problem("invalid_header", why)
