"""Passes the calls of DynamoDB directly to moto's handler, without an HTTP request between.

Serializing, sending and parsing a request takes botocore and moto longer than the call itself. A call takes that way
only if a test interferes with it (`aws_calls.interfere_with_calls`), or if a benchmark measures it. The handler works
on a copy of the parameters, and the caller receives a copy of the result, as if both had been sent.
"""

import sys
from http import HTTPStatus
from typing import Any, Final

from botocore.client import BaseClient
from botocore.model import OperationModel
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.responses import ActionResult
from moto.dynamodb.responses import DynamoHandler

from tests.harness import aws_calls

_CALL: Final[Any] = BaseClient._make_api_call  # noqa: SLF001
_METADATA: Final = {"HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}


def call_untraced(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
    """Replace `BaseClient._make_api_call`. The lines of the libraries are not traced for coverage."""
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        if client.meta.service_model.service_name == "dynamodb" and aws_calls.can_call_directly(client):
            return _call_directly(client, operation, parameters)
        return _CALL(client, operation, parameters)
    finally:
        sys.settrace(trace)


def _call_directly(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
    if response := aws_calls.record_call_or_reject(f"dynamodb:{operation}", aws_calls.to_json(parameters)):
        raise _error(client, operation, response[1])
    model = client.meta.service_model.operation_model(operation)
    handler = DirectHandler(operation, client.meta.region_name, _copy(parameters))
    status, _, body = handler.call_action()
    if int(status) >= HTTPStatus.MULTIPLE_CHOICES:
        raise _error(client, operation, _parse_error_response(client, model, int(status), body))
    names = model.output_shape.members
    result = {name: _copy(handler.result[name]) for name in names if handler.result.get(name) is not None}
    aws_calls.record_result(result)
    return result | {"ResponseMetadata": _METADATA}


def _parse_error_response(client: Any, model: OperationModel, status: int, body: str) -> Any:
    response = {"status_code": status, "headers": {}, "body": body.encode()}
    parser, endpoint = client._response_parser, client._endpoint  # noqa: SLF001
    parsed = parser.parse(response, model.output_shape)
    endpoint._add_modeled_error_fields(response, parsed, model, parser)  # noqa: SLF001
    return parsed


def _error(client: Any, operation: str, response: Any) -> Exception:
    error: Exception = client.exceptions.from_code(response["Error"]["Code"])(response, operation)
    return error


class RequestHandler(DynamoHandler):
    """A handler of one call, initialized without an HTTP request."""

    def __init__(self, action: str, region: str, parameters: dict[str, Any]) -> None:
        super().__init__()
        self.action, self.region, self.current_account = action, region, DEFAULT_ACCOUNT_ID
        self.querystring, self.access_key, self.is_werkzeug_request = {}, "", False
        self.headers, self.response_headers = {"Content-Type": "application/x-amz-json-1.0"}, {"server": "amazon.com"}
        self.params = parameters

    def _get_action(self) -> str:
        return self.action


class DirectHandler(RequestHandler):
    """A handler that stores a successful result in `result` instead of serializing it."""

    result: Any

    def serialized(self, action_result: ActionResult) -> Any:
        if isinstance(action_result.result, Exception):
            return super().serialized(action_result)
        self.result = action_result.result
        return HTTPStatus.OK, self.response_headers, ""


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list | tuple) else value
