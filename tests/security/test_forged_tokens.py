"""Forged JSON Web Tokens, all of which are rejected."""

import base64
import hashlib
import hmac
import json
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from chalicelib.kernel.identity.jwt import verify_token
from tests.kernel.identity.issued_tokens import (
    KEY_SET,
    PRIVATE_KEYS,
    SUBJECT,
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


def signing_input_of(header: dict[str, Any], **changes: Any) -> str:
    """Return the signing input of a token."""
    return assemble_token(header, build_claims(**changes), b"").removesuffix(".")


def split_signature(text: str) -> tuple[str, bytes]:
    """Return the signing input and the signature of a token."""
    signing_input, _, signature = text.rpartition(".")
    return signing_input, from_base64url(signature)


class TestAlgorithmNone:
    @pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "none ", " none", "none\x00", "", "null"])
    @pytest.mark.parametrize("signature", [b"", b"\x00", b"signature"])
    def test_is_rejected(self, algorithm, signature):
        for kid in ({}, {"kid": "ES256"}, {"kid": None}):
            assert is_rejected(assemble_token({"alg": algorithm, **kid}, build_claims(groups=["operators"]), signature))

    def test_token_without_a_signature_is_rejected(self):
        signing_input, _ = split_signature(build_token())
        for end in ("", ".", "..", ".=", ".AA"):
            assert is_rejected(signing_input + end)


def public_key_encodings(kid: str) -> list[bytes]:
    """Return all encodings of the issuer's public key that an attacker could use as a shared secret."""
    key, (jwk,) = PRIVATE_KEYS[kid].public_key(), [jwk for jwk in KEY_SET["keys"] if jwk["kid"] == kid]
    encodings = [key.public_bytes(e, PublicFormat.SubjectPublicKeyInfo) for e in (Encoding.PEM, Encoding.DER)]
    if kid == "RS256":
        encodings += [key.public_bytes(e, PublicFormat.PKCS1) for e in (Encoding.PEM, Encoding.DER)]
    if kid == "ES256":
        encodings += [key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)]
    if kid == "EdDSA":
        encodings += [key.public_bytes(Encoding.Raw, PublicFormat.Raw)]
    texts = [json.dumps(jwk), json.dumps(jwk, separators=(",", ":"), sort_keys=True), json.dumps(KEY_SET), kid, ""]
    values = [value for name, value in jwk.items() if name in ("n", "x", "y", "e")]
    return [
        *encodings,
        *(info.strip() for info in encodings),
        *(text.encode() for text in (*texts, *values)),
        *map(from_base64url, values),
    ]


@pytest.mark.parametrize("kid", PRIVATE_KEYS)
@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_public_key_is_not_accepted_as_a_shared_secret(kid, algorithm):
    for secret in public_key_encodings(kid):
        signing_input = signing_input_of({"alg": algorithm, "kid": kid})
        signature = hmac.new(secret, signing_input.encode(), f"sha{algorithm[2:]}").digest()
        assert is_rejected(f"{signing_input}.{to_base64url(signature)}")


class TestES256Signature:
    @pytest.mark.parametrize(
        ("r", "s"),
        [
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
            (P256_ORDER, P256_ORDER),
            (P256_ORDER, 1),
            (1, P256_ORDER),
            (0, P256_ORDER),
            (2**256 - 1, 2**256 - 1),
        ],
    )
    def test_zeros_and_multiples_of_the_order_are_rejected(self, r, s):
        for header in (VALID_HEADER, {"alg": "ES256"}):
            signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
            assert is_rejected(f"{signing_input_of(header)}.{to_base64url(signature)}")

    def test_other_encodings_are_rejected(self):
        signing_input, raw = split_signature(build_token())
        r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        assert decode_dss_signature(encode_dss_signature(r, s)) == (r, s)
        others = [
            encode_dss_signature(r, s),
            raw + b"\x00",
            b"\x00" + raw,
            raw[:-1],
            raw[32:] + raw[:32],
            raw.hex().encode(),
        ]
        for other in others:
            assert is_rejected(f"{signing_input}.{to_base64url(other)}")


class TestEd25519Signature:
    @pytest.mark.parametrize("point", SMALL_ORDER)
    def test_small_order_points_are_rejected(self, point):
        for s in (0, 1, ED25519_ORDER):
            signature = bytes.fromhex(point) + s.to_bytes(32, "little")
            assert is_rejected(f"{signing_input_of({'alg': 'EdDSA', 'kid': 'EdDSA'})}.{to_base64url(signature)}")

    def test_non_canonical_encoding_is_rejected(self):
        signing_input, raw = split_signature(
            sign_token({"alg": "EdDSA", "kid": "EdDSA"}, build_claims(), PRIVATE_KEYS["EdDSA"], "EdDSA")
        )
        s = int.from_bytes(raw[32:], "little") + ED25519_ORDER
        assert is_rejected(f"{signing_input}.{to_base64url(raw[:32] + s.to_bytes(32, 'little'))}")


class TestHeader:
    @pytest.mark.parametrize(
        "kid",
        [
            "../../tmp/jwks.json",
            "/proc/self/environ",
            "file:///dev/null",
            "http://127.0.0.1:9/jwks",
            "ES256\x00",
            "es256",
            "ES256 ",
            "ES256' OR '1'='1",
            "ES256'; DROP TABLE keys;--",
            "$(id)",
            "| id",
            "{{7*7}}",
            "%s%s%s",
            "ES256\n",
            "x" * 7000,
            "\u202eES256",
            [],
            {},
            0,
            -1,
            False,
            ["ES256", "RS256"],
        ],
    )
    def test_key_id_must_match_exactly(self, kid):
        assert is_rejected(sign_token({"alg": "ES256", "kid": kid}, build_claims()))
        assert is_rejected(sign_token({"alg": "ES256", "kid": kid}, build_claims(), UNTRUSTED_KEY))

    @pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256"])
    def test_key_in_the_header_is_ignored(self, name):
        forged_jwk = public_jwk(UNTRUSTED_KEY, "ES256", "ES256")
        der = UNTRUSTED_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        certificate = base64.b64encode(der).decode()
        header_values = {
            "jwk": forged_jwk,
            "jku": "https://evil.example/jwks",
            "x5u": "https://evil.example/cert",
            "x5c": [certificate],
            "x5t": to_base64url(b"t" * 20),
            "x5t#S256": to_base64url(hashlib.sha256(der).digest()),
        }
        for kid in ({"kid": "ES256"}, {}, {"kid": "evil"}):
            assert is_rejected(
                sign_token({"alg": "ES256", **kid, name: header_values[name]}, build_claims(), UNTRUSTED_KEY)
            )

    def test_duplicate_algorithm_is_rejected(self):
        for header in (b'{"alg":"none","kid":"ES256","alg":"ES256"}', b'{"alg":"ES256","kid":"ES256","alg":"none"}'):
            for signature in (b"", b"\x00" * 64):
                assert is_rejected(assemble_token(header, build_claims(), signature))

    def test_unencoded_payload_is_rejected(self):
        unencoded = {**VALID_HEADER, "b64": False, "crit": ["b64"]}
        header = to_base64url(json.dumps(unencoded).encode())
        assert is_rejected(sign_token(unencoded, build_claims()))
        assert is_rejected(f"{header}.{json.dumps(build_claims())}.{to_base64url(b's' * 64)}")


class TestOtherForms:
    def test_encrypted_tokens_are_rejected(self):
        for algorithm in ("RSA-OAEP", "dir", "ECDH-ES", "PBES2-HS256+A128KW"):
            header = {"alg": algorithm, "enc": "A256GCM", "zip": "DEF", "kid": "RS256", "p2c": 2**31, "p2s": "AA"}
            head = to_base64url(json.dumps(header).encode())
            assert is_rejected(f"{head}.AA.AA.AA.AA")
            assert is_rejected(f"{head}..AA.AA.AA")
            assert is_rejected(assemble_token(header, build_claims(), b"tag"))

    def test_json_serialization_is_rejected(self):
        header, payload, signature = build_token().split(".")
        flattened = {"protected": header, "payload": payload, "signature": signature}
        assert is_rejected(json.dumps(flattened))
        assert is_rejected(json.dumps({"payload": payload, "signatures": [flattened]}))

    def test_truncated_and_extended_tokens_are_rejected(self):
        valid_token = build_token()
        for end in range(len(valid_token)):
            assert is_rejected(valid_token[:end])
        extended = [f"{valid_token}{end}" for end in (".", "=", " ", "\n", "A", f".{valid_token}")]
        with_other_separators = [
            valid_token.replace(".", dots) for dots in ("..", " .", ".\t", "\r\n.", "%2e", "\u3002")
        ]
        for other in (*extended, *with_other_separators, f".{valid_token}", f" {valid_token}", valid_token.swapcase()):
            assert is_rejected(other)

    def test_standard_base64_alphabet_is_rejected(self):
        texts = [build_token(filler="\u00ff\u00fe?>" * n) for n in range(1, 4)]
        for valid_token in texts:
            plain = valid_token.replace("-", "+").replace("_", "/")
            assert plain == valid_token or is_rejected(plain)


class TestClaims:
    def test_last_of_duplicate_claims_counts(self):
        claims_text, other = json.dumps(build_claims())[:-1], "4c1a2b5e-0000-4000-8000-00000000000b"
        assert verify_token(sign_token(VALID_HEADER, f'{claims_text},"sub":"{other}"}}'.encode())).id == other
        assert rejection(sign_token(VALID_HEADER, f'{claims_text},"exp":1}}'.encode())).code == "token_expired"
        assert is_rejected(sign_token(VALID_HEADER, f'{claims_text},"aud":"elsewhere"}}'.encode()))

    @pytest.mark.parametrize(
        "groups",
        [
            "operators\x00",
            "operators\n",
            "OPERATORS",
            "\u200boperators",
            "operator\u017f",
            "operators,admins",
            '["operators"]',
            ["operators "],
            [["operators"]],
            {"0": "operators"},
            {"operators": ["operators"]},
            [True],
            1,
        ],
    )
    def test_similar_group_names_grant_nothing(self, groups):
        for name in ("groups", "cognito:groups", "roles", "scope", "permissions"):
            assert not verify_token(build_token(**{name: groups})).is_operator

    @pytest.mark.parametrize("name", ["roles", "scope", "permissions", "Groups", "group", "operator", "custom:groups"])
    def test_other_claims_do_not_make_an_operator(self, name):
        assert not verify_token(build_token(**{name: ["operators"]})).is_operator
        assert not verify_token(build_token(**{name: "operators"})).is_operator

    def test_similar_subjects_are_different_users(self):
        ids = {
            verify_token(build_token(sub=subject)).id
            for subject in (SUBJECT, f" {SUBJECT}", f"{SUBJECT} ", f"{SUBJECT}\x00")
        }
        assert len(ids) == 4
