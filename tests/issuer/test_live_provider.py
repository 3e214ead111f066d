"""Tokens of a certified OpenID Connect provider (npm's oidc-provider), obtained over HTTP."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from re import search
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid4, uuid5

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity.jwks import get_issuer_keys
from chalicelib.kernel.identity.jwt import User, verify_token

HERE: Final = Path(__file__).parent
AUDIENCE: Final = "https://api.atrium.example"
CALLBACK: Final = "http://127.0.0.1/callback"


class Provider:
    """A running provider and its clients."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def sign_in(self, person: str) -> dict[str, Any]:
        """Sign a person in by the code flow and return the client's tokens (OpenID Connect Core, section 3.1)."""
        with httpx.Client(base_url=self.issuer) as browser:
            parameters = {
                "client_id": "web",
                "response_type": "code",
                "redirect_uri": CALLBACK,
                "resource": AUDIENCE,
                "scope": "openid email profile",
                "nonce": "n-0S6_WzA2Mj",
            }
            page = browser.get("/auth", params=parameters)
            while not page.headers.get("location", "").startswith(CALLBACK):
                page = self._submit_page(browser, page, person)
            code = parse_qs(urlsplit(page.headers["location"]).query)["code"][0]
        return self._tokens("web", grant_type="authorization_code", code=code, redirect_uri=CALLBACK, resource=AUDIENCE)

    def client_token(self, headers: dict[str, str] | None = None) -> str:
        """Return a token of the client credentials grant (RFC 6749, section 4.4)."""
        response = self._tokens("reports", headers, grant_type="client_credentials", resource=AUDIENCE)
        return str(response["access_token"])

    def rotate(self) -> None:
        """Make the provider sign with a new key."""
        httpx.post(f"{self.issuer}/rotate").raise_for_status()

    def _submit_page(self, browser: httpx.Client, page: httpx.Response, person: str) -> httpx.Response:
        if page.is_redirect:
            return browser.get(page.headers["location"])
        page.raise_for_status()
        form = search(r'<form[^>]+action="([^"]+)"', page.text)
        prompt = search(r'name="prompt" value="(\w+)"', page.text)
        assert form, page.text
        assert prompt, page.text
        return browser.post(unescape(form[1]), data={"prompt": prompt[1], "login": person, "password": "any"})

    def _tokens(self, client: str, headers: dict[str, str] | None = None, **form: str) -> dict[str, Any]:
        response = httpx.post(
            f"{self.issuer}/token", data=form, auth=(client, f"secret-of-{client}"), headers=headers or {}
        )
        assert response.is_success, response.text
        tokens: dict[str, Any] = response.json()
        return tokens


@pytest.fixture(scope="module", params=["RS256", "EdDSA"])
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    node = shutil.which("node")
    assert node, "Node is needed; see README.md"
    command = [node, str(HERE / "provider.mjs"), AUDIENCE, request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield Provider(process.stdout.readline().split()[0])
        finally:
            process.terminate()


@pytest.fixture(autouse=True)
def trusted_issuer(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    configure(monkeypatch, AUTH_JWKS=f"{provider.issuer}/jwks", AUTH_ISSUER=provider.issuer, AUTH_AUDIENCE=AUDIENCE)
    get_issuer_keys.cache_clear()
    yield
    settings.cache_clear()
    get_issuer_keys.cache_clear()


def configure(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    """Set environment variables of the service."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()


def rejection_detail(token: str) -> str:
    """Return why the service rejects a token."""
    with pytest.raises(Problem) as raised:
        verify_token(token)
    assert raised.value.status == 401
    return raised.value.detail


def test_access_token_identifies_its_user(provider):
    token = provider.sign_in("ada")["access_token"]
    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
    user_id = str(uuid5(uuid5(NAMESPACE_URL, provider.issuer), "ada"))
    assert verify_token(token) == User(user_id, None, None, "ada@example.com", email_verified=True, is_operator=False)


def test_id_token_is_rejected_unless_enabled(provider, monkeypatch):
    token = provider.sign_in("ada")["id_token"]
    configure(monkeypatch, AUTH_AUDIENCE="web")
    assert "ID token" in rejection_detail(token)
    configure(monkeypatch, AUTH_ACCEPT_ID_TOKENS="1")
    assert verify_token(token).username == "ada"


def test_token_with_another_audience_is_rejected(provider, monkeypatch):
    token = provider.sign_in("ada")["access_token"]
    configure(monkeypatch, AUTH_AUDIENCE="web")
    assert jwt.decode(token, options={"verify_signature": False})["client_id"] == "web"
    assert "another service" in rejection_detail(token)


def test_client_credentials_token_is_rejected(provider):
    assert "client credentials" in rejection_detail(provider.client_token())


def test_dpop_bound_token_is_rejected(provider):
    key = ec.generate_private_key(ec.SECP256R1())
    public = jwt.get_algorithm_by_name("ES256").to_jwk(key.public_key(), as_dict=True)
    claims = {"htm": "POST", "htu": f"{provider.issuer}/token", "iat": int(time.time()), "jti": str(uuid4())}
    proof = jwt.encode(claims, key, "ES256", headers={"typ": "dpop+jwt", "jwk": public})
    token = provider.client_token({"DPoP": proof})
    assert "jkt" in jwt.decode(token, options={"verify_signature": False})["cnf"]
    assert "bound to a key" in rejection_detail(token)
    assert "neither `JWT` nor `at+jwt`" in rejection_detail(proof)


def test_tokens_of_new_keys_are_accepted_during_key_rotation(provider):
    before = provider.sign_in("ada")["access_token"]
    assert verify_token(before).email == "ada@example.com"
    for person in ("grace", "edsger", "barbara"):
        provider.rotate()
        assert verify_token(provider.sign_in(person)["access_token"]).email == f"{person}@example.com"
    assert "not signed with a key of the issuer" in rejection_detail(before)
