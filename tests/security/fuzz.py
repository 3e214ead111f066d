"""`make fuzz`: let Schemathesis look for holes in the service, at random, until the time is up.

Prints what it found, with the seed that finds it again and a line of curl, and exits with 1 if that was something.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from chalicelib.entrypoints.catalogue import operations
from tests.catalogue.solo_operations import standing_alone
from tests.catalogue.tenant_fixture import World
from tests.security.allowed_findings import is_excused
from tests.security.schemathesis_runs import Found, fuzz


def look(world: World, seconds: float, seed: int) -> Iterator[tuple[int, Found]]:
    """Yield what is found within some seconds, each with its seed: group by group, and again by the next seed."""
    ends = time.monotonic() + seconds
    while True:
        groups = sorted({operation.group for operation in operations()})
        random.Random(seed).shuffle(groups)  # noqa: S311 - an order, no secret
        for group in groups:
            if (left := ends - time.monotonic()) < 1:
                return
            chosen = [operation for operation in operations() if operation.group == group]
            found = fuzz(world, chosen, _settings(seed, left))
            yield from ((seed, each) for each in found if not is_excused(each))
        seed += 1


def _settings(seed: int, seconds: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "max-time": max(1, int(seconds)),
        "generation": {"max-examples": 30, "database": "none", "no-shrink": True},
        "phases": {"stateful": {"enabled": False}},
    }


def main(minutes: float, seed: int) -> int:
    """Look, print what is found once for each check and operation, and return how often something was."""
    told: set[tuple[str, str]] = set()
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), standing_alone() as world:
        for of, each in look(world, minutes * 60, seed):
            if (each.check, each.operation) not in told:
                told.add((each.check, each.operation))
                said = f"{each.check}: {each.operation}, SEED={of}\n{each.text}\n{each.curl}\n{each.answer[:2000]}\n"
                print(said, file=sys.__stdout__, flush=True)
    return len(told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))  # noqa: S311 - printed, no secret
    given = parser.parse_args()
    print(f"SEED={given.seed}, {given.minutes:g} minutes", flush=True)
    failures = main(given.minutes, given.seed)
    print(f"{failures or 'No'} failures")
    sys.exit(bool(failures))
