"""`make fuzz`: run Schemathesis with random seeds until the time is up.

Prints each failure with its seed and a curl command, and exits with 1 if there was any.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

from chalicelib.entrypoints.catalogue import all_operations
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.security.schemathesis_runs import Failure, is_allowed, run_schemathesis

_SETTINGS: Final = {
    "generation": {"max-examples": 30, "database": "none", "no-shrink": True},
    "phases": {"stateful": {"enabled": False}},
}


def find_failures(tenant: TenantFixture, seconds: float, seed: int) -> Iterator[tuple[int, Failure]]:
    """Yield failures with their seeds until the time is up. Each seed runs all groups of operations."""
    deadline = time.monotonic() + seconds
    while True:
        groups = sorted({operation.group for operation in all_operations()})
        random.Random(seed).shuffle(groups)  # noqa: S311 - an order, not a secret
        for group in groups:
            if (remaining_seconds := deadline - time.monotonic()) < 1:
                return
            settings = {**_SETTINGS, "seed": seed, "max-time": max(1, int(remaining_seconds))}
            group_operations = [operation for operation in all_operations() if operation.group == group]
            failures = run_schemathesis(tenant, group_operations, settings)
            yield from ((seed, failure) for failure in failures if not is_allowed(failure))
        seed += 1


def main(minutes: float, seed: int) -> int:
    """Print each failure once for each check and operation, and return the number of failures."""
    reported: set[tuple[str, str]] = set()
    with Path(os.devnull).open("w") as devnull, redirect_stdout(devnull), standalone_tenant() as tenant:
        for seed_of_failure, failure in find_failures(tenant, minutes * 60, seed):
            if (failure.check, failure.operation_id) not in reported:
                reported.add((failure.check, failure.operation_id))
                heading = f"{failure.check}: {failure.operation_id}, SEED={seed_of_failure}"
                text = f"{heading}\n{failure.text}\n{failure.curl}\n{failure.response_text[:2000]}\n"
                print(text, file=sys.__stdout__, flush=True)
    return len(reported)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))  # noqa: S311 - printed, not a secret
    arguments = parser.parse_args()
    print(f"SEED={arguments.seed}, {arguments.minutes:g} minutes", flush=True)
    failures = main(arguments.minutes, arguments.seed)
    print(f"{failures or 'No'} failures")
    sys.exit(bool(failures))
