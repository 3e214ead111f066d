"""The userinfo endpoint of the issuer (OpenID Connect Core 1.0, section 5.3), which fills in what a token lacks.

A response is requested once for each person and token. It is cached by the process and in the table, encrypted, until
the token expires, and for an hour at most. A response without a profile is cached by the process only, for a minute.
Nothing in a response makes anybody an operator.
"""

import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Final

from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.core.problems import Problem, unavailable
from chalicelib.kernel.crypto import symmetric
from chalicelib.kernel.crypto.symmetric import DecryptionError
from chalicelib.kernel.identity.claims import Profile, claim_names, profile_from_claims
from chalicelib.kernel.identity.discovery import fetch_discovery_document, require_https_unless_local
from chalicelib.kernel.outbound.circuit_breaker import CircuitBreaker, CircuitOpen
from chalicelib.kernel.outbound.json_client import JsonNotReceived, get_json_object
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

USERINFO_SECONDS: Final = 2.0
"""Time limit of a request to the endpoint, and of one for the discovery document."""

MAX_USERINFO_CACHE_SECONDS: Final = 3600
"""How long a response is used at most."""

_OBSTACLE_CACHE_SECONDS: Final = 60
"""How long the endpoint is not asked again about a token that it rejects. The reason may be temporary."""

_MAX_CACHED_RESPONSES: Final = 512
_MAX_FAILURES: Final = 3
"""Failures in a row after which a process pauses its requests to the userinfo endpoint."""

_PAUSE_MS: Final = 30_000
"""Time for which a process does not ask the userinfo endpoint after several failures."""

_REJECTIONS: Final = (400, 401, 403)
"""Statuses of a response about the token, not about the endpoint (RFC 6750, section 3.1)."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class UserinfoResponse:
    """What the endpoint says about the subject of a token. `obstacle`: why it says nothing, if it does not."""

    profile: Profile = field(default_factory=Profile)
    obstacle: str = ""


@dataclass(frozen=True)
class TokenOwner:
    """The subject of a valid token.

    `expires_at`: when the token expires, in seconds since 1970. `has_openid_scope`: whether it says that it has the
    scope `openid`, which the endpoint requires.
    """

    issuer: str
    subject: str
    token: str
    expires_at: float
    has_openid_scope: bool = False

    @property
    def key(self) -> ItemKey:
        """Return the key of the item with the response for this token, as the settings name the claims now."""
        parts = [self.issuer, self.subject, self.token, *claim_names()]
        return userinfo_key(hashlib.sha256(json.dumps(parts).encode()).hexdigest())


class Userinfo:
    """The userinfo response for one token. It is requested when a request first needs it.

    `load`: returns the response for a token, by default from the cache or the endpoint.
    """

    def __init__(self, owner: TokenOwner, load: Callable[[TokenOwner], UserinfoResponse] | None = None) -> None:
        self.owner = owner
        self._load = load or _load_or_request

    def profile_or_empty(self) -> Profile:
        """Return the profile, or an empty one if the endpoint fails."""
        response = self._response_or_failure
        return response.profile if isinstance(response, UserinfoResponse) else Profile()

    def response(self) -> UserinfoResponse:
        """Return the response. Raises Problem `unavailable` if the endpoint fails, with the failure as its cause."""
        response = self._response_or_failure
        if isinstance(response, UserinfoResponse):
            return response
        if isinstance(response, Problem):  # The service itself failed.
            raise response
        raise unavailable(
            "Your e-mail address is needed, and the token does not say whether it is verified. The userinfo endpoint of"
            f" the token's issuer (AUTH_USERINFO) could not be asked: {response}"
        ) from response

    @cached_property
    def _response_or_failure(self) -> UserinfoResponse | Exception:
        try:
            return self._load(self.owner)
        except (JsonNotReceived, CircuitOpen, Problem) as failure:
            log.warning("The issuer's userinfo endpoint failed: %s", failure)
            return failure


_responses: OrderedDict[ItemKey, tuple[int, UserinfoResponse]] = OrderedDict()
"""The latest responses, each with the time in milliseconds when it expires."""

_endpoints: dict[str, tuple[int, str]] = {}
"""The URL of the endpoint of each issuer, with the time in milliseconds when it is looked up again."""

_breaker: Final = CircuitBreaker(_MAX_FAILURES, _PAUSE_MS)


def reset_userinfo() -> None:
    """Forget all responses, the endpoint and its failures, in this process."""
    _responses.clear()
    _endpoints.clear()
    _breaker.close()


def userinfo_key(digest: str) -> ItemKey:
    """Return the key of the item with a userinfo response. `digest`: the SHA-256 in `TokenOwner.key`."""
    return f"USERINFO#{digest}", "#"


def request_userinfo(owner: TokenOwner) -> UserinfoResponse:
    """Return the response of the endpoint for a token, without a cache. Raises JsonNotReceived and CircuitOpen."""
    return _breaker.call(lambda: _request(owner), JsonNotReceived)


def find_userinfo_endpoint(issuer: str) -> str:
    """Return the URL of an issuer's userinfo endpoint, looked up once an hour. Raises JsonNotReceived."""
    expires_at, url = _endpoints.get(issuer, (0, ""))
    if now_ms() >= expires_at:
        document = fetch_discovery_document(issuer, USERINFO_SECONDS)
        url = require_https_unless_local(
            "`userinfo_endpoint` of the discovery document", document.get("userinfo_endpoint")
        )
        _endpoints[issuer] = now_ms() + MAX_USERINFO_CACHE_SECONDS * 1000, url
    return url


def _load_or_request(owner: TokenOwner) -> UserinfoResponse:
    if cached := _cached_response_or_none(owner.key):
        return cached
    response = request_userinfo(owner)
    seconds = _OBSTACLE_CACHE_SECONDS if response.obstacle else MAX_USERINFO_CACHE_SECONDS
    expires_at = min(owner.expires_at, now_ms() / 1000 + seconds)
    _cache_in_process(owner.key, int(expires_at * 1000), response)
    if not response.obstacle:
        _store(owner.key, response.profile, int(expires_at))
    return response


def _store(key: ItemKey, profile: Profile, expires_at: int) -> None:
    try:
        plaintext = json.dumps({"profile": asdict(profile)}).encode()
        sealed = symmetric.encrypt_bytes(plaintext, _encryption_context_text(key))
        item: Item = {"pk": key[0], "sk": key[1], "sealed": sealed, "ttl": expires_at}
        table.write_transaction([Write("Put", key, item=item)])
    except (Problem, TransactionCancelled) as error:
        log.warning("A userinfo response could not be stored, so it is requested again: %s", error)


def _cached_response_or_none(key: ItemKey) -> UserinfoResponse | None:
    expires_at_ms, response = _responses.get(key, (0, None))
    if response and now_ms() < expires_at_ms:
        return response
    item = table.get(key)
    if item is None or table.is_expired(item):
        return None
    try:
        stored = json.loads(symmetric.decrypt_bytes(item["sealed"], _encryption_context_text(key)))
    except DecryptionError:  # DATA_KEY was rotated.
        return None
    response = UserinfoResponse(Profile(**stored["profile"]))
    _cache_in_process(key, int(item["ttl"]) * 1000, response)
    return response


def _cache_in_process(key: ItemKey, expires_at_ms: int, response: UserinfoResponse) -> None:
    _responses[key] = expires_at_ms, response
    _responses.move_to_end(key)
    if len(_responses) > _MAX_CACHED_RESPONSES:
        _responses.popitem(last=False)


def _encryption_context_text(key: ItemKey) -> str:
    return f"userinfo:{key[0]}"


def _request(owner: TokenOwner) -> UserinfoResponse:
    url = find_userinfo_endpoint(owner.issuer)
    try:
        claims = get_json_object(url, USERINFO_SECONDS, {"Authorization": f"Bearer {owner.token}"})
    except JsonNotReceived as error:
        if error.status not in _REJECTIONS:
            raise
        log.warning("The issuer's userinfo endpoint rejects a token with status %d", error.status)
        return UserinfoResponse(
            obstacle=f"It rejects the token with status {error.status}. {_explain_rejection(owner)}"
        )
    if claims.get("sub") != owner.subject:
        log.error("The issuer's userinfo endpoint describes another `sub` than the token's; its response is not used")
        return UserinfoResponse(obstacle="It describes another `sub` than the token's.")
    return UserinfoResponse(profile_from_claims(claims))


def _explain_rejection(owner: TokenOwner) -> str:
    if owner.has_openid_scope:
        return "The token has the scope openid, so its issuer seems not to accept tokens with this `aud` there."
    return "The token needs the scopes openid and email."
