"""The public keys of the token issuer, a JSON Web Key Set (RFC 7517), cached by each process.

If the set cannot be fetched, the cached keys stay valid until a newer set is available.
"""

import json
import logging
import socket
from collections import deque
from contextlib import closing, suppress
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chalicelib.kernel.core import threads
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.problems import unavailable

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA", "Ed25519")
"""Accepted values of a token's `alg`. `Ed25519` (RFC 9864) and `EdDSA` (RFC 8037) are equivalent here."""

TIMEOUT_SECONDS: Final = 2.0
"""Time limit of a fetch: name resolution, connection, TLS, headers and body."""

MAX_KEY_SET_BYTES: Final = 262_144
"""Size of the issuer's key set."""

MAX_REFETCHES: Final = 5
"""Fetches for unknown key ids within `REFETCH_WINDOW_MS`: sufficient for several rotations in a row."""

REFETCH_WINDOW_MS: Final = 300_000
"""Time in which the key set is fetched at most `MAX_REFETCHES` times for unknown key ids."""

KEY_SET_ERRORS: Final = (OSError, HTTPException, ValueError, RecursionError)
"""Exceptions of `load_issuer_keys`."""

_FRESH_MS: Final = 600_000
"""Time after which the key set is fetched again."""

_PAUSE_MS: Final = 60_000
"""Time until the next fetch after a failed one, if there are cached keys."""

_FIRST_PAUSE_MS: Final = 1_000
"""Time until the next fetch after a failed one, if there are no cached keys."""

_ED25519: Final = ("EdDSA", "Ed25519")

_KEY_TYPES: Final = ("RSA", "EC", "OKP")
_PUBLIC_MEMBERS: Final = ("kty", "alg", "kid", "crv", "x", "y", "n", "e")
_HTTP_OK: Final = 200

log = logging.getLogger(__name__)


class IssuerKeys:
    """The keys of one issuer, from the URL or file of its key set.

    The set is fetched on first use, after ten minutes, and for an unknown key id, which is limited to `MAX_REFETCHES`
    times in five minutes. After a failure it is fetched again a minute later, or a second later if there are no keys.
    One thread fetches at a time. Threads that can continue with the cached keys do not wait.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._fetching = Lock()
        self._keys: tuple[PyJWK, ...] = ()
        self._next_fetch = 0
        self._fetches = 0
        self._refetches: deque[int] = deque(maxlen=MAX_REFETCHES)

    def find(self, kid: str | None, algorithm: str) -> "PyJWK | None":
        """Return the key with an id for one of `ALGORITHMS`, or None.

        Without an id, return the only key for the algorithm, or None if there are several. Raises Problem `unavailable`
        if no keys are cached and none can be fetched.
        """
        self._refresh_if_stale_and_require_keys()
        if kid is not None and not self._has_key(kid):
            self._refetch_for_unknown_key_id(kid)
        matching = [key for key in self._keys if algorithm in list_token_algorithms(key) and kid in (None, key.key_id)]
        return None if not matching or (kid is None and len(matching) > 1) else matching[0]

    def _refresh_if_stale_and_require_keys(self) -> None:
        if now_ms() >= self._next_fetch and self._fetching.acquire(blocking=not self._keys):
            try:
                if now_ms() >= self._next_fetch:
                    self._try_replace_cached_keys()
            finally:
                self._fetching.release()
        if not self._keys:
            raise unavailable("The keys of the token's issuer cannot be fetched.")

    def _refetch_for_unknown_key_id(self, kid: str) -> None:
        fetches_before = self._fetches
        with self._fetching:
            is_limited = len(self._refetches) >= MAX_REFETCHES and now_ms() < self._refetches[0] + REFETCH_WINDOW_MS
            # Another thread may have fetched the set while this one waited.
            if fetches_before == self._fetches and not self._has_key(kid) and not is_limited:
                self._refetches.append(now_ms())
                self._try_replace_cached_keys()

    def _has_key(self, kid: str) -> bool:
        return any(key.key_id == kid for key in self._keys)

    def _try_replace_cached_keys(self) -> None:
        try:
            self._keys = load_issuer_keys(self._source)
            self._next_fetch = now_ms() + _FRESH_MS
        except KEY_SET_ERRORS as error:
            log.warning("AUTH_JWKS could not be read; %d cached keys stay in use: %s", len(self._keys), error)
            self._next_fetch = now_ms() + (_PAUSE_MS if self._keys else _FIRST_PAUSE_MS)
        finally:
            self._fetches += 1


def list_token_algorithms(key: "PyJWK") -> tuple[str, ...]:
    """Return the values of `alg` for tokens signed by a key."""
    return _ED25519 if key.algorithm_name in _ED25519 else (key.algorithm_name,)


@lru_cache(maxsize=1)
def get_issuer_keys(source: str) -> IssuerKeys:
    """Return this process's keys of the issuer."""
    return IssuerKeys(source)


def load_issuer_keys(source: str) -> "tuple[PyJWK, ...]":
    """Return the usable keys of a key set, from its URL or file. Raises one of `KEY_SET_ERRORS`."""
    is_url = urlsplit(source).scheme in {"http", "https"}
    key_set = json.loads(_download(source) if is_url else Path(source).read_bytes())
    entries = key_set.get("keys") if isinstance(key_set, dict) else None
    keys = [key for entry in entries if (key := _usable_key(entry))] if isinstance(entries, list) else []
    if not keys:
        raise ValueError("the key set contains no public key to verify tokens")
    return tuple(keys)


def _download(url: str) -> bytes:
    """Return the response body of a URL. A redirect is an error, since it could lead to keys of another party.

    A separate thread does the work, because no socket time-out covers name resolution, or headers that arrive byte by
    byte. Raises TimeoutError after `TIMEOUT_SECONDS`, and then ends the thread by shutting down its connection.
    """
    parts = urlsplit(url)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connect(parts.netloc, timeout=TIMEOUT_SECONDS)
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    sockets: list[socket.socket] = []

    def load() -> bytes:
        with closing(connection):
            connection.connect()
            sockets.append(connection.sock)  # The connection drops its socket when the response ends.
            return _request_response_body(connection, path)

    content = threads.start_thread(load, name="issuer-keys")
    try:
        return content.result(TIMEOUT_SECONDS)
    except TimeoutError:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # Closing the connection would leave the thread waiting.
        raise TimeoutError(f"the key set did not arrive within {TIMEOUT_SECONDS} seconds") from None


def _request_response_body(connection: HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Accept": "application/json", "User-Agent": "atrium"})
    with closing(connection.getresponse()) as response:
        if response.status != _HTTP_OK:
            raise ValueError(f"the response has status {response.status} instead of the key set")
        content = b""
        while chunk := response.read1(MAX_KEY_SET_BYTES):
            content += chunk
            if len(content) > MAX_KEY_SET_BYTES:
                raise ValueError(f"the key set is longer than {MAX_KEY_SET_BYTES} bytes")
        return content


def _usable_key(entry: object) -> "PyJWK | None":
    from jwt import PyJWK, PyJWTError

    if not isinstance(entry, dict) or entry.get("kty") not in _KEY_TYPES or entry.get("use", "sig") != "sig":
        return None
    if entry.get("alg") not in (None, *ALGORITHMS) or (entry["kty"] == "OKP" and entry.get("crv") != "Ed25519"):
        return None
    members = {name: entry[name] for name in _PUBLIC_MEMBERS if isinstance(entry.get(name), str)}
    if members.get("alg") == "Ed25519":
        # PyJWT only supports the former name of the algorithm.
        members["alg"] = "EdDSA"
    try:
        key = PyJWK(members)
    except PyJWTError:
        return None
    if key.algorithm_name not in ALGORITHMS or key.Algorithm.check_key_length(key.key):
        return None
    return key
