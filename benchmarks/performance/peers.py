"""Compare Atrium with two common stacks: `make bench`.

Each stack runs in new processes, in turn, until the time is up. A process imports the stack, responds to a first read,
and then reads, lists and creates. All AWS calls use TLS to a fake AWS in another process. A stack is timed only after
its responses have been checked. The results are written to `benchmarks/results/peers.json`,
`docs/reference/performance.md` and `docs/reference/performance.svg`.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.log_scale.results import describe_environment
from benchmarks.peers import calls
from benchmarks.peers.cloud import prepare_aws
from benchmarks.peers.stacks import Stack, build_stacks
from benchmarks.performance import chart, document
from benchmarks.performance.peers_section import render_table

_DEFAULT_SECONDS: Final = 120
_DEFAULT_MIN_ROUNDS: Final = 3


def main() -> None:
    """Measure for the time that the command line requests."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.performance.peers", description="Compare Atrium with other stacks."
    )
    parser.add_argument("--seconds", type=int, default=_DEFAULT_SECONDS, help="the duration (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=_DEFAULT_MIN_ROUNDS, help="the minimum number of rounds (default: %(default)s)"
    )
    parser.add_argument("--only-show", action="store_true", help="do not store the results")
    options = parser.parse_args()
    results = {"of": describe_environment(), "stacks": measure(options.seconds, options.rounds)}
    print(render_table(results))
    if not options.only_show:
        document.save_results("peers", results)
        chart.draw(results)


def measure(seconds: float, min_rounds: int) -> dict[str, Any]:
    """Return a list of measurements for each stack, one for each process. Raises WrongResponse and StackFailed."""
    with TemporaryDirectory(prefix="atrium-peers-") as folder, prepare_aws(Path(folder)) as aws:
        all_stacks = build_stacks(Path(folder))
        plans = {}
        for stack in all_stacks[:3]:
            events = calls.prepare_stack(aws, stack, calls.create_platform(aws, stack))
            plans[stack.table_name] = {
                "first": calls.READ,
                "calls": {name: _call_plan(name, e) for name, e in events.items()},
            }
        aws.fake_aws.is_recording = False
        measurements: dict[str, Any] = {stack.name: [] for stack in all_stacks}
        deadline, rounds = time.monotonic() + seconds, 0
        while rounds < min_rounds or time.monotonic() < deadline:
            for stack in _rotate(all_stacks, rounds):
                result = stack.run_plan(aws.environment(stack), plans[stack.table_name])
                calls.check_responses(stack, result.pop("answers"))
                measurements[stack.name].append(result)
            rounds += 1
        return measurements


def _rotate(stacks: list[Stack], number: int) -> list[Stack]:
    """Return the stacks, starting with a different one in each round."""
    start = number % len(stacks)
    return stacks[start:] + stacks[:start]


def _call_plan(name: str, event: calls.Event) -> dict[str, Any]:
    return {"event": event, "warmUp": calls.WARM_UP_REPETITIONS, "times": calls.REPETITIONS[name]}


if __name__ == "__main__":
    main()
