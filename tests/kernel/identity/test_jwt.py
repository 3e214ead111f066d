"""A user is the subject of a valid token of the trusted issuer."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock
from uuid import NAMESPACE_URL, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jwt import PyJWK

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity import jwt
from chalicelib.kernel.identity.jwks import IssuerKeys
from chalicelib.kernel.identity.jwt import User, verify_token
from tests.kernel.identity.issued_tokens import (
    AUDIENCE,
    ISSUER,
    PRIVATE_KEYS,
    SUBJECT,
    UNTRUSTED_KEY,
    VALID_HEADER,
    build_claims,
    build_token,
    is_accepted,
    is_rejected,
    public_jwk,
    rejection,
    sign_token,
)

pytestmark = pytest.mark.usefixtures("token_issuer")


@pytest.fixture(autouse=True)
def _reset_settings() -> Iterator[None]:
    yield
    settings.cache_clear()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_of_the_issuer_is_accepted(algorithm):
    header = {"alg": algorithm, "kid": algorithm}
    assert verify_token(sign_token(header, build_claims(), PRIVATE_KEYS[algorithm], algorithm)).id == SUBJECT.lower()


def test_ed25519_is_accepted_by_both_names():
    header = {"alg": "Ed25519", "kid": "EdDSA"}
    assert is_accepted(sign_token(header, build_claims(), PRIVATE_KEYS["EdDSA"], "EdDSA"))
    assert is_rejected(sign_token({**header, "kid": "ES256"}, build_claims(), PRIVATE_KEYS["EdDSA"], "EdDSA"))


def test_a_user_has_the_values_of_the_claims():
    user = verify_token(
        build_token(
            preferred_username="zoe", name="Zoë", email="Zoë@Example.COM", email_verified=True, groups=["operators"]
        )
    )
    assert user == User(SUBJECT.lower(), "zoe", "Zoë", "zoë@example.com", email_verified=True, is_operator=True)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"name": "Zoë", "preferred_username": "zoe", "email": "zoe@example.com"}, "Zoë"),
        ({"preferred_username": "zoe", "email": "zoe@example.com"}, "zoe"),
        ({"email": "zoe@example.com"}, "zoe@example.com"),
        ({}, None),
    ],
)
def test_the_log_uses_the_best_available_name(changes, name):
    assert verify_token(build_token(**changes)).actor == {"type": "user", "id": SUBJECT.lower(), "name": name}


def test_a_subject_is_sufficient():
    assert verify_token(build_token()) == User(
        SUBJECT.lower(), None, None, None, email_verified=False, is_operator=False
    )


def test_null_and_empty_claims_are_ignored():
    empty_claims_token = build_token(
        name="", email="", email_verified=True, preferred_username="", groups=None, nbf=..., iat=...
    )
    assert verify_token(empty_claims_token) == User(
        SUBJECT.lower(), None, None, None, email_verified=False, is_operator=False
    )


@pytest.mark.parametrize("blank", [" ", "\u200b", "\u3164"])
def test_an_invisible_name_is_ignored(blank):
    assert verify_token(build_token(name=blank, preferred_username="zoe")).actor["name"] == "zoe"
    assert verify_token(build_token(name=f"Zoë{blank}")).name == f"Zoë{blank}"


def test_the_claims_of_amazon_cognito_are_supported():
    access_token = build_token(
        **{"aud": ..., "client_id": AUDIENCE, "cognito:username": "zoe", "cognito:groups": ["operators"]}
    )
    user = verify_token(access_token)
    assert (user.username, user.is_operator) == ("zoe", True)


@pytest.mark.parametrize("claim", ["groups", "cognito:groups"])
@pytest.mark.parametrize("groups", ["operators", ["operators"], ["editors", "operators"], [7, "operators"]])
def test_members_of_the_operator_group_are_operators(claim, groups):
    assert verify_token(build_token(**{claim: groups})).is_operator


@pytest.mark.parametrize("claim", ["groups", "cognito:groups"])
@pytest.mark.parametrize(
    "groups",
    [
        [],
        ["operator"],
        ["Operators"],
        ["operators "],
        ["not-operators"],
        "operator",
        "Operators",
        "my operators",
        "operators,editors",
        [["operators"]],
        [{"operators": True}],
        {"operators": True},
        True,
        1,
    ],
)
def test_members_of_other_groups_are_not_operators(claim, groups):
    assert not verify_token(build_token(**{claim: groups})).is_operator


@pytest.mark.parametrize(
    ("claim_value", "verified"),
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
def test_an_email_address_is_verified_if_the_claim_is_true(claim_value, *, verified):
    user = verify_token(build_token(email="zoe@example.com", email_verified=claim_value))
    assert (user.email, user.email_verified) == ("zoe@example.com", verified)


@pytest.mark.parametrize("claim", ["name", "preferred_username", "cognito:username", "email"])
@pytest.mark.parametrize("value", [7, True, {}, ["zoe@example.com"], "\udfff"])
def test_names_and_addresses_of_other_types_are_ignored(claim, value):
    assert verify_token(build_token(email_verified=True, **{claim: value})) == verify_token(build_token())


def test_long_names_are_truncated_and_a_long_address_is_ignored():
    user = verify_token(build_token(name="é" * 256, preferred_username="z" * 256, email="x" * 243 + "@example.com"))
    assert (user.name, user.username, user.email) == ("é" * 255, "z" * 255, None)
    longest_email = "x" * 242 + "@example.com"
    assert verify_token(build_token(name="é" * 255, email=longest_email)).email == longest_email


_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "client_id",
                "email",
                "email_verified",
                "name",
                "preferred_username",
                "cognito:username",
                "groups",
                "cognito:groups",
                "iat",
                "jti",
                "azp",
            ]
        ),
        _JSON_VALUES,
    )
)
def test_no_optional_claim_invalidates_a_token(optional_claims):
    assert is_accepted(build_token(**optional_claims))


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=255))
def test_a_subject_that_is_no_uuid_is_mapped_to_a_stable_uuid(subject):
    assert verify_token(build_token(sub=subject)).id == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), subject))


@pytest.mark.parametrize("form", ["urn:uuid:{}", "{{{}}}", "{} ", "{}\n"])
def test_only_the_canonical_form_of_a_uuid_is_kept(form):
    for subject in (form.format(SUBJECT), SUBJECT.replace("-", "")):
        assert verify_token(build_token(sub=subject)).id == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), subject))


def test_one_of_several_audiences_is_sufficient():
    assert is_accepted(build_token(aud=["elsewhere", AUDIENCE]))


def test_a_key_id_is_optional_if_one_key_fits():
    assert is_accepted(sign_token({"alg": "ES256"}, build_claims()))


def test_headers_that_refer_to_other_keys_are_ignored():
    references = {"jku": "http://127.0.0.1:9/jwks", "x5u": "http://127.0.0.1:9/cert", "typ": "at+jwt"}
    foreign_jwk = {"jwk": public_jwk(UNTRUSTED_KEY, "ES256", "ES256")}
    assert is_accepted(sign_token(VALID_HEADER | references | foreign_jwk, build_claims()))


# Validity period


def test_a_token_is_valid_for_a_minute_after_its_expiry():
    assert is_accepted(build_token(exp=time.time() - 50))


def test_a_token_has_expired_after_that_minute():
    assert rejection(build_token(exp=time.time() - 70)).code == "token_expired"


def test_a_token_is_valid_a_minute_before_its_start():
    assert is_accepted(build_token(nbf=time.time() + 50))
    assert "not valid yet" in rejection(build_token(nbf=time.time() + 70)).detail


@pytest.mark.parametrize("issued_at", [..., None, 0, 9_999_999_999, "yesterday", {}, float("-inf"), float("nan")])
def test_the_issue_time_is_ignored(issued_at):
    assert is_accepted(build_token(iat=issued_at))


def test_expiry_is_reported_only_for_a_valid_signature():
    assert is_rejected(sign_token(VALID_HEADER, build_claims(exp=time.time() - 70), UNTRUSTED_KEY))


def test_a_cached_token_expires(monkeypatch):
    cached_token = build_token(exp=time.time() + 30)
    assert is_accepted(cached_token)
    later = datetime.now(UTC) + timedelta(seconds=100)
    monkeypatch.setattr(jwt, "datetime", Mock(now=lambda _: later))
    assert rejection(cached_token).code == "token_expired"


def test_a_cached_token_is_rejected_after_its_key_is_removed(monkeypatch):
    cached_token = build_token()
    assert is_accepted(cached_token)
    monkeypatch.setattr(IssuerKeys, "find", lambda *_: PyJWK(public_jwk(UNTRUSTED_KEY, "ES256", "ES256")))
    assert rejection(cached_token).detail == "The token's signature is invalid."


# Required claims


@pytest.mark.parametrize("claim", ["iss", "sub", "exp", "aud"])
def test_issuer_subject_expiry_and_audience_are_required(claim):
    assert is_rejected(build_token(**{claim: ...}))
    assert is_rejected(build_token(**{claim: None}))


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
        {"aud": "https://another-api.example", "client_id": AUDIENCE},
        {"aud": ["https://another-api.example"], "client_id": AUDIENCE},
        {"aud": [], "client_id": AUDIENCE},
    ],
)
def test_issuer_and_audience_must_be_the_configured_ones(changes):
    assert is_rejected(build_token(**changes))


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
def test_required_claims_must_have_their_types(changes):
    assert is_rejected(build_token(**changes))


def test_an_issuer_of_another_type_is_rejected():
    assert is_rejected(build_token(iss=[ISSUER]))


@pytest.mark.parametrize("payload", [b"", b"[]", b'"text"', b"7", b"null", b"{", b"\xff", b"[" * 6000])
def test_the_payload_must_be_an_object(payload):
    assert is_rejected(sign_token(VALID_HEADER, payload))
