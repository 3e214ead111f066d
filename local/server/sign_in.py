"""The sign-in page of the local stage: OpenID Connect for the console, with a choice of people instead of passwords.

`python -m local.server.sign_in PORT CONSOLE_URL…` serves it on this machine only. It implements the authorization code
flow with PKCE (OpenID Connect Core 1.0, RFC 7636) for one public client. Tokens are those of the development issuer.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from local.seed.content.company import MEMBERS, NAMES, OWNER
from local.seed.content.leads import OPERATOR
from local.server.issuer import ISSUER, TOKEN_LIFETIME_SECONDS, Issuer, Person
from local.server.shutdown import shut_down_on_sigterm

CLIENT_ID: Final = "atrium-console"
CODE_LIFETIME_SECONDS: Final = 60
DEVELOPMENT_CONSOLE_URL: Final = "http://127.0.0.1:5173/console"
"""The console that `make console-dev` serves."""

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_CORS: Final = {"Access-Control-Allow-Origin": "*"}

Parameters = Mapping[str, str]


class RequestRejected(Exception):
    """A request is invalid. The message is for the developer of the client, who sees it in the browser."""


@dataclass(frozen=True)
class Grant:
    """What a code can be exchanged for: a token for a person, by the client that proves to have requested it."""

    person: Person
    redirect_uri: str
    nonce: str | None
    challenge: str
    expires_at: float


@dataclass
class SignIn:
    """The state of the issuer: its address, the addresses of consoles, and the codes that were not yet exchanged."""

    url: str
    console_urls: tuple[str, ...]
    issuer: Issuer = field(default_factory=Issuer)
    grants: dict[str, Grant] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def discovery_document(self) -> dict[str, Any]:
        """Return the description of the issuer (OpenID Connect Discovery 1.0, section 3)."""
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks.json",
            "end_session_endpoint": f"{self.url}/logout",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["openid", "profile", "email"],
        }

    def require_valid_request(self, parameters: Parameters) -> None:
        """Raise RequestRejected unless the parameters are those of an authorization request of the console."""
        if parameters.get("redirect_uri") not in self.console_urls:
            expected = " or ".join(self.console_urls)
            raise RequestRejected(f"The redirect_uri has to be {expected}, not {parameters.get('redirect_uri')!r}.")
        required = {"client_id": CLIENT_ID, "response_type": "code", "code_challenge_method": "S256"}
        for name, value in required.items():
            if parameters.get(name) != value:
                raise RequestRejected(f"The parameter {name} has to be {value!r}, not {parameters.get(name)!r}.")
        if not parameters.get("code_challenge"):
            raise RequestRejected("The parameter code_challenge is missing.")

    def redirect_with_code(self, parameters: Parameters, person: Person) -> str:
        """Return the address of the console with a code for a token of a person."""
        code = secrets.token_urlsafe(32)
        expires_at = time.monotonic() + CODE_LIFETIME_SECONDS
        redirect_uri, nonce = parameters["redirect_uri"], parameters.get("nonce")
        with self.lock:
            self.grants[code] = Grant(person, redirect_uri, nonce, parameters["code_challenge"], expires_at)
        state = {"state": parameters["state"]} if "state" in parameters else {}
        return f"{redirect_uri}?{urlencode({'code': code, **state})}"

    def exchange_code(self, parameters: Parameters) -> dict[str, Any]:
        """Return the tokens for a code, which works once. Raises RequestRejected."""
        with self.lock:
            grant = self.grants.pop(parameters.get("code", ""), None)
        challenge = _challenge_of_verifier(parameters.get("code_verifier", ""))
        is_valid = grant is not None and (
            parameters.get("grant_type") == "authorization_code"
            and parameters.get("client_id") == CLIENT_ID
            and parameters.get("redirect_uri") == grant.redirect_uri
            and secrets.compare_digest(challenge, grant.challenge)
            and time.monotonic() < grant.expires_at
        )
        if grant is None or not is_valid:
            raise RequestRejected("The code is unknown, expired, was used before, or belongs to another request.")
        nonce = {"nonce": grant.nonce} if grant.nonce else {}
        return {
            "access_token": self.issuer.create_token(grant.person),
            "id_token": self.issuer.create_id_token(grant.person, CLIENT_ID, nonce),
            "token_type": "Bearer",
            "expires_in": TOKEN_LIFETIME_SECONDS,
        }


def _challenge_of_verifier(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode(errors="replace")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def list_people() -> list[tuple[str, str, str]]:
    """Return the username, name and role of each person of the sample company, and of its operator."""
    roles = {OWNER: "owner", **{username: str(invitation["role"]) for username, invitation in MEMBERS.items()}}
    people = [(username, NAMES[username], role) for username, role in roles.items()]
    return [*people, (OPERATOR, "The desk", "operator of the service")]


def _chosen_person(parameters: Parameters) -> Person:
    """Return the person whose button was pressed, or whose name was entered. Raises RequestRejected."""
    username = parameters.get("person") or parameters.get("name", "").strip()
    if not username:
        raise RequestRejected("Choose a person, or enter a name.")
    is_operator = username == OPERATOR or ("person" not in parameters and parameters.get("operator") == "on")
    return Person(username, operator=is_operator, full_name=NAMES.get(username))


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of browsers."""

    protocol_version = "HTTP/1.1"
    sign_in: SignIn

    def do_GET(self) -> None:
        """Serve the documents, the page and its stylesheet."""
        url = urlsplit(self.path)
        parameters = dict(parse_qsl(url.query))
        match url.path:
            case "/.well-known/openid-configuration":
                self._respond_with_json(self.sign_in.discovery_document())
            case "/jwks.json":
                self._respond_with_json(json.loads(self.sign_in.issuer.key_set_file.read_text()))
            case "/authorize":
                self._respond_with_page(parameters)
            case "/logout":
                self._log_out(parameters)
            case "/sign-in.css":
                css = (Path(__file__).parent / "templates/sign-in.css").read_text()
                self._respond(HTTPStatus.OK, css, "text/css; charset=utf-8")
            case _:
                self._respond(HTTPStatus.NOT_FOUND, "There is no such page.\n", "text/plain; charset=utf-8")

    def do_POST(self) -> None:
        """Sign a person in, or exchange a code."""
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode(errors="replace")
        form = dict(parse_qsl(body, keep_blank_values=True))
        try:
            if url.path == "/authorize":
                parameters = dict(parse_qsl(url.query))
                self.sign_in.require_valid_request(parameters)
                self._redirect(self.sign_in.redirect_with_code(parameters, _chosen_person(form)))
            elif url.path == "/token":
                self._respond_with_json(self.sign_in.exchange_code(form))
            else:
                self._respond(HTTPStatus.NOT_FOUND, "There is no such page.\n", "text/plain; charset=utf-8")
        except RequestRejected as error:
            description = {"error": "invalid_grant", "error_description": str(error)}
            self._respond_with_json(description, HTTPStatus.BAD_REQUEST)

    def _respond_with_page(self, parameters: Parameters) -> None:
        try:
            self.sign_in.require_valid_request(parameters)
        except RequestRejected as error:
            self._respond(HTTPStatus.BAD_REQUEST, f"{error}\n", "text/plain; charset=utf-8")
            return
        page = _page_template().render(people=list_people(), action=f"/authorize?{urlencode(parameters)}")
        self._respond(HTTPStatus.OK, page, "text/html; charset=utf-8")

    def _log_out(self, parameters: Parameters) -> None:
        target = parameters.get("post_logout_redirect_uri", "")
        if target in self.sign_in.console_urls:
            self._redirect(target)
        else:
            self._respond(HTTPStatus.OK, "You are signed out.\n", "text/plain; charset=utf-8")

    def _redirect(self, target: str) -> None:
        self._respond(HTTPStatus.SEE_OTHER, "", "text/plain; charset=utf-8", {"Location": target})

    def _respond_with_json(self, content: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._respond(status, json.dumps(content), "application/json", _CORS)

    def _respond(
        self, status: HTTPStatus, text: str, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        body = text.encode()
        self.send_response(status)
        sent = {"Content-Type": content_type, "Content-Length": str(len(body)), **_HEADERS, **(headers or {})}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, template: str, *arguments: Any) -> None:
        """Log nothing, because addresses contain codes."""


@cache
def _page_template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("sign-in.html.jinja")


def create_server(port: int, console_urls: tuple[str, ...], issuer: Issuer | None = None) -> ThreadingHTTPServer:
    """Return a server for the consoles at these addresses. Port 0 selects a free one."""
    handler: Any = type("SignInHandler", (Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    handler.sign_in = SignIn(f"http://127.0.0.1:{server.server_port}", console_urls, issuer or Issuer())
    return server


if __name__ == "__main__":
    sign_in_server = create_server(int(sys.argv[1]), tuple(sys.argv[2:]))
    shut_down_on_sigterm(sign_in_server)
    sign_in_server.serve_forever()
