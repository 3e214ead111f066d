"""Parametrizes tests by the operations of the catalogue."""

from collections.abc import Callable

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.operations.operation import Operation


def parametrize_operations(predicate: Callable[[Operation], object] = bool) -> pytest.MarkDecorator:
    """Run a test for each operation that fulfils a predicate, instead of skipping the others."""
    return pytest.mark.parametrize("operation", [o for o in all_operations() if predicate(o)], ids=lambda o: o.id)


def changes_a_record(operation: Operation) -> bool:
    """Return whether an operation changes the target of its path. A GET operation does not, even if it writes."""
    creates_record = operation.succeeds_with_created_or_accepted and not operation.returns_record_in_path
    return (
        operation.emits_events
        and not creates_record
        and operation.method != "GET"
        and bool(operation.path_parameter_names)
    )
