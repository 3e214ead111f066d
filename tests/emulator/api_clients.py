"""HTTP clients of the running service, each with a user of its own."""

import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID, uuid4

import httpx
import jwt

from local.server.issuer import AUDIENCE, ISSUER, Person
from tests.harness.invitations import ACCEPTANCE_PATH, token_from_link

T = TypeVar("T")

_TLS: Final = ssl.create_default_context()
_TIMEOUT_SECONDS: Final = 120


class RunningService(Protocol):
    """A running service: its URL, the headers that it needs, and the folder with its issuer's key."""

    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def state(self) -> Path: ...


class ApiClient(httpx.Client):
    """A client with the credential of a new user. Users of the same name are different users."""

    def __init__(self, place: RunningService, name: str, token: str | None = None) -> None:
        """Use the given token, or one that the service's issuer signs."""
        self.person = Person(name, sub=uuid4())
        self.user_id = str(self.person.sub)
        self.token = token or sign_token(place, self.person)
        headers = {**place.headers, "Authorization": f"Bearer {self.token}", "Prefer": "handling=strict"}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        options: Any = {"verify": _TLS, "trust_env": False, "timeout": _TIMEOUT_SECONDS, "limits": limits}
        super().__init__(base_url=place.url, headers=headers, **options)

    def create_organization(self, name: str = "Analytical Engines", **fields: Any) -> str:
        response = self.post("/organizations", json={"name": name, **fields})
        assert response.status_code == 201, response.text
        return str(UUID(response.json()["id"]))

    def invite_and_accept(self, organization: str, other: "ApiClient", role: str) -> None:
        body = {"email": str(other.person.claims()["email"]), "role": role}
        invitation = self.post(f"/organizations/{organization}/invite", json=body)
        assert invitation.status_code == 201, invitation.text
        token = token_from_link(invitation.json()["acceptUrl"])
        acceptance = other.post(ACCEPTANCE_PATH, json={"token": token, "decision": "accept"})
        assert acceptance.json()["status"] == "accepted", acceptance.text


def declare_event_type(service: RunningService, event_type: str) -> None:
    """Declare an event type as an operator, whose events can have any data."""
    operator = Person("operator", sub=uuid4(), operator=True)
    body = {"description": "It happened.", "sentence": "{actor} did it.", "schema": {"type": "object"}}
    with ApiClient(service, "operator", sign_token(service, operator)) as client:
        response = client.put(f"/event-types/{event_type}", json=body)
        assert response.is_success, response.text


def sign_token(service: RunningService, person: Person, *, kid: str | None = None, **claims: Any) -> str:
    """Return a token of the service's issuer. It is valid for an hour unless the claims say otherwise."""
    folder, now = service.state / "issuer", int(time.time())
    key_id = json.loads((folder / "jwks.json").read_text())["keys"][0]["kid"]
    default_claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 3600, **person.claims()}
    key = (folder / "private.pem").read_text()
    return jwt.encode(default_claims | claims, key, "ES256", headers={"kid": kid or key_id})


def run_concurrently(*actions: Callable[[], T]) -> Sequence[T]:
    """Run actions concurrently in threads that start together, and return their results in order."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], T]) -> T:
        barrier.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as executor:
        return list(executor.map(run, actions))


def outcome_code(response: httpx.Response) -> str:
    return str(response.status_code if response.is_success else response.json()["code"])
