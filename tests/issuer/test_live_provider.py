"""The tokens of a certified OpenID Connect provider, npm's oidc-provider, as a real client gets them over HTTP."""

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
from chalicelib.kernel.identity.jwks import issuer_keys
from chalicelib.kernel.identity.jwt import User, verify_token

HERE: Final = Path(__file__).parent
AUDIENCE: Final = "https://api.atrium.example"
CALLBACK: Final = "http://127.0.0.1/callback"


class Provider:
    """A running provider, and clients of it."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def sign_in(self, person: str) -> dict[str, Any]:
        """Return the tokens of a client that a person signed in to, by the code flow (OpenID Connect Core, 3.1)."""
        with httpx.Client(base_url=self.issuer) as browser:
            asked = {
                "client_id": "web",
                "response_type": "code",
                "redirect_uri": CALLBACK,
                "resource": AUDIENCE,
                "scope": "openid email profile",
                "nonce": "n-0S6_WzA2Mj",
            }
            page = browser.get("/auth", params=asked)
            while not page.headers.get("location", "").startswith(CALLBACK):
                page = self._next(browser, page, person)
            code = parse_qs(urlsplit(page.headers["location"]).query)["code"][0]
        return self._tokens("web", grant_type="authorization_code", code=code, redirect_uri=CALLBACK, resource=AUDIENCE)

    def client_token(self, headers: dict[str, str] | None = None) -> str:
        """Return a program's own token (RFC 6749, section 4.4)."""
        answer = self._tokens("reports", headers, grant_type="client_credentials", resource=AUDIENCE)
        return str(answer["access_token"])

    def rotate(self) -> None:
        """Let the provider sign with a new key."""
        httpx.post(f"{self.issuer}/rotate").raise_for_status()

    def _next(self, browser: httpx.Client, page: httpx.Response, person: str) -> httpx.Response:
        if page.is_redirect:
            return browser.get(page.headers["location"])
        page.raise_for_status()
        form = search(r'<form[^>]+action="([^"]+)"', page.text)
        prompt = search(r'name="prompt" value="(\w+)"', page.text)
        assert form, page.text
        assert prompt, page.text
        return browser.post(unescape(form[1]), data={"prompt": prompt[1], "login": person, "password": "any"})

    def _tokens(self, client: str, headers: dict[str, str] | None = None, **form: str) -> dict[str, Any]:
        answer = httpx.post(
            f"{self.issuer}/token", data=form, auth=(client, f"secret-of-{client}"), headers=headers or {}
        )
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found


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
def trusted(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    trust(monkeypatch, AUTH_JWKS=f"{provider.issuer}/jwks", AUTH_ISSUER=provider.issuer, AUTH_AUDIENCE=AUDIENCE)
    issuer_keys.cache_clear()
    yield
    settings.cache_clear()
    issuer_keys.cache_clear()


def trust(monkeypatch: pytest.MonkeyPatch, **given: str) -> None:
    """Let the service run with these settings."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()


def refusal(token: str) -> str:
    """Return why a token is refused."""
    with pytest.raises(Problem) as raised:
        verify_token(token)
    assert raised.value.status == 401
    return raised.value.detail


def test_the_access_token_of_a_person_is_theirs(provider: Provider) -> None:
    token = provider.sign_in("ada")["access_token"]
    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
    user_id = str(uuid5(uuid5(NAMESPACE_URL, provider.issuer), "ada"))
    assert verify_token(token) == User(user_id, None, None, "ada@example.com", email_verified=True, operator=False)


def test_an_id_token_is_not_meant_for_the_service(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    token = provider.sign_in("ada")["id_token"]
    trust(monkeypatch, AUTH_AUDIENCE="web")
    assert "ID token" in refusal(token)
    trust(monkeypatch, AUTH_ACCEPT_ID_TOKENS="1")
    assert verify_token(token).username == "ada"


def test_a_token_for_another_service_is_refused(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    token = provider.sign_in("ada")["access_token"]
    trust(monkeypatch, AUTH_AUDIENCE="web")
    assert jwt.decode(token, options={"verify_signature": False})["client_id"] == "web"
    assert "another service" in refusal(token)


def test_a_programs_own_token_is_no_persons(provider: Provider) -> None:
    assert "client credentials" in refusal(provider.client_token())


def test_a_token_that_is_bound_to_a_key_is_refused_without_its_proof(provider: Provider) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    public = jwt.get_algorithm_by_name("ES256").to_jwk(key.public_key(), as_dict=True)
    about = {"htm": "POST", "htu": f"{provider.issuer}/token", "iat": int(time.time()), "jti": str(uuid4())}
    proof = jwt.encode(about, key, "ES256", headers={"typ": "dpop+jwt", "jwk": public})
    token = provider.client_token({"DPoP": proof})
    assert "jkt" in jwt.decode(token, options={"verify_signature": False})["cnf"]
    assert "bound to a key" in refusal(token)
    assert "neither `JWT` nor `at+jwt`" in refusal(proof)


def test_tokens_of_former_keys_and_of_new_ones_hold_while_keys_are_rotated(provider: Provider) -> None:
    before = provider.sign_in("ada")["access_token"]
    assert verify_token(before).email == "ada@example.com"
    for person in ("grace", "edsger", "barbara"):
        provider.rotate()
        assert verify_token(provider.sign_in(person)["access_token"]).email == f"{person}@example.com"
    assert "not signed with a key of the issuer" in refusal(before)
