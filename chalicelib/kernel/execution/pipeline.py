"""The pipeline that runs every operation, from the request to the response.

It counts the request (`rate_limit_subjects`), authorizes it (`authorization.access`), calls the handler
(`handler_calls`), builds the response (`responses`) and commits the changes (`commits`). After a conflict, the steps
from the authorization on are repeated (`attempts`).
"""

from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.threads import waiting_for_background_work
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.execution.attempts import authorize_and_run_with_retries
from chalicelib.kernel.execution.rate_limit_subjects import RateLimitUsage
from chalicelib.kernel.http import query_handling
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.operations.inputs import RequestInput
from chalicelib.kernel.operations.operation import Operation


def execute_or_raise_problem(operation: Operation, request: Request) -> Response:
    """Perform an operation and return its response. Responses and problems announce a deprecation.

    Raises Problem, in which case nothing has changed. Only with `unavailable` may the transaction have succeeded.
    """
    announcement = operation.deprecation.headers if operation.deprecation else {}
    try:
        with waiting_for_background_work():
            response = _count_and_run(operation, request)
    except Problem as problem:
        problem.headers = {**problem.headers, **announcement}
        raise
    response.headers = {**response.headers, **announcement}
    return response


def _count_and_run(operation: Operation, request: Request) -> Response:
    _reject_unknown_api_version(request)
    request_input, usage = (
        RequestInput(operation, request),
        RateLimitUsage.authenticate_and_count_request(operation, request),
    )
    add_fields(principal=usage.caller.actor_type)
    try:
        response = authorize_and_run_with_retries(request_input, usage)
    except Problem as problem:
        usage.count_or_refund_failure_adding_headers(problem)
        raise
    usage.count_replay(response)
    usage.add_rate_limit_headers(response)
    query_handling.add_query_handling_headers(response, request, request_input.unknown_query_parameters)
    return response


def _reject_unknown_api_version(request: Request) -> None:
    requested_version = request.headers.get("api-version")
    if requested_version not in (None, API_VERSION):
        detail = f"This service supports version {API_VERSION}. Send this version, or omit API-Version."
        raise Problem.create_with_field_error("header/API-Version", "unknown_api_version", detail)
