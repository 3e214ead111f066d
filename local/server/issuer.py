"""The development token issuer, which the local stage trusts. Its key is in `.local/issuer/`."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import NAMESPACE_DNS, UUID, uuid5

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.algorithms import ECAlgorithm

from chalicelib.kernel.core.encoding import to_base64url
from local.paths import STATE, settings_file, write_private

ISSUER: Final = "https://issuer.atrium.test"
AUDIENCE: Final = "atrium"
OPERATORS: Final = "operators"
TOKEN_LIFETIME_SECONDS: Final = 12 * 60 * 60

_ALGORITHM: Final = "ES256"
_USER_ID_NAMESPACE: Final = uuid5(NAMESPACE_DNS, "issuer.atrium.test")


@dataclass(frozen=True)
class Person:
    """The subject of a token. The user id is derived from `name` unless `sub` is set."""

    name: str
    email: str | None = None
    sub: UUID | None = None
    operator: bool = False
    full_name: str | None = None

    def claims(self) -> dict[str, object]:
        """Return the claims about the person (OpenID Connect Core 1.0, section 5.1)."""
        claims: dict[str, object] = {
            "sub": str(self.sub or uuid5(_USER_ID_NAMESPACE, self.name)),
            "name": self.full_name or self.name,
            "preferred_username": self.name,
            "email": self.email or f"{self.name}@example.com",
            "email_verified": True,
        }
        return claims | ({"groups": [OPERATORS]} if self.operator else {})


@dataclass(frozen=True)
class Issuer:
    """Sign tokens with the key in a folder, which is created at the first use."""

    folder: Path = field(default_factory=lambda: STATE / "issuer")

    @property
    def key_set_file(self) -> Path:
        """Return the file of the public key, which exists after the first use."""
        return self.folder / "jwks.json"

    def settings(self) -> Mapping[str, str]:
        """Return the settings that make the service trust this issuer."""
        self._ensure_key()
        return {"auth_jwks": str(self.key_set_file), "auth_issuer": ISSUER, "auth_audience": AUDIENCE}

    def is_trusted_by(self, trusted: Mapping[str, object]) -> bool:
        """Return whether a service with these settings accepts the tokens of this issuer."""
        return all(trusted.get(name) == value for name, value in self.settings().items())

    def create_token(self, person: Person, expires_in: int = TOKEN_LIFETIME_SECONDS) -> str:
        """Return a JWT for a person. `expires_in`: seconds."""
        return self._sign({"aud": AUDIENCE, **person.claims()}, expires_in)

    def create_id_token(self, person: Person, client_id: str, further_claims: Mapping[str, str]) -> str:
        """Return the ID token of a person for a client (OpenID Connect Core 1.0, section 2)."""
        return self._sign({"aud": client_id, **further_claims, **person.claims()}, TOKEN_LIFETIME_SECONDS)

    def _sign(self, own_claims: Mapping[str, object], expires_in: int) -> str:
        folder = self._ensure_key()
        now = int(time.time())
        claims = {"iss": ISSUER, "iat": now, "exp": now + expires_in, **own_claims}
        kid = json.loads((folder / "jwks.json").read_text())["keys"][0]["kid"]
        return jwt.encode(claims, (folder / "private.pem").read_text(), _ALGORITHM, headers={"kid": kid})

    def _ensure_key(self) -> Path:
        if not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self.folder.parent) as parent:
                _create_key(Path(parent) / "issuer")
                self._move_unless_exists(Path(parent) / "issuer")
        return self.folder

    def _move_unless_exists(self, made: Path) -> None:
        # Renaming is atomic: if several runs create a key concurrently, all use the first.
        try:
            made.rename(self.folder)
        except OSError:
            if not self.folder.exists():
                raise


def explain_rejection_of_tokens_or_none() -> str | None:
    """Return why the last run rejects the tokens of the development issuer, or None if it does not, or if none ran."""
    file = settings_file(None)
    if not file.exists():
        return None
    trusted = {name: os.environ.get(name.upper(), value) for name, value in json.loads(file.read_text()).items()}
    if Issuer().is_trusted_by(trusted):
        return None
    if trusted["auth_issuer"] != ISSUER:
        return (
            "Warning: the last run rejects this token, because it trusts another issuer: AUTH_ISSUER is"
            f" {trusted['auth_issuer']}, and the token is from {ISSUER}. Send a token of the trusted issuer."
        )
    return (
        "Warning: the last run rejects this token, because its AUTH_JWKS or AUTH_AUDIENCE is not that of the"
        " development issuer. Unset them, and start `make run` again."
    )


def _create_key(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(folder / "private.pem", pem.decode())
    public: dict[str, Any] = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    keys = [{**public, "kid": _thumbprint(public), "alg": _ALGORITHM, "use": "sig"}]
    (folder / "jwks.json").write_text(json.dumps({"keys": keys}, indent=2))


def _thumbprint(public: Mapping[str, str]) -> str:
    """Return a key's id (RFC 7638)."""
    required = {name: public[name] for name in ("crv", "kty", "x", "y")}
    return to_base64url(sha256(json.dumps(required, separators=(",", ":")).encode()).digest())
