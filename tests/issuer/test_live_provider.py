"""Tokens of a certified OpenID Connect provider (npm's oidc-provider), obtained over HTTP."""

import re
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import NAMESPACE_URL, uuid4, uuid5

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwks import get_issuer_keys
from chalicelib.kernel.identity.jwt import User, verify_token
from local.tools.doctor import diagnose
from local.tools.node import find_node

HERE: Final = Path(__file__).parent
GUIDES: Final = HERE.parents[1] / "docs/guides/issuers"
GUIDE: Final = (GUIDES / "openid-provider.md").read_text()
TOKEN_STEPS: Final = (GUIDES / "README.md").read_text().split("## Get a token")[1].split("## Check a token")[0]
AUDIENCE: Final = "https://api.atrium.example"
WITH_USERINFO: Final = "https://api.atrium.example/+userinfo"
WITHOUT_USERINFO: Final = "https://lean.atrium.example"
"""Resources whose access tokens name nobody. The userinfo endpoint accepts only those of the first."""

CALLBACK: Final = "http://127.0.0.1/callback"


class Provider:
    """A running provider and its clients."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def sign_in(self, person: str, resource: str = AUDIENCE) -> dict[str, Any]:
        """Sign a person in by the code flow and return the client's tokens (OpenID Connect Core, section 3.1)."""
        parameters = {"client_id": "web", "response_type": "code", "redirect_uri": CALLBACK, "nonce": "n-0S6_WzA2Mj"}
        parameters |= {"resource": resource, "scope": "openid email profile"}
        code = self.approve(f"{self.issuer}/auth?{urlencode(parameters)}", person)
        return self._tokens("web", resource=resource, grant_type="authorization_code", code=code, redirect_uri=CALLBACK)

    def approve(self, address: str, person: str) -> str:
        """Open the address of an authorization request, sign a person in, and return the code for the client."""
        with httpx.Client(base_url=self.issuer) as browser:
            page = browser.get(address)
            while not page.headers.get("location", "").startswith(CALLBACK):
                page = self._submit_page(browser, page, person)
        return parse_qs(urlsplit(page.headers["location"]).query)["code"][0]

    def client_token(self, **headers: str) -> str:
        """Return a token of the client credentials grant (RFC 6749, section 4.4)."""
        return str(self._tokens("reports", headers, grant_type="client_credentials")["access_token"])

    def _submit_page(self, browser: httpx.Client, page: httpx.Response, person: str) -> httpx.Response:
        if page.is_redirect:
            return browser.get(page.headers["location"])
        page.raise_for_status()
        form = re.search(r'<form[^>]+action="([^"]+)"', page.text)
        prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
        assert form, page.text
        assert prompt, page.text
        return browser.post(unescape(form[1]), data={"prompt": prompt[1], "login": person, "password": "any"})

    def _tokens(self, client: str, headers: dict[str, str] | None = None, **form: str) -> dict[str, Any]:
        data, credentials = {"resource": AUDIENCE, **form}, (client, f"secret-of-{client}")
        response = httpx.post(f"{self.issuer}/token", data=data, auth=credentials, headers=headers)
        assert response.is_success, response.text
        tokens: dict[str, Any] = response.json()
        return tokens


@pytest.fixture(scope="module", params=["RS256", pytest.param("EdDSA", marks=pytest.mark.exhaustive)])
def provider(request):
    command = [find_node().program, str(HERE / "provider.mjs"), request.param]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield Provider(process.stdout.readline().strip())
        finally:
            process.terminate()


@pytest.fixture(autouse=True)
def trusted_issuer(provider, monkeypatch):
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


def use_guide_settings(monkeypatch: pytest.MonkeyPatch, provider: Provider, **changes: str) -> None:
    """Set what the guide exports for a local run, for this provider, and what a run permits by itself."""
    exported = dict(re.findall(r"^    export (\w+)=(\S+)$", GUIDE, re.MULTILINE))
    exported = {name: value.replace(exported["AUTH_ISSUER"], provider.issuer) for name, value in exported.items()}
    assert exported["AUTH_JWKS"] == f"{provider.issuer}/jwks"
    assert "WEBHOOK_ALLOW_PRIVATE" not in exported
    configure(monkeypatch, **{"WEBHOOK_ALLOW_PRIVATE": "1", **exported, **changes})


def rejection_detail(token):
    """Return why the service rejects a token."""
    with pytest.raises(Problem) as raised:
        verify_token(token)
    assert raised.value.status == 401
    return raised.value.detail


def test_access_token_identifies_its_user(provider):
    token = provider.sign_in("ada")["access_token"]
    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
    user_id = str(uuid5(uuid5(NAMESPACE_URL, provider.issuer), "ada"))
    assert verify_token(token) == User(user_id, Profile("ada", email="ada@example.com", email_verified=True))
    assert jwt.decode(token, options={"verify_signature": False})["groups"] == ["staff"]


def test_the_documented_commands_get_a_token_that_the_service_accepts_with_the_settings_of_the_guide(
    provider, monkeypatch, tmp_path, capsys
):
    def run(commands: str) -> str:
        return subprocess.run(
            ["bash", "-euc", commands], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    preparing, redeeming = re.findall(r"(?:^      .+\n)+", TOKEN_STEPS, re.MULTILINE)
    (request,) = re.findall(r"^    (REQUEST=.+)$", GUIDE, re.MULTILINE)
    assert request in preparing
    preparing = preparing.replace("https://login.example.com", provider.issuer).replace("=web", "=console")
    preparing = preparing.replace("-of-web", "-of-console")
    document = httpx.get(f"{provider.issuer}/.well-known/openid-configuration").json()
    assert [document[name] for name in ("authorization_endpoint", "token_endpoint")] == re.findall(
        r"(?:AUTHORIZE|TOKENS)=(\S+)", preparing
    )
    assert "client_secret_post" in document["token_endpoint_auth_methods_supported"]
    code = provider.approve(run(preparing), "ada")
    redeeming = redeeming.replace("the-copied-code", code).replace(".venv/bin/python", sys.executable)
    assert run(f"{preparing}\n{redeeming}").startswith(provider.issuer)
    use_guide_settings(monkeypatch, provider)
    assert diagnose((tmp_path / "token.txt").read_text().strip()) == 0
    output = capsys.readouterr().out
    assert "missing   name" in output
    assert "ok        verified e-mail address" in output


def test_id_token_and_token_of_another_audience_are_rejected_unless_id_tokens_are_enabled(provider, monkeypatch):
    tokens = provider.sign_in("ada")
    configure(monkeypatch, AUTH_AUDIENCE="web")
    assert "ID token" in rejection_detail(tokens["id_token"])
    assert jwt.decode(tokens["access_token"], options={"verify_signature": False})["client_id"] == "web"
    assert "another service" in rejection_detail(tokens["access_token"])
    configure(monkeypatch, AUTH_ACCEPT_ID_TOKENS="1")
    assert verify_token(tokens["id_token"]).username == "ada"


def test_the_userinfo_endpoint_names_the_person_of_an_access_token_without_claims(provider, monkeypatch, aws, capsys):
    assert aws is None
    token = provider.sign_in("grace", WITH_USERINFO)["access_token"]
    assert "email" not in jwt.decode(token, options={"verify_signature": False})
    use_guide_settings(monkeypatch, provider, AUTH_AUDIENCE=f"{AUDIENCE}, {WITH_USERINFO}", AUTH_USERINFO="1")
    user = verify_token(token)
    assert user.token_profile == Profile()
    assert (user.username, user.verified_email_or_none) == ("grace", "grace@example.com")
    assert diagnose(token) == 0
    output = capsys.readouterr().out
    assert "The endpoint describes the person of the token." in output
    assert "grace@example.com" in output


def test_an_endpoint_that_rejects_the_tokens_of_the_api_is_explained(provider, monkeypatch, aws, capsys):
    assert aws is None
    token = provider.sign_in("grace", WITHOUT_USERINFO)["access_token"]
    use_guide_settings(monkeypatch, provider, AUTH_AUDIENCE=WITHOUT_USERINFO, AUTH_USERINFO="1")
    user = verify_token(token)
    assert (user.name, user.verified_email_or_none) == (None, None)
    assert "The token has the scope openid, so its issuer seems not to accept" in user.explain_unverified_email()
    assert diagnose(token) == 0
    assert "rejects the token with status 401" in capsys.readouterr().out


def test_client_credentials_and_dpop_bound_tokens_are_rejected(provider):
    assert "client credentials" in rejection_detail(provider.client_token())
    key = ec.generate_private_key(ec.SECP256R1())
    public = jwt.get_algorithm_by_name("ES256").to_jwk(key.public_key(), as_dict=True)
    claims = {"htm": "POST", "htu": f"{provider.issuer}/token", "iat": int(time.time()), "jti": str(uuid4())}
    proof = jwt.encode(claims, key, "ES256", headers={"typ": "dpop+jwt", "jwk": public})
    token = provider.client_token(DPoP=proof)
    assert "jkt" in jwt.decode(token, options={"verify_signature": False})["cnf"]
    assert "bound to a key" in rejection_detail(token)
    assert "neither `JWT` nor `at+jwt`" in rejection_detail(proof)


def test_tokens_of_new_keys_are_accepted_during_key_rotation(provider):
    before = provider.sign_in("ada")["access_token"]
    assert verify_token(before).email == "ada@example.com"
    for person in ("grace", "edsger", "barbara"):
        httpx.post(f"{provider.issuer}/rotate").raise_for_status()  # The provider signs with a new key.
        assert verify_token(provider.sign_in(person)["access_token"]).email == f"{person}@example.com"
    assert "not signed with a key of the issuer" in rejection_detail(before)
