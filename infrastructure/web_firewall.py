"""The rate rule of AWS WAF: how many requests an address may send to a stage's API before WAF refuses them.

WAF refuses a request before API Gateway and Lambda see it, so a flood costs WAF's price alone. WAF's response takes
precedence over gateway responses. Its content type cannot be `application/problem+json`.
"""

import json
from typing import Any, Final

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.client_address import EDGE_SECRET_HEADER
from infrastructure.cfn import TEMPLATE_STAGE, ref, sub
from infrastructure.data_stores import Resources
from infrastructure.gateway import response_headers

WINDOW_SECONDS: Final = 300
"""The period for which WAF counts the requests of an address."""

MIN_REQUEST_LIMIT: Final = 10
"""The lowest limit that WAF accepts."""

MAX_REQUEST_LIMIT: Final = 2_000_000_000
"""The highest limit that WAF accepts."""

_RETRY_SECONDS: Final = 60
"""When a refused client may try again. WAF checks the rate of an address every few seconds."""

_BODY: Final = "problem"
_RULE: Final = "requests-per-address"

_REFUSED: Final = Problem(
    "rate_limited",
    "Too many requests from this address. Try again in a minute.",
    headers={"Retry-After": str(_RETRY_SECONDS)},
)


def web_firewall_resources(condition: str) -> Resources:
    """Return the web ACL, which exists on a condition. The parameters name the limit and the secrets of the edge."""
    properties = {
        "Name": sub(TEMPLATE_STAGE.prefix),
        "Scope": "REGIONAL",
        "DefaultAction": {"Allow": {}},
        "CustomResponseBodies": {_BODY: {"ContentType": "APPLICATION_JSON", "Content": _document()}},
        "Rules": [_rate_rule()],
        "VisibilityConfig": _visibility("web-acl"),
    }
    return {"WebAcl": {"Type": "AWS::WAFv2::WebACL", "Condition": condition, "Properties": properties}}


def _rate_rule() -> dict[str, Any]:
    rate = {
        "AggregateKeyType": "IP",
        "EvaluationWindowSec": WINDOW_SECONDS,
        "Limit": ref("RequestLimit"),
        "ScopeDownStatement": {"NotStatement": {"Statement": _comes_from_edge()}},
    }
    headers = {name: text for name, text in response_headers(_REFUSED).items() if name != "Content-Type"}
    response = {
        "ResponseCode": _REFUSED.status,
        "CustomResponseBodyKey": _BODY,
        "ResponseHeaders": [{"Name": name, "Value": text} for name, text in headers.items()],
    }
    return {
        "Name": _RULE,
        "Priority": 0,
        "Statement": {"RateBasedStatement": rate},
        "Action": {"Block": {"CustomResponse": response}},
        "VisibilityConfig": _visibility(_RULE),
    }


def _comes_from_edge() -> dict[str, Any]:
    # Behind the edge, all visitors have its few addresses. Only its secret tells it from others.
    return {
        "OrStatement": {
            "Statements": [
                {
                    "ByteMatchStatement": {
                        "FieldToMatch": {"SingleHeader": {"Name": EDGE_SECRET_HEADER.lower()}},
                        "PositionalConstraint": "EXACTLY",
                        "SearchString": ref(parameter),
                        "TextTransformations": [{"Priority": 0, "Type": "NONE"}],
                    }
                }
                for parameter in ("EdgeSecret", "FormerEdgeSecret")
            ]
        }
    }


def _visibility(name: str) -> dict[str, Any]:
    # Sampled requests would contain headers, and so credentials.
    return {
        "CloudWatchMetricsEnabled": True,
        "SampledRequestsEnabled": False,
        "MetricName": sub(f"{TEMPLATE_STAGE.prefix}-{name}"),
    }


def _document() -> str:
    # WAF cannot put the path and the id of the request into the body.
    return json.dumps(_REFUSED.document(instance="", request_id=""))
