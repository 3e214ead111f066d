"""An organization to be changed by a process that dies, and what of it is in the table."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from chalicelib.kernel.audit_log.mac_chains import shard_of
from chalicelib.kernel.core.clock import now_ms, timestamp
from local.server.issuer import Person
from tests.emulator.people import signed
from tests.emulator.process import Processes, Step, step
from tests.emulator.stage import Stage

Contents = list[dict[str, Any]]

AFTERWARDS: Final = 90
"""Seconds after which all that a dead process left behind is due again."""

_ONCE: Final = "once"

_OWN: Final = frozenset(
    {
        "body",
        "chains",
        "duepk",
        "epoch",
        "fingerprint",
        "headers",
        "hint",
        "leaf",
        "note",
        "peaks",
        "seal",
        "tree_size",
        "ttl",
    }
)
"""Attributes that differ between two worlds in which the same has happened, and say nothing more."""


@dataclass(frozen=True)
class Mutation:
    """One request that changes something. Its path and body may name what is in the world: `{mary}`."""

    name: str
    event: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    caller: str = "ada"
    needs: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Name the test."""
        return self.name


@dataclass
class World:
    """Ada, Mary and, unless Ada is still to make it, an organization; nobody else has to do with any of them."""

    stage: Stage
    processes: Processes
    names: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Let there be people."""
        self.names["slug"] = f"world-{uuid4().hex}"
        for name in ("ada", "mary"):
            person = Person(name, sub=uuid4())
            self.names[name], self.tokens[name] = str(person.sub), signed(self.stage, person)

    def with_organization(self, *needs: str) -> "World":
        """Let Ada make the organization, with Mary as a member, and what else is needed."""
        made = self.processes.warm(self.by_ada("POST", "/organizations", name="World", slug=self.names["slug"]))
        self.names["organization"] = made[0]["body"]["id"]
        path = f"/organizations/{self.names['organization']}"
        join = step("join", organization=self.names["organization"], token=self.tokens["mary"], role="member")
        further = {"key": self.by_ada("POST", f"{path}/api-keys", name="First"), "deleted": self.by_ada("DELETE", path)}
        _, *had, _ = self.processes.warm(join, *(further[need] for need in needs), step("deliver"))
        if "key" in needs:
            self.names["key"] = had[needs.index("key")]["body"]["id"]
        return self

    def by_ada(self, method: str, path: str, **body: str) -> Step:
        """Return a request of Ada's as a step."""
        return step("request", method=method, path=self._named(path), token=self.tokens["ada"], body=body or None)

    def request(self, mutation: Mutation) -> Step:
        """Return the mutation as a step, with an Idempotency-Key if it is a POST."""
        body = json.loads(self._named(json.dumps(mutation.body)))
        path, token = self._named(mutation.path), self.tokens[mutation.caller]
        key = _ONCE if mutation.method == "POST" else None
        return step("request", method=mutation.method, path=path, token=token, body=body, key=key)

    def _named(self, text: str) -> str:
        return re.sub(r"<(\w+)>", lambda found: self.names[found[1]], text)

    def moment(self, seconds: float) -> str:
        """Return the moment so many seconds from now."""
        return timestamp(now_ms() + round(seconds * 1000))

    def recover(self, ahead: float = AFTERWARDS) -> None:
        """Let a new process sweep, a while later, and a worker append what is queued."""
        self.processes.run(step("sweep"), step("deliver"), ahead=ahead)

    def contents(self) -> Contents:
        """Return all items that the organization and the request of its people have in the table."""
        slugs, people = [self.names["slug"], f"{self.names['slug']}-new"], [self.names[name] for name in self.tokens]
        known = [self.names[name] for name in ("organization",) if name in self.names]
        words = {"slugs": slugs, "people": people, "key": _ONCE, "known": known}
        contents: Contents = self.processes.warm(step("contents", **words))[0]
        for organization in (item for item in contents if item.get("kind") == "organization"):
            self.names["organization"] = organization["id"]
        return sorted(contents, key=lambda item: (item["pk"], item["sk"]))

    def footprint(self, contents: Contents) -> list[str]:
        """Return the contents, an item a line, as they are in every world in which the same has happened."""
        # Which chains of a log its entries are in is left to chance.
        return sorted(self._told(item) for item in contents if shard_of(item) is None)

    def _told(self, item: Mapping[str, Any]) -> str:
        told = {name: value for name, value in item.items() if name not in _OWN}
        if "digests" in told:
            told["digests"] = sorted(map(str, told["digests"].values()))
        text = json.dumps(told, sort_keys=True)
        for name, value in self.names.items():
            text = text.replace(value, f"<{name}>")
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>", text)
        text = re.sub(r"ANCHOR#\d", "ANCHOR#<shard>", text)
        text = re.sub(r"EPOCH#[0-9a-f]{32}", "EPOCH#<whose>", text)
        return re.sub(r"[0-9a-f]{64}", "<hash>", text)
