"""Verification of JSON Web Tokens (RFC 7519) from an OpenID Connect issuer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import NAMESPACE_URL, uuid5

from pydantic import ValidationError

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import shorten_repr, unauthenticated
from chalicelib.kernel.core.settings import settings, split_list
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.identity.claims import Profile, is_operator_by_claims, profile_from_claims
from chalicelib.kernel.identity.jwks import ALGORITHMS, get_issuer_keys, list_token_algorithms
from chalicelib.kernel.identity.token_claims import TokenClaims, VerifiedClaims
from chalicelib.kernel.identity.userinfo import TokenOwner, Userinfo

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKEN_CHARACTERS: Final = 10_240
"""Length of a token."""

SKEW_SECONDS: Final = 60
"""Tolerance of the comparison of `exp` and `nbf` with the clock."""

_MAX_CACHED_TOKENS: Final = 512
"""Verified tokens that a process caches. Verifying one takes a quarter of a read's processor time."""

_SHAPE: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

TOKEN_TYPES: Final = ("jwt", "at+jwt")
"""Accepted values of the header `typ`, in lower case and without `application/` (RFC 7515, section 4.1.9; RFC 9068)."""


@dataclass(frozen=True)
class User:
    """A user as the issuer describes them. `id` is a UUID in lower case.

    `token_profile`: the profile in the token. `userinfo`: what the issuer's userinfo endpoint adds, or None if it is
    not used. The endpoint is asked when a property is read whose value the token lacks.
    """

    id: str
    token_profile: Profile
    is_operator: bool = False
    userinfo: Userinfo | None = field(default=None, compare=False, repr=False)
    actor_type: ClassVar[str] = "user"

    @property
    def username(self) -> str | None:
        """Return the username."""
        return self.token_profile.username or self._userinfo_profile.username

    @property
    def name(self) -> str | None:
        """Return the full name."""
        return self.token_profile.name or self._userinfo_profile.name

    @property
    def email(self) -> str | None:
        """Return the e-mail address in the form for comparisons, whether it is verified or not."""
        return self.token_profile.email or self._userinfo_profile.email

    @property
    def email_verified(self) -> bool:
        """Return whether the address is verified, as far as is known: False if the userinfo endpoint fails."""
        added = self._userinfo_profile if self._lacks_verified_email else Profile()
        return self._profile_with_email(added).has_verified_email

    @property
    def verified_email_or_none(self) -> str | None:
        """Return the e-mail address if it is verified. Every decision that depends on the address uses this value.

        Raises Problem `unavailable` if the userinfo endpoint is needed and fails.
        """
        added = self.userinfo.response().profile if self.userinfo and self._lacks_verified_email else Profile()
        profile = self._profile_with_email(added)
        return profile.email if profile.has_verified_email else None

    @property
    def actor(self) -> dict[str, str | None]:
        """Return the actor for log entries."""
        return {"type": self.actor_type, "id": self.id, "name": self.name or self.username or self.email}

    def explain_unverified_email(self) -> str:
        """Return why `verified_email_or_none` is None, and what changes that.

        Raises Problem `unavailable` as that property does.
        """
        answer = self.userinfo.response() if self.userinfo and self._lacks_verified_email else None
        profile = self._profile_with_email(answer.profile if answer else Profile())
        sources = "the token and the userinfo response of its issuer" if answer else "the token"
        if profile.email is None:
            setting, names = "AUTH_CLAIM_EMAIL", settings().auth_claim_email
            reason = f"{sources} contain{'' if answer else 's'} no claim {quote_names(names)} ({setting})."
        else:
            setting, names = "AUTH_CLAIM_EMAIL_VERIFIED", settings().auth_claim_email_verified
            reason = f"no claim {quote_names(names)} ({setting}) of {sources} says that it is verified."
            if len(split_list(settings().auth_claim_email)) > 1:
                reason += " Each verifies only the address in the claim at the same position in AUTH_CLAIM_EMAIL."
        if profile.email_verified is not None:
            reason = f"the claim {quote_names(names)} ({setting}) is not true."
            advice = "Verify the address where you sign in, then send a new token."
        else:
            advice = f"The operator of this service can make the issuer add the claim, or name another in {setting}"
            advice += "." if self.userinfo else ", or set AUTH_USERINFO=1 to ask the issuer's userinfo endpoint."
        obstacle = f" The userinfo endpoint says nothing. {answer.obstacle}" if answer and answer.obstacle else ""
        return f"Your token has no verified e-mail address: {reason}{obstacle} {advice}"

    @property
    def _userinfo_profile(self) -> Profile:
        return self.userinfo.profile_or_empty() if self.userinfo else Profile()

    @property
    def _lacks_verified_email(self) -> bool:
        return self.token_profile.email is None or self.token_profile.email_verified is None

    def _profile_with_email(self, added: Profile) -> Profile:
        """Return the profile whose address counts, together with its own verification: the token's, or the added one.

        An address in the token is verified by the userinfo response only if that contains the same address.
        """
        in_token = self.token_profile
        is_same = in_token.email_verified is None and in_token.email == added.email
        return added if in_token.email is None or is_same else in_token


def verify_token(token: str) -> User:
    """Return the user of a token that the issuer signed for this service and that is valid now, within 60 seconds.

    The user's id is `sub` if that is a UUID, else UUIDv5(UUIDv5(NAMESPACE_URL, issuer), `sub`) (RFC 9562). The headers
    `jku`, `jwk`, `x5u` and `x5c` are ignored: keys come only from the setting AUTH_JWKS (RFC 8725, section 3).

    Raises Problem `token_expired`, `unauthenticated` for any other invalid token, or `unavailable` if the issuer's keys
    cannot be fetched.

    The token must be an access token of a person. ID tokens are meant for the client that the person signed in to, and
    are accepted only with the setting AUTH_ACCEPT_ID_TOKENS. Tokens of programs, security event and logout tokens (RFC
    8417), and tokens bound to a key (`cnf`, RFC 7800) are rejected, since no proof of possession is verified.
    """
    require_issuer_settings()
    claims = _verify_signature_and_issuer(token, find_signing_key(token), settings().auth_issuer)
    for check in CLAIM_CHECKS.values():
        check(claims.token)
    return user_from_claims(token, claims)


def read_verified_claims(token: str) -> TokenClaims:
    """Return the claims of a token that `verify_token` accepted for the current request."""
    return _verify_signature_and_issuer(token, find_signing_key(token), settings().auth_issuer).token


def require_issuer_settings() -> None:
    """Raise Problem unless the settings name an issuer whose tokens are accepted."""
    if not (settings().auth_jwks and settings().auth_issuer and settings().auth_audience):
        raise unauthenticated(
            "Tokens of users are not accepted here: AUTH_JWKS, AUTH_ISSUER and AUTH_AUDIENCE are not set."
        )


def find_signing_key(token: str) -> "PyJWK":
    """Return the issuer's key that the header of a token names. Raises Problem if there is none that fits."""
    kid, algorithm = parse_key_id_and_algorithm(token)
    key = get_issuer_keys(settings().auth_jwks).find(kid, algorithm)
    if key is None:
        raise unauthenticated(
            describe_unverified_other_issuer(token)
            or "The token is not signed with a key of the issuer that fits its algorithm: the key set (AUTH_JWKS) has"
            f" no {algorithm} key with the `kid` of the token."
        )
    return key


def describe_unverified_other_issuer(token: str) -> str:
    """Return the issuer that a token names if it is not the trusted one, else an empty text.

    Nothing in the token is verified, so this only explains to its sender why the token was rejected.
    """
    import jwt

    try:
        issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
    except (jwt.PyJWTError, RecursionError):
        return ""
    if issuer is None or issuer == settings().auth_issuer:
        return ""
    return (
        f"The token names the issuer {shorten_repr(issuer)}, and AUTH_ISSUER is {shorten_repr(settings().auth_issuer)}."
        " No key of the trusted issuer (AUTH_JWKS) signed it."
    )


@lru_cache(_MAX_CACHED_TOKENS)
def parse_key_id_and_algorithm(token: str) -> tuple[str | None, str]:
    """Return the token's key id and algorithm, which are not verified yet."""
    from jwt import PyJWTError, get_unverified_header

    if len(token) > MAX_TOKEN_CHARACTERS:
        raise unauthenticated(f"The token is too long. The maximum is {MAX_TOKEN_CHARACTERS} characters.")
    if not _SHAPE.fullmatch(token):
        raise unauthenticated("The credential is neither an API key nor a JSON Web Token.")
    try:
        header = get_unverified_header(token)
    except PyJWTError:
        raise unauthenticated("The token's header is not valid.") from None
    if "crit" in header:
        raise unauthenticated("The token's header requires unsupported extensions.")
    if header.get("alg") not in ALGORITHMS:
        raise unauthenticated(f"The token's algorithm is not one of {', '.join(ALGORITHMS)}.")
    token_type = header.get("typ", TOKEN_TYPES[0])
    if not isinstance(token_type, str) or ascii_lower(token_type).removeprefix("application/") not in TOKEN_TYPES:
        raise unauthenticated("The token is not an access token: its header `typ` is neither `JWT` nor `at+jwt`.")
    return header.get("kid"), header["alg"]


@lru_cache(_MAX_CACHED_TOKENS)
def _verify_signature_and_issuer(token: str, key: "PyJWK", issuer: str) -> VerifiedClaims:
    """Return the claims of a token that the issuer signed with a key. Raises Problem `unauthenticated`.

    The result is cached, since it does not change while the key is valid.
    """
    claims = decode_signed_claims(token, key)
    require_claims_of_issuer(claims, issuer)
    return parse_claims(claims)


def decode_signed_claims(token: str, key: "PyJWK") -> Mapping[str, Any]:
    """Return the claims of a token that a key signed, whoever the issuer is. Raises Problem `unauthenticated`."""
    import jwt

    _register_ed25519()
    try:
        # PyJWT would accept a PyJWK only for the algorithm that it names, but Ed25519 has two names.
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=list_token_algorithms(key),
            options={
                "verify_aud": False,
                "verify_exp": False,
                "verify_iat": False,
                "verify_iss": False,
                "verify_jti": False,
                "verify_nbf": False,
                "verify_sub": False,
            },
        )
    except jwt.InvalidSignatureError:
        raise unauthenticated(describe_unverified_other_issuer(token) or "The token's signature is invalid.") from None
    except jwt.PyJWTError:
        raise unauthenticated("The token's claims are not valid.") from None
    return claims


def require_claims_of_issuer(claims: Mapping[str, Any], issuer: str) -> None:
    """Raise Problem `unauthenticated` unless the claims are from the issuer."""
    if claims.get("iss") != issuer:
        raise unauthenticated(
            f"The token is not from the trusted issuer: its `iss` is {shorten_repr(claims.get('iss'))}, and AUTH_ISSUER"
            f" is {shorten_repr(issuer)}."
        )


def parse_claims(claims: Mapping[str, Any]) -> VerifiedClaims:
    """Return signed claims, those of `TokenClaims` validated. Raises Problem `unauthenticated`."""
    try:
        return VerifiedClaims(TokenClaims.model_validate(claims), claims)
    except ValidationError as error:
        invalid_names = ", ".join(sorted({str(each["loc"][0]) for each in error.errors()}))
        raise unauthenticated(f"The token has claims that are missing or not valid: {invalid_names}.") from None


def _require_valid_time(claims: TokenClaims) -> None:
    now_seconds = datetime.now(UTC).timestamp()
    if claims.exp <= now_seconds - SKEW_SECONDS:
        raise unauthenticated("The token has expired. Sign in again for a new one.", "token_expired")
    if claims.nbf is not None and claims.nbf > now_seconds + SKEW_SECONDS:
        raise unauthenticated("The token is not valid yet.")


def _require_audience_of_service(claims: TokenClaims) -> None:
    accepted = split_list(settings().auth_audience)
    if set(accepted).isdisjoint(claims.audiences):
        name = "aud" if claims.aud is not None else "client_id"
        received = f"its `{name}` is {shorten_repr(claims.audiences)}" if claims.audiences else "it has no `aud`"
        advice = "Send an access token that was requested for this API."
        if claims.aud is not None:
            advice += " An ID token is not one: its `aud` is the id of a client."
        raise unauthenticated(
            f"The token is for another service: {received}, and AUTH_AUDIENCE is {shorten_repr(', '.join(accepted))}."
            f" {advice}"
        )


def _require_bearer_token(claims: TokenClaims) -> None:
    if claims.cnf is not None:
        raise unauthenticated(
            "The token is bound to a key (`cnf`), and proofs of possession are not supported. Ask the issuer for a "
            "plain bearer token."
        )


def _require_token_of_person(claims: TokenClaims) -> None:
    if claims.is_client_credentials:
        raise unauthenticated(
            "The token belongs to a program (client credentials), not to a person. Programs use an API key."
        )


def _require_access_token(claims: TokenClaims) -> None:
    if claims.events is not None:
        raise unauthenticated("The token is a security event token (RFC 8417), not an access token.")
    if claims.is_id_token and not settings().auth_accept_id_tokens:
        raise unauthenticated(
            "The token is an ID token, which is meant for the client. Send the access token, unless the operator of"
            " this service sets AUTH_ACCEPT_ID_TOKENS=1."
        )


CLAIM_CHECKS: Final[Mapping[str, Callable[[TokenClaims], None]]] = {
    "time": _require_valid_time,
    "audience": _require_audience_of_service,
    "bearer token": _require_bearer_token,
    "person": _require_token_of_person,
    "access token": _require_access_token,
}
"""The checks of the claims of a token, by what they are about. Each raises Problem."""


@lru_cache(maxsize=1)
def _register_ed25519() -> None:
    """Register Ed25519 in PyJWT by the name from RFC 9864, in addition to `EdDSA`."""
    from jwt import register_algorithm
    from jwt.algorithms import OKPAlgorithm

    register_algorithm("Ed25519", OKPAlgorithm())


def user_from_claims(token: str, claims: VerifiedClaims) -> User:
    """Return the user whom the claims of a token identify."""
    verified, subject = claims.token, ascii_lower(claims.token.sub)
    owner = TokenOwner(verified.iss, verified.sub, token, verified.exp, verified.has_openid_scope)
    is_uuid = re.fullmatch(UUID_PATTERN, subject)
    return User(
        id=subject if is_uuid else str(uuid5(uuid5(NAMESPACE_URL, verified.iss), verified.sub)),
        token_profile=profile_from_claims(claims.all),
        is_operator=is_operator_by_claims(claims.all),
        userinfo=Userinfo(owner) if settings().auth_userinfo else None,
    )


def quote_names(names: str) -> str:
    """Return the names of claims in a setting for a message."""
    return " or ".join(f"`{name}`" for name in split_list(names))
