"""Gateway responses: API Gateway's own error responses, in the service's problem format (RFC 9457).

Each response type of API Gateway maps to one problem. API Gateway fills in only the request's path and id.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from chalicelib.kernel.core.problems import Problem, internal_error, no_such_route, unauthenticated, unavailable
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.http.request import EXPOSED_HEADERS


class Throttle(NamedTuple):
    """Requests per second and requests at once that a stage admits. `RateLimit-Policy` reports the former."""

    requests_per_second: int
    burst: int

    def describe(self) -> str:
        """Return the throttle for operators."""
        return f"{self.requests_per_second:,} requests per second and {self.burst:,} at once"


DEFAULT_THROTTLE: Final = Throttle(10_000, 5_000)
"""Quota of API Gateway in most regions. `make deploy` and `make template` read that of the account."""

SMALLEST_THROTTLE: Final = Throttle(2_500, 1_250)
"""Quota with which 13 regions start, and which a template has if the account cannot be asked."""

_REJECTED_DETAIL: Final = "The gateway refused the request before the service saw it."
_INVALID_REQUEST: Final = Problem("invalid_header", f"{_REJECTED_DETAIL} Check its headers and its parameters.")
_FORBIDDEN: Final = Problem("forbidden", _REJECTED_DETAIL)
_UNAUTHENTICATED: Final = unauthenticated()
_INTERNAL_ERROR: Final = internal_error()
_THROTTLED_TYPES: Final = ("QUOTA_EXCEEDED", "THROTTLED")
_TIMED_OUT: Final = unavailable("The service did not answer in time.")

_NO_SUCH_ROUTE_TYPES: Final = (
    "ACCESS_DENIED",  # an IAM signature whose caller may not call the API
    "DEFAULT_4XX",  # errors without a type, such as an incomplete IAM signature
    "EXPIRED_TOKEN",  # an expired IAM signature
    "INVALID_SIGNATURE",
    "MISSING_AUTHENTICATION_TOKEN",
    "RESOURCE_NOT_FOUND",
)
"""The response types for an unknown path. There, API Gateway treats any credential as an IAM signature.

No operation uses IAM authorization, an authorizer or an API key, and the API has no resource policy, so these types
mean nothing else. Every other documented type has its own problem, so `DEFAULT_4XX` does not replace any.
"""


def _throttled(throttle: Throttle) -> Problem:
    return Problem(
        "rate_limited",
        "Too many requests at once. Try again in a moment.",
        headers={
            "Retry-After": "1",
            "RateLimit": '"gateway";r=0;t=1',
            "RateLimit-Policy": f'"gateway";q={throttle.requests_per_second};w=1',
        },
    )


PROBLEMS: Final[Mapping[str, Problem]] = {
    "API_CONFIGURATION_ERROR": _INTERNAL_ERROR,
    "AUTHORIZER_CONFIGURATION_ERROR": _INTERNAL_ERROR,
    "AUTHORIZER_FAILURE": _INTERNAL_ERROR,
    "BAD_REQUEST_BODY": Problem("malformed_json", "The body is not JSON."),
    "BAD_REQUEST_PARAMETERS": _INVALID_REQUEST,
    "DEFAULT_5XX": _INTERNAL_ERROR,
    "INTEGRATION_FAILURE": _TIMED_OUT,
    "INTEGRATION_TIMEOUT": _TIMED_OUT,
    "INVALID_API_KEY": _FORBIDDEN,
    "REQUEST_TOO_LARGE": Problem("payload_too_large", "A body may hold 1 MiB."),
    "UNAUTHORIZED": _UNAUTHENTICATED,
    "UNSUPPORTED_MEDIA_TYPE": Problem(
        "unsupported_media_type",
        "Send `Content-Type: application/json`, and the body in its `Content-Encoding`: gzip, deflate or identity.",
    ),
    "WAF_FILTERED": _FORBIDDEN,
    **dict.fromkeys(_THROTTLED_TYPES, _throttled(DEFAULT_THROTTLE)),
    **dict.fromkeys(_NO_SUCH_ROUTE_TYPES, no_such_route()),
}
"""The problem for each gateway response type, of an API with the default throttle whose URL has no path."""


def sam_gateway_responses(api_path: str, throttle: Throttle) -> dict[str, Any]:
    """Return the problems as `GatewayResponses` of AWS SAM. `api_path`: the path of the API's URL, such as `/prod`.

    API Gateway cannot put a variable into a header with other text, so the link to the documentation is a constant.
    """
    problems = {
        **PROBLEMS,
        **dict.fromkeys(_THROTTLED_TYPES, _throttled(throttle)),
        **dict.fromkeys(_NO_SUCH_ROUTE_TYPES, no_such_route(base=api_path)),
    }
    return {kind: _response(problem) for kind, problem in problems.items()}


def openapi_gateway_responses(api_path: str, throttle: Throttle) -> dict[str, Any]:
    """Return the problems as `x-amazon-apigateway-gateway-responses` of an OpenAPI document."""
    return {
        kind: {
            "statusCode": str(response["StatusCode"]),
            "responseParameters": {
                f"gatewayresponse.header.{name}": value
                for name, value in response["ResponseParameters"]["Headers"].items()
            },
            "responseTemplates": response["ResponseTemplates"],
        }
        for kind, response in sam_gateway_responses(api_path, throttle).items()
    }


def response_headers(problem: Problem) -> dict[str, str]:
    """Return the headers of a gateway response except `X-Request-Id`."""
    return {
        "Content-Type": "application/problem+json",
        "Cache-Control": "no-store",
        "API-Version": API_VERSION,
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": EXPOSED_HEADERS,
        **problem.headers,
    }


def _response(problem: Problem) -> dict[str, Any]:
    document = problem.document(instance="$context.path", request_id="$context.requestId")
    # API Gateway expects single quotes around literals, and none around its variables.
    headers = {name: f"'{text}'" for name, text in response_headers(problem).items()}
    return {
        "StatusCode": problem.status,
        "ResponseParameters": {"Headers": headers | {"X-Request-Id": "context.requestId"}},
        # This media type selects the template. The response has its own Content-Type header.
        "ResponseTemplates": {"application/json": json.dumps(document)},
    }
