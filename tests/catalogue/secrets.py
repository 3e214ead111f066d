"""What answers say but once."""

from pydantic.alias_generators import to_camel

from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import Answer


def one_time(operation: Operation) -> frozenset[str]:
    """Return the fields of an operation's answer that hold a secret when it is made, and null ever after."""
    return frozenset(map(to_camel, operation.response_model.secret_fields)) if operation.response_model else frozenset()


def secrets_of(operation: Operation, answer: Answer) -> list[str]:
    """Return the secrets in an answer; of a link that is its token."""
    return [answer.json[name].rpartition("token=")[2] for name in one_time(operation)]
