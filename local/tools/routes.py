"""`make routes Q=`: lists the operations with their file and line."""

import inspect
from collections.abc import Iterator
from pathlib import Path

from local.paths import ROOT


def list_routes(query: str) -> Iterator[str]:
    """Yield a line for each operation whose path, method or function contains the query: method, path, `file:line`."""
    from chalicelib.entrypoints.catalogue import all_operations

    for operation in all_operations():
        function = operation.function
        _, line = inspect.getsourcelines(function)
        file = Path(inspect.getfile(function)).relative_to(ROOT)
        row = f"{operation.method:<6} {operation.path}"
        if query in row or query in function.__name__:
            yield f"{row:<78} {file}:{line}"
