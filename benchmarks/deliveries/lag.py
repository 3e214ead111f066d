"""How soon events reach webhooks, while a tenth of the endpoints is dead: `python -m benchmarks.deliveries.lag`.

The whole service runs as with `make run`, in a folder that goes with the program, and sends to real servers. An
organization is changed again and again, at a pace. A tenth of its webhooks lead to endpoints that are dead: half of
these take a connection and never answer, half have nobody listening. The lag of a delivery is the time from the commit
of its event, which its `timestamp` says, until the request has arrived. It ends with an error unless every living
endpoint got every event, in the order of `sequence`.

All of it shares one machine: emulator, service, workers and receivers. Figures go to
`benchmarks/results/delivery_lag.json`, and from there to `docs/reference/deliveries.md`.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.deliveries import document
from benchmarks.log_scale.results import circumstances
from chalicelib.kernel.core.clock import timestamp_ms
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage
from tests.harness.receiver import NO_REPLY, Receiver, Reply, ReceivedRequest

_DEAD_ONE_IN: Final = 10
_FIRST_SECONDS: Final = 60
_STUCK_SECONDS: Final = 120
_LOOK_SECONDS: Final = 0.5
_EVENTS_PER_REPORT: Final = 50


@dataclass(frozen=True)
class Arrival:
    """A delivery that arrived: at which endpoint, of which event, when that happened, how long it took, in seconds."""

    path: str
    sequence: int
    event: str
    at: float
    lag: float

    @classmethod
    def of(cls, request: ReceivedRequest) -> "Arrival":
        """Read a request."""
        body = json.loads(request.body)
        at = timestamp_ms(body["timestamp"]) / 1000
        return cls(request.path, body["sequence"], request.headers["webhook-id"], at, request.received_at - at)


def main() -> None:
    """Measure as the command line says, keep the figures and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deliveries.lag", description="How soon events arrive.")
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--webhooks", type=int, default=20, help="of which a tenth is dead")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds from one event to the next")
    wanted = parser.parse_args()
    with TemporaryDirectory() as folder, Receiver() as receiver:
        stage = LocalStage(Path(folder)).start()
        try:
            with ApiClient(stage, "ada") as ada:
                found = _measure(ada, receiver, wanted.events, wanted.webhooks, wanted.pause)
        finally:
            stage.terminate()
    document.keep("delivery_lag", found)
    print(document.delivery_lag(found))


def _measure(ada: ApiClient, receiver: Receiver, events: int, webhooks: int, pause: float) -> dict[str, Any]:
    organization = f"/organizations/{ada.create_organization()}"
    dead = max(webhooks // _DEAD_ONE_IN, 1)
    living = _make_webhooks(ada, organization, receiver, webhooks, dead)
    began = time.monotonic()
    for number in range(events):
        time.sleep(max(0, began + number * pause - time.monotonic()))
        ada.patch(organization, json={"name": f"Engine {number}"}).raise_for_status()
        if not (number + 1) % _EVENTS_PER_REPORT:
            print(f"{number + 1} of {events} events, {len(receiver.requests)} requests arrived", flush=True)
    happened = time.monotonic() - began
    arrivals = _arrivals(receiver, living, events)
    _check(arrivals, living, events)
    first = min(arrival.at for arrival in arrivals) + _FIRST_SECONDS
    return {
        "of": circumstances(),
        "events": events,
        "webhooks": webhooks,
        "dead": dead,
        "deliveries": len(arrivals),
        "pause": round(happened / events, 2),
        "repeated": len(arrivals) - len({(a.path, a.event) for a in arrivals}),
        "lag": {
            "the first minute": spread([arrival.lag for arrival in arrivals if arrival.at < first]),
            "afterwards": spread([arrival.lag for arrival in arrivals if arrival.at >= first]),
            "all": spread([arrival.lag for arrival in arrivals]),
        },
    }


def _make_webhooks(ada: ApiClient, organization: str, receiver: Receiver, webhooks: int, dead: int) -> Sequence[str]:
    """Make them, and return the paths of those whose endpoints live."""
    receiver.default_reply = Reply(status=204)
    urls = [receiver.url_at("127.0.0.1", f"/{number}") for number in range(webhooks)]
    for number in range(dead):
        if number % 2:
            urls[number] = f"http://127.0.0.1:{free_port()}/{number}"
        else:
            receiver.replies_by_path[f"/{number}"] = NO_REPLY
    for url in urls:
        asked = {"url": url, "events": ["organization.updated"]}
        ada.post(f"{organization}/webhooks", json=asked).raise_for_status()
    return [f"/{number}" for number in range(dead, webhooks)]


def _arrivals(receiver: Receiver, living: Sequence[str], events: int) -> list[Arrival]:
    """Return all that reached the living endpoints, once each has as many events as there are or no more come."""
    seen, last = 0, time.monotonic()
    while time.monotonic() - last < _STUCK_SECONDS:
        arrivals = [Arrival.of(request) for request in list(receiver.requests) if request.path in living]
        if len({(arrival.path, arrival.event) for arrival in arrivals}) == len(living) * events:
            return arrivals
        if len(arrivals) > seen:
            seen, last = len(arrivals), time.monotonic()
        time.sleep(_LOOK_SECONDS)
    raise SystemExit(f"Of {len(living) * events} deliveries {seen} arrived, and for {_STUCK_SECONDS} s no more.")


def _check(arrivals: Sequence[Arrival], living: Sequence[str], events: int) -> None:
    for path in living:
        sequences = list(dict.fromkeys(arrival.sequence for arrival in arrivals if arrival.path == path))
        if sequences != sorted(sequences) or len(sequences) != events:
            raise SystemExit(f"{path} did not get every event in order: {sequences}")


def spread(lags: Sequence[float]) -> dict[str, float]:
    """Return the lag in the middle, the one that a hundredth exceeds, and the longest, in seconds."""
    ordered = sorted(lags) or [0.0]
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {name: round(ordered[ceil(share * len(ordered)) - 1], 2) for name, share in at.items()}


if __name__ == "__main__":
    main()
