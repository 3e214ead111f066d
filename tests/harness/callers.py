"""Who calls: people with tokens of an issuer of the tests' own, and API keys made over HTTP."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_DNS, uuid5

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from chalicelib.kernel.identity.jwt import User

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "atrium"
_KEY_ID: Final = "tests"
_HOURS: Final = 3600
_PEOPLE: Final = uuid5(NAMESPACE_DNS, "issuer.example")


@dataclass(frozen=True)
class Caller:
    """Someone with a credential. `id`: the user's, or the API key's."""

    id: str
    credential: str


@dataclass(frozen=True)
class Person(Caller):
    """A user, as their token describes them."""

    username: str
    name: str
    email: str

    def user(self) -> User:
        """Return the person as the service knows them once their token is verified."""
        return User(self.id, self.username, self.name, self.email, email_verified=True, operator=False)


class Issuer:
    """An OpenID Connect issuer: signs tokens by an EC key whose JWKS is a file in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.jwks = folder / "jwks.json"
        self._key = ec.generate_private_key(ec.SECP256R1())
        public: dict[str, Any] = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        self.jwks.write_text(json.dumps({"keys": [{**public, "kid": _KEY_ID, "alg": "ES256", "use": "sig"}]}))

    def settings(self) -> dict[str, str]:
        """Return the settings by which the service trusts this issuer."""
        return {"AUTH_JWKS": str(self.jwks), "AUTH_ISSUER": ISSUER, "AUTH_AUDIENCE": AUDIENCE}

    def token(self, **claims: Any) -> str:
        """Return a token good for hours, with these claims beside or instead of the usual ones."""
        now = int(time.time())
        usual = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 8 * _HOURS}
        return jwt.encode({**usual, **claims}, self._key, "ES256", headers={"kid": _KEY_ID})

    def person(self, username: str, name: str, **claims: Any) -> Person:
        """Return a person with a token; the same username is always the same person, whatever their address is now."""
        user_id, email = str(uuid5(_PEOPLE, username)), claims.get("email") or f"{username}@example.com"
        about = {"sub": user_id, "preferred_username": username, "name": name, "email": email, "email_verified": True}
        return Person(user_id, self.token(**{**about, **claims}), username, name, email)
