"""An issuer with a userinfo endpoint, on the loopback interface, whose access tokens name nobody."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from tests.harness.callers import Caller, Issuer
from tests.harness.receiver import ReceivedRequest, Receiver, Reply

JSON_HEADERS: Final = {"Content-Type": "application/json; charset=utf-8"}
DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
USERINFO_PATH: Final = "/me?of=token"


def json_reply(document: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, JSON_HEADERS | headers, json.dumps(document).encode())


@dataclass
class UserinfoIssuer:
    """The issuer. `issuer` signs its tokens, and `receiver` answers requests."""

    issuer: Issuer
    receiver: Receiver

    def __post_init__(self) -> None:
        self.set_discovery()
        self.receiver.default_reply = Reply(404)

    @property
    def url(self) -> str:
        return self.receiver.url.rstrip("/")

    @property
    def userinfo_requests(self) -> list[ReceivedRequest]:
        return [request for request in self.receiver.requests if request.path == USERINFO_PATH]

    def set_discovery(self, **changes: Any) -> None:
        document = {"issuer": self.url, "userinfo_endpoint": self.url + USERINFO_PATH, **changes}
        self.receiver.replies_by_path[DISCOVERY_PATH] = json_reply(document)

    def set_reply(self, reply: Reply | Callable[[ReceivedRequest], Reply]) -> None:
        self.receiver.replies_by_path[USERINFO_PATH] = reply

    def set_claims(self, caller: Caller, **claims: Any) -> None:
        """Let the endpoint describe a caller by these claims."""
        self.set_reply(json_reply({"sub": caller.id, **claims}))

    def create_caller(self, **claims: Any) -> Caller:
        """Return a caller with a new token, which names nobody. `claims` are added to the token."""
        subject = claims.pop("sub", str(uuid4()))
        token = self.issuer.issue_token(**{"iss": self.url, "sub": subject, "jti": str(uuid4())} | claims)
        return Caller(subject, token)
