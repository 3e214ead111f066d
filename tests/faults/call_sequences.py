"""The sequence of AWS calls of each mutation, in `call_sequences.tsv`.

Mutations with the same sequence meet the same faults. Therefore the default run injects faults into one of them, and
`make test-all` into all. `python -m tests.faults.call_sequences` records the sequences again.
"""

from pathlib import Path
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from tests.harness.api import ApiResponse

FILE: Final = Path(__file__).with_suffix(".tsv")
MUTATIONS: Final = [operation for operation in all_operations() if operation.emits_events]


def sequence_of(response: ApiResponse) -> str:
    """Return the names of the AWS calls of a request, in order."""
    return " ".join(name.partition(":")[2] for name in response.calls.call_names)


def load_sequences() -> dict[str, str]:
    """Return the recorded sequences by the id of the operation."""
    return dict(line.split("\t") for line in FILE.read_text().splitlines())


def mutation_parameters() -> list[object]:
    """Return all mutations as parameters. All but the first with a sequence are marked as exhaustive."""
    sequences, seen, parameters = load_sequences(), set[str](), list[object]()
    for operation in MUTATIONS:
        sequence = sequences.get(operation.id, operation.id)
        marks = [pytest.mark.exhaustive] if sequence in seen else []
        seen.add(sequence)
        parameters.append(pytest.param(operation, id=operation.id, marks=marks))
    return parameters


def main() -> None:
    """Record the sequences of all mutations."""
    from tests.catalogue.examples.registry import call_operation
    from tests.catalogue.standalone_tenant import standalone_tenant
    from tests.harness import snapshots

    with standalone_tenant() as world:
        snapshot = snapshots.take_snapshot()
        lines = []
        for operation in MUTATIONS:
            snapshots.restore_snapshot(snapshot)
            lines.append(f"{operation.id}\t{sequence_of(call_operation(operation, world))}\n")
    FILE.write_text("".join(sorted(lines)))


if __name__ == "__main__":
    main()
