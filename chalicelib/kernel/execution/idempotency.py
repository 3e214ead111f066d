"""Idempotency: a repeated POST with the same `Idempotency-Key` has no further effect and gets the first response.

The response is stored in the mutation's own transaction, as its first write. Of two concurrent requests, one fails to
commit, and returns the stored response of the other. The response is looked up with the authorization, in the same
read, and kept for a day.
"""

import hashlib
import re
import time
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.http.request import IDEMPOTENCY_REPLAYED, Request, Response
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import Write

_RETENTION_SECONDS: Final = 24 * 3600
"""Time for which the response to an `Idempotency-Key` is stored."""

_MAX_KEY_CHARACTERS: Final = 255
"""Length of an `Idempotency-Key`."""

_HEADER: Final = "header/Idempotency-Key"
_QUOTED: Final = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')


@dataclass(frozen=True)
class IdempotentRequest:
    """A request with an idempotency key.

    `key`: the item key of its stored response. `fingerprint` distinguishes it from other requests with the same key.
    """

    key: ItemKey
    fingerprint: str

    @classmethod
    def from_request(cls, operation: Operation, request: Request, caller_id: str) -> "IdempotentRequest | None":
        """Return the request if it has an idempotency key and may change something, else None.

        An invalid key is always rejected. `caller_id`: the id of the principal.
        """
        if request.method != "POST" or (header := request.headers.get("idempotency-key")) is None:
            return None
        digest = hashlib.sha256(_parse_key(header).encode()).hexdigest()
        idempotent_request = cls((f"I#{caller_id}#{digest}", "#"), _request_fingerprint(request))
        return idempotent_request if operation.emits_events else None

    def replayed_response_or_none(self, stored_item: Item | None) -> Response | None:
        """Return the stored response, or None. Raises Problem if the key belongs to another request."""
        if stored_item is None or table.is_expired(stored_item):
            return None
        if stored_item["fingerprint"] != self.fingerprint:
            detail = "This Idempotency-Key was used with another request before. Use a new key for each request."
            raise Problem.create_with_field_error(_HEADER, "idempotency_key_reused", detail)
        body = (
            symmetric.decrypt_bytes(stored_item["body"], self._encryption_context_text)
            if stored_item["sealed"]
            else stored_item["body"]
        )
        return Response(stored_item["status"], body, {**stored_item["headers"], IDEMPOTENCY_REPLAYED: "true"})

    def response_write(self, response: Response) -> Write:
        """Return the write that stores the response unless one is stored. A response with a secret is encrypted."""
        now = int(time.time())
        body = (
            symmetric.encrypt_bytes(response.body, self._encryption_context_text) if response.secret else response.body
        )
        item = {
            "pk": self.key[0],
            "sk": self.key[1],
            "fingerprint": self.fingerprint,
            "status": response.status,
            "headers": response.headers,
            "body": body,
            "sealed": response.secret,
            "ttl": now + _RETENTION_SECONDS,
        }
        return Write(
            "Put",
            self.key,
            item=item,
            condition="attribute_not_exists(#pk) OR #ttl <= :now",
            names=["pk", "ttl"],
            values={"now": now},
        )

    @property
    def _encryption_context_text(self) -> str:
        return f"idempotency:{self.key[0]}"


def _parse_key(header: str) -> str:
    # The header is a quoted string (RFC 8941), or its content without quotes.
    quoted = _QUOTED.fullmatch(header.strip())
    key = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else header.strip()
    if not 1 <= len(key) <= _MAX_KEY_CHARACTERS or not key.isprintable():
        detail = f"An Idempotency-Key has 1 to {_MAX_KEY_CHARACTERS} printable characters."
        raise Problem.create_with_field_error(_HEADER, "invalid_header", detail)
    return key


def _request_fingerprint(request: Request) -> str:
    # A missing body is equal to an empty object. Whitespace around the body is ignored.
    body = request.body.strip() or b"{}"
    query = sorted((name, value) for name, values in request.query.items() for value in values)
    parts = [request.method, request.path, repr(query)]
    return hashlib.sha256("\n".join(parts).encode() + b"\n" + body).hexdigest()
