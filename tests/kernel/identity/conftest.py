"""The trusted issuer, its valid tokens, and forged ones."""

import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity.jwks import get_issuer_keys
from chalicelib.kernel.identity.jwt import verify_token

ISSUER, AUDIENCE = "https://issuer.example", "atrium-clients"
SUBJECT = "4C1A2B5E-0000-4000-8000-00000000000A"

PRIVATE_KEYS: dict[str, Any] = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
VALID_HEADER = {"alg": "ES256", "kid": "ES256"}
UNTRUSTED_KEY = ec.generate_private_key(ec.SECP256R1())


def public_jwk(key: Any, algorithm: str, kid: str) -> dict[str, Any]:
    """Return the public half of a key as a JWK."""
    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": kid, "use": "sig", "alg": algorithm}


KEY_SET = {"keys": [public_jwk(key, algorithm, kid=algorithm) for algorithm, key in PRIVATE_KEYS.items()]}


@pytest.fixture(scope="module")
def token_issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings of an issuer whose key set is a file."""
    key_set = tmp_path_factory.mktemp("issuer") / "jwks.json"
    key_set.write_text(json.dumps(KEY_SET))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AUTH_JWKS", str(key_set))
        environment.setenv("AUTH_ISSUER", ISSUER)
        environment.setenv("AUTH_AUDIENCE", AUDIENCE)
        settings.cache_clear()
        yield
    settings.cache_clear()
    get_issuer_keys.cache_clear()


def build_claims(**changes: Any) -> dict[str, Any]:
    """Return the claims of a valid token with changes. A claim changed to `...` is omitted."""
    now = int(time.time())
    all_claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": SUBJECT, "iat": now, "exp": now + 300} | changes
    return {name: value for name, value in all_claims.items() if value is not ...}


def assemble_token(header: Any, payload: Any, signature: bytes) -> str:
    """Return a token in compact form that a library would not create. Parts that are not bytes are encoded as JSON."""
    parts = (part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, payload, signature))
    return ".".join(map(to_base64url, parts))


def signing_input_of(header: Any, payload: Any) -> str:
    return assemble_token(header, payload, b"").removesuffix(".")


def sign_token(header: dict[str, Any], payload: Any, key: Any = PRIVATE_KEYS["ES256"], algorithm: str = "ES256") -> str:
    """Return a token with a correct signature by this key and algorithm, for any header and payload."""
    signing_input = signing_input_of(header, payload)
    signature = jwt.get_algorithm_by_name(algorithm).sign(signing_input.encode(), key)
    return f"{signing_input}.{to_base64url(signature)}"


def build_token(**changes: Any) -> str:
    """Return a valid token of the trusted issuer with changed claims."""
    return sign_token(VALID_HEADER, build_claims(**changes))


def is_accepted(text: str) -> bool:
    """Return whether a token authenticates its subject."""
    return verify_token(text).id == SUBJECT.lower()


def rejection(text: str) -> Problem:
    """Return the problem that a token causes, after a check that the problem does not repeat parts of the token."""
    with pytest.raises(Problem) as raised:
        verify_token(text)
    problem = raised.value
    assert (problem.status, problem.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert not any(part in problem.detail for part in text.split(".") if len(part) > 8)
    return problem


def is_rejected(text: str) -> bool:
    """Return whether a token is rejected for another reason than its expiry."""
    return rejection(text).code == "unauthenticated"
