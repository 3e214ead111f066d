"""The claims of a token that decide whether it is accepted (RFC 7519, RFC 9068, OpenID Connect Core 1.0)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.identity.claims import MAX_LABEL_CHARACTERS

_CLERK_MACHINE_PREFIX: Final = "mch_"
_NumericDate = int | Annotated[float, Field(allow_inf_nan=False)]


def _validated_or_none(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Return the valid value, or None. An optional claim cannot make a token invalid."""
    try:
        return validate(value)
    except ValidationError:
        return None


_Text = Annotated[str | None, WrapValidator(_validated_or_none)]


class TokenClaims(BaseModel):
    """The claims that decide whether a token is accepted. Invalid optional claims are ignored."""

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
    azpacr: _Text = None
    appidacr: _Text = None
    preferred_username: _Text = None

    @property
    def audiences(self) -> list[str]:
        """Return the values of `aud`, or `client_id` without an `aud`, as in access tokens of Amazon Cognito."""
        if self.aud is None:
            return [self.client_id] if self.client_id else []
        return [self.aud] if isinstance(self.aud, str) else self.aud

    @property
    def has_openid_scope(self) -> bool:
        """Return whether the token says that it has the scope `openid` (OpenID Connect Core 1.0, section 5.4)."""
        scopes = self.scope.split() if isinstance(self.scope, str) else self.scope
        return isinstance(scopes, list) and "openid" in scopes

    @property
    def is_id_token(self) -> bool:
        """Return whether it is an ID token (OpenID Connect Core 1.0, section 2) and not an access token."""
        is_marked = "id" in (self.token_use, ascii_lower(self.typ or ""))
        has_hash = self.at_hash is not None or self.c_hash is not None
        return is_marked or has_hash or (self.nonce is not None and self.scope is None and self.scp is None)

    @property
    def is_client_credentials(self) -> bool:
        """Return whether a program obtained it for itself by client credentials (RFC 6749, section 4.4).

        RFC 9068 puts the client's id in `sub`. Auth0 uses `gty` and an id that ends in `@clients`, Keycloak the name of
        the client's service account, and Clerk the id of a machine. Entra ID uses `idtyp`, if the API asks for this
        claim; otherwise its access token, which has `azpacr` or `appidacr`, has no `scp`.
        """
        client_ids = {client_id for client_id in (self.client_id, self.azp) if client_id}
        is_marked = self.gty == "client-credentials" or self.idtyp == "app"
        client_subjects = client_ids | {f"{client_id}@clients" for client_id in client_ids}
        service_accounts = {ascii_lower(f"service-account-{client_id}") for client_id in client_ids}
        is_entra_token = self.azpacr is not None or self.appidacr is not None
        return (
            is_marked
            or self.sub in client_subjects
            or self.sub.startswith(_CLERK_MACHINE_PREFIX)
            or ascii_lower(self.preferred_username or "") in service_accounts
            or (is_entra_token and self.scp is None)
        )


@dataclass(frozen=True)
class VerifiedClaims:
    """The signed claims of a token: those that decide whether it is accepted, and all."""

    token: TokenClaims
    all: Mapping[str, Any]
