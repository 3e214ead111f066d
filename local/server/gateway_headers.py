"""Response headers as API Gateway passes them on (REST API, Lambda proxy integration).

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html#api-gateway-known-issues-rest-apis
lists the headers that API Gateway renames or drops.
"""

from collections.abc import Mapping
from typing import Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.request import REMAPPED_HEADER_PREFIX

REMAPPED_HEADERS: Final = frozenset(
    {
        *("authorization", "connection", "content-length", "content-md5", "date", "expect", "max-forwards"),
        *("proxy-authenticate", "server", "trailer", "upgrade", "user-agent", "www-authenticate"),
    }
)
"""Headers, in lower case, that API Gateway renames in the response of a function."""

DROPPED_HEADERS: Final = frozenset({"host", "te", "transfer-encoding"})
"""Headers, in lower case, that API Gateway removes from the response of a function."""


def remap_headers(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headers of a function's response as a client of API Gateway receives them."""
    return {
        f"{REMAPPED_HEADER_PREFIX}{name}" if ascii_lower(name) in REMAPPED_HEADERS else name: value
        for name, value in headers.items()
        if ascii_lower(name) not in DROPPED_HEADERS
    }
