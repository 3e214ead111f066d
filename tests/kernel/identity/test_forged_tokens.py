"""Forged and malformed tokens are rejected."""

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.core.settings import settings
from tests.harness.fresh_process import run_in_fresh_process
from tests.kernel.identity.issued_tokens import (
    PRIVATE_KEYS,
    UNTRUSTED_KEY,
    VALID_HEADER,
    assemble_token,
    build_claims,
    build_token,
    is_rejected,
    public_jwk,
    rejection,
    sign_token,
)

pytestmark = pytest.mark.usefixtures("token_issuer")


def test_an_unsigned_token_is_rejected():
    for algorithm in ("none", "None", "NONE", ""):
        assert is_rejected(assemble_token(VALID_HEADER | {"alg": algorithm}, build_claims(), b"signature"))
        assert is_rejected(assemble_token({"alg": algorithm}, build_claims(), b""))


@pytest.mark.parametrize("encoding", [Encoding.PEM, Encoding.DER])
def test_a_public_key_is_not_accepted_as_a_shared_secret(encoding):
    for kid, key in PRIVATE_KEYS.items():
        secret = key.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
        signing_input = assemble_token({"alg": "HS256", "kid": kid}, build_claims(), b"").removesuffix(".")
        signature = hmac.new(secret, signing_input.encode(), hashlib.sha256).digest()
        assert is_rejected(f"{signing_input}.{to_base64url(signature)}")


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
def test_other_algorithms_of_the_same_key_are_rejected(algorithm):
    assert is_rejected(sign_token({"alg": algorithm, "kid": "RS256"}, build_claims(), PRIVATE_KEYS["RS256"], algorithm))


@pytest.mark.parametrize("algorithm", [None, 7, ["ES256"], {"ES256": 1}, "es256", "ES256 ", "ES384", "RS256", "EdDSA"])
def test_the_algorithm_must_be_that_of_the_key(algorithm):
    assert is_rejected(sign_token({"alg": algorithm, "kid": "ES256"}, build_claims()))
    assert is_rejected(sign_token({"alg": algorithm}, build_claims()))


def test_a_signature_by_another_key_is_rejected():
    assert "signature is invalid" in rejection(sign_token(VALID_HEADER, build_claims(), UNTRUSTED_KEY)).detail
    assert is_rejected(sign_token({"alg": "ES256"}, build_claims(), UNTRUSTED_KEY))


def test_keys_in_the_header_are_ignored():
    foreign_jwk = public_jwk(UNTRUSTED_KEY, "ES256", "own")
    for header in (
        {"jwk": foreign_jwk},
        {"jku": "http://127.0.0.1:9/"},
        {"x5u": "http://127.0.0.1:9/"},
        {"x5c": ["MII"]},
    ):
        assert is_rejected(sign_token({"alg": "ES256", "kid": "own"} | header, build_claims(), UNTRUSTED_KEY))
        assert is_rejected(sign_token(VALID_HEADER | header, build_claims(), UNTRUSTED_KEY))


@pytest.mark.parametrize(
    "kid",
    ["../../../../dev/null", "/dev/null", "' OR 1=1", "", "\x00", "x" * 5000, 7, None, ["ES256"], {"ES256": 1}, True],
)
def test_an_unusual_key_id_is_rejected(kid):
    assert is_rejected(sign_token({"alg": "ES256", "kid": kid}, build_claims()))


@pytest.mark.parametrize("crit", [["exp"], ["b64"], [], "b64", None])
def test_critical_extensions_are_rejected(crit):
    for extensions in ({}, {"b64": True, "exp": 1}, {"b64": False}):
        assert is_rejected(sign_token(VALID_HEADER | {"crit": crit} | extensions, build_claims()))


@given(st.data())
def test_any_changed_character_invalidates_a_token(data):
    valid_token = build_token()
    position = data.draw(st.integers(0, len(valid_token) - 1))
    character = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.="))
    changed = valid_token[:position] + character + valid_token[position + 1 :]
    if changed != valid_token:
        assert is_rejected(changed)


@given(st.text())
def test_other_text_is_rejected(text):
    assert is_rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "...",
        "a.b",
        "a.b.c.d",
        "é.b.c",
        "a.b.c\n",
        "a b.c.d",
        "\ud800.b.c",
        "eyJ.eyJ.",
        "x" * 20_000,
        ".".join(["eyJh"] * 5),
        "=.=.=",
        "a.b.c",
        "eyJhbGciOiJFUzI1NiJ9.e30.AA",
    ],
)
def test_text_of_another_form_is_rejected(text):
    assert is_rejected(text)


def test_a_token_longer_than_the_limit_is_rejected():
    assert is_rejected(build_token(filler="x" * 15_000))
    assert "too long" in rejection(build_token(filler="x" * 15_000)).detail


@pytest.mark.parametrize(
    "header", [b"", b"{", b"[]", b"7", b"null", b"\xff\xfe", b"[" * 6000, b'{"a":' * 1500, b"9" * 6000]
)
def test_a_header_that_is_no_object_is_rejected(header):
    assert is_rejected(assemble_token(header, build_claims(), b"signature"))


# Requirements


@pytest.mark.parametrize("setting", ["AUTH_JWKS", "AUTH_ISSUER", "AUTH_AUDIENCE"])
def test_without_an_issuer_all_tokens_are_rejected(setting, monkeypatch):
    monkeypatch.setenv(setting, "")
    settings.cache_clear()
    problem = rejection(build_token(iss="", aud=""))
    monkeypatch.undo()
    settings.cache_clear()
    assert setting in problem.detail


def test_cryptography_is_imported_with_the_first_token():
    program = """
import json, sys
from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.crypto import checkpoints, encryption, merkle, signatures
from chalicelib.kernel.identity import api_key_format, jwt
print(json.dumps(sorted({"cryptography", "jwt"} & set(sys.modules))))
"""
    assert run_in_fresh_process(program) == []
