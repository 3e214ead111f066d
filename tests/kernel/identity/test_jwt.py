"""A user is the subject of a valid access token of the trusted issuer."""

import json
import time
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
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwks import IssuerKeys
from chalicelib.kernel.identity.jwt import User, verify_token
from tests.kernel.identity.conftest import (
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

NAMELESS_USER = User(SUBJECT.lower(), Profile())


@pytest.fixture(autouse=True)
def reset_settings():
    yield
    settings.cache_clear()


REFERENCES_TO_OTHER_KEYS = {
    "jku": "http://127.0.0.1:9/jwks",
    "x5u": "http://127.0.0.1:9/cert",
    "typ": "at+jwt",
    "jwk": public_jwk(UNTRUSTED_KEY, "ES256", "ES256"),
}


@pytest.mark.parametrize(
    ("header", "algorithm"),
    [
        *(({"alg": algorithm, "kid": algorithm}, algorithm) for algorithm in ("RS256", "ES256", "EdDSA")),
        ({"alg": "Ed25519", "kid": "EdDSA"}, "EdDSA"),
        ({"alg": "ES256"}, "ES256"),
        (VALID_HEADER | REFERENCES_TO_OTHER_KEYS, "ES256"),
        *((VALID_HEADER | {"typ": typ}, "ES256") for typ in ("JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt")),
    ],
)
def test_each_algorithm_and_type_is_accepted_with_an_optional_key_id_and_ignored_references(header, algorithm):
    assert is_accepted(sign_token(header, build_claims(), PRIVATE_KEYS[algorithm], algorithm))


def test_ed25519_is_rejected_with_another_key():
    header = {"alg": "Ed25519", "kid": "ES256"}
    assert is_rejected(sign_token(header, build_claims(), PRIVATE_KEYS["EdDSA"], "EdDSA"))


def test_a_user_has_the_values_of_the_claims():
    claims = {"preferred_username": "zoe", "name": "Zoë", "email": "Zoë@Example.COM", "email_verified": True}
    user = verify_token(build_token(**claims, groups=["operators"]))
    profile = Profile("zoe", "Zoë", "zoë@example.com", email_verified=True)
    assert user == User(SUBJECT.lower(), profile, is_operator=True)


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"name": "", "email": "", "email_verified": True, "preferred_username": "", "groups": None, "iat": ...},
        *(
            {"email_verified": True, claim: value}
            for claim in ("name", "preferred_username", "cognito:username", "email")
            for value in (7, True, {"a": 1}, ["zoe@example.com"], "\udfff")
        ),
    ],
)
def test_a_user_without_usable_claims_has_only_an_id(claims):
    assert verify_token(build_token(**claims)) == NAMELESS_USER


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


@pytest.mark.parametrize("blank", [" ", "\u200b", "\u3164"])
def test_an_invisible_name_is_ignored(blank):
    assert verify_token(build_token(name=blank, preferred_username="zoe")).actor["name"] == "zoe"
    assert verify_token(build_token(name=f"Zoë{blank}")).name == f"Zoë{blank}"


def test_the_claims_of_amazon_cognito_are_supported():
    cognito_claims = {"client_id": AUDIENCE, "cognito:username": "zoe", "cognito:groups": ["operators"]}
    user = verify_token(build_token(**cognito_claims, aud=...))
    assert (user.username, user.is_operator) == ("zoe", True)


@pytest.mark.parametrize(
    ("names", "claims", "profile"),
    [
        ({}, {"https://x.example/email": "zoe@example.com"}, Profile()),
        (
            {"EMAIL": "https://x.example/email"},
            {"https://x.example/email": "zoe@example.com"},
            ("zoe@example.com", None),
        ),
        ({"EMAIL": "mail, email"}, {"mail": 7, "email": "zoe@example.com"}, ("zoe@example.com", None)),
        ({"EMAIL": "mail,email"}, {"mail": "a@example.com", "email": "b@example.com"}, ("a@example.com", None)),
        ({"EMAIL_VERIFIED": "a,b"}, {"email": "zoe@example.com", "a": False, "b": True}, ("zoe@example.com", False)),
        ({"EMAIL_VERIFIED": "a,b"}, {"email": "zoe@example.com", "b": True}, ("zoe@example.com", True)),
        *(
            ({"EMAIL": "email,upn"} | names, {"upn": "b@example.com"} | claims, ("b@example.com", verified))
            for names, claims, verified in (
                ({}, {"email_verified": True}, None),
                ({}, {"email": 7, "email_verified": True}, None),
                ({"EMAIL_VERIFIED": "email_verified,upn_verified"}, {"email_verified": True}, None),
                ({"EMAIL_VERIFIED": "email_verified,upn_verified"}, {"upn_verified": True}, True),
                ({"EMAIL_VERIFIED": "a,b"}, {"email": "?", "a": True, "b": False}, False),
            )
        ),
        ({"EMAIL": "email,upn"}, {"email": "a@example.com", "email_verified": True}, ("a@example.com", True)),
        *(
            (
                {"EMAIL_VERIFIED": "xms_edov"},
                {"email": "zoe@example.com", "xms_edov": value},
                ("zoe@example.com", verified),
            )
            for value, verified in ((True, True), ("1", True), ("true", True), ("0", False), (1, False), ([1], False))
        ),
        (
            {"EMAIL_VERIFIED": "xms_edov"},
            {"email": "zoe@example.com", "email_verified": True},
            ("zoe@example.com", None),
        ),
        ({"USERNAME": "nickname", "NAME": "display"}, {"nickname": "zoe", "display": "Zoë"}, Profile("zoe", "Zoë")),
        ({"USERNAME": "sub"}, {}, Profile(SUBJECT)),
    ],
)
def test_settings_name_the_claims(names, claims, profile, monkeypatch):
    for name, value in names.items():
        monkeypatch.setenv(f"AUTH_CLAIM_{name}", value)
    settings.cache_clear()
    expected = profile if isinstance(profile, Profile) else Profile(None, None, *profile)
    assert verify_token(build_token(**claims)).token_profile == expected


@pytest.mark.parametrize(
    ("claim", "group", "groups", "is_operator"),
    [
        ("https://x.example/roles", "Atrium.Operator", ["Atrium.Operator"], True),
        ("https://x.example/roles", "Atrium.Operator", ["operators"], False),
        ("groups", "", [""], False),
        ("groups", "", "", False),
    ],
)
def test_settings_name_the_operators_group(claim, group, groups, is_operator, monkeypatch):
    monkeypatch.setenv("AUTH_CLAIM_GROUPS", claim)
    monkeypatch.setenv("AUTH_OPERATOR_GROUP", group)
    settings.cache_clear()
    assert verify_token(build_token(**{claim: groups})).is_operator is is_operator
    assert not verify_token(build_token(**{"cognito:groups": groups})).is_operator


def test_any_of_several_audiences_is_accepted(monkeypatch):
    monkeypatch.setenv("AUTH_AUDIENCE", f"https://api.example, {AUDIENCE}")
    settings.cache_clear()
    assert is_accepted(build_token())
    assert is_accepted(build_token(aud=["https://api.example", "elsewhere"]))
    assert is_accepted(build_token(aud=..., client_id="https://api.example"))
    assert is_rejected(build_token(aud=f"https://api.example,{AUDIENCE}"))


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"iss": "https://elsewhere.example"}, ("'https://elsewhere.example'", f"AUTH_ISSUER is '{ISSUER}'")),
        ({"iss": "x" * 5000}, ("…", "AUTH_ISSUER")),
        ({"aud": "elsewhere"}, ("`aud` is ['elsewhere']", f"AUTH_AUDIENCE is '{AUDIENCE}'")),
        ({"aud": ..., "client_id": "web"}, ("`client_id` is ['web']", "AUTH_AUDIENCE")),
        ({"aud": ...}, ("it has no `aud`", "AUTH_AUDIENCE")),
        ({"aud": "web"}, ("Send an access token that was requested for this API", "ID token is not one")),
        ({"nonce": "n-0S6_WzA2Mj"}, ("ID token", "AUTH_ACCEPT_ID_TOKENS=1")),
    ],
)
def test_an_error_says_what_was_received_and_which_setting_decides(changes, texts):
    detail = rejection(build_token(**changes)).detail
    assert len(detail) < 700
    assert all(text in detail for text in texts)


OTHER_GROUPS = [
    *("operator", "Operators", "OPERATORS", "my operators", "operators,editors", "operators\x00", "operators\n"),
    *("\u200boperators", "operator\u017f", '["operators"]', True, 1, {"operators": True}, {"0": "operators"}),
    *([], ["operator"], ["Operators"], ["operators "], ["not-operators"], [["operators"]], [{"operators": 1}], [1]),
]


@pytest.mark.parametrize(
    ("groups", "is_operator"),
    [
        *((groups, True) for groups in ("operators", ["operators"], ["editors", "operators"], [7, "operators"])),
        *((groups, False) for groups in OTHER_GROUPS),
    ],
)
def test_exactly_the_members_of_the_operator_group_are_operators(groups, is_operator):
    for claim, other in (("groups", "cognito:groups"), ("cognito:groups", "groups")):
        assert verify_token(build_token(**{claim: groups})).is_operator is is_operator
        assert verify_token(build_token(**{claim: groups, other: ["editors"]})).is_operator is is_operator
    for claim in ("roles", "scope", "permissions", "Groups", "group", "operator", "custom:groups"):
        assert not verify_token(build_token(**{claim: groups})).is_operator


@pytest.mark.parametrize("claim_value", [True, "true", False, "false", "True", 1, "1", [True]])
def test_an_email_address_is_verified_if_the_claim_is_true(claim_value):
    user = verify_token(build_token(email="zoe@example.com", email_verified=claim_value))
    assert (user.email, user.email_verified) == ("zoe@example.com", claim_value is True or claim_value == "true")


def test_long_names_are_truncated_and_a_long_address_is_ignored():
    user = verify_token(build_token(name="é" * 256, preferred_username="z" * 256, email="x" * 243 + "@example.com"))
    assert (user.name, user.username, user.email) == ("é" * 255, "z" * 255, None)
    longest_email = "x" * 242 + "@example.com"
    assert verify_token(build_token(name="é" * 255, email=longest_email)).email == longest_email


OPTIONAL_CLAIMS = [
    *("client_id", "email", "email_verified", "name", "preferred_username", "cognito:username", "groups"),
    *("cognito:groups", "iat", "jti", "azp"),
]
_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(OPTIONAL_CLAIMS), _JSON_VALUES))
def test_no_optional_claim_invalidates_a_token(optional_claims):
    assert is_accepted(build_token(**optional_claims))


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=255))
def test_a_subject_that_is_no_uuid_is_mapped_to_a_stable_uuid(subject):
    assert verify_token(build_token(sub=subject)).id == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), subject))


@pytest.mark.parametrize("form", ["urn:uuid:{}", "{{{}}}", "{} ", " {}", "{}\n", "{}\x00"])
def test_only_the_canonical_form_of_a_uuid_is_kept(form):
    for subject in (form.format(SUBJECT), SUBJECT.replace("-", "")):
        assert verify_token(build_token(sub=subject)).id == str(uuid5(uuid5(NAMESPACE_URL, ISSUER), subject))


def test_the_last_of_duplicate_claims_counts():
    claims_text, other = json.dumps(build_claims())[:-1], "4c1a2b5e-0000-4000-8000-00000000000b"
    assert verify_token(sign_token(VALID_HEADER, f'{claims_text},"sub":"{other}"}}'.encode())).id == other
    assert rejection(sign_token(VALID_HEADER, f'{claims_text},"exp":1}}'.encode())).code == "token_expired"
    assert is_rejected(sign_token(VALID_HEADER, f'{claims_text},"aud":"elsewhere"}}'.encode()))


def test_a_token_is_valid_from_a_minute_before_its_start_to_a_minute_after_its_expiry():
    assert is_accepted(build_token(exp=time.time() - 50))
    assert rejection(build_token(exp=time.time() - 70)).code == "token_expired"
    assert is_accepted(build_token(nbf=time.time() + 50))
    assert "not valid yet" in rejection(build_token(nbf=time.time() + 70)).detail


def test_expiry_is_reported_only_for_a_valid_signature():
    assert is_rejected(sign_token(VALID_HEADER, build_claims(exp=time.time() - 70), UNTRUSTED_KEY))


def test_a_cached_token_expires_and_is_rejected_after_its_key_is_removed(monkeypatch):
    cached_token = build_token(exp=time.time() + 30)
    assert is_accepted(cached_token)
    with monkeypatch.context() as patched:
        patched.setattr(IssuerKeys, "find", lambda *_: PyJWK(public_jwk(UNTRUSTED_KEY, "ES256", "ES256")))
        assert rejection(cached_token).detail == "The token's signature is invalid."
    later = datetime.now(UTC) + timedelta(seconds=100)
    monkeypatch.setattr(jwt, "datetime", Mock(now=lambda _: later))
    assert rejection(cached_token).code == "token_expired"


@pytest.mark.parametrize(
    "changes",
    [
        *({claim: value} for claim in ("iss", "sub", "exp", "aud") for value in (..., None)),
        *({"iss": value} for value in ("https://issuer.example/", "https://elsewhere.example", [ISSUER])),
        *({"aud": value} for value in ("elsewhere", list[str](), AUDIENCE.upper(), f"{AUDIENCE} ", {AUDIENCE: True})),
        {"aud": ["elsewhere"], "client_id": "elsewhere"},
        {"aud": ..., "client_id": "elsewhere"},
        {"aud": ..., "client_id": [AUDIENCE]},
        {"aud": ..., "azp": AUDIENCE},
        {"aud": "https://another-api.example", "client_id": AUDIENCE},
        {"aud": ["https://another-api.example"], "client_id": AUDIENCE},
        {"aud": [], "client_id": AUDIENCE},
        {"aud": [AUDIENCE, 7]},
        *({"sub": value} for value in ("", 7, [SUBJECT], {"id": SUBJECT}, "x" * 256, "\ud800")),
        *({"exp": value} for value in ("9999999999", [9999999999], float("inf"), float("nan"))),
        *({"nbf": value} for value in ("0", True)),
    ],
)
def test_issuer_audience_subject_and_times_must_be_valid(changes):
    assert is_rejected(build_token(**changes))


@pytest.mark.parametrize("payload", [b"", b"[]", b'"text"', b"7", b"null", b"{", b"\xff", b"[" * 6000])
def test_the_payload_must_be_an_object(payload):
    assert is_rejected(sign_token(VALID_HEADER, payload))


OTHER_TOKENS: dict[str, dict[str, Any]] = {
    "bound to a certificate": {"cnf": {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}},
    "bound to a DPoP key": {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
    "a logout token": {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}, "sid": "08a5019c"},
    "a client's token according to RFC 9068": {"sub": "reports", "client_id": "reports"},
    "a client's token by `azp`": {"sub": "reports", "azp": "reports"},
    "a client's token from Auth0": {"sub": "reports@clients", "azp": "reports", "gty": "client-credentials"},
    "a client's token from Entra ID": {"idtyp": "app", "azp": "9c2d1f0e", "roles": ["Reports.Read"]},
    "a client's token from Keycloak": {"azp": "Reports", "preferred_username": "service-account-reports"},
    "a client's token from Cognito": {"aud": ..., "sub": AUDIENCE, "client_id": AUDIENCE, "token_use": "access"},
}


@pytest.mark.parametrize("description", OTHER_TOKENS)
@pytest.mark.parametrize("accepted", ["0", "1"])
def test_a_token_that_is_no_users_bearer_token_is_rejected(description, accepted, monkeypatch):
    monkeypatch.setenv("AUTH_ACCEPT_ID_TOKENS", accepted)
    settings.cache_clear()
    assert is_rejected(build_token(**OTHER_TOKENS[description]))


@pytest.mark.parametrize(
    "claims",
    [
        {"token_use": "id"},  # of Cognito
        {"typ": "ID"},  # of Keycloak
        {"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"},
        {"c_hash": "LDktKdoQak3Pk0cnXxCltA"},
        {"nonce": "n-0S6_WzA2Mj"},
    ],
)
def test_an_id_token_is_accepted_if_the_setting_allows_it(claims, monkeypatch):
    assert "ID token" in rejection(build_token(**claims)).detail
    monkeypatch.setenv("AUTH_ACCEPT_ID_TOKENS", "1")
    settings.cache_clear()
    assert is_accepted(build_token(**claims))


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ["elsewhere", AUDIENCE]},
        {"typ": "Bearer", "azp": "web", "nonce": "n-0S6_WzA2Mj", "scope": "openid email"},
        {"nonce": "n-0S6_WzA2Mj", "scp": "openid email"},
        {"token_use": "access", "aud": ..., "client_id": AUDIENCE, "scope": "openid"},
        {"azp": "web", "client_id": "web", "gty": "password"},
        {"preferred_username": "service-account-reports", "azp": "web"},
        {"idtyp": "user", "azp": "web"},
        *({"iat": time} for time in (..., None, 0, 9_999_999_999, "yesterday", {"at": 1}, float("-inf"), float("nan"))),
    ],
)
def test_an_access_token_of_a_user_issued_at_any_time_is_accepted(claims):
    assert is_accepted(build_token(**claims))
