"""People who call the running service."""

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

T = TypeVar("T")

_TLS: Final = ssl.create_default_context()
_PATIENCE_SECONDS: Final = 120


class Place(Protocol):
    """Where the service runs: its address, and the folder that has its issuer's key."""

    @property
    def url(self) -> str:
        """Where it answers."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What a request needs to get there."""

    @property
    def state(self) -> Path:
        """Where the folder `issuer` is."""


class Caller(httpx.Client):
    """Someone with a credential. Their name is theirs alone, whoever else is called so."""

    def __init__(self, place: Place, name: str, token: str | None = None) -> None:
        """Take a credential, or have one made by the place's issuer."""
        self.person = Person(name, sub=uuid4())
        self.id = str(self.person.sub)
        self.token = token or signed(place, self.person)
        super().__init__(
            base_url=place.url,
            headers={**place.headers, "Authorization": f"Bearer {self.token}"},
            verify=_TLS,
            trust_env=False,
            timeout=_PATIENCE_SECONDS,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        )

    def makes_organization(self, name: str = "Analytical Engines", **fields: Any) -> str:
        """Create an organization and return its id."""
        answer = self.post("/organizations", json={"name": name, **fields})
        assert answer.status_code == 201, answer.text
        return str(UUID(answer.json()["id"]))

    def invites(self, organization: str, other: "Caller", role: str) -> None:
        """Invite somebody to an organization, by whom that is accepted."""
        asked = {"email": str(other.person.claims()["email"]), "role": role}
        invited = self.post(f"/organizations/{organization}/invite", json=asked)
        assert invited.status_code == 201, invited.text
        accepted = other.get(f"{invited.json()['acceptUrl']}&decision=accept")
        assert accepted.json()["status"] == "accepted", accepted.text


def signed(place: Place, person: Person, *, kid: str | None = None, **claims: Any) -> str:
    """Return a token of the stage's issuer, good for an hour unless the claims say otherwise."""
    folder, now = place.state / "issuer", int(time.time())
    known = json.loads((folder / "jwks.json").read_text())["keys"][0]["kid"]
    usual = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 3600, **person.claims()}
    key = (folder / "private.pem").read_text()
    return jwt.encode(usual | claims, key, "ES256", headers={"kid": kid or known})


def at_once(*actions: Callable[[], T]) -> Sequence[T]:
    """Do things in threads that begin at the same moment; return what each answered, in the order given."""
    start = Barrier(len(actions))

    def begin(action: Callable[[], T]) -> T:
        start.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as threads:
        return list(threads.map(begin, actions))
