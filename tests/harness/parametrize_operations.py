"""Parametrizes tests by the operations of the catalogue."""

from collections.abc import Callable, Hashable

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.operations.access_rules import ContainerReference, OperatorsToo, RequireRole, ServiceKeysToo
from chalicelib.kernel.operations.operation import Operation

Predicate = Callable[[Operation], object]


def admits_operators_to_tenants(operation: Operation) -> bool:
    """Return whether operators of the service may call an operation in every tenant."""
    return isinstance(operation.access, RequireRole) and isinstance(operation.access.policy, OperatorsToo)


def admits_service_keys(operation: Operation) -> bool:
    """Return whether service keys may call an operation in every tenant."""
    return isinstance(operation.access, RequireRole) and isinstance(operation.access.policy, ServiceKeysToo)


def parametrize_operations(predicate: Predicate = bool) -> pytest.MarkDecorator:
    """Run a test for each operation that fulfils a predicate, instead of skipping the others."""
    return pytest.mark.parametrize("operation", [o for o in all_operations() if predicate(o)], ids=lambda o: o.id)


def parametrize_access_rules(predicate: Predicate = bool) -> pytest.MarkDecorator:
    """Run a test for one operation with each access rule, and for all others only in `make test-all`.

    For what the service decides about a request before it calls the function of the operation. A rule that no other
    operation has is always tested.
    """
    return parametrize_representatives(access_rule_of, predicate)


def parametrize_request_rules(predicate: Predicate = bool) -> pytest.MarkDecorator:
    """Run a test for one operation with each rule about requests, and for all others only in `make test-all`.

    For what the service decides before it considers the container and the role.
    """
    return parametrize_representatives(request_rule_of, predicate)


def parametrize_representatives(
    key: Callable[[Operation], Hashable], predicate: Predicate = bool
) -> pytest.MarkDecorator:
    """Run a test for the first operation with each key, and for all others only in `make test-all`."""
    operations = [operation for operation in all_operations() if predicate(operation)]
    representatives = {key(operation): operation.id for operation in reversed(operations)}
    return pytest.mark.parametrize(
        "operation",
        [
            pytest.param(o, id=o.id, marks=() if o.id in representatives.values() else pytest.mark.exhaustive)
            for o in operations
        ],
    )


def access_rule_of(operation: Operation) -> Hashable:
    """Return all parts of an operation's declaration that decide about access."""
    verb = operation.scope and operation.scope.partition(":")[2]
    return (
        *(repr(operation.access), verb, operation.grants_access, operation.extra_check),
        *(bool(operation.record_types_by_parameter), request_rule_of(operation)),
    )


def request_rule_of(operation: Operation) -> Hashable:
    """Return the parts of an operation's declaration that decide before its container is known."""
    return (
        *(type(operation.access), operation.allows_anonymous, operation.allows_api_keys, bool(operation.scope)),
        operation.allows_service_keys,
        *(operation.method == "GET", operation.emits_events, bool(operation.path_parameter_names)),
    )


def body_rule_of(operation: Operation) -> Hashable:
    """Return the parts of an operation's declaration that decide how its body is read."""
    is_patch = operation.body_model is not None and issubclass(operation.body_model, Patch)
    has_container_in_body = (
        isinstance(operation.access, RequireRole) and operation.access.location is ContainerReference.BODY_ID
    )
    return operation.method, operation.body_model is None, is_patch, operation.accepts_form, has_container_in_body


def takes_a_body(operation: Operation) -> bool:
    """Return whether an operation reads the body of a request. Without a model it must be empty."""
    return operation.method in ("POST", "PUT", "PATCH")


def changes_a_record(operation: Operation) -> bool:
    """Return whether an operation changes the target of its path. A GET operation does not, even if it writes."""
    creates_record = operation.succeeds_with_created_or_accepted and not operation.returns_record_in_path
    return (
        operation.emits_events
        and not creates_record
        and operation.method != "GET"
        and bool(operation.path_parameter_names)
        and operation.id != "respond_to_my_invitation"  # The invited person sees no tag of the invitation.
    )
