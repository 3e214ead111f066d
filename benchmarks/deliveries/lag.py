"""Measure how soon events reach webhooks while a tenth of the endpoints is dead: `python -m benchmarks.deliveries.lag`.

The whole service runs as with `make run`, in a temporary folder, and sends to real servers. An organization is changed
repeatedly at a fixed pace. A tenth of its webhooks have dead endpoints: half of these accept a connection and never
respond, half refuse connections. The lag of a delivery is the time from the commit of its event, its `timestamp`, to
the arrival of the request. The program fails unless every healthy endpoint receives every event, in the order of
`sequence`.

The emulator, the service, the workers and the receivers share one machine. The results are written to
`benchmarks/results/delivery_lag.json` and `docs/reference/deliveries.md`.
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
from benchmarks.log_scale.results import describe_environment
from chalicelib.kernel.core.clock import timestamp_ms
from local.server.run import free_port
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Receiver, Reply

_WEBHOOKS_PER_DEAD_ENDPOINT: Final = 10
_FIRST_PERIOD_SECONDS: Final = 60
_STALL_TIMEOUT_SECONDS: Final = 120
_POLL_INTERVAL_SECONDS: Final = 0.5
_EVENTS_PER_REPORT: Final = 50


@dataclass(frozen=True)
class Arrival:
    """A delivery that arrived: its endpoint, its event, the time of the event, and the lag."""

    path: str
    sequence: int
    event_id: str
    occurred_at: float
    lag_seconds: float

    @classmethod
    def from_request(cls, request: ReceivedRequest) -> "Arrival":
        """Parse a received request."""
        body = json.loads(request.body)
        occurred_at = timestamp_ms(body["timestamp"]) / 1000
        return cls(
            request.path,
            body["sequence"],
            request.headers["webhook-id"],
            occurred_at,
            request.received_at - occurred_at,
        )


def main() -> None:
    """Measure as the command line requests, store the results and print them."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.deliveries.lag", description="Measure how soon events arrive."
    )
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--webhooks", type=int, default=20, help="a tenth of them has dead endpoints")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two events")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, Receiver() as receiver:
        stage = LocalStage(Path(folder)).start()
        try:
            with ApiClient(stage, "ada") as ada:
                results = _measure(ada, receiver, options.events, options.webhooks, options.pause)
        finally:
            stage.terminate()
    document.save_results("delivery_lag", results)
    print(document.render_delivery_lag(results))


def _measure(ada: ApiClient, receiver: Receiver, events: int, webhooks: int, pause_seconds: float) -> dict[str, Any]:
    organization = f"/organizations/{ada.create_organization()}"
    dead_count = max(webhooks // _WEBHOOKS_PER_DEAD_ENDPOINT, 1)
    healthy_paths = _create_webhooks(ada, organization, receiver, webhooks, dead_count)
    started_at = time.monotonic()
    for number in range(events):
        time.sleep(max(0, started_at + number * pause_seconds - time.monotonic()))
        ada.patch(organization, json={"name": f"Engine {number}"}).raise_for_status()
        if not (number + 1) % _EVENTS_PER_REPORT:
            print(f"{number + 1} of {events} events, {len(receiver.requests)} requests arrived", flush=True)
    elapsed_seconds = time.monotonic() - started_at
    arrivals = _wait_for_arrivals(receiver, healthy_paths, events)
    _check_order(arrivals, healthy_paths, events)
    first_period_end = min(arrival.occurred_at for arrival in arrivals) + _FIRST_PERIOD_SECONDS
    return {
        "of": describe_environment(),
        "events": events,
        "webhooks": webhooks,
        "dead": dead_count,
        "deliveries": len(arrivals),
        "pause": round(elapsed_seconds / events, 2),
        "repeated": len(arrivals) - len({(a.path, a.event_id) for a in arrivals}),
        "lag": {
            "the first minute": percentiles(
                [arrival.lag_seconds for arrival in arrivals if arrival.occurred_at < first_period_end]
            ),
            "afterwards": percentiles(
                [arrival.lag_seconds for arrival in arrivals if arrival.occurred_at >= first_period_end]
            ),
            "all": percentiles([arrival.lag_seconds for arrival in arrivals]),
        },
    }


def _create_webhooks(
    ada: ApiClient, organization: str, receiver: Receiver, count: int, dead_count: int
) -> Sequence[str]:
    """Create the webhooks, and return the paths of the healthy endpoints."""
    receiver.default_reply = Reply(status=204)
    urls = [receiver.url_at("127.0.0.1", f"/{number}") for number in range(count)]
    for number in range(dead_count):
        if number % 2:
            urls[number] = f"http://127.0.0.1:{free_port()}/{number}"
        else:
            receiver.replies_by_path[f"/{number}"] = NO_REPLY
    for url in urls:
        body = {"url": url, "events": ["organization.updated"]}
        ada.post(f"{organization}/webhooks", json=body).raise_for_status()
    return [f"/{number}" for number in range(dead_count, count)]


def _wait_for_arrivals(receiver: Receiver, healthy_paths: Sequence[str], events: int) -> list[Arrival]:
    """Return all arrivals at the healthy endpoints once every event has arrived. Fail if no more arrive for a while."""
    arrival_count, last_arrival_at = 0, time.monotonic()
    while time.monotonic() - last_arrival_at < _STALL_TIMEOUT_SECONDS:
        arrivals = [
            Arrival.from_request(request) for request in list(receiver.requests) if request.path in healthy_paths
        ]
        if len({(arrival.path, arrival.event_id) for arrival in arrivals}) == len(healthy_paths) * events:
            return arrivals
        if len(arrivals) > arrival_count:
            arrival_count, last_arrival_at = len(arrivals), time.monotonic()
        time.sleep(_POLL_INTERVAL_SECONDS)
    raise SystemExit(
        f"{arrival_count} of {len(healthy_paths) * events} deliveries arrived, the last {_STALL_TIMEOUT_SECONDS} s ago."
    )


def _check_order(arrivals: Sequence[Arrival], healthy_paths: Sequence[str], events: int) -> None:
    for path in healthy_paths:
        sequences = list(dict.fromkeys(arrival.sequence for arrival in arrivals if arrival.path == path))
        if sequences != sorted(sequences) or len(sequences) != events:
            raise SystemExit(f"{path} did not receive every event in order: {sequences}")


def percentiles(lags: Sequence[float]) -> dict[str, float]:
    """Return the 50th and 99th percentile and the maximum, in seconds."""
    ordered = sorted(lags) or [0.0]
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {name: round(ordered[ceil(share * len(ordered)) - 1], 2) for name, share in shares.items()}


if __name__ == "__main__":
    main()
