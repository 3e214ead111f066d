"""A test for each operation of the catalogue, named by its id."""

from collections.abc import Callable

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operation import Operation


def by_operation(such: Callable[[Operation], object] = bool) -> pytest.MarkDecorator:
    """Run a test for each operation that is such; those left out have no test that says nothing."""
    return pytest.mark.parametrize("operation", [o for o in operations() if such(o)], ids=lambda o: o.id)
