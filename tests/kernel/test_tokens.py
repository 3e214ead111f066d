"""A user is who the trusted issuer says, and no token can be bent into saying more."""

import hashlib
import hmac
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.encoding import to_base64, to_base64url
from chalicelib.kernel.issuer_keys import issuer_keys
from chalicelib.kernel.problems import Problem
from chalicelib.kernel.settings import settings
from chalicelib.kernel.tokens import User, verify_token

ISSUER, AUDIENCE = "https://issuer.example", "atrium-clients"
SUBJECT = "4C1A2B5E-0000-4000-8000-00000000000A"

PRIVATE: dict[str, Any] = {
    "RS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
GOOD_HEADER = {"alg": "ES256", "kid": "ES256"}
STRANGERS = ec.generate_private_key(ec.SECP256R1())


def public_jwk(key: Any, algorithm: str, kid: str) -> dict[str, Any]:
    """Return the public half of a key as an issuer publishes it."""
    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": kid, "use": "sig", "alg": algorithm}


KEY_SET = {"keys": [public_jwk(key, algorithm, kid=algorithm) for algorithm, key in PRIVATE.items()]}


@pytest.fixture(autouse=True, scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    key_set = tmp_path_factory.mktemp("issuer") / "jwks.json"
    key_set.write_text(json.dumps(KEY_SET))
    with pytest.MonkeyPatch.context() as environment:
        for name in ("DATA_KEY", "TOKEN_KEY", "AUDIT_SIGNING_KEY"):
            environment.setenv(name, to_base64(bytes(32)))
        environment.setenv("AUTH_JWKS", str(key_set))
        environment.setenv("AUTH_ISSUER", ISSUER)
        environment.setenv("AUTH_AUDIENCE", AUDIENCE)
        settings.cache_clear()
        yield
    settings.cache_clear()
    issuer_keys.cache_clear()


def claims(**changes: Any) -> dict[str, Any]:
    """Return the claims of a good token with some changed; those changed to `...` are left out."""
    now = int(time.time())
    whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": SUBJECT, "iat": now, "exp": now + 300} | changes
    return {name: value for name, value in whole.items() if value is not ...}


def assembled(header: Any, payload: Any, signature: bytes) -> str:
    """Return a token put together by hand, as libraries refuse to; bytes stand for themselves, all else for JSON."""
    parts = (part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, payload, signature))
    return ".".join(map(to_base64url, parts))


def signed(header: dict[str, Any], payload: Any, key: Any = PRIVATE["ES256"], algorithm: str = "ES256") -> str:
    """Return a token whose signature by the key and algorithm is right, whatever header and payload say."""
    signing_input = assembled(header, payload, b"").removesuffix(".")
    signature = jwt.get_algorithm_by_name(algorithm).sign(signing_input.encode(), key)
    return f"{signing_input}.{to_base64url(signature)}"


def token(**changes: Any) -> str:
    """Return a good token of the trusted issuer with some of its claims changed."""
    return signed(GOOD_HEADER, claims(**changes))


def is_accepted(text: str) -> bool:
    """Tell whether a token is the user's it is meant for."""
    return verify_token(text).id == SUBJECT.lower()


def refusal(text: str) -> Problem:
    """Return the problem with a token, having seen that it repeats nothing of it."""
    with pytest.raises(Problem) as raised:
        verify_token(text)
    problem = raised.value
    assert (problem.status, problem.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert not any(part in problem.detail for part in text.split(".") if len(part) > 8)
    return problem


def is_unauthenticated(text: str) -> bool:
    """Tell whether a token is refused for another reason than its age."""
    return refusal(text).code == "unauthenticated"


# Who the user is


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_of_the_issuer_is_accepted(algorithm: str) -> None:
    header = {"alg": algorithm, "kid": algorithm}
    assert verify_token(signed(header, claims(), PRIVATE[algorithm], algorithm)).id == SUBJECT.lower()


def test_a_user_is_what_the_claims_say() -> None:
    user = verify_token(
        token(preferred_username="zoe", name="Zoë", email="Zoë@Example.COM", email_verified=True, groups=["operators"])
    )
    assert user == User(SUBJECT.lower(), "zoe", "Zoë", "zoë@example.com", email_verified=True, operator=True)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"name": "Zoë", "preferred_username": "zoe", "email": "zoe@example.com"}, "Zoë"),
        ({"preferred_username": "zoe", "email": "zoe@example.com"}, "zoe"),
        ({"email": "zoe@example.com"}, "zoe@example.com"),
        ({}, None),
    ],
)
def test_a_log_names_a_user_by_the_best_there_is(changes: dict[str, str], name: str | None) -> None:
    assert verify_token(token(**changes)).actor == {"type": "user", "id": SUBJECT.lower(), "name": name}


def test_a_token_need_not_say_more_than_who() -> None:
    assert verify_token(token()) == User(SUBJECT.lower(), None, None, None, email_verified=False, operator=False)


def test_claims_that_are_null_or_empty_say_nothing() -> None:
    nothing = token(name="", email="", email_verified=True, preferred_username="", groups=None, nbf=..., iat=...)
    assert verify_token(nothing) == User(SUBJECT.lower(), None, None, None, email_verified=False, operator=False)


def test_amazon_cognito_has_names_of_its_own() -> None:
    access_token = token(
        **{"aud": ..., "client_id": AUDIENCE, "cognito:username": "zoe", "cognito:groups": ["operators"]}
    )
    user = verify_token(access_token)
    assert (user.username, user.operator) == ("zoe", True)


@pytest.mark.parametrize("claim", ["groups", "cognito:groups"])
@pytest.mark.parametrize("groups", ["operators", ["operators"], ["editors", "operators"], [7, "operators"]])
def test_operators_are_in_a_list_of_groups_or_in_the_only_one(claim: str, groups: object) -> None:
    assert verify_token(token(**{claim: groups})).operator


@pytest.mark.parametrize("claim", ["groups", "cognito:groups"])
@pytest.mark.parametrize(
    "groups",
    [[], ["operator"], ["Operators"], ["operators "], ["not-operators"], "operator", "Operators", "my operators",
     "operators,editors", [["operators"]], [{"operators": True}], {"operators": True}, True, 1],
)  # fmt: skip
def test_only_operators_are_operators(claim: str, groups: object) -> None:
    assert not verify_token(token(**{claim: groups})).operator


@pytest.mark.parametrize(
    ("said", "verified"),
    [
        (True, True),
        ("true", True),
        (False, False),
        ("false", False),
        ("True", False),
        (1, False),
        ("1", False),
        ([True], False),
    ],
)
def test_an_address_is_verified_if_the_issuer_says_true(said: object, *, verified: bool) -> None:
    user = verify_token(token(email="zoe@example.com", email_verified=said))
    assert (user.email, user.email_verified) == ("zoe@example.com", verified)


@pytest.mark.parametrize("claim", ["name", "preferred_username", "cognito:username", "email"])
@pytest.mark.parametrize("value", [7, True, {}, ["zoe@example.com"], "\udfff"])
def test_a_name_or_an_address_of_another_type_is_none(claim: str, value: object) -> None:
    assert verify_token(token(email_verified=True, **{claim: value})) == verify_token(token())


def test_long_names_are_cut_and_a_long_address_is_none() -> None:
    user = verify_token(token(name="é" * 256, preferred_username="z" * 256, email="x" * 243 + "@example.com"))
    assert (user.name, user.username, user.email) == ("é" * 255, "z" * 255, None)
    longest = "x" * 242 + "@example.com"
    assert verify_token(token(name="é" * 255, email=longest)).email == longest


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["client_id", "email", "email_verified", "name", "preferred_username", "cognito:username",
                         "groups", "cognito:groups", "iat", "jti", "azp"]),
        _ANYTHING,
    )
)  # fmt: skip
def test_no_claim_it_can_do_without_refuses_it(others: dict[str, object]) -> None:
    assert is_accepted(token(**others))


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=255))
def test_a_subject_that_is_no_uuid_becomes_one_that_stays(subject: str) -> None:
    assert verify_token(token(sub=subject)).id == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), subject))


@pytest.mark.parametrize("form", ["urn:uuid:{}", "{{{}}}", "{} ", "{}\n"])
def test_only_the_plain_form_of_a_uuid_is_taken_for_one(form: str) -> None:
    for subject in (form.format(SUBJECT), SUBJECT.replace("-", "")):
        assert verify_token(token(sub=subject)).id == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), subject))


def test_one_of_several_audiences_is_enough() -> None:
    assert is_accepted(token(aud=["elsewhere", AUDIENCE]))


def test_a_key_id_may_be_missing_if_one_key_alone_fits() -> None:
    assert is_accepted(signed({"alg": "ES256"}, claims()))


def test_headers_that_point_to_other_keys_are_passed_over() -> None:
    elsewhere = {"jku": "http://127.0.0.1:9/jwks", "x5u": "http://127.0.0.1:9/cert", "typ": "at+jwt"}
    own = {"jwk": public_jwk(STRANGERS, "ES256", "ES256")}
    assert is_accepted(signed(GOOD_HEADER | elsewhere | own, claims()))


# When it holds


def test_a_token_holds_a_minute_longer_than_it_says() -> None:
    assert is_accepted(token(exp=time.time() - 50))


def test_after_that_minute_it_has_expired() -> None:
    assert refusal(token(exp=time.time() - 70)).code == "token_expired"


def test_it_holds_a_minute_before_it_begins_but_no_longer() -> None:
    assert is_accepted(token(nbf=time.time() + 50))
    assert "not valid yet" in refusal(token(nbf=time.time() + 70)).detail


@pytest.mark.parametrize("moment", [..., None, 0, 9_999_999_999, "yesterday", {}, float("-inf"), float("nan")])
def test_when_it_was_issued_is_not_judged(moment: object) -> None:
    assert is_accepted(token(iat=moment))


def test_an_expired_token_tells_its_age_only_if_its_signature_is_right() -> None:
    assert is_unauthenticated(signed(GOOD_HEADER, claims(exp=time.time() - 70), STRANGERS))


# What it must say


@pytest.mark.parametrize("claim", ["iss", "sub", "exp", "aud"])
def test_it_must_say_who_where_and_until_when(claim: str) -> None:
    assert is_unauthenticated(token(**{claim: ...}))
    assert is_unauthenticated(token(**{claim: None}))


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://issuer.example/"},
        {"iss": "https://elsewhere.example"},
        {"aud": "elsewhere"},
        {"aud": []},
        {"aud": ["elsewhere"], "client_id": "elsewhere"},
        {"aud": AUDIENCE.upper()},
        {"aud": AUDIENCE + " "},
        {"aud": ..., "client_id": "elsewhere"},
        {"aud": ..., "azp": AUDIENCE},
    ],
)
def test_it_must_be_from_this_issuer_for_this_service(changes: dict[str, Any]) -> None:
    assert is_unauthenticated(token(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"sub": ""},
        {"sub": 7},
        {"sub": [SUBJECT]},
        {"sub": {"id": SUBJECT}},
        {"sub": "x" * 256},
        {"sub": "\ud800"},
        {"aud": {AUDIENCE: True}},
        {"aud": [AUDIENCE, 7]},
        {"aud": ..., "client_id": [AUDIENCE]},
        {"exp": "9999999999"},
        {"exp": [9999999999]},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"nbf": "0"},
        {"nbf": True},
    ],
)
def test_claims_it_can_not_do_without_must_be_of_their_types(changes: dict[str, Any]) -> None:
    assert is_unauthenticated(token(**changes))


def test_an_issuer_of_another_type_is_not_trusted() -> None:
    assert is_unauthenticated(token(iss=[ISSUER]))


@pytest.mark.parametrize("payload", [b"", b"[]", b'"text"', b"7", b"null", b"{", b"\xff", b"[" * 6000])
def test_its_claims_must_be_an_object(payload: bytes) -> None:
    assert is_unauthenticated(signed(GOOD_HEADER, payload))


# How it must be signed


def test_an_unsigned_token_is_refused() -> None:
    for algorithm in ("none", "None", "NONE", ""):
        assert is_unauthenticated(assembled(GOOD_HEADER | {"alg": algorithm}, claims(), b"signature"))
        assert is_unauthenticated(assembled({"alg": algorithm}, claims(), b""))


@pytest.mark.parametrize("encoding", [Encoding.PEM, Encoding.DER])
def test_a_public_key_is_no_shared_secret(encoding: Encoding) -> None:
    for kid, key in PRIVATE.items():
        secret = key.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
        signing_input = assembled({"alg": "HS256", "kid": kid}, claims(), b"").removesuffix(".")
        signature = hmac.new(secret, signing_input.encode(), hashlib.sha256).digest()
        assert is_unauthenticated(f"{signing_input}.{to_base64url(signature)}")


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
def test_other_algorithms_of_the_same_key_are_refused(algorithm: str) -> None:
    assert is_unauthenticated(signed({"alg": algorithm, "kid": "RS256"}, claims(), PRIVATE["RS256"], algorithm))


@pytest.mark.parametrize("algorithm", [None, 7, ["ES256"], {"ES256": 1}, "es256", "ES256 ", "ES384", "RS256", "EdDSA"])
def test_the_algorithm_must_be_the_keys_own(algorithm: object) -> None:
    assert is_unauthenticated(signed({"alg": algorithm, "kid": "ES256"}, claims()))
    assert is_unauthenticated(signed({"alg": algorithm}, claims()))


def test_a_stranger_can_not_sign() -> None:
    assert "signature is wrong" in refusal(signed(GOOD_HEADER, claims(), STRANGERS)).detail
    assert is_unauthenticated(signed({"alg": "ES256"}, claims(), STRANGERS))


def test_a_stranger_can_not_bring_a_key_along() -> None:
    own = public_jwk(STRANGERS, "ES256", "own")
    for header in ({"jwk": own}, {"jku": "http://127.0.0.1:9/"}, {"x5u": "http://127.0.0.1:9/"}, {"x5c": ["MII"]}):
        assert is_unauthenticated(signed({"alg": "ES256", "kid": "own"} | header, claims(), STRANGERS))
        assert is_unauthenticated(signed(GOOD_HEADER | header, claims(), STRANGERS))


@pytest.mark.parametrize(
    "kid",
    ["../../../../dev/null", "/dev/null", "' OR 1=1", "", "\x00", "x" * 5000, 7, None, ["ES256"], {"ES256": 1}, True],
)
def test_a_key_id_is_a_name_and_nothing_more(kid: object) -> None:
    assert is_unauthenticated(signed({"alg": "ES256", "kid": kid}, claims()))


@pytest.mark.parametrize("crit", [["exp"], ["b64"], [], "b64", None])
def test_no_extension_can_be_demanded(crit: object) -> None:
    for extensions in ({}, {"b64": True, "exp": 1}, {"b64": False}):
        assert is_unauthenticated(signed(GOOD_HEADER | {"crit": crit} | extensions, claims()))


@given(st.data())
def test_no_character_of_a_token_can_be_changed(data: st.DataObject) -> None:
    good = token()
    position = data.draw(st.integers(0, len(good) - 1))
    other = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.="))
    changed = good[:position] + other + good[position + 1 :]
    if changed != good:
        assert is_unauthenticated(changed)


@given(st.text())
def test_any_other_text_is_no_token(text: str) -> None:
    assert is_unauthenticated(text)


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "...", "a.b", "a.b.c.d", "é.b.c", "a.b.c\n", "a b.c.d", "\ud800.b.c", "eyJ.eyJ.", "x" * 20_000,
     ".".join(["eyJh"] * 5), "=.=.=", "a.b.c", "eyJhbGciOiJFUzI1NiJ9.e30.AA"],
)  # fmt: skip
def test_what_has_not_the_shape_of_a_token_is_refused(text: str) -> None:
    assert is_unauthenticated(text)


def test_a_token_of_20_kb_is_refused_however_good() -> None:
    assert is_unauthenticated(token(filler="x" * 15_000))
    assert "too long" in refusal(token(filler="x" * 15_000)).detail


@pytest.mark.parametrize(
    "header", [b"", b"{", b"[]", b"7", b"null", b"\xff\xfe", b"[" * 6000, b'{"a":' * 1500, b"9" * 6000]
)
def test_a_header_that_is_no_object_is_refused(header: bytes) -> None:
    assert is_unauthenticated(assembled(header, claims(), b"signature"))


# What it needs


@pytest.mark.parametrize("setting", ["AUTH_JWKS", "AUTH_ISSUER", "AUTH_AUDIENCE"])
def test_without_an_issuer_nobody_is_a_user(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(setting, "")
    settings.cache_clear()
    problem = refusal(token(iss="", aud=""))
    monkeypatch.undo()
    settings.cache_clear()
    assert setting in problem.detail


def test_nothing_heavy_is_imported_before_a_token_comes() -> None:
    program = (
        "import sys; from chalicelib.kernel import api_keys, checkpoints, cidr, merkle, sealing, signing, tokens;"
        "print(sorted({'cryptography', 'jwt'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
