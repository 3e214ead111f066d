"""Compression of bodies as in API Gateway, by content coding (RFC 9110, section 8.4.1).

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-gzip-compression-decompression.html
"""

import zlib
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.request import quality_of
from infrastructure.gateway import PROBLEMS
from local.server.http_body import MAX_BODY_BYTES

_WINDOW_BITS: Final = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""The `wbits` value of zlib for each content coding."""

_IDENTITY: Final = "identity"
_LEVEL: Final = 6


def compress_response(
    headers: Mapping[str, Any], content: bytes, accept_encoding: str, min_bytes: int | None
) -> tuple[dict[str, Any], bytes]:
    """Return the headers and the body of a response, compressed if the client names a coding that API Gateway knows.

    `min_bytes`: the minimum size of bodies to compress; None for none. Other headers, such as `ETag`, stay unchanged.
    """
    is_encoded = any(ascii_lower(name) == "content-encoding" for name in headers)
    coding = _preferred_coding(accept_encoding)
    if coding is None or is_encoded or min_bytes is None or len(content) < min_bytes:
        return dict(headers), content
    compressor = zlib.compressobj(_LEVEL, wbits=_WINDOW_BITS[coding])
    return {**headers, "Content-Encoding": coding}, compressor.compress(content) + compressor.flush()


def _preferred_coding(accept_encoding: str) -> str | None:
    elements = ascii_lower(accept_encoding).split(",")
    qualities = {each.partition(";")[0].strip(): quality_of(each) for each in elements}
    accepted = [coding for coding in _WINDOW_BITS if qualities.get(coding, 0) > 0]
    return max(accepted, key=lambda coding: qualities[coding], default=None)


def decompress_request(content: bytes, content_encoding: str) -> bytes:
    """Return the body of a request without its content coding.

    Raises Problem `unsupported_media_type` for an unknown coding or a body that does not have it, and
    `payload_too_large` if the decompressed body exceeds the limit of API Gateway.
    """
    coding = ascii_lower(content_encoding).strip()
    if not content or coding in ("", _IDENTITY):
        return content
    if coding not in _WINDOW_BITS:
        raise PROBLEMS["UNSUPPORTED_MEDIA_TYPE"]
    decompressor = zlib.decompressobj(wbits=_WINDOW_BITS[coding])
    try:
        decompressed = decompressor.decompress(content, MAX_BODY_BYTES + 1)
    except zlib.error:
        raise PROBLEMS["UNSUPPORTED_MEDIA_TYPE"] from None
    if len(decompressed) > MAX_BODY_BYTES:
        raise PROBLEMS["REQUEST_TOO_LARGE"]
    if not decompressor.eof or decompressor.unused_data:
        raise PROBLEMS["UNSUPPORTED_MEDIA_TYPE"]
    return decompressed
