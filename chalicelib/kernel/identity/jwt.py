"""Who a user is: the JSON Web Token (RFC 7519) that an OpenID Connect issuer has signed for them."""

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
from chalicelib.kernel.http.fields import UUID_PATTERN, require_visible
from chalicelib.kernel.identity.jwks import ALGORITHMS, algorithms_of, issuer_keys

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKEN_CHARACTERS: Final = 10_240
SKEW_SECONDS: Final = 60
OPERATORS: Final = "operators"
_KNOWN: Final = 512
"""Tokens that a process remembers: to read one and look at its signature takes a quarter of a read's processor time."""

_SHAPE: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

MAX_LABEL_CHARACTERS: Final = 255
"""What is kept of a name."""
_Moment = int | Annotated[float, Field(allow_inf_nan=False)]


def _or_nothing(value: object, validated: ValidatorFunctionWrapHandler) -> object:
    """Return the valid value, or None: what a token need not say can't make it a wrong one."""
    try:
        return validated(value)
    except ValidationError:
        return None


def _cut(value: object) -> object:
    return value[:MAX_LABEL_CHARACTERS] if isinstance(value, str) else value


def _is_true(value: object) -> bool:
    # Amazon Cognito and others send it as text.
    return value is True or value == "true"


_Optional = WrapValidator(_or_nothing)
# The length is looked at also because that finds what is no Unicode, such as half a surrogate pair.
_Shown = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS), AfterValidator(require_visible)]
_Label = Annotated[_Shown | None, BeforeValidator(_cut), _Optional]
_Groups = Annotated[str | list[Any] | None, _Optional]
_Text = Annotated[str | None, _Optional]

TOKEN_TYPES: Final = ("jwt", "at+jwt")
"""What the header `typ` may be, in lower case and without `application/` (RFC 7515, section 4.1.9; RFC 9068)."""


@dataclass(frozen=True)
class User:
    """A person as their issuer knows them; `id` is a UUID in lower case, `email` is in lower case."""

    id: str
    username: str | None
    name: str | None
    email: str | None
    email_verified: bool
    operator: bool

    @property
    def actor(self) -> dict[str, str | None]:
        """The user as an entry of a log names them."""
        return {"type": "user", "id": self.id, "name": self.name or self.username or self.email}


class _Claims(BaseModel):
    """The claims that are read (RFC 7519, OpenID Connect Core 1.0). Those a token can do without never refuse it."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    iss: str
    sub: str = Field(min_length=1, max_length=MAX_LABEL_CHARACTERS)
    exp: _Moment
    nbf: _Moment | None = None
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

    def is_in(self, group: str) -> bool:
        """Tell whether the issuer counts the user to a group; a single one may be named by itself."""
        return any(
            group == named or (isinstance(named, list) and group in named)
            for named in (self.groups, self.cognito_groups)
        )

    @property
    def is_id_token(self) -> bool:
        """Whether it tells a client who signed in (OpenID Connect Core 1.0, section 2), and is no access token."""
        said = "id" in (self.token_use, ascii_lower(self.typ or ""))
        bound = self.at_hash is not None or self.c_hash is not None
        return said or bound or (self.nonce is not None and self.scope is None and self.scp is None)

    @property
    def is_of_a_client(self) -> bool:
        """Whether a program got it for itself, by client credentials (RFC 6749, section 4.4): it is no person's.

        RFC 9068 has the client's id as `sub` then. Auth0 says it by `gty` and an id that ends in `@clients`, Entra ID
        by `idtyp`, Keycloak by the name of the client's service account.
        """
        clients = {client for client in (self.client_id, self.azp) if client}
        said = self.gty == "client-credentials" or self.idtyp == "app"
        subjects = clients | {f"{client}@clients" for client in clients}
        accounts = {ascii_lower(f"service-account-{client}") for client in clients}
        return said or self.sub in subjects or ascii_lower(self.preferred_username or "") in accounts


def verify_token(token: str) -> User:
    """Return the user whose token it is: signed by the issuer, for this service, and valid now within 60 seconds.

    The user's id is `sub` if that is a UUID, else UUIDv5(UUIDv5(NAMESPACE_URL, issuer), `sub`) (RFC 9562). The headers
    `jku`, `jwk`, `x5u` and `x5c` mean nothing here: keys come from the setting AUTH_JWKS alone (RFC 8725, section 3).
    Raises Problem `token_expired`, `unauthenticated` for all else that is wrong with the token, or `unavailable` if
    the issuer's keys can't be fetched.

    It has to be an access token of a person. An ID token is one for the client that the person signed in to; it is
    accepted only where the setting AUTH_ACCEPT_ID_TOKENS says so. Refused are tokens of programs, security event and
    logout tokens (RFC 8417), and tokens that are bound to a key (`cnf`, RFC 7800), since no proof of it is verified.
    """
    if not (settings().auth_jwks and settings().auth_issuer and settings().auth_audience):
        raise unauthenticated(
            "Tokens of users are not accepted here: AUTH_JWKS, AUTH_ISSUER and AUTH_AUDIENCE are not set."
        )
    kid, algorithm = _header(token)
    key = issuer_keys(settings().auth_jwks).find(kid, algorithm)
    if key is None:
        raise unauthenticated("The token is not signed with a key of the issuer that fits its algorithm.")
    claims = _claims(token, key, settings().auth_issuer)
    _check_time(claims)
    _check_audience(claims)
    _check_kind(claims)
    return _user(claims)


@lru_cache(_KNOWN)
def _header(token: str) -> tuple[str | None, str]:
    """Return the token's key id and algorithm, which nobody has vouched for yet."""
    from jwt import PyJWTError, get_unverified_header

    if len(token) > MAX_TOKEN_CHARACTERS:
        raise unauthenticated(f"The token is too long: {MAX_TOKEN_CHARACTERS} characters are the most.")
    if not _SHAPE.fullmatch(token):
        raise unauthenticated("The credential is neither an API key nor a JSON Web Token.")
    try:
        header = get_unverified_header(token)
    except PyJWTError:
        raise unauthenticated("The token's header is not valid.") from None
    if "crit" in header:
        raise unauthenticated("The token's header demands extensions that are not known here.")
    if header.get("alg") not in ALGORITHMS:
        raise unauthenticated(f"The token's algorithm is not one of {', '.join(ALGORITHMS)}.")
    kind = header.get("typ", TOKEN_TYPES[0])
    if not isinstance(kind, str) or ascii_lower(kind).removeprefix("application/") not in TOKEN_TYPES:
        raise unauthenticated("The token is no access token: its header `typ` is neither `JWT` nor `at+jwt`.")
    return header.get("kid"), header["alg"]


@lru_cache(_KNOWN)
def _claims(token: str, key: "PyJWK", issuer: str) -> _Claims:
    """Return what the issuer has signed. That does not change while the key is the issuer's, so it is remembered."""
    import jwt

    _register_ed25519()
    try:
        # PyJWT accepts a PyJWK for the one algorithm that it names; Ed25519 has two names.
        claims = jwt.decode(
            token,
            key.key,
            algorithms=algorithms_of(key),
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
        raise unauthenticated(_reason(error)) from None
    except ValidationError as error:
        wrong = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors()}))
        raise unauthenticated(f"The token has claims that are missing or not valid: {wrong}.") from None


def _check_time(claims: _Claims) -> None:
    moment = datetime.now(UTC).timestamp()
    if claims.exp <= moment - SKEW_SECONDS:
        raise unauthenticated("The token has expired. Sign in again for a new one.", "token_expired")
    if claims.nbf is not None and claims.nbf > moment + SKEW_SECONDS:
        raise unauthenticated("The token is not valid yet.")


def _check_audience(claims: _Claims) -> None:
    """Raise Problem unless the token is for this service; access tokens of Amazon Cognito have no `aud`."""
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if audiences is None:
        audiences = [claims.client_id] if claims.client_id else []
    if settings().auth_audience not in audiences:
        raise unauthenticated("The token is for another service: its audience is not the one expected here.")


def _check_kind(claims: _Claims) -> None:
    """Raise Problem unless it is a token that a person's client may call this service with."""
    if claims.cnf is not None:
        raise unauthenticated(
            "The token is bound to a key (`cnf`), and proofs of that are not verified here. Ask the issuer for a plain "
            "bearer token."
        )
    if claims.events is not None:
        raise unauthenticated("The token tells of an event (RFC 8417); it is no access token.")
    if claims.is_of_a_client:
        raise unauthenticated(
            "The token is a program's own (client credentials), not a person's. Programs use an API key."
        )
    if claims.is_id_token and not settings().auth_accept_id_tokens:
        raise unauthenticated(
            "The token is an ID token, which is meant for the client that somebody signed in to. Send the access token."
        )


@lru_cache(maxsize=1)
def _register_ed25519() -> None:
    """Let PyJWT know Ed25519 by the name that RFC 9864 gave it, beside `EdDSA`."""
    from jwt import register_algorithm
    from jwt.algorithms import OKPAlgorithm

    register_algorithm("Ed25519", OKPAlgorithm())


def _reason(error: Exception) -> str:
    import jwt

    match error:
        case jwt.InvalidSignatureError():
            return "The token's signature is wrong."
        case jwt.InvalidIssuerError() | jwt.MissingRequiredClaimError():
            return "The token is not from the issuer that is trusted here."
        case _:
            return "The token's claims are not valid."


def _user(claims: _Claims) -> User:
    return User(
        id=ascii_lower(claims.sub) if re.fullmatch(UUID_PATTERN, ascii_lower(claims.sub)) else _id_at_issuer(claims),
        username=claims.preferred_username or claims.cognito_username or None,
        name=claims.name or None,
        email=email_from_claim(claims.email) if claims.email else None,
        email_verified=bool(claims.email) and claims.email_verified,
        operator=claims.is_in(OPERATORS),
    )


def _id_at_issuer(claims: _Claims) -> str:
    return str(uuid5(uuid5(NAMESPACE_URL, claims.iss), claims.sub))
