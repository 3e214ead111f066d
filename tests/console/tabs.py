"""Tabs of a browser that show the console. The service in memory answers their requests."""

import base64
import json
import re
from hashlib import sha256
from html import escape
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, Page, Route

from local.seed.content.company import NAMES
from local.seed.content.leads import OPERATOR
from local.seed.organization import person_by_username
from local.server.issuer import Issuer, Person
from tests.harness.api import STAGE_PATH, ApiClient
from tests.harness.browser import LoggedPage

ORIGIN: Final = "http://console.localhost"
"""The origin of the service. Browsers treat hosts below `localhost` as secure."""

CONSOLE_URL: Final = f"{ORIGIN}{STAGE_PATH}/console"

ISSUER_URL: Final = "http://issuer.localhost"
_CLIENT_ID: Final = "console"
_OWN_PAGES: Final = ("/console", "/invitation", "/domain-setup", "/webhook-portal")
_EXPECTED_MESSAGES: Final = re.compile(r"Failed to load resource: (the server responded with a status of|net::ERR_)")
"""What the browser itself logs about an answer with an error status, which the console shows."""


def console_settings(
    issuer_url: str = ISSUER_URL, *, client_id: str = _CLIENT_ID, audience: str = ""
) -> dict[str, str]:
    """Return the settings with which the console signs people in at an issuer."""
    return {
        "console_client_id": client_id,
        "console_discovery_url": f"{issuer_url}/.well-known/openid-configuration",
        "console_audience": audience,
    }


def person(username: str) -> Person:
    """Return a person of the sample company, its operator, or anybody else with this name."""
    return person_by_username(username) if username in NAMES else Person(username, operator=username == OPERATOR)


class Tab:
    """A tab. `user`: who is signed in, or None."""

    def __init__(
        self,
        browser: Browser,
        api: ApiClient,
        issuer: Issuer,
        *,
        user: str | None = None,
        issuer_url: str = ISSUER_URL,
        **options: Any,
    ) -> None:
        self._issuer_url = issuer_url
        self._logged, self._api, self._issuer = LoggedPage(browser, **options), api, issuer
        self.page: Page = self._logged.page
        self.page.set_default_timeout(15_000)
        self.requested: list[str] = []
        """The calls of the API, by method and path."""
        self.failures: dict[str, tuple[int, dict[str, str], str]] = {}
        """Answers instead of those of the service, by method and path."""
        self.find_failure = self.failures.get
        self._codes: dict[str, dict[str, str]] = {}
        self.page.context.route("**/*", self._answer)
        if user:
            self._sign_in(person(user))

    def __enter__(self) -> Self:
        self._logged.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._logged.__exit__(*exc)

    def open(self, path: str = "/") -> Page:
        """Open a screen of the console, by its path behind `#`."""
        self.page.goto(f"{CONSOLE_URL}#{path}")
        return self.page

    def open_loaded(self, path: str) -> Page:
        """Open a screen, and wait until it shows what it reads."""
        page = self.open(path)
        page.get_by_role("heading", level=1).wait_for()
        page.locator(".skeleton").first.wait_for(state="detached")
        return page

    def open_hosted(self, path: str) -> Page:
        """Open a page outside of the console."""
        self.page.goto(f"{ORIGIN}{STAGE_PATH}{path}")
        return self.page

    def read_unexpected_messages(self) -> list[str]:
        """Return what the browser's console shows, except lines about answers with an error status."""
        return [each for each in self._logged.read_messages() if not _EXPECTED_MESSAGES.match(each)]

    def _sign_in(self, user: Person) -> None:
        session = {"accessToken": self._issuer.create_token(user), "idToken": None, "signedInAt": 0, "expiresAt": None}
        script = "sessionStorage.getItem('atrium.session') ?? sessionStorage.setItem('atrium.session', {})"
        stored = json.dumps(json.dumps(session))
        self.page.goto(f"{ORIGIN}{STAGE_PATH}/blank")
        self.page.evaluate(script.replace("{}", stored))

    def _answer(self, route: Route) -> None:
        url = urlsplit(route.request.url)
        origin = f"{url.scheme}://{url.netloc}"
        if origin == self._issuer_url:
            if origin == ISSUER_URL:
                self._answer_as_issuer(route)
            elif route.request.is_navigation_request():
                route.continue_()
            else:  # Browsers ask the user before a page calls this machine, unless it is on this machine itself.
                route.fulfill(response=route.fetch())
            return
        if origin != ORIGIN and not _is_of_own_page(route):
            route.abort()  # A file of a page of the issuer or of a customer.
            return
        assert origin == ORIGIN, route.request.url
        path = url.path.removeprefix(STAGE_PATH)
        if path == "/blank":
            route.fulfill(status=200, content_type="text/html", body="<!doctype html><title>Blank</title>")
        else:
            self._answer_as_service(route, path, url.query)

    def _answer_as_service(self, route: Route, path: str, query: str) -> None:
        request = route.request
        if request.resource_type == "fetch":
            self.requested.append(f"{request.method} {path}")
        if failure := self.find_failure(f"{request.method} {path}"):
            route.fulfill(status=failure[0], headers=failure[1], body=failure[2])
            return
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        target = f"{path}?{query}" if query else path
        answer = self._api.request(request.method, target, body=request.post_data_buffer or b"", headers=headers)
        route.fulfill(status=answer.status, headers=dict(answer.headers), body=answer.text)

    def _answer_as_issuer(self, route: Route) -> None:
        url = urlsplit(route.request.url)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        cross_origin = {"Access-Control-Allow-Origin": ORIGIN, "Content-Type": "application/json"}
        if url.path == "/.well-known/openid-configuration":
            route.fulfill(status=200, headers=cross_origin, body=json.dumps(_DISCOVERY))
        elif url.path == "/authorize":
            route.fulfill(status=200, content_type="text/html", body=self._render_sign_in_page(query))
        elif url.path == "/logout":
            route.fulfill(status=200, content_type="text/html", body="<!doctype html><title>Signed out</title>")
        else:
            form = {name: values[0] for name, values in parse_qs(route.request.post_data or "").items()}
            route.fulfill(status=200, headers=cross_origin, body=json.dumps(self._redeem_code(form)))

    def _render_sign_in_page(self, query: dict[str, str]) -> str:
        assert query["redirect_uri"] == CONSOLE_URL
        assert query["code_challenge_method"] == "S256"
        links = []
        for name in ("maud", "ines", "hattie", "stranger"):
            self._codes[name] = query
            target = f"{query['redirect_uri']}?{urlencode({'code': name, 'state': query['state']})}"
            links.append(f'<p><a href="{escape(target)}">{name}</a></p>')
        return f'<!doctype html><html lang="en"><title>Sign in as</title>{"".join(links)}</html>'

    def _redeem_code(self, form: dict[str, str]) -> dict[str, Any]:
        query = self._codes.pop(form["code"])
        challenge = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        assert challenge == query["code_challenge"]
        user = person(form["code"])
        access_token = self._issuer.create_token(user)
        claims = json.loads(_decode(access_token.split(".")[1]))
        id_claims = {**claims, "iss": ISSUER_URL, "aud": _CLIENT_ID, "nonce": query["nonce"]}
        id_token = f"{_encode({'alg': 'ES256'})}.{_encode(id_claims)}.{'A' * 86}"
        return {"access_token": access_token, "token_type": "Bearer", "expires_in": 3600, "id_token": id_token}


class HeldReads:
    """The reads of a page whose URLs have a pattern. They wait for their answers."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._waiting: list[Route] = []
        self._is_released = False
        page.route(pattern, self._hold)

    def _hold(self, route: Route) -> None:
        if self._is_released:
            route.fallback()
        else:
            self._waiting.append(route)

    def release(self) -> None:
        """Let the service answer these reads, and later ones."""
        self._is_released = True
        for route in self._waiting:
            route.fallback()


_DISCOVERY: Final = {
    "issuer": ISSUER_URL,
    "authorization_endpoint": f"{ISSUER_URL}/authorize",
    "token_endpoint": f"{ISSUER_URL}/token",
    "end_session_endpoint": f"{ISSUER_URL}/logout",
    "jwks_uri": f"{ISSUER_URL}/jwks.json",
    "id_token_signing_alg_values_supported": ["ES256"],
    "code_challenge_methods_supported": ["S256"],
}


def _is_of_own_page(route: Route) -> bool:
    return urlsplit(route.request.frame.url).path.removeprefix(STAGE_PATH) in _OWN_PAGES


def _encode(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
