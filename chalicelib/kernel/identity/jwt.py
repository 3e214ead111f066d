"""Verification of JSON Web Tokens (RFC 7519) from an OpenID Connect issuer."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import NAMESPACE_URL, uuid5

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from chalicelib.kernel.core.case_folding import ascii_lower, email_from_claim
from chalicelib.kernel.core.problems import unauthenticated
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.http.fields import UUID_PATTERN, require_visible_character
from chalicelib.kernel.identity.jwks import ALGORITHMS, get_issuer_keys, list_token_algorithms

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKEN_CHARACTERS: Final = 10_240
SKEW_SECONDS: Final = 60
OPERATORS_GROUP: Final = "operators"
_MAX_CACHED_TOKENS: Final = 512
"""Verified tokens that a process caches. Verifying one takes a quarter of a read's processor time."""

_SHAPE: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

MAX_LABEL_CHARACTERS: Final = 255
"""Maximum length of a stored name."""
_NumericDate = int | Annotated[float, Field(allow_inf_nan=False)]


def _validated_or_none(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Return the valid value, or None. An optional claim cannot make a token invalid."""
    try:
        return validate(value)
    except ValidationError:
        return None


def _truncate(value: object) -> object:
    return value[:MAX_LABEL_CHARACTERS] if isinstance(value, str) else value


def _is_true(value: object) -> bool:
    # Amazon Cognito and others send text.
    return value is True or value == "true"


_Optional = WrapValidator(_validated_or_none)
# The length constraint also rejects invalid Unicode, such as a lone surrogate.
_VisibleText = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS), AfterValidator(require_visible_character)]
_Label = Annotated[_VisibleText | None, BeforeValidator(_truncate), _Optional]
_Groups = Annotated[str | list[Any] | None, _Optional]
_Text = Annotated[str | None, _Optional]

TOKEN_TYPES: Final = ("jwt", "at+jwt")
"""Accepted values of the header `typ`, in lower case and without `application/` (RFC 7515, section 4.1.9; RFC 9068)."""


@dataclass(frozen=True)
class User:
    """A user as the issuer describes them. `id` is a UUID in lower case, `email` is in lower case."""

    id: str
    username: str | None
    name: str | None
    email: str | None
    email_verified: bool
    is_operator: bool

    @property
    def actor(self) -> dict[str, str | None]:
        """Return the actor for log entries."""
        return {"type": "user", "id": self.id, "name": self.name or self.username or self.email}


class _Claims(BaseModel):
    """The claims that are used (RFC 7519, OpenID Connect Core 1.0). Invalid optional claims are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    iss: str
    sub: str = Field(min_length=1, max_length=MAX_LABEL_CHARACTERS)
    exp: _NumericDate
    nbf: _NumericDate | None = None
    aud: str | list[str] | None = None
    client_id: _Text = None
    azp: _Text = None
    scope: Any = None
    scp: Any = None
    typ: _Text = None
    token_use: _Text = None
    nonce: Any = None
    at_hash: Any = None
    c_hash: Any = None
    cnf: Any = None
    events: Any = None
    gty: _Text = None
    idtyp: _Text = None
    email: Annotated[str | None, Field(max_length=254), _Optional] = None
    email_verified: Annotated[bool, BeforeValidator(_is_true)] = False
    name: _Label = None
    preferred_username: _Label = None
    cognito_username: _Label = Field(None, alias="cognito:username")
    groups: _Groups = None
    cognito_groups: _Groups = Field(None, alias="cognito:groups")

    def is_in_group(self, group: str) -> bool:
        """Return whether the issuer lists the user in a group. A single group can be a string."""
        return any(
            group == groups or (isinstance(groups, list) and group in groups)
            for groups in (self.groups, self.cognito_groups)
        )

    @property
    def is_id_token(self) -> bool:
        """Return whether it is an ID token (OpenID Connect Core 1.0, section 2) and not an access token."""
        is_marked = "id" in (self.token_use, ascii_lower(self.typ or ""))
        has_hash = self.at_hash is not None or self.c_hash is not None
        return is_marked or has_hash or (self.nonce is not None and self.scope is None and self.scp is None)

    @property
    def is_client_credentials(self) -> bool:
        """Return whether a program obtained it for itself by client credentials (RFC 6749, section 4.4).

        RFC 9068 puts the client's id in `sub`. Auth0 uses `gty` and an id that ends in `@clients`, Entra ID `idtyp`,
        Keycloak the name of the client's service account.
        """
        client_ids = {client_id for client_id in (self.client_id, self.azp) if client_id}
        is_marked = self.gty == "client-credentials" or self.idtyp == "app"
        client_subjects = client_ids | {f"{client_id}@clients" for client_id in client_ids}
        service_accounts = {ascii_lower(f"service-account-{client_id}") for client_id in client_ids}
        return (
            is_marked or self.sub in client_subjects or ascii_lower(self.preferred_username or "") in service_accounts
        )


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
    if not (settings().auth_jwks and settings().auth_issuer and settings().auth_audience):
        raise unauthenticated(
            "Tokens of users are not accepted here: AUTH_JWKS, AUTH_ISSUER and AUTH_AUDIENCE are not set."
        )
    kid, algorithm = _parse_key_id_and_algorithm(token)
    key = get_issuer_keys(settings().auth_jwks).find(kid, algorithm)
    if key is None:
        raise unauthenticated("The token is not signed with a key of the issuer that fits its algorithm.")
    claims = _verified_claims(token, key, settings().auth_issuer)
    _require_valid_time(claims)
    _require_audience_of_service(claims)
    _require_user_token_type(claims)
    return _to_user(claims)


@lru_cache(_MAX_CACHED_TOKENS)
def _parse_key_id_and_algorithm(token: str) -> tuple[str | None, str]:
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
def _verified_claims(token: str, key: "PyJWK", issuer: str) -> _Claims:
    """Return the signed claims. The result is cached, since it does not change while the key is valid."""
    import jwt

    _register_ed25519()
    try:
        # PyJWT would accept a PyJWK only for the algorithm that it names, but Ed25519 has two names.
        claims = jwt.decode(
            token,
            key.key,
            algorithms=list_token_algorithms(key),
            issuer=issuer,
            options={
                "verify_aud": False,
                "verify_exp": False,
                "verify_iat": False,
                "verify_jti": False,
                "verify_nbf": False,
            },
        )
        return _Claims.model_validate(claims)
    except jwt.PyJWTError as error:
        raise unauthenticated(_describe_error(error)) from None
    except ValidationError as error:
        invalid_names = ", ".join(sorted({str(each["loc"][0]) for each in error.errors()}))
        raise unauthenticated(f"The token has claims that are missing or not valid: {invalid_names}.") from None


def _require_valid_time(claims: _Claims) -> None:
    now_seconds = datetime.now(UTC).timestamp()
    if claims.exp <= now_seconds - SKEW_SECONDS:
        raise unauthenticated("The token has expired. Sign in again for a new one.", "token_expired")
    if claims.nbf is not None and claims.nbf > now_seconds + SKEW_SECONDS:
        raise unauthenticated("The token is not valid yet.")


def _require_audience_of_service(claims: _Claims) -> None:
    """Raise Problem unless the token is for this service. Access tokens of Amazon Cognito lack `aud`."""
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if audiences is None:
        audiences = [claims.client_id] if claims.client_id else []
    if settings().auth_audience not in audiences:
        raise unauthenticated("The token is for another service: it has another audience.")


def _require_user_token_type(claims: _Claims) -> None:
    """Raise Problem unless it is a token with which a person's client can call the service."""
    if claims.cnf is not None:
        raise unauthenticated(
            "The token is bound to a key (`cnf`), and proofs of possession are not supported. Ask the issuer for a "
            "plain bearer token."
        )
    if claims.events is not None:
        raise unauthenticated("The token is a security event token (RFC 8417), not an access token.")
    if claims.is_client_credentials:
        raise unauthenticated(
            "The token belongs to a program (client credentials), not to a person. Programs use an API key."
        )
    if claims.is_id_token and not settings().auth_accept_id_tokens:
        raise unauthenticated("The token is an ID token, which is meant for the client. Send the access token.")


@lru_cache(maxsize=1)
def _register_ed25519() -> None:
    """Register Ed25519 in PyJWT by the name from RFC 9864, in addition to `EdDSA`."""
    from jwt import register_algorithm
    from jwt.algorithms import OKPAlgorithm

    register_algorithm("Ed25519", OKPAlgorithm())


def _describe_error(error: Exception) -> str:
    import jwt

    match error:
        case jwt.InvalidSignatureError():
            return "The token's signature is invalid."
        case jwt.InvalidIssuerError() | jwt.MissingRequiredClaimError():
            return "The token is not from the trusted issuer."
        case _:
            return "The token's claims are not valid."


def _to_user(claims: _Claims) -> User:
    return User(
        id=ascii_lower(claims.sub) if re.fullmatch(UUID_PATTERN, ascii_lower(claims.sub)) else _derive_user_id(claims),
        username=claims.preferred_username or claims.cognito_username or None,
        name=claims.name or None,
        email=email_from_claim(claims.email) if claims.email else None,
        email_verified=bool(claims.email) and claims.email_verified,
        is_operator=claims.is_in_group(OPERATORS_GROUP),
    )


def _derive_user_id(claims: _Claims) -> str:
    return str(uuid5(uuid5(NAMESPACE_URL, claims.iss), claims.sub))
