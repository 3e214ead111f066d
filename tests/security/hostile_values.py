"""Sends requests in which every text is hostile, in as few requests as needed for each to be rejected or processed."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.api import ApiResponse

Path = tuple[str | int, ...]


def find_texts(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all texts in a JSON value, and of values that are null."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from find_texts(member, (*path, name))
    if value is None or isinstance(value, str):
        yield path


def replace_at(value: Any, paths: Sequence[Path], replacement: Any) -> Any:
    """Return a copy of a JSON value with other values at these paths."""
    copied = deepcopy(value)
    for *parents, last in paths:
        container = copied
        for name in parents:
            container = container[name]
        container[last] = replacement
    return copied


def send_until_not_rejected(
    paths: Sequence[Path], send: Callable[[Sequence[Path]], ApiResponse]
) -> Iterator[ApiResponse]:
    """Yield the responses to requests with hostile values at these paths, then at those that were not rejected."""
    pointers = {path: "".join(f"/{name}" for name in path) for path in paths}
    while paths:
        response = send(paths)
        yield response
        errors = response.errors if response.status >= 400 else {}
        rejected = {pointer.removeprefix("query") for pointer in errors}
        remaining = [path for path in paths if not any(f"{pointers[path]}/".startswith(f"{p}/") for p in rejected)]
        if len(remaining) == len(paths):
            return
        paths = remaining


def send_in_query(operation: Operation, tenant: TenantFixture, names: list[str], value: str) -> Iterator[ApiResponse]:
    """Yield the responses to requests with a hostile value in all of these parameters, then in those not rejected."""
    return send_until_not_rejected(
        [(name,) for name in names],
        lambda paths: call_operation(operation, tenant, query={str(name): value for (name,) in paths}),
    )
