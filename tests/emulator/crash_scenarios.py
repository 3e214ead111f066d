"""Processes of the service that a test can kill at any AWS call, and an organization that such processes change."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from uuid import uuid4

from chalicelib.kernel.audit_log.mac_chains import chain_shard_or_none
from local.paths import ROOT
from local.server.issuer import Person
from tests.emulator.api_clients import sign_token
from tests.emulator.local_stage import LocalStage, process_environment

KILLED_EXIT_CODE: Final = -9

Step = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, order=True)
class KillPoint:
    """The AWS call, counted from 1, before or after whose response a process is killed."""

    call: int
    after_response: bool


@dataclass(frozen=True)
class StepResults:
    """The results of the steps, and the AWS calls that they made."""

    results: list[Any]
    calls: list[str]

    @property
    def kill_points(self) -> list[KillPoint]:
        """All points at which a process that runs the same steps can be killed."""
        return [KillPoint(n, after_response) for n in range(1, len(self.calls) + 1) for after_response in (False, True)]


def create_step(kind: str, **arguments: Any) -> Step:
    """Return a step: its kind, as in `killable_process.py`, and its arguments."""
    return kind, arguments


class KillableProcesses:
    """Runs each task in a new process, against the emulator of a stage and a table of its own."""

    def __init__(self, stage: LocalStage, prefix: str) -> None:
        self._log = stage.state / f"{prefix}.log"
        command = [sys.executable, "-m", "tests.emulator.killable_process", prefix]
        environ = process_environment(stage.state, SETTINGS_FILE=str(stage.settings_file), LOG_LEVEL="ERROR")
        pipe = subprocess.PIPE
        with self._log.open("wb") as log:
            self._parent = subprocess.Popen(
                command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, stderr=log, text=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()
        assert self._parent.returncode == 0, self._log_tail

    @property
    def _log_tail(self) -> str:
        return self._log.read_text()[-4000:]

    def run_step(self, kind: str, *, ahead: float = 0, **arguments: Any) -> Any:
        """Run one step in a new process and return its result. `ahead` is how many seconds its clock is ahead."""
        return self.run_steps(create_step(kind, **arguments), ahead=ahead).results[0]

    def run_steps(self, *steps: Step, ahead: float = 0, in_parent: bool = False) -> StepResults:
        reply = self._send_task(steps, ahead=ahead, in_parent=in_parent)
        assert "results" in reply, self._log_tail
        return StepResults(**reply)

    def run_in_parent(self, *steps: Step) -> list[Any]:
        """Run steps in the parent, so that the processes forked later have already run them."""
        return self.run_steps(*steps, in_parent=True).results

    def run_until_killed(self, kill_point: KillPoint, *steps: Step, ahead: float = 0) -> None:
        point = (kill_point.call, "after" if kill_point.after_response else "before")
        reply = self._send_task(steps, ahead=ahead, kill_point=point)
        assert reply == {"exit_code": KILLED_EXIT_CODE}, self._log_tail

    def _send_task(self, steps: tuple[Step, ...], **options: Any) -> dict[str, Any]:
        assert self._parent.stdin
        assert self._parent.stdout
        print(json.dumps({"steps": steps, **options}), file=self._parent.stdin, flush=True)
        reply: dict[str, Any] = json.loads(self._parent.stdout.readline() or "{}")
        return reply


Contents = list[dict[str, Any]]

RECOVERY_SECONDS: Final = 90
"""The time after which the unfinished work of a killed process is due again."""

EVENT_TYPE: Final = "invoice.approved"
"""The type of application events, which the prerequisite `event type` declares."""

_IDEMPOTENCY_KEY: Final = "once"

_VOLATILE_ATTRIBUTES: Final = frozenset(
    {"body", "chains", "duepk", "epoch", "fingerprint", "headers", "hint"}
    | {"leaf", "note", "peaks", "record_mac", "seal", "tree_size", "ttl"}
)
"""Attributes whose values differ between two scenarios in which the same has happened."""

_VOLATILE_TEXTS: Final = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>"),
    (r"ANCHOR#\d", "ANCHOR#<shard>"),
    (r"EPOCH#[0-9a-f]{32}", "EPOCH#<whose>"),
    (r"[0-9a-f]{64}", "<hash>"),
    (r'("duesk": "<time>#[^"]*)#<time>(?=")', r"\1"),  # The key of a claimed task ends with the time since it was due.
)


@dataclass(frozen=True)
class Mutation:
    """A mutating request. Its path and body may contain names of the scenario, such as `<mary>`."""

    name: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    caller: str = "ada"
    prerequisites: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


@dataclass
class Scenario:
    """Two users, Ada and Mary, and an organization of Ada's, unless the test creates it."""

    stage: LocalStage
    processes: KillableProcesses
    names: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names["slug"] = f"world-{uuid4().hex}"
        for name in ("ada", "mary"):
            person = Person(name, sub=uuid4())
            self.names[name], self.tokens[name] = str(person.sub), sign_token(self.stage, person)

    def with_organization(self, *prerequisites: str) -> "Scenario":
        """Create the organization of Ada's with Mary as a member, and the prerequisites."""
        creation = self.request_by_ada("POST", "/organizations", name="World", slug=self.names["slug"])
        self.names["organization"] = organization = self.processes.run_in_parent(creation)[0]["body"]["id"]
        path = f"/organizations/{organization}"
        operator = sign_token(self.stage, Person("operator", sub=uuid4(), operator=True))
        declaration = {"description": "It happened.", "sentence": "{actor} did it.", "schema": {"type": "object"}}
        declared = {"method": "PUT", "path": f"/event-types/{EVENT_TYPE}", "token": operator, "body": declaration}
        steps = {
            "event type": create_step("request", **declared),
            "key": self.request_by_ada("POST", f"{path}/api-keys", name="First"),
            "deleted": self.request_by_ada("DELETE", path),
        }
        join = create_step("join", organization=organization, token=self.tokens["mary"], role="member")
        needed = [steps[name] for name in prerequisites]
        _, *results, _ = self.processes.run_in_parent(join, *needed, create_step("deliver"))
        if "key" in prerequisites:
            self.names["key"] = results[prerequisites.index("key")]["body"]["id"]
        return self

    def request_by_ada(self, method: str, path: str, **body: str) -> Step:
        path, token = self._fill_names(path), self.tokens["ada"]
        return create_step("request", method=method, path=path, token=token, body=body or None)

    def request(self, mutation: Mutation) -> Step:
        """Return a step that sends the mutation, with an Idempotency-Key if it is a POST."""
        body = json.loads(self._fill_names(json.dumps(mutation.body)))
        path, token = self._fill_names(mutation.path), self.tokens[mutation.caller]
        key = _IDEMPOTENCY_KEY if mutation.method == "POST" else None
        return create_step("request", method=mutation.method, path=path, token=token, body=body, key=key)

    def _fill_names(self, text: str) -> str:
        return re.sub(r"<(\w+)>", lambda found: self.names[found[1]], text)

    def recover(self, ahead: float = RECOVERY_SECONDS) -> None:
        """Run the sweep and the ledger's worker in a new process whose clock is ahead."""
        self.processes.run_steps(create_step("sweep"), create_step("deliver"), ahead=ahead)

    def read_items(self) -> Contents:
        """Return all items of the organization and of its users' requests."""
        step = create_step(
            "contents",
            slugs=[self.names["slug"], f"{self.names['slug']}-new"],
            people=[self.names[name] for name in self.tokens],
            key=_IDEMPOTENCY_KEY,
            organization_ids=[self.names["organization"]] if "organization" in self.names else [],
        )
        items: Contents = self.processes.run_in_parent(step)[0]
        for organization in (item for item in items if item.get("kind") == "organization"):
            self.names["organization"] = organization["id"]
        return sorted(items, key=lambda item: (item["pk"], item["sk"]))

    def normalize(self, items: Contents) -> list[str]:
        """Return the items as text without values that differ between scenarios in which the same has happened."""
        # Entries are assigned to the chains of their log at random.
        return sorted(self._normalize_item(item) for item in items if chain_shard_or_none(item) is None)

    def _normalize_item(self, item: Mapping[str, Any]) -> str:
        stable = {name: value for name, value in item.items() if name not in _VOLATILE_ATTRIBUTES}
        if "digests" in stable:
            stable["digests"] = sorted(map(str, stable["digests"].values()))
        text = json.dumps(stable, sort_keys=True)
        for name, value in self.names.items():
            text = text.replace(value, f"<{name}>")
        for pattern, replacement in _VOLATILE_TEXTS:
            text = re.sub(pattern, replacement, text)
        return text
