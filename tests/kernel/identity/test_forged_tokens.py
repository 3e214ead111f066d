"""Forged and malformed tokens are rejected."""

import hmac
import json
from hashlib import sha256
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import from_base64url, to_base64, to_base64url
from chalicelib.kernel.core.settings import settings
from tests.kernel.identity.conftest import (
    ISSUER,
    KEY_SET,
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
    signing_input_of,
)

pytestmark = pytest.mark.usefixtures("token_issuer")

P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ED25519_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
SMALL_ORDER: Final = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
"""Points of edwards25519 whose order divides 8, including non-canonical encodings."""


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "none ", " none", "none\x00", "", "null"])
def test_an_unsigned_token_is_rejected(algorithm):
    for kid in ({}, {"kid": "ES256"}, {"kid": None}):
        for signature in (b"", b"\x00", b"signature"):
            assert is_rejected(assemble_token({"alg": algorithm, **kid}, build_claims(groups=["operators"]), signature))


def public_key_encodings(kid):
    """Return all encodings of the issuer's public key that an attacker could use as a shared secret."""
    key, (jwk,) = PRIVATE_KEYS[kid].public_key(), [jwk for jwk in KEY_SET["keys"] if jwk["kid"] == kid]
    own_formats = {
        "RS256": [(Encoding.PEM, PublicFormat.PKCS1), (Encoding.DER, PublicFormat.PKCS1)],
        "ES256": [(Encoding.X962, PublicFormat.UncompressedPoint)],
        "EdDSA": [(Encoding.Raw, PublicFormat.Raw)],
    }
    common_formats = [(encoding, PublicFormat.SubjectPublicKeyInfo) for encoding in (Encoding.PEM, Encoding.DER)]
    encodings = [key.public_bytes(*form) for form in common_formats + own_formats[kid]]
    numbers = [value for name, value in jwk.items() if name in ("n", "x", "y", "e")]
    texts = [json.dumps(jwk), json.dumps(jwk, separators=(",", ":"), sort_keys=True), json.dumps(KEY_SET), kid, ""]
    texts_bytes = [text.encode() for text in texts + numbers]
    return [*encodings, *(data.strip() for data in encodings), *texts_bytes, *map(from_base64url, numbers)]


@pytest.mark.parametrize("kid", PRIVATE_KEYS)
@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_public_key_is_not_accepted_as_a_shared_secret(kid, algorithm):
    for secret in public_key_encodings(kid):
        signing_input = signing_input_of({"alg": algorithm, "kid": kid}, build_claims())
        signature = hmac.new(secret, signing_input.encode(), f"sha{algorithm[2:]}").digest()
        assert is_rejected(f"{signing_input}.{to_base64url(signature)}")


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
def test_other_algorithms_of_the_same_key_are_rejected(algorithm):
    assert is_rejected(sign_token({"alg": algorithm, "kid": "RS256"}, build_claims(), PRIVATE_KEYS["RS256"], algorithm))


@pytest.mark.parametrize(
    "header",
    [
        *(
            {"alg": algorithm, **kid}
            for algorithm in (None, 7, ["ES256"], {"ES256": 1}, "es256", "ES256 ", "ES384", "RS256", "EdDSA")
            for kid in ({"kid": "ES256"}, dict[str, str]())
        ),
        *({"kid": path} for path in ("../../../../dev/null", "/proc/self/environ", "file:///dev/null", "' OR 1=1")),
        *({"kid": text} for text in ("http://127.0.0.1:9/jwks", "$(id)", "{{7*7}}", "%s", "", "\x00", "x" * 7000)),
        *({"kid": similar} for similar in ("ES256\x00", "es256", "ES256 ", "ES256\n", "\u202eES256")),
        *({"kid": number} for number in (7, 0, -1, None, True, False)),
        *({"kid": value} for value in (list[str](), dict[str, str](), ["ES256"], ["ES256", "RS256"], {"ES256": 1})),
        *({"typ": typ} for typ in ("logout+jwt", "dpop+jwt", "oauth-authz-req+jwt", "secevent+jwt", "JOSE", "")),
        *({"typ": typ} for typ in ("token-introspection+jwt", " JWT", "JWT,at+jwt", None, 7, ["JWT"])),
        *(
            {"crit": crit, **extensions}
            for crit in (["exp"], ["b64"], list[str](), "b64", None)
            for extensions in (dict[str, bool](), {"b64": True, "exp": 1}, {"b64": False})
        ),
    ],
)
def test_a_signed_token_with_another_algorithm_key_type_or_extension_is_rejected(header):
    assert is_rejected(sign_token(header if "alg" in header else VALID_HEADER | header, build_claims()))


def test_a_signature_by_another_key_is_rejected():
    assert "signature is invalid" in rejection(sign_token(VALID_HEADER, build_claims(), UNTRUSTED_KEY)).detail
    assert is_rejected(sign_token({"alg": "ES256"}, build_claims(), UNTRUSTED_KEY))


DER: Final = UNTRUSTED_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "header",
    [
        {"jwk": public_jwk(UNTRUSTED_KEY, "ES256", "ES256")},
        {"jwk": public_jwk(UNTRUSTED_KEY, "ES256", "own")},
        {"jku": "http://127.0.0.1:9/"},
        {"x5u": "http://127.0.0.1:9/"},
        {"x5c": [to_base64(DER)], "x5t": to_base64url(b"t" * 20), "x5t#S256": to_base64url(sha256(DER).digest())},
    ],
)
def test_keys_in_the_header_are_ignored(header):
    for kid in ({"kid": "ES256"}, {"kid": "own"}, {}):
        assert is_rejected(sign_token({"alg": "ES256", **kid} | header, build_claims(), UNTRUSTED_KEY))


def test_zeros_and_multiples_of_the_order_are_no_signature():
    order, maximum = P256_ORDER, 2**256 - 1
    numbers = [(0, 0), (0, 1), (1, 0), (1, 1), (order, order), (order, 1), (1, order), (0, order), (maximum, maximum)]
    for header in (VALID_HEADER, {"alg": "ES256"}):
        for r, s in numbers:
            signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
            assert is_rejected(f"{signing_input_of(header, build_claims())}.{to_base64url(signature)}"), (r, s)


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_points_of_a_small_order_are_no_signature(point):
    signing_input = signing_input_of({"alg": "EdDSA", "kid": "EdDSA"}, build_claims())
    for s in (0, 1, ED25519_ORDER):
        assert is_rejected(f"{signing_input}.{to_base64url(bytes.fromhex(point) + s.to_bytes(32, 'little'))}")


def test_a_signature_in_another_encoding_is_rejected():
    signing_input, _, encoded = build_token().rpartition(".")
    raw = from_base64url(encoded)
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    for other in (der, raw + b"\x00", b"\x00" + raw, raw[:-1], raw[32:] + raw[:32], raw.hex().encode()):
        assert is_rejected(f"{signing_input}.{to_base64url(other)}")
    header = {"alg": "EdDSA", "kid": "EdDSA"}
    signing_input, _, encoded = sign_token(header, build_claims(), PRIVATE_KEYS["EdDSA"], "EdDSA").rpartition(".")
    raw = from_base64url(encoded)
    s = int.from_bytes(raw[32:], "little") + ED25519_ORDER
    assert is_rejected(f"{signing_input}.{to_base64url(raw[:32] + s.to_bytes(32, 'little'))}")


@given(st.data())
def test_any_changed_character_invalidates_a_token(data):
    valid_token = build_token()
    position = data.draw(st.integers(0, len(valid_token) - 1))
    character = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.="))
    changed = valid_token[:position] + character + valid_token[position + 1 :]
    if changed != valid_token:
        assert is_rejected(changed)


def test_a_truncated_extended_or_respelled_token_is_rejected():
    token = next(token for token in iter(build_token, None) if {"-", "_"} & {*token})
    truncated = [token[:end] for end in range(len(token))]
    extended = [token + end for end in (".", "=", " ", "\n", "A", f".{token}")] + [f".{token}", f" {token}"]
    separated = [token.replace(".", dots) for dots in ("..", " .", ".\t", "\r\n.", "%2e", "\u3002")]
    respelled = [token.swapcase(), token.replace("-", "+").replace("_", "/")]
    unsigned = [token.rpartition(".")[0] + end for end in ("..", ".=", ".AA")]
    for other in truncated + extended + separated + respelled + unsigned:
        assert is_rejected(other), other


def test_a_token_in_another_format_is_rejected():
    header, payload, signature = build_token().split(".")
    flattened = {"protected": header, "payload": payload, "signature": signature}
    for serialization in (flattened, {"payload": payload, "signatures": [flattened]}):
        assert is_rejected(json.dumps(serialization))
    assert is_rejected(f"{header}.{json.dumps(build_claims())}.{signature}")
    for algorithm in ("RSA-OAEP", "dir", "ECDH-ES", "PBES2-HS256+A128KW"):
        encrypted = {"alg": algorithm, "enc": "A256GCM", "zip": "DEF", "kid": "RS256", "p2c": 2**31, "p2s": "AA"}
        header = to_base64url(json.dumps(encrypted).encode())
        for token in (f"{header}.AA.AA.AA.AA", f"{header}..AA.AA.AA", assemble_token(encrypted, build_claims(), b"t")):
            assert is_rejected(token)


@given(st.text())
def test_other_text_is_rejected(text):
    assert is_rejected(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "...", "=.=.=", "a.b", "a.b.c", "a.b.c.d", "é.b.c", "a.b.c\n", "a b.c.d", "\ud800.b.c"),
        *("eyJ.eyJ.", "eyJhbGciOiJFUzI1NiJ9.e30.AA", ".".join(["eyJh"] * 5), "x" * 20_000),
    ],
)
def test_text_of_another_form_is_rejected(text):
    assert is_rejected(text)


def test_a_token_longer_than_the_limit_is_rejected():
    problem = rejection(build_token(filler="x" * 15_000))
    assert problem.code == "unauthenticated"
    assert "too long" in problem.detail


@pytest.mark.parametrize(
    "header",
    [
        *(b"", b"{", b"[]", b"7", b"null", b"\xff\xfe", b"[" * 6000, b'{"a":' * 1500, b"9" * 6000),
        b'{"alg":"none","kid":"ES256","alg":"ES256"}',
        b'{"alg":"ES256","kid":"ES256","alg":"none"}',
    ],
)
def test_a_malformed_or_ambiguous_header_is_rejected(header):
    for signature in (b"", b"signature", b"\x00" * 64):
        assert is_rejected(assemble_token(header, build_claims(), signature))


@pytest.mark.parametrize("setting", ["AUTH_JWKS", "AUTH_ISSUER", "AUTH_AUDIENCE"])
def test_without_an_issuer_all_tokens_are_rejected(setting, monkeypatch):
    monkeypatch.setenv(setting, "")
    settings.cache_clear()
    problem = rejection(build_token(iss="", aud=""))
    monkeypatch.undo()
    settings.cache_clear()
    assert setting in problem.detail


@pytest.mark.parametrize("header", [VALID_HEADER, VALID_HEADER | {"kid": "other"}, VALID_HEADER | {"alg": "RS256"}])
@pytest.mark.parametrize(
    ("issuer", "shown"),
    [(f"{ISSUER}/", f"'{ISSUER}/'"), ("https://elsewhere.example", "'https://elsewhere.example'"), ("x" * 5000, "…")],
)
def test_a_token_that_is_signed_by_another_issuer_is_rejected_with_both_issuers(header, issuer, shown):
    detail = rejection(sign_token(header, build_claims(iss=issuer), UNTRUSTED_KEY)).detail
    assert detail.startswith("The token names the issuer ")
    assert all(text in detail for text in (shown, f"AUTH_ISSUER is '{ISSUER}'"))
    assert len(detail) < 700


@pytest.mark.parametrize("payload", [build_claims(), build_claims(iss=...), b"[]", b"{", b"[" * 6000, b"\xff"])
def test_a_token_that_names_no_other_issuer_is_rejected_for_its_key(payload):
    assert "not signed with a key" in rejection(sign_token(VALID_HEADER | {"kid": "other"}, payload)).detail
    assert rejection(sign_token(VALID_HEADER, payload, UNTRUSTED_KEY)).detail == "The token's signature is invalid."
