"""Finds and calls the examples of all operations."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entries import LogEvent
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import Entity
from tests.catalogue.examples.example import Example, example
from tests.catalogue.tenant_fixture import TenantFixture, put_items
from tests.harness import callers
from tests.harness.api import ApiResponse
from tests.harness.pending_entries import build_pending_items

_DETAIL_FIELDS: Final = frozenset({"request"})
"""Fields that only the response to a GET of a record has, because they are derived from other records."""

_PROGRESS_FIELDS: Final = frozenset({"position", "lagEntries", "lagSeconds", "failingSince", "lastError"})
"""The fields with the progress of a log stream, which is no part of its record."""


def detail_fields(record: Mapping[str, Any]) -> frozenset[str]:
    """Return the fields of a response that are no part of the record, and of entries."""
    return _DETAIL_FIELDS | (_PROGRESS_FIELDS if "lagEntries" in record else frozenset())


def get_example(operation: Operation, tenant: TenantFixture) -> Example:
    """Return the example of an operation for a tenant.

    Path parameters that an example omits name the records of the tenant's organization. Without an example, the call
    has nothing but these.
    """
    create_example = _definitions(get_feature(operation)).get("EXAMPLES", {}).get(operation.id)
    created: Example = create_example(tenant) if create_example else example()
    known = tenant.organization.path_parameters
    defaults = {name: known[name] for name in operation.path_parameter_names if name in known}
    return created.with_parameters(**{**defaults, **created.parameters})


def get_caller(operation: Operation, tenant: TenantFixture) -> callers.Caller | None:
    """Return the least privileged caller of an operation's example, or None if it is anonymous."""
    return get_example(operation, tenant).only_caller or tenant.get_least_privileged_caller(operation)


def call_operation(
    operation: Operation, tenant: TenantFixture, example: Example | None = None, **options: Any
) -> ApiResponse:
    """Call an operation with its example, or another one. `options` are those of `Api.request`.

    The default caller is the least privileged one. Options replace the caller and the body of the example, and extend
    its query and headers.
    """
    example = example or get_example(operation, tenant)
    request_options = {
        "caller": example.only_caller or tenant.get_least_privileged_caller(operation),
        "json": example.body,
    } | options
    request_options["query"] = {**example.query, **(options.get("query") or {})}
    request_options["headers"] = {**example.headers, **(options.get("headers") or {})}
    return tenant.api.request(operation.method, example.get_path(operation), **request_options)


def read_with_full_access(operation: Operation, tenant: TenantFixture, path: str) -> ApiResponse:
    """Read a path as a caller who sees all records of the operation's kind."""
    reader = tenant.people.operator if operation.access is Caller.OPERATOR else tenant.people.owner
    return tenant.api.get(path, caller=reader, headers=get_example(operation, tenant).headers)


def add_neighbours(tenant: TenantFixture, count: int) -> None:
    """Add neighbours to the records that the examples read, in every feature."""
    for name in sorted({get_feature(operation) for operation in all_operations()}):
        add_feature_neighbours(name, tenant, count)


def add_feature_neighbours(feature: str, tenant: TenantFixture, count: int) -> None:
    """Add neighbours to the records that the examples of a feature read, unless their number is fixed."""
    build = _definitions(feature).get(f"build_{feature.rpartition('.')[2]}", lambda *_: ())
    neighbours = [each for n in range(count) for each in build(tenant, n)]
    events = [each for each in neighbours if isinstance(each, LogEvent)]
    records = [each for each in neighbours if not isinstance(each, LogEvent)]
    put_items([each.item() if isinstance(each, Entity) else each for each in records])
    put_items(build_pending_items(events))
    for log in sorted({event.log for event in events}):
        ledger.append_pending_and_return_longest_wait_ms(log)


def get_feature(operation: Operation) -> str:
    """Return the name of an operation's feature: its package below `chalicelib.features`, or its entrypoint."""
    return operation.function.__module__.removeprefix("chalicelib.").partition(".")[2].removesuffix(".operations")


def _definitions(feature: str) -> Mapping[str, Any]:
    """Return the names that the file of examples of a feature's context defines, if it has one."""
    module = f"tests.catalogue.examples.{feature.partition('.')[0]}"
    return vars(import_module(module)) if find_spec(module) else {}


def secret_fields_of(operation: Operation) -> frozenset[str]:
    """Return the response fields that contain a secret in the response to the creation, and null later."""
    model = operation.response_or_item_model
    return frozenset(map(to_camel, model.secret_fields)) if model else frozenset()


def field_names(model: type[BaseModel] | None, *, required: bool = False) -> list[str]:
    """Return the names of all fields of a body or query, or only of the required ones."""
    fields = model.model_fields if model else {}
    return [field.alias or name for name, field in fields.items() if field.is_required() or not required]
