"""Atrium beside two stacks that are built as most are: `make bench`.

Each runs in fresh processes, in turns, until the time is up. A process imports the stack, answers a first read, and
then reads, lists and creates; all it asks of AWS goes over TLS to a stand-in in another process. Before anything is
timed each stack has to answer rightly. Figures go to `benchmarks/results/peers.json`, and from there to
`docs/reference/performance.md`.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.log_scale.results import circumstances
from benchmarks.peers import calls
from benchmarks.peers.cloud import cloud
from benchmarks.peers.stacks import Stack, stacks
from benchmarks.performance import chart, document
from benchmarks.performance.peers_section import describe

_SECONDS: Final = 120
_FEWEST_ROUNDS: Final = 3


def main() -> None:
    """Measure for as long as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance.peers", description="Atrium beside others.")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="how long to measure (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=_FEWEST_ROUNDS, help="at least so often (default: %(default)s)")
    parser.add_argument("--only-show", action="store_true", help="keep nothing")
    wanted = parser.parse_args()
    results = {"of": circumstances(), "stacks": measured(wanted.seconds, wanted.rounds)}
    print(describe(results))
    if not wanted.only_show:
        document.keep("peers", results)
        chart.draw(results)


def measured(seconds: float, fewest: int) -> dict[str, Any]:
    """Return what each stack's processes took: a list of figures, one of each process. Raises Wrong, Failed."""
    with TemporaryDirectory(prefix="atrium-peers-") as folder, cloud(Path(folder)) as aws:
        made = stacks(Path(folder))
        plans = {}
        for stack in made[:3]:
            events = calls.learned(aws, stack, calls.platform_of(aws, stack))
            plans[stack.table] = {"first": calls.READ, "calls": {name: _call(name, e) for name, e in events.items()}}
        aws.stand_in.learning = False
        figures: dict[str, Any] = {stack.name: [] for stack in made}
        until, rounds = time.monotonic() + seconds, 0
        while rounds < fewest or time.monotonic() < until:
            for stack in _in_turns(made, rounds):
                found = stack.run(aws.environment(stack), plans[stack.table])
                calls.check(stack, found.pop("answers"))
                figures[stack.name].append(found)
            rounds += 1
        return figures


def _in_turns(made: list[Stack], number: int) -> list[Stack]:
    """Return the stacks, each time beginning with another."""
    begin = number % len(made)
    return made[begin:] + made[:begin]


def _call(name: str, event: calls.Event) -> dict[str, Any]:
    return {"event": event, "warmUp": calls.WARM_UP, "times": calls.TIMES[name]}


if __name__ == "__main__":
    main()
