"""The public keys of the users' issuer: a JSON Web Key Set (RFC 7517), kept by each process and read again at times.

A set that can't be read changes nothing: the keys in hand stay good until a newer set is there.
"""

import json
import logging
from contextlib import closing
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chalicelib.kernel.clock import now_ms
from chalicelib.kernel.problems import unavailable

if TYPE_CHECKING:
    from jwt import PyJWK

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")

TIMEOUT_SECONDS: Final = 2.0
MAX_BYTES: Final = 262_144

_FRESH_MS: Final = 600_000
_PAUSE_MS: Final = 60_000
_FIRST_PAUSE_MS: Final = 1_000

_KEY_TYPES: Final = ("RSA", "EC", "OKP")
_PUBLIC_MEMBERS: Final = ("kty", "alg", "kid", "crv", "x", "y", "n", "e")
_HTTP_OK: Final = 200

log = logging.getLogger(__name__)


class IssuerKeys:
    """The keys of one issuer, by the URL or the file of its key set.

    The set is read when it is first needed, after ten minutes, and for a key id that is not in it, but for that once
    a minute at most. After a failure it is tried again a minute later, or a second later while there are no keys.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._reading = Lock()
        self._keys: tuple[PyJWK, ...] = ()
        self._next_read = 0
        self._next_search = 0

    def find(self, kid: str | None, algorithm: str) -> "PyJWK | None":
        """Return the key of that id for that one of `ALGORITHMS`; without an id the only one there is, else None.

        Raises Problem `unavailable` if there are no keys in hand and none can be read.
        """
        self._refresh()
        if kid is not None and not self._knows(kid):
            self._search(kid)
        fitting = [key for key in self._keys if key.algorithm_name == algorithm and kid in (None, key.key_id)]
        return None if not fitting or (kid is None and len(fitting) > 1) else fitting[0]

    def _refresh(self) -> None:
        if now_ms() >= self._next_read:
            with self._reading:
                if now_ms() >= self._next_read:
                    self._read()
        if not self._keys:
            raise unavailable("The keys of the token's issuer can't be fetched.")

    def _search(self, kid: str) -> None:
        with self._reading:
            if now_ms() >= self._next_search and not self._knows(kid):
                self._next_search = now_ms() + _PAUSE_MS
                self._read()

    def _knows(self, kid: str) -> bool:
        return any(key.key_id == kid for key in self._keys)

    def _read(self) -> None:
        try:
            self._keys = _usable_keys(_content(self._source))
            self._next_read = now_ms() + _FRESH_MS
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            log.warning("AUTH_JWKS could not be read, %d keys stay: %s", len(self._keys), error)
            self._next_read = now_ms() + (_PAUSE_MS if self._keys else _FIRST_PAUSE_MS)


@lru_cache(maxsize=1)
def issuer_keys(source: str) -> IssuerKeys:
    """Return this process's keys of the issuer."""
    return IssuerKeys(source)


def _content(source: str) -> bytes:
    scheme = urlsplit(source).scheme
    return _download(source) if scheme in {"http", "https"} else Path(source).read_bytes()


def _download(url: str) -> bytes:
    """Return what is at the URL itself: a redirect is a failure, since it could lead to anybody's keys."""
    parts = urlsplit(url)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    deadline = monotonic() + TIMEOUT_SECONDS
    with closing(connect(parts.netloc, timeout=TIMEOUT_SECONDS)) as connection:
        path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        connection.request("GET", path, headers={"Accept": "application/json", "User-Agent": "atrium"})
        response = connection.getresponse()
        if response.status != _HTTP_OK:
            raise ValueError(f"the key set was answered with status {response.status}")
        content = b""
        while chunk := response.read1(MAX_BYTES):
            content += chunk
            if len(content) > MAX_BYTES or monotonic() > deadline:
                raise ValueError(f"the key set is longer than {MAX_BYTES} bytes or {TIMEOUT_SECONDS} seconds")
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
    if entry.get("alg") not in (None, *ALGORITHMS):
        return None
    try:
        key = PyJWK({name: entry[name] for name in _PUBLIC_MEMBERS if isinstance(entry.get(name), str)})
    except PyJWTError:
        return None
    if key.algorithm_name not in ALGORITHMS or key.Algorithm.check_key_length(key.key):
        return None
    return key
