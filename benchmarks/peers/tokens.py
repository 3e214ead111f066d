"""Verification of users' tokens as in PyJWT's documentation, with its client for the issuer's key set."""

import os
from typing import Any

import jwt

_keys = jwt.PyJWKClient(os.environ["AUTH_JWKS"])


def verify_bearer_token(header: str | None) -> dict[str, Any]:
    """Return the claims of a bearer token. Raises PyJWTError if it is invalid."""
    scheme, _, token = (header or "").partition(" ")
    if scheme.lower() != "bearer":
        raise jwt.InvalidTokenError("Send a bearer token.")
    claims: dict[str, Any] = jwt.decode(
        token,
        _keys.get_signing_key_from_jwt(token),
        algorithms=["RS256", "ES256", "EdDSA"],
        leeway=60,
        audience=os.environ["AUTH_AUDIENCE"],
        issuer=os.environ["AUTH_ISSUER"],
    )
    return claims
