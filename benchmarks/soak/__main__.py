"""Mixed load on the whole service while its processes are killed, and what is so afterwards: `make soak`.

The service runs as with `make run`, in a folder that goes with the program. Tenants make, change, publish and delete,
each in an organization of their own; webhooks hear of all of it, one of them at an endpoint that fails. Meanwhile the
service's process and the workers' are killed at random and begin anew. Then the load ends, what waits is done, and
every promise is held against what the callers were told. Figures go to `benchmarks/results/soak.json`, and from there
to `docs/operations/reliability.md`. It ends with an error if a promise is broken; figures are kept all the same.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random, randrange
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, Final

from benchmarks.deliveries.lag import spread
from benchmarks.log_scale.results import circumstances
from benchmarks.soak import assertions, checks, document
from benchmarks.soak.fault_injection import Mishaps, Watch
from benchmarks.soak.journal import History
from benchmarks.soak.record_types import KINDS
from benchmarks.soak.tenants import Tenant
from chalicelib.kernel.core.clock import timestamp_ms
from tests.emulator.log_reader import list_entries
from tests.emulator.local_stage import LocalStage
from tests.harness.receiver import Receiver, Reply, ReceivedRequest

_PAUSES: Final = (5.0, 40.0)
_SETTLE_SECONDS: Final = 420.0
_EXPORTS_SECONDS: Final = 1020.0
"""A message of the jobs queue whose worker was killed comes back after 16 minutes."""
_MOST_MEMORY_MIB: Final = 512
_MOST_FILES: Final = 512
_REPLAYED: Final = 50
_MADE: Final = frozenset(kind.event for kind in KINDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak as the command line says, keep the figures and print them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Load while processes are killed.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--tenants", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.4, help="seconds between two requests of a tenant, on average")
    parser.add_argument(
        "--kills", type=float, nargs=2, default=_PAUSES, help="least and most seconds between two kills"
    )
    parser.add_argument("--seed", type=int, default=randrange(10**9))  # noqa: S311 - it is printed, to be used again
    parser.add_argument("--no-keep", action="store_true", help="only look; keep no figures")
    asked = parser.parse_args(arguments)
    print(f"SEED={asked.seed}", flush=True)
    with TemporaryDirectory() as folder, Receiver() as receiver:
        stage = LocalStage(Path(folder)).start("--revive")
        try:
            found = Soak(stage, receiver, asked).run()
        finally:
            stage.terminate()
    if not asked.no_keep:
        document.keep(found)
    print(document.written(found))
    return 1 if any(found["broken"].values()) else 0


class Soak:
    """One soak: the tenants, who kills, and all that is found."""

    def __init__(self, stage: LocalStage, receiver: Receiver, asked: argparse.Namespace) -> None:
        self._stage, self._receiver, self._asked = stage, receiver, asked
        self._history = History()
        self._tenants = [Tenant(stage, number, asked.seed, self._history) for number in range(asked.tenants)]
        self._chance = Random(asked.seed)  # noqa: S311 - a choice that can be made again
        self._mishaps = Mishaps(stage, self._chance, tuple(asked.kills))
        self._watch = Watch(stage)

    def run(self) -> dict[str, Any]:
        """Load, kill, wait, look; return the figures."""
        self._open_endpoints()
        began = time.monotonic()
        self._load()
        loaded = time.monotonic() - began
        versions = [tenant.settle() for tenant in self._tenants]
        settled = checks.wait_until(self._is_settled, _SETTLE_SECONDS)
        exported = checks.wait_until(lambda: not any(map(checks.unfinished, self._tenants)), _EXPORTS_SECONDS)
        stored = self._history.stored_records
        replayed = self._chance.sample(stored, min(_REPLAYED, len(stored)))
        for tenant in self._tenants:
            tenant.replay([one for one in replayed if one.tenant == tenant.number])
        return self._found(versions) | {
            "of": circumstances(),
            "seed": self._asked.seed,
            "minutes": round(loaded / 60, 1),
            "settled": settled,
            "exported": exported,
        }

    def _open_endpoints(self) -> None:
        for tenant in self._tenants:
            well, shaky = f"/well/{tenant.number}", f"/shaky/{tenant.number}"
            self._receiver.replies_by_path |= {well: Reply(status=204), shaky: self._shake}
            tenant.begin([self._receiver.url_at("127.0.0.1", path) for path in (well, shaky)])

    def _shake(self, _: ReceivedRequest) -> Reply:
        fails = self._chance.random() < 0.3  # noqa: PLR2004 - three of ten
        return Reply(status=500) if fails else Reply(status=204)

    def _load(self) -> None:
        stopped = Event()
        work = [partial(tenant.act, stopped, self._asked.pause) for tenant in self._tenants]
        work += [partial(self._mishaps.happen, stopped), partial(self._watch.keep_looking, stopped)]
        with ThreadPoolExecutor(len(work)) as threads:
            done = [threads.submit(each) for each in work]
            try:
                self._look_on(stopped)
            finally:
                stopped.set()
        for each in done:
            each.result()

    def _look_on(self, stopped: Event) -> None:
        seconds = self._asked.minutes * 60
        for part in range(6):
            stopped.wait(seconds / 6)
            for tenant in self._tenants:
                tenant.keep_checkpoint()
                if part < 2:  # noqa: PLR2004 - in the first third, so that they may take a quarter of an hour
                    tenant.export()
            print(f"{(part + 1) * seconds / 360:.1f} min: {dict(self._history.asked)}", flush=True)

    def _is_settled(self) -> bool:
        return not any(map(checks.pending, self._tenants)) and not any(map(self._missing, self._tenants))

    def _missing(self, tenant: Tenant) -> list[str]:
        entries, found = list_entries(tenant.caller, tenant.organization), []
        for url, webhook in tenant.webhooks.items():
            arrived = checks.arrived(self._receiver, url.partition(str(self._receiver.port))[2])
            # What happened before the webhook was there, it is not told.
            made = next(e["sequence"] for e in entries if e["target"]["id"] == webhook) or 0
            delivered = [entry for entry in entries if (entry["sequence"] or 0) > made]
            found += assertions.untold(delivered, arrived, checks.explained(tenant, webhook))
        return found

    def _found(self, versions: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        entries = {tenant.organization: list_entries(tenant.caller, tenant.organization) for tenant in self._tenants}
        history = self._history
        broken = {
            "acknowledged": assertions.acknowledged_without_entry(history.received_events, entries),
            "whole": [
                line
                for tenant, had in zip(self._tenants, versions, strict=True)
                for line in assertions.torn(entries[tenant.organization], had, tenant.gone)
            ],
            "complete": [
                line
                for tenant in self._tenants
                for line in assertions.halves(entries[tenant.organization], tenant.listed(), _MADE)
            ],
            "ordered": [line for log in entries.values() for line in assertions.gaps(log)],
            "verified": [line for tenant in self._tenants for line in checks.verified(tenant)],
            "told": [line for tenant in self._tenants for line in self._missing(tenant)],
            "answered": history.wrong,
            "exported": [line for tenant in self._tenants for line in checks.bad_exports(tenant)],
            "bounded": self._unbounded(),
            "struck": [f"no {name} was killed" for name, times in self._mishaps.kills.items() if not times],
        }
        return {
            "broken": broken,
            "entries": sum(map(len, entries.values())),
            "asked": dict(history.asked),
            "answers": dict(history.answers),
            "acknowledged": len(history.received_events),
            "abandoned": history.abandoned,
            "triedAgain": history.tried_again,
            "kills": self._mishaps.kills,
            "revived": spread(self._mishaps.revived_after),
            "lag": spread(self._lags(entries)),
            "deliveries": len(self._receiver.requests),
            "exports": sum(len(t.exports) for t in self._tenants),
            "checkpoints": sum(len(t.checkpoints) for t in self._tenants),
            "memory": self._watch.memory,
            "files": self._watch.files,
            "deadLetters": checks.dead_letters(self._stage),
        }

    def _lags(self, entries: dict[str, list[dict[str, Any]]]) -> list[float]:
        """Return how long each event took to arrive for the first time at an endpoint that is well, in seconds."""
        found = []
        for tenant in self._tenants:
            arrived = checks.arrived(self._receiver, f"/well/{tenant.number}")
            delivered = [entry for entry in entries[tenant.organization] if entry["id"] in arrived]
            found += [min(arrived[entry["id"]]) - timestamp_ms(entry["occurredAt"]) / 1000 for entry in delivered]
        return found

    def _unbounded(self) -> list[str]:
        watch = self._watch
        return [
            *(f"{name} took {mib} MiB" for name, mib in watch.memory.items() if mib > _MOST_MEMORY_MIB),
            *(f"{name} had {files} files open" for name, files in watch.files.items() if files > _MOST_FILES),
        ]


if __name__ == "__main__":
    sys.exit(main())
