"""A test for each operation of the catalogue, named by its id."""

from collections.abc import Callable

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operations.operation import Operation


def by_operation(such: Callable[[Operation], object] = bool) -> pytest.MarkDecorator:
    """Run a test for each operation that is such; those left out have no test that says nothing."""
    return pytest.mark.parametrize("operation", [o for o in operations() if such(o)], ids=lambda o: o.id)


def changes_a_record(operation: Operation) -> bool:
    """Return whether an operation changes what its path names; a GET, that at most notes something, does not."""
    makes = operation.creates and not operation.returns_target
    return operation.mutates and not makes and operation.method != "GET" and bool(operation.path_parameters)
