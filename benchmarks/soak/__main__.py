"""Run a mixed load on the whole service while its processes are killed, then check all promises: `make soak`.

The service runs as with `make run`, in a temporary folder. Each tenant creates, changes, publishes and deletes records
in an organization of its own, and reports application events. Webhooks and a log stream receive all events. The
endpoints of one webhook and of the stream fail at times. Meanwhile the processes of the service and of the workers are
killed at random and restarted. After the load the program waits until no work is pending, and compares every promise
with the responses that callers received. The results are written to `benchmarks/results/soak.json` and
`docs/operations/reliability.md`. The program fails if a promise is broken, but still writes the results.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from random import Random, randrange
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final

from benchmarks.deliveries.lag import percentiles
from benchmarks.log_scale.results import describe_environment
from benchmarks.soak import assertions, checks, document
from benchmarks.soak.fault_injection import ProcessKiller, ResourceMonitor
from benchmarks.soak.journal import Journal
from benchmarks.soak.record_types import RECORD_TYPES
from benchmarks.soak.tenants import EVENT_TYPE, Tenant
from chalicelib.kernel.core.clock import timestamp_ms
from tests.emulator.api_clients import declare_event_type
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import list_entries
from tests.harness.receiver import ReceivedRequest, Receiver, Reply

_DEFAULT_KILL_INTERVALS: Final = (5.0, 40.0)
_KILL_TIMEOUT_SECONDS: Final = 120.0
_SETTLE_TIMEOUT_SECONDS: Final = 420.0
_EXPORT_TIMEOUT_SECONDS: Final = 1020.0
"""A message of the jobs queue whose worker was killed returns after 16 minutes."""
_MAX_MEMORY_MIB: Final = 512
_MAX_OPEN_FILES: Final = 512
_MAX_REPLAYS: Final = 50
_STREAM: Final = "stream"
"""The first part of the paths at which the receiver accepts the batches of log streams."""
_CREATION_EVENTS: Final = frozenset(kind.creation_event for kind in RECORD_TYPES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a soak as the command line requests, store and print the results, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description="Run a load while processes are killed."
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--tenants", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.4, help="seconds between two requests of a tenant, on average")
    parser.add_argument(
        "--kills",
        type=float,
        nargs=2,
        default=_DEFAULT_KILL_INTERVALS,
        help="minimum and maximum of seconds between two kills",
    )
    parser.add_argument("--seed", type=int, default=randrange(10**9))  # noqa: S311 - printed, so that a run can be repeated
    parser.add_argument("--no-keep", action="store_true", help="do not store the results")
    options = parser.parse_args(arguments)
    print(f"SEED={options.seed}", flush=True)
    with TemporaryDirectory() as folder, Receiver() as receiver:
        stage = LocalStage(Path(folder)).start("--revive")
        try:
            results = Soak(stage, receiver, options).run()
        finally:
            stage.terminate()
    if not options.no_keep:
        document.save_results(results)
    print(document.render_results(results))
    return 1 if any(results["broken"].values()) else 0


class Soak:
    """One soak: the tenants, the process killer, and the checks."""

    def __init__(self, stage: LocalStage, receiver: Receiver, options: argparse.Namespace) -> None:
        self._stage, self._receiver, self._options = stage, receiver, options
        self._journal = Journal()
        self._tenants = [Tenant(stage, number, options.seed, self._journal) for number in range(options.tenants)]
        self._stream_batches: dict[str, list[assertions.StreamBatch]] = {}
        self._refused_paths = set[str]()
        self._random = Random(options.seed)  # noqa: S311 - a repeatable choice
        self._process_killer = ProcessKiller(stage, self._random, tuple(options.kills))
        self._resource_monitor = ResourceMonitor(stage)

    def run(self) -> dict[str, Any]:
        """Run the load, wait until all work is done, and return the results."""
        self._create_tenants()
        started_at = time.monotonic()
        self._run_load()
        load_seconds = time.monotonic() - started_at
        versions = [tenant.read_versions() for tenant in self._tenants]
        settle_seconds = checks.wait_until(self._is_settled, _SETTLE_TIMEOUT_SECONDS)
        export_seconds = checks.wait_until(
            lambda: not any(map(checks.unfinished_exports, self._tenants)), _EXPORT_TIMEOUT_SECONDS
        )
        requests = self._journal.replayable_requests
        sample = self._random.sample(requests, min(_MAX_REPLAYS, len(requests)))
        for tenant in self._tenants:
            tenant.replay([one for one in sample if one.tenant_number == tenant.number])
        checks.wait_until(self._is_settled, _SETTLE_TIMEOUT_SECONDS)  # An export commits an entry when it ends.
        return self._collect_results(versions) | {
            "of": describe_environment(),
            "seed": self._options.seed,
            "minutes": round(load_seconds / 60, 1),
            "settled": settle_seconds,
            "exported": export_seconds,
        }

    def _create_tenants(self) -> None:
        declare_event_type(self._stage, EVENT_TYPE)
        for tenant in self._tenants:
            paths = healthy_path, unreliable_path, stream_path = [
                f"/{name}/{tenant.number}" for name in ("well", "shaky", _STREAM)
            ]
            self._receiver.replies_by_path |= {
                healthy_path: Reply(status=204),
                unreliable_path: self._reply_unreliably,
                stream_path: self._accept_batch_unreliably,
            }
            *webhook_urls, stream_url = [self._receiver.url_at("127.0.0.1", path) for path in paths]
            tenant.create_initial_records(webhook_urls, stream_url)

    def _accept_batch_unreliably(self, request: ReceivedRequest) -> Reply:
        """Reply to a batch, and store one that is accepted. A repeated one is, so that pauses stay short."""
        reply = self._reply_unreliably(request) if request.path not in self._refused_paths else Reply(status=204)
        if reply.status == HTTPStatus.NO_CONTENT:
            self._refused_paths.discard(request.path)
            batch = [entry["sequence"] for entry in json.loads(request.body)]
            self._stream_batches.setdefault(request.path, []).append(batch)
        else:
            self._refused_paths.add(request.path)
        return reply

    def _reply_unreliably(self, _: ReceivedRequest) -> Reply:
        fails = self._random.random() < 0.3  # noqa: PLR2004 - three of ten
        return Reply(status=500) if fails else Reply(status=204)

    def _run_load(self) -> None:
        stop = Event()
        activities = [partial(tenant.act_until_stopped, stop, self._options.pause) for tenant in self._tenants]
        activities += [
            partial(self._process_killer.kill_until_stopped, stop),
            partial(self._resource_monitor.sample_until_stopped, stop),
        ]
        with ThreadPoolExecutor(len(activities)) as threads:
            futures = [threads.submit(each) for each in activities]
            try:
                self._wait_and_sample(stop)
                # A short load continues until each process was killed at least once.
                checks.wait_until(self._process_killer.has_killed_each, _KILL_TIMEOUT_SECONDS)
            finally:
                stop.set()
        for each in futures:
            each.result()

    def _wait_and_sample(self, stop: Event) -> None:
        seconds = self._options.minutes * 60
        for part in range(6):
            stop.wait(seconds / 6)
            for tenant in self._tenants:
                tenant.save_checkpoint()
                if part < 2:  # noqa: PLR2004 - in the first third, because an export may take a quarter of an hour
                    tenant.start_export()
            print(f"{(part + 1) * seconds / 360:.1f} min: {dict(self._journal.request_counts)}", flush=True)

    def _is_settled(self) -> bool:
        return (
            not any(map(checks.count_pending_entries, self._tenants))
            and not any(map(checks.count_unsent_entries, self._tenants))
            and not any(map(self._undelivered_events, self._tenants))
        )

    def _find_unsent_entries(self, tenant: Tenant) -> list[str]:
        entries = list_entries(tenant.caller, tenant.organization)
        return assertions.find_unsent_entries(entries, self._stream_batches.get(f"/{_STREAM}/{tenant.number}", []))

    def _undelivered_events(self, tenant: Tenant) -> list[str]:
        entries, undelivered = list_entries(tenant.caller, tenant.organization), []
        for url, webhook in tenant.webhooks.items():
            arrival_times = checks.arrival_times_by_event(self._receiver, url.partition(str(self._receiver.port))[2])
            # A webhook receives only events after its creation.
            about_it = (entry for entry in entries if entry["target"] and entry["target"]["id"] == webhook)
            created_at_sequence = next(about_it)["sequence"] or 0
            subscribed = [entry for entry in entries if (entry["sequence"] or 0) > created_at_sequence]
            undelivered += assertions.find_undelivered_events(
                subscribed, arrival_times, checks.explained_event_ids(tenant, webhook)
            )
        return undelivered

    def _collect_results(self, versions_by_tenant: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        entries = {tenant.organization: list_entries(tenant.caller, tenant.organization) for tenant in self._tenants}
        journal = self._journal
        violations = self._find_violations(versions_by_tenant, entries)
        return {
            "broken": violations,
            "entries": sum(map(len, entries.values())),
            "asked": dict(journal.request_counts),
            "answers": dict(journal.status_counts),
            "acknowledged": len(journal.acknowledged_changes),
            "abandoned": journal.abandoned_count,
            "triedAgain": journal.retry_count,
            "kills": self._process_killer.kill_counts,
            "revived": percentiles(self._process_killer.recovery_seconds),
            "lag": percentiles(self._delivery_lags(entries)),
            "deliveries": sum(not request.path.startswith(f"/{_STREAM}/") for request in self._receiver.requests),
            "exports": sum(len(t.export_ids) for t in self._tenants),
            "checkpoints": sum(len(t.checkpoints) for t in self._tenants),
            "memory": self._resource_monitor.peak_memory_mib,
            "files": self._resource_monitor.peak_open_files,
            "deadLetters": checks.count_dead_letters(self._stage),
        }

    def _find_violations(
        self, versions_by_tenant: Sequence[Mapping[str, int]], entries: dict[str, list[dict[str, Any]]]
    ) -> dict[str, list[str]]:
        return {
            "acknowledged": assertions.find_changes_without_entry(self._journal.acknowledged_changes, entries),
            "reported": assertions.find_lost_application_events(self._journal.acknowledged_changes, entries),
            "whole": [
                line
                for tenant, versions in zip(self._tenants, versions_by_tenant, strict=True)
                for line in assertions.find_version_mismatches(
                    entries[tenant.organization], versions, tenant.deleted_ids
                )
            ],
            "complete": [
                line
                for tenant in self._tenants
                for line in assertions.find_partial_records(
                    entries[tenant.organization], tenant.list_record_ids(), _CREATION_EVENTS
                )
            ],
            "ordered": [line for log in entries.values() for line in assertions.find_gaps(log)],
            "verified": [line for tenant in self._tenants for line in checks.find_verification_failures(tenant)],
            "told": [line for tenant in self._tenants for line in self._undelivered_events(tenant)],
            "streamed": [line for tenant in self._tenants for line in self._find_unsent_entries(tenant)],
            "answered": self._journal.violations,
            "exported": [line for tenant in self._tenants for line in checks.find_invalid_exports(tenant)],
            "bounded": self._exceeded_limits(),
            "struck": [
                f"no {name} was killed" for name, times in self._process_killer.kill_counts.items() if not times
            ],
        }

    def _delivery_lags(self, entries: dict[str, list[dict[str, Any]]]) -> list[float]:
        """Return the time from each event to its first arrival at a healthy endpoint, in seconds."""
        lags = []
        for tenant in self._tenants:
            arrival_times = checks.arrival_times_by_event(self._receiver, f"/well/{tenant.number}")
            delivered = [entry for entry in entries[tenant.organization] if entry["id"] in arrival_times]
            lags += [min(arrival_times[entry["id"]]) - timestamp_ms(entry["occurredAt"]) / 1000 for entry in delivered]
        return lags

    def _exceeded_limits(self) -> list[str]:
        monitor = self._resource_monitor
        return [
            *(f"{name} used {mib} MiB" for name, mib in monitor.peak_memory_mib.items() if mib > _MAX_MEMORY_MIB),
            *(
                f"{name} had {files} files open"
                for name, files in monitor.peak_open_files.items()
                if files > _MAX_OPEN_FILES
            ),
        ]


if __name__ == "__main__":
    sys.exit(main())
