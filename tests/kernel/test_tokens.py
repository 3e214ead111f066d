"""A user is who the trusted issuer says, and no token can be bent into saying more."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
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
from tests.kernel.issued_tokens import (
    AUDIENCE,
    GOOD_HEADER,
    ISSUER,
    PRIVATE,
    STRANGERS,
    SUBJECT,
    claims,
    is_accepted,
    is_unauthenticated,
    public_jwk,
    refusal,
    signed,
    token,
)

pytestmark = pytest.mark.usefixtures("token_issuer")


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    yield
    settings.cache_clear()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_algorithm_of_the_issuer_is_accepted(algorithm: str) -> None:
    header = {"alg": algorithm, "kid": algorithm}
    assert verify_token(signed(header, claims(), PRIVATE[algorithm], algorithm)).id == SUBJECT.lower()


def test_ed25519_is_accepted_by_its_own_name_too() -> None:
    header = {"alg": "Ed25519", "kid": "EdDSA"}
    assert is_accepted(signed(header, claims(), PRIVATE["EdDSA"], "EdDSA"))
    assert is_unauthenticated(signed({**header, "kid": "ES256"}, claims(), PRIVATE["EdDSA"], "EdDSA"))


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


@pytest.mark.parametrize("blank", [" ", "\u200b", "\u3164"])
def test_a_name_of_which_nothing_can_be_seen_says_nothing(blank: str) -> None:
    assert verify_token(token(name=blank, preferred_username="zoe")).actor["name"] == "zoe"
    assert verify_token(token(name=f"Zoë{blank}")).name == f"Zoë{blank}"


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
        _ANYTHING,
    )
)
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


# Which kind of token it is


@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
def test_its_type_is_that_of_an_access_token(typ: str) -> None:
    assert is_accepted(signed({**GOOD_HEADER, "typ": typ}, claims()))


@pytest.mark.parametrize(
    "typ",
    [
        "logout+jwt",
        "dpop+jwt",
        "oauth-authz-req+jwt",
        "secevent+jwt",
        "token-introspection+jwt",
        "JOSE",
        "",
        " JWT",
        "JWT,at+jwt",
        None,
        7,
        ["JWT"],
    ],
)
def test_a_token_of_another_type_is_refused(typ: object) -> None:
    assert is_unauthenticated(signed({**GOOD_HEADER, "typ": typ}, claims()))


NO_ACCESS_TOKENS: dict[str, dict[str, Any]] = {
    "bound to a certificate": {"cnf": {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}},
    "bound to a DPoP key": {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
    "a logout token": {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}, "sid": "08a5019c"},
    "a program's, as RFC 9068 has it": {"sub": "reports", "client_id": "reports"},
    "a program's, by `azp`": {"sub": "reports", "azp": "reports"},
    "a program's, from Auth0": {"sub": "reports@clients", "azp": "reports", "gty": "client-credentials"},
    "a program's, from Entra ID": {"idtyp": "app", "azp": "9c2d1f0e", "roles": ["Reports.Read"]},
    "a program's, from Keycloak": {"azp": "Reports", "preferred_username": "service-account-reports"},
    "a program's, from Cognito": {"aud": ..., "sub": AUDIENCE, "client_id": AUDIENCE, "token_use": "access"},
}
ID_TOKENS: dict[str, dict[str, Any]] = {
    "as Cognito says it": {"token_use": "id"},
    "as Keycloak says it": {"typ": "ID"},
    "with the hash of an access token": {"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"},
    "with the hash of a code": {"c_hash": "LDktKdoQak3Pk0cnXxCltA"},
    "with the client's nonce": {"nonce": "n-0S6_WzA2Mj"},
}


@pytest.mark.parametrize("kind", NO_ACCESS_TOKENS)
@pytest.mark.parametrize("id_tokens", ["0", "1"])
def test_what_is_no_persons_bearer_token_is_refused(kind: str, id_tokens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_setting(monkeypatch, id_tokens)
    assert is_unauthenticated(token(**NO_ACCESS_TOKENS[kind]))


@pytest.mark.parametrize("kind", ID_TOKENS)
def test_an_id_token_is_accepted_where_a_setting_says_so(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ID token" in refusal(token(**ID_TOKENS[kind])).detail
    with_setting(monkeypatch, "1")
    assert is_accepted(token(**ID_TOKENS[kind]))


@pytest.mark.parametrize(
    "shape",
    [
        {"typ": "Bearer", "azp": "web", "nonce": "n-0S6_WzA2Mj", "scope": "openid email"},
        {"nonce": "n-0S6_WzA2Mj", "scp": "openid email"},
        {"token_use": "access", "aud": ..., "client_id": AUDIENCE, "scope": "openid"},
        {"azp": "web", "client_id": "web", "gty": "password"},
        {"preferred_username": "service-account-reports", "azp": "web"},
        {"idtyp": "user", "azp": "web"},
    ],
)
def test_an_access_token_of_a_person_is_accepted(shape: dict[str, Any]) -> None:
    assert is_accepted(token(**shape))


def with_setting(monkeypatch: pytest.MonkeyPatch, id_tokens: str) -> None:
    """Let the service accept ID tokens, or not."""
    monkeypatch.setenv("AUTH_ACCEPT_ID_TOKENS", id_tokens)
    settings.cache_clear()


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


def test_one_that_is_known_expires_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    known = token(exp=time.time() + 30)
    assert is_accepted(known)
    later = datetime.now(UTC) + timedelta(seconds=100)
    monkeypatch.setattr(jwt, "datetime", Mock(now=lambda _: later))
    assert refusal(known).code == "token_expired"


def test_one_that_is_known_holds_no_longer_than_its_key_is_the_issuers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = token()
    assert is_accepted(known)
    monkeypatch.setattr(IssuerKeys, "find", lambda *_: PyJWK(public_jwk(STRANGERS, "ES256", "ES256")))
    assert refusal(known).detail == "The token's signature is invalid."


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
        {"aud": "https://another-api.example", "client_id": AUDIENCE},
        {"aud": ["https://another-api.example"], "client_id": AUDIENCE},
        {"aud": [], "client_id": AUDIENCE},
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
