"""The secrets in responses, which are returned only once."""

from pydantic.alias_generators import to_camel

from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import ApiResponse


def secret_fields_of(operation: Operation) -> frozenset[str]:
    """Return the response fields that contain a secret in the response to the creation, and null later."""
    return (
        frozenset(map(to_camel, operation.response_or_item_model.secret_fields))
        if operation.response_or_item_model
        else frozenset()
    )


def secrets_of(operation: Operation, answer: ApiResponse) -> list[str]:
    """Return the secrets in a response. The secret of a link is its token."""
    return [answer.json[name].rpartition("token=")[2] for name in secret_fields_of(operation)]
