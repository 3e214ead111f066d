"""The sign-in page of the local stage: the code flow with PKCE, for the console of this run only."""

import base64
import hashlib
import time
from urllib.parse import parse_qsl, urlsplit

import httpx
import jwt
import pytest

from local.server import sign_in
from local.server.issuer import ISSUER, OPERATORS, Issuer
from local.server.sign_in import CLIENT_ID, create_server
from tests.harness.threaded_servers import serve_in_thread

CONSOLE = "http://127.0.0.1:8000/console"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REQUEST = {
    "client_id": CLIENT_ID,
    "response_type": "code",
    "redirect_uri": CONSOLE,
    "scope": "openid profile email",
    "state": "s",
    "nonce": "n",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
}


@pytest.fixture
def issuer(tmp_path):
    return Issuer(tmp_path / "issuer")


@pytest.fixture
def browser(issuer):
    issuer.settings()
    server = create_server(0, (CONSOLE,), issuer)
    with serve_in_thread(server), httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}") as client:
        yield client


def request_code(browser: httpx.Client, **form: str) -> dict[str, str]:
    response = browser.post("/authorize", params=REQUEST, data=form)
    assert response.status_code == 303
    location = urlsplit(response.headers["location"])
    assert f"{location.scheme}://{location.netloc}{location.path}" == CONSOLE
    return dict(parse_qsl(location.query))


def exchange(browser: httpx.Client, code: str, **changes: str) -> httpx.Response:
    form = {"grant_type": "authorization_code", "client_id": CLIENT_ID, "redirect_uri": CONSOLE, "code": code}
    return browser.post("/token", data={**form, "code_verifier": VERIFIER, **changes})


def claims_of(browser, token, audience):
    key = jwt.PyJWK(browser.get("/jwks.json").json()["keys"][0])
    return jwt.decode(token, key.key, ["ES256"], audience=audience, issuer=ISSUER)


def test_the_page_lists_the_people_of_the_sample_company_with_their_roles(browser):
    page = browser.get("/authorize", params=REQUEST)
    assert page.status_code == 200
    assert "script" not in page.text
    for username, name, role in sign_in.list_people():
        assert f'value="{username}"><span class="name">{name}</span> <span class="role">{role}</span>' in page.text
    assert browser.get("/sign-in.css").headers["content-type"] == "text/css; charset=utf-8"


def test_one_click_signs_a_person_in(browser, issuer):
    answer = request_code(browser, person="maud")
    assert answer["state"] == "s"
    tokens = exchange(browser, answer["code"]).json()
    claims = claims_of(browser, tokens["access_token"], "atrium")
    assert (claims["preferred_username"], claims["name"], "groups" in claims) == ("maud", "Maud Ellery", False)
    assert claims_of(browser, tokens["id_token"], CLIENT_ID)["nonce"] == "n"
    assert tokens["expires_in"] == 12 * 60 * 60
    discovery = browser.get("/.well-known/openid-configuration").json()
    assert discovery["issuer"] == ISSUER
    assert discovery["token_endpoint"] == f"{browser.base_url}".rstrip("/") + "/token"


@pytest.mark.parametrize(
    ("form", "is_operator"),
    [({"person": "desk"}, True), ({"name": "ada", "operator": "on"}, True), ({"name": "ada"}, False)],
)
def test_operators_are_the_desk_and_people_with_a_tick(browser, form, is_operator):
    tokens = exchange(browser, request_code(browser, **form)["code"]).json()
    claims = claims_of(browser, tokens["access_token"], "atrium")
    assert claims.get("groups", []) == ([OPERATORS] if is_operator else [])


def test_a_code_works_once(browser):
    code = request_code(browser, person="maud")["code"]
    assert exchange(browser, code).status_code == 200
    assert exchange(browser, code).json()["error"] == "invalid_grant"


def test_a_code_works_for_a_minute(browser, monkeypatch):
    code = request_code(browser, person="maud")["code"]
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + sign_in.CODE_LIFETIME_SECONDS)
    assert exchange(browser, code).status_code == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "w" * 43},
        {"client_id": "other"},
        {"redirect_uri": "http://127.0.0.1:8001/console"},
        {"grant_type": "refresh_token"},
        {"code": "unknown"},
    ],
)
def test_a_code_works_only_for_the_request_that_got_it(browser, changes):
    code = request_code(browser, person="maud")["code"]
    assert exchange(browser, **{"code": code, **changes}).status_code == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": "http://127.0.0.1:8000/console/"},
        {"redirect_uri": "https://example.com/console"},
        {"client_id": "other"},
        {"code_challenge_method": "plain"},
        {"code_challenge": ""},
        {"response_type": "token"},
    ],
)
def test_a_request_that_is_not_of_the_console_is_not_redirected(browser, changes):
    for response in (
        browser.get("/authorize", params={**REQUEST, **changes}),
        browser.post("/authorize", params={**REQUEST, **changes}, data={"person": "maud"}),
    ):
        assert response.status_code == 400
        assert next(iter(changes)) in response.text


def test_a_name_is_required(browser):
    response = browser.post("/authorize", params=REQUEST, data={"name": " "})
    assert (response.status_code, "enter a name" in response.text) == (400, True)


def test_signing_out_leads_back_to_the_console_only(browser):
    response = browser.get("/logout", params={"post_logout_redirect_uri": CONSOLE})
    assert (response.status_code, response.headers["location"]) == (303, CONSOLE)
    response = browser.get("/logout", params={"post_logout_redirect_uri": "https://example.com"})
    assert (response.status_code, response.text) == (200, "You are signed out.\n")


def test_other_pages_do_not_exist(browser):
    assert browser.get("/").status_code == browser.post("/").status_code == 404
