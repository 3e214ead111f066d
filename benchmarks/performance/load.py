"""What the running service takes under load, and what is behind it: `make load`, within five minutes.

The whole service runs as with `make run`, in a folder that goes with the program. autocannon, in a process of its own,
asks as fast as it is answered, over more and more connections: for a record, for a list, that a record be changed, and
for a mix of these. A webhook hears of each change. Meanwhile somebody looks twice a second how long the oldest
entry has waited for its place in the log.

It ends with an error, and keeps no figure, unless every change that was acknowledged has its one entry and reached
the webhook, the log is proved from outside, and nothing failed but changes that others kept in the way of (409).
Figures go to `benchmarks/results/load.json`, and from there to `docs/reference/performance.md`.
"""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final

from benchmarks.deliveries.lag import Arrival, spread
from benchmarks.log_scale.results import circumstances
from benchmarks.performance import document
from benchmarks.performance.load_section import written
from chalicelib.kernel.core.clock import timestamp_ms
from tests.emulator.log_reader import LogEntry, list_entries, wait_until_appended, read_verified_log
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage
from tests.harness.receiver import Receiver, Reply
from tests.harness.waiting import wait_until

CONNECTIONS: Final = (1, 10, 50)
SECONDS: Final = 5
LISTED: Final = 25
SPACES: Final = 50
MIX: Final = {"read": 6, "list": 3, "mutation": 1}
_LOOK_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 100
_MOST_SECONDS: Final = 90
_CANNON: Final = Path(__file__).with_name("load.mjs")


@dataclass
class Tenant:
    """An organization with a platform whose spaces are read, listed and renamed; `names` are those acknowledged."""

    owner: ApiClient
    organization: str
    platform: str
    spaces: Sequence[str]
    names: list[str] = field(default_factory=list)

    @classmethod
    def founded(cls, owner: ApiClient, receiver: Receiver) -> "Tenant":
        """Let somebody found it, with so many spaces, and a webhook that hears of their changes."""
        organization = owner.create_organization()
        platform = _made(owner, "/platforms", organizationId=organization, name="Engines")
        spaces = [_made(owner, "/spaces", platformId=platform, name=f"Looms {number}") for number in range(SPACES)]
        wait_until_appended(owner, organization)
        url = receiver.url_at("127.0.0.1")
        _made(owner, f"/organizations/{organization}/webhooks", url=url, events=["space.updated"])
        return cls(owner, organization, platform, spaces)

    def requests(self, kind: str) -> list[dict[str, Any]]:
        """Return what a connection asks for, again and again."""
        of_kind: dict[str, dict[str, Any]] = {
            "read": {"method": "GET", "path": f"/spaces/{self.spaces[0]}"},
            "list": {"method": "GET", "path": f"/platforms/{self.platform}/spaces?limit={LISTED}"},
            "mutation": {"method": "PATCH", "renames": [f"/spaces/{space}" for space in self.spaces]},
        }
        return [of_kind[each] for each, times in MIX.items() for _ in range(times if kind == "mix" else kind == each)]

    def oldest_waits(self) -> float:
        """Return how long the oldest entry that has no place in the log yet has waited for it, in seconds."""
        asked, waiting, query = time.time(), [], {"limit": "100"}
        while True:
            answer = self.owner.get(f"/organizations/{self.organization}/audit-log", params=query).raise_for_status()
            page = answer.json()
            waiting += [entry for entry in page["items"] if entry["sequence"] is None]
            if page["nextCursor"] is None or any(entry["sequence"] for entry in page["items"]):
                return max((asked - timestamp_ms(entry["occurredAt"]) / 1000 for entry in waiting), default=0.0)
            query["cursor"] = page["nextCursor"]


def main() -> None:
    """Measure, keep the figures and print them."""
    with TemporaryDirectory() as folder, Receiver() as receiver:
        receiver.default_reply = Reply(status=204)
        stage = LocalStage(Path(folder), environment_overrides={"LOG_LEVEL": "ERROR"}).start()
        try:
            with ApiClient(stage, "ada") as ada:
                found = measured(Tenant.founded(ada, receiver), receiver)
        finally:
            stage.terminate()
    document.keep("load", found)
    print(written(found))


def measured(tenant: Tenant, receiver: Receiver) -> dict[str, Any]:
    """Return the figures of all kinds of requests over so many connections, once everything behind them is done."""
    rows = []
    loaded(tenant, "read", CONNECTIONS[0], 1)  # First answers take longer.
    for kind in (*MIX, "mix"):
        for connections in CONNECTIONS:
            print(f"{kind} over {connections}", flush=True)
            rows.append({"kind": kind, "connections": connections} | turn(tenant, receiver, kind, connections))
    proven(tenant, receiver)
    return {
        "of": circumstances(),
        "seconds": SECONDS,
        "listed": LISTED,
        "mix": MIX,
        "spaces": SPACES,
        "changed": len(tenant.names),
        "rows": rows,
    }


def turn(tenant: Tenant, receiver: Receiver, kind: str, connections: int) -> dict[str, Any]:
    """Return what one kind of load was answered and, where it changed something, what came behind it and how late."""
    before, done = len(tenant.names), Event()
    if kind in ("read", "list"):
        return loaded(tenant, kind, connections, SECONDS)
    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(looked, tenant, done)
        try:
            row = loaded(tenant, kind, connections, SECONDS)
            ended = time.monotonic()
            wait_until_appended(tenant.owner, tenant.organization)
        finally:
            done.set()
        row["ledger"] = {"max": round(max(waits.result()), 2), "behind": round(time.monotonic() - ended, 2)}
    names = set(tenant.names[before:])
    wait_until(lambda: names <= {_name(request.body) for request in list(receiver.requests)}, _PATIENCE_SECONDS, interval_seconds=1)
    lags = [Arrival.of(request).lag for request in list(receiver.requests) if _name(request.body) in names]
    return row | {"changed": len(names), "delivery": spread(lags)}


def loaded(tenant: Tenant, kind: str, connections: int, seconds: int) -> dict[str, Any]:
    """Make load, and return how much was answered a second, and how soon. Ends the program if anything failed."""
    asked = {
        "url": str(tenant.owner.base_url),
        "connections": connections,
        "seconds": seconds,
        "token": tenant.owner.token,
        "requests": tenant.requests(kind),
    }
    cannon = subprocess.run(  # noqa: S603 - our own program, and what it is told
        [which("node") or "node", str(_CANNON)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=_MOST_SECONDS,
    )
    if cannon.returncode:
        raise SystemExit(f"autocannon did not run; `make load` installs it:\n{cannon.stderr}")
    found = json.loads(cannon.stdout)
    if found["failed"] or not found["answered"]:
        raise SystemExit(f"{kind} over {connections}: {found['failed']} requests failed, of {found['statuses']}.")
    tenant.names += found["names"]
    of_all = {name: found[name] for name in ("p50", "p99", "putOff")}
    return {"aSecond": round(found["answered"] / found["seconds"], 1), **of_all}


def looked(tenant: Tenant, done: Event) -> list[float]:
    """Return how long the oldest entry had waited, each time that somebody looked until all was done."""
    waits = [tenant.oldest_waits()]
    while not done.wait(_LOOK_SECONDS):
        waits.append(tenant.oldest_waits())
    return waits


def proven(tenant: Tenant, receiver: Receiver) -> None:
    """End the program unless the log is whole and has one entry of each change that the load was told of."""
    read_verified_log(tenant.owner, tenant.organization)
    entries = list_entries(tenant.owner, tenant.organization, type="space.updated")
    if wrong := without_their_entry(tenant.names, entries):
        raise SystemExit(f"{len(wrong)} acknowledged changes don't have their one entry: {wrong}")
    _check_order([Arrival.of(request).sequence for request in receiver.requests])


def without_their_entry(names: Sequence[str], entries: Sequence[LogEntry]) -> list[str]:
    """Return those of the names for which there is not just one entry that says so."""
    counts = Counter(entry["data"]["name"] for entry in entries)
    return [name for name in names if counts[name] != 1]


def _check_order(sequences: Sequence[int]) -> None:
    first = list(dict.fromkeys(sequences))
    if first != sorted(first):
        raise SystemExit(f"The webhook was not told in the order of the log: {first}")


def _made(owner: ApiClient, path: str, **body: Any) -> str:
    made: str = owner.post(path, json=body).raise_for_status().json()["id"]
    return made


def _name(body: bytes) -> str:
    name: str = json.loads(body)["data"]["name"]
    return name


if __name__ == "__main__":
    main()
