"""Only access tokens of users are accepted, and ID tokens if a setting allows them."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.kernel.core.settings import settings
from tests.kernel.identity.issued_tokens import (
    AUDIENCE,
    VALID_HEADER,
    build_claims,
    build_token,
    is_accepted,
    is_rejected,
    rejection,
    sign_token,
)

pytestmark = pytest.mark.usefixtures("token_issuer")


@pytest.fixture(autouse=True)
def _reset_settings() -> Iterator[None]:
    yield
    settings.cache_clear()


def set_accept_id_tokens(monkeypatch: pytest.MonkeyPatch, accepted: str) -> None:
    """Set whether the service accepts ID tokens."""
    monkeypatch.setenv("AUTH_ACCEPT_ID_TOKENS", accepted)
    settings.cache_clear()


@pytest.mark.parametrize("typ", ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
def test_a_token_with_the_type_of_an_access_token_is_accepted(typ):
    assert is_accepted(sign_token({**VALID_HEADER, "typ": typ}, build_claims()))


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
def test_a_token_of_another_type_is_rejected(typ):
    assert is_rejected(sign_token({**VALID_HEADER, "typ": typ}, build_claims()))


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
ID_TOKENS: dict[str, dict[str, Any]] = {
    "token use of Cognito": {"token_use": "id"},
    "type of Keycloak": {"typ": "ID"},
    "with the hash of an access token": {"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"},
    "with the hash of a code": {"c_hash": "LDktKdoQak3Pk0cnXxCltA"},
    "with the client's nonce": {"nonce": "n-0S6_WzA2Mj"},
}


@pytest.mark.parametrize("description", OTHER_TOKENS)
@pytest.mark.parametrize("accepted", ["0", "1"])
def test_a_token_that_is_no_users_bearer_token_is_rejected(description, accepted, monkeypatch):
    set_accept_id_tokens(monkeypatch, accepted)
    assert is_rejected(build_token(**OTHER_TOKENS[description]))


@pytest.mark.parametrize("description", ID_TOKENS)
def test_an_id_token_is_accepted_if_the_setting_allows_it(description, monkeypatch):
    assert "ID token" in rejection(build_token(**ID_TOKENS[description])).detail
    set_accept_id_tokens(monkeypatch, "1")
    assert is_accepted(build_token(**ID_TOKENS[description]))


@pytest.mark.parametrize(
    "token_claims",
    [
        {"typ": "Bearer", "azp": "web", "nonce": "n-0S6_WzA2Mj", "scope": "openid email"},
        {"nonce": "n-0S6_WzA2Mj", "scp": "openid email"},
        {"token_use": "access", "aud": ..., "client_id": AUDIENCE, "scope": "openid"},
        {"azp": "web", "client_id": "web", "gty": "password"},
        {"preferred_username": "service-account-reports", "azp": "web"},
        {"idtyp": "user", "azp": "web"},
    ],
)
def test_an_access_token_of_a_user_is_accepted(token_claims):
    assert is_accepted(build_token(**token_claims))
