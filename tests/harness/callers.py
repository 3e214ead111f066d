"""Callers of the service: people with tokens of a test issuer, and API keys."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_DNS, uuid5

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwt import User

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "atrium"
_KEY_ID: Final = "tests"
_HOUR_SECONDS: Final = 3600
_USER_ID_NAMESPACE: Final = uuid5(NAMESPACE_DNS, "issuer.example")


@dataclass(frozen=True)
class Caller:
    """A caller with a credential. `id`: the id of the user or of the API key."""

    id: str
    credential: str

    @property
    def headers(self) -> dict[str, str]:
        """The header with the credential."""
        return {"Authorization": f"Bearer {self.credential}"}


@dataclass(frozen=True)
class Person(Caller):
    username: str
    name: str
    email: str

    def to_user(self) -> User:
        """Return the user that the service derives from the verified token."""
        return User(self.id, Profile(self.username, self.name, self.email, email_verified=True))


class Issuer:
    """An OpenID Connect issuer, which signs tokens with an EC key. Its JWKS is a file in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.jwks = folder / "jwks.json"
        self._key = ec.generate_private_key(ec.SECP256R1())
        public: dict[str, Any] = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        self.jwks.write_text(json.dumps({"keys": [{**public, "kid": _KEY_ID, "alg": "ES256", "use": "sig"}]}))

    def settings(self) -> dict[str, str]:
        """Return the settings that make the service trust this issuer."""
        return {"AUTH_JWKS": str(self.jwks), "AUTH_ISSUER": ISSUER, "AUTH_AUDIENCE": AUDIENCE}

    def issue_token(self, **claims: Any) -> str:
        """Return a token that is valid for eight hours. `claims` extend or replace the default ones."""
        now = int(time.time())
        default_claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 8 * _HOUR_SECONDS}
        return jwt.encode({**default_claims, **claims}, self._key, "ES256", headers={"kid": _KEY_ID})

    def create_person(self, username: str, name: str, **claims: Any) -> Person:
        """Return a person with a token. The username determines the user id."""
        user_id, email = str(uuid5(_USER_ID_NAMESPACE, username)), claims.get("email") or f"{username}@example.com"
        user_claims = {
            "sub": user_id,
            "preferred_username": username,
            "name": name,
            "email": email,
            "email_verified": True,
        }
        return Person(user_id, self.issue_token(**{**user_claims, **claims}), username, name, email)
