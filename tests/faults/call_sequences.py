"""The sequence of AWS calls of each mutation, in `call_sequences.tsv`.

Mutations with the same sequence meet the same faults. Therefore the default run injects faults into one of them, and
`make test-all` into all. `make generate` records the sequences again.
"""

from pathlib import Path
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from tests.harness.api import ApiResponse
from tests.harness.parametrize_operations import parametrize_representatives

FILE: Final = Path(__file__).with_suffix(".tsv")
MUTATIONS: Final = [operation for operation in all_operations() if operation.emits_events]


def sequence_of(response: ApiResponse) -> str:
    """Return the names of the AWS calls of a request, in order."""
    return " ".join(name.partition(":")[2] for name in response.calls.call_names)


def load_sequences() -> dict[str, str]:
    """Return the recorded sequences by the id of the operation."""
    return dict(line.split("\t") for line in FILE.read_text().splitlines())


def parametrize_sequences() -> pytest.MarkDecorator:
    """Run a test for one mutation with each sequence, and for all others only in `make test-all`."""
    sequences = load_sequences()
    return parametrize_representatives(lambda each: sequences.get(each.id, each.id), lambda each: each.emits_events)


def main() -> None:
    """Record the sequences of all mutations."""
    from tests.catalogue.examples.registry import call_operation
    from tests.catalogue.standalone_tenant import standalone_tenant
    from tests.harness import snapshots

    with standalone_tenant() as tenant:
        snapshot = snapshots.take_snapshot()
        lines = []
        for operation in MUTATIONS:
            snapshots.restore_snapshot(snapshot)
            lines.append(f"{operation.id}\t{sequence_of(call_operation(operation, tenant))}\n")
    FILE.write_text("".join(sorted(lines)))


if __name__ == "__main__":
    main()
