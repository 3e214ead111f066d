"""The public keys of the users' issuer: a JSON Web Key Set (RFC 7517), kept by each process and read again at times.

A set that can't be read changes nothing: the keys in hand stay good until a newer set is there.
"""

import json
import logging
import socket
from collections import deque
from concurrent.futures import Future
from contextlib import closing, suppress
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.problems import unavailable

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA", "Ed25519")
"""What `alg` of a token may be. `Ed25519` (RFC 9864) and `EdDSA` (RFC 8037) are two names of one algorithm here."""

TIMEOUT_SECONDS: Final = 2.0
"""What one fetch may take in all: name resolution, connection, TLS, headers and body."""

MAX_BYTES: Final = 262_144
MAX_SEARCHES: Final = 5
"""Fetches for key ids that are not in hand, within `SEARCH_WINDOW_MS`: enough for several rotations in a row."""

SEARCH_WINDOW_MS: Final = 300_000

_FRESH_MS: Final = 600_000
_PAUSE_MS: Final = 60_000
_FIRST_PAUSE_MS: Final = 1_000
_ED25519: Final = ("EdDSA", "Ed25519")

_KEY_TYPES: Final = ("RSA", "EC", "OKP")
_PUBLIC_MEMBERS: Final = ("kty", "alg", "kid", "crv", "x", "y", "n", "e")
_HTTP_OK: Final = 200

log = logging.getLogger(__name__)


class IssuerKeys:
    """The keys of one issuer, by the URL or the file of its key set.

    The set is fetched when it is first needed, after ten minutes, and for a key id that is not in it, but for that at
    most `MAX_SEARCHES` times in five minutes. After a failure it is fetched again a minute later, or a second later
    while there are no keys. One thread fetches at a time; threads that can go on with the keys in hand do not wait.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._fetching = Lock()
        self._keys: tuple[PyJWK, ...] = ()
        self._next_fetch = 0
        self._fetches = 0
        self._searches: deque[int] = deque(maxlen=MAX_SEARCHES)

    def find(self, kid: str | None, algorithm: str) -> "PyJWK | None":
        """Return the key of that id for that one of `ALGORITHMS`; without an id the only one there is, else None.

        Raises Problem `unavailable` if there are no keys in hand and none can be fetched.
        """
        self._refresh()
        if kid is not None and not self._knows(kid):
            self._search(kid)
        fitting = [key for key in self._keys if algorithm in algorithms_of(key) and kid in (None, key.key_id)]
        return None if not fitting or (kid is None and len(fitting) > 1) else fitting[0]

    def _refresh(self) -> None:
        if now_ms() >= self._next_fetch and self._fetching.acquire(blocking=not self._keys):
            try:
                if now_ms() >= self._next_fetch:
                    self._fetch()
            finally:
                self._fetching.release()
        if not self._keys:
            raise unavailable("The keys of the token's issuer can't be fetched.")

    def _search(self, kid: str) -> None:
        seen = self._fetches
        with self._fetching:
            # A fetch that ended while this thread waited has looked for this key as well.
            if seen == self._fetches and not self._knows(kid) and self._may_search():
                self._searches.append(now_ms())
                self._fetch()

    def _may_search(self) -> bool:
        return len(self._searches) < MAX_SEARCHES or now_ms() >= self._searches[0] + SEARCH_WINDOW_MS

    def _knows(self, kid: str) -> bool:
        return any(key.key_id == kid for key in self._keys)

    def _fetch(self) -> None:
        try:
            self._keys = _usable_keys(_content(self._source))
            self._next_fetch = now_ms() + _FRESH_MS
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            log.warning("AUTH_JWKS could not be read, %d keys stay: %s", len(self._keys), error)
            self._next_fetch = now_ms() + (_PAUSE_MS if self._keys else _FIRST_PAUSE_MS)
        finally:
            self._fetches += 1


def algorithms_of(key: "PyJWK") -> tuple[str, ...]:
    """Return the values of `alg` that a token signed by a key may carry."""
    return _ED25519 if key.algorithm_name in _ED25519 else (key.algorithm_name,)


@lru_cache(maxsize=1)
def issuer_keys(source: str) -> IssuerKeys:
    """Return this process's keys of the issuer."""
    return IssuerKeys(source)


def _content(source: str) -> bytes:
    scheme = urlsplit(source).scheme
    return _download(source) if scheme in {"http", "https"} else Path(source).read_bytes()


def _download(url: str) -> bytes:
    """Return what is at the URL itself: a redirect is a failure, since it could lead to anybody's keys.

    A thread of its own does the work, because no time-out of a socket covers name resolution or headers that arrive
    byte by byte. Raises TimeoutError after `TIMEOUT_SECONDS`, and then ends that thread by its connection.
    """
    parts = urlsplit(url)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = connect(parts.netloc, timeout=TIMEOUT_SECONDS)
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    download = _Download(connection, path)
    Thread(target=download.run, name="issuer-keys", daemon=True).start()
    try:
        return download.content.result(TIMEOUT_SECONDS)
    except TimeoutError:
        download.abort()
        raise TimeoutError(f"the key set did not arrive within {TIMEOUT_SECONDS} seconds") from None


class _Download:
    """One request for the key set, made by a thread of its own; `content` is what comes of it."""

    def __init__(self, connection: HTTPConnection, path: str) -> None:
        self.content: Future[bytes] = Future()
        self._connection = connection
        self._path = path
        self._socket: socket.socket | None = None

    def run(self) -> None:
        """Set `content` to the body of the answer, or to what went wrong."""
        try:
            self._connection.connect()
            # The connection forgets its socket where the answer ends with it.
            self._socket = self._connection.sock
            self.content.set_result(_requested(self._connection, self._path))
        except Exception as error:  # noqa: BLE001 - the thread that waits for the content raises it
            self.content.set_exception(error)
        finally:
            self._connection.close()

    def abort(self) -> None:
        """End the connection that the thread reads from: closing it would leave the thread waiting."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _requested(connection: HTTPConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"Accept": "application/json", "User-Agent": "atrium"})
    with closing(connection.getresponse()) as response:
        if response.status != _HTTP_OK:
            raise ValueError(f"the key set was answered with status {response.status}")
        content = b""
        while chunk := response.read1(MAX_BYTES):
            content += chunk
            if len(content) > MAX_BYTES:
                raise ValueError(f"the key set is longer than {MAX_BYTES} bytes")
        return content


def _usable_keys(content: bytes) -> "tuple[PyJWK, ...]":
    key_set = json.loads(content)
    entries = key_set.get("keys") if isinstance(key_set, dict) else None
    keys = [key for entry in entries if (key := _usable_key(entry))] if isinstance(entries, list) else []
    if not keys:
        raise ValueError("the key set holds no public key to verify tokens by")
    return tuple(keys)


def _usable_key(entry: object) -> "PyJWK | None":
    from jwt import PyJWK, PyJWTError

    if not isinstance(entry, dict) or entry.get("kty") not in _KEY_TYPES or entry.get("use", "sig") != "sig":
        return None
    if entry.get("alg") not in (None, *ALGORITHMS) or (entry["kty"] == "OKP" and entry.get("crv") != "Ed25519"):
        return None
    members = {name: entry[name] for name in _PUBLIC_MEMBERS if isinstance(entry.get(name), str)}
    if members.get("alg") == "Ed25519":
        # PyJWT knows the algorithm by its former name alone.
        members["alg"] = "EdDSA"
    try:
        key = PyJWK(members)
    except PyJWTError:
        return None
    if key.algorithm_name not in ALGORITHMS or key.Algorithm.check_key_length(key.key):
        return None
    return key
