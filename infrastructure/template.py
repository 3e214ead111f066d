"""The template that `chalice package` merges into its own (`--merge-template`), for what Chalice cannot express.

One file serves every stage. The parameter `Stage` has no default, so a deployment without it fails at once. `make
template` adds the gateway responses, which depend on the URL of the stage, and the throttle of the account.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from chalice.app import Chalice, SQSEventConfig
from chalice.utils import to_cfn_resource_name

from infrastructure import access_log
from infrastructure.cfn import TEMPLATE_STAGE, ref, sub
from infrastructure.configuration import PROJECT
from infrastructure.deployed_functions import function_names
from infrastructure.gateway import Throttle, sam_gateway_responses
from infrastructure.names import STAGE_NAME_PATTERN
from infrastructure.resources import RECURSIVE_FUNCTIONS

TEMPLATE_FILE: Final = PROJECT / "infrastructure/template.json"

_STAGE: Final = {
    "Type": "String",
    "AllowedPattern": STAGE_NAME_PATTERN,
    "Description": "The packaged stage, which is part of the names of functions, as with chalice deploy.",
}
_WEB_ACL_ARN: Final = {
    "Type": "String",
    "Default": "",
    "Description": "Web ACL of the stack atrium-<stage>-safeguards, for the API. Empty: none.",
}
_HAS_WEB_ACL: Final = "HasWebAcl"


def build_template(app: Chalice) -> dict[str, Any]:
    """Return the template for an app."""
    queued = {source.name: source for source in app.event_sources if isinstance(source, SQSEventConfig)}
    others = [name for name in function_names(app)[1:] if name not in queued]
    return {
        "Parameters": {"Stage": _STAGE, "WebAclArn": _WEB_ACL_ARN},
        "Conditions": {_HAS_WEB_ACL: {"Fn::Not": [{"Fn::Equals": [ref("WebAclArn"), ""]}]}},
        "Resources": {
            "WebAclAssociation": _web_acl_association(),
            "RestAPI": _api(),
            "APIHandler": _function("api_handler"),
            **_functions(others),
            **{to_cfn_resource_name(name): _queued_function(source) for name, source in queued.items()},
        },
    }


def template_of_api(api_path: str, throttle: Throttle) -> dict[str, Any]:
    """Return the template in `TEMPLATE_FILE` with the throttle and the gateway responses of an API.

    `api_path`: the path of the API's URL, which may be empty.
    """
    template: dict[str, Any] = json.loads(TEMPLATE_FILE.read_text())
    template["Resources"]["RestAPI"]["Properties"] |= {
        "GatewayResponses": sam_gateway_responses(api_path, throttle),
        "MethodSettings": [
            {
                "ResourcePath": "/*",
                "HttpMethod": "*",
                "ThrottlingRateLimit": throttle.requests_per_second,
                "ThrottlingBurstLimit": throttle.burst,
            }
        ],
    }
    return template


def _api() -> dict[str, Any]:
    destination = sub(TEMPLATE_STAGE.arn("logs", f"log-group:{TEMPLATE_STAGE.access_log_group}"))
    return {
        "Properties": {
            "AccessLogSetting": {"DestinationArn": destination, "Format": access_log.FORMAT},
            "OpenApiVersion": "2.0",  # Otherwise AWS SAM creates an additional stage named Stage.
        }
    }


def _web_acl_association() -> dict[str, Any]:
    # AWS SAM replaces `RestAPI.Stage` by the API Gateway stage that it creates.
    api_stage = "arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${RestAPI}/stages/${RestAPI.Stage}"
    properties = {"WebACLArn": ref("WebAclArn"), "ResourceArn": sub(api_stage)}
    return {"Type": "AWS::WAFv2::WebACLAssociation", "Condition": _HAS_WEB_ACL, "Properties": properties}


def _functions(names: Iterable[str]) -> dict[str, Any]:
    return {to_cfn_resource_name(name): _function(name) for name in names}


def _function(name: str) -> dict[str, Any]:
    # Otherwise Lambda drops the messages of a chain after some 16 turns.
    recursion = {"RecursiveLoop": "Allow"} if name in RECURSIVE_FUNCTIONS else {}
    return {"Properties": {"FunctionName": sub(TEMPLATE_STAGE.function_name(name)), **recursion}}


def _queued_function(queued: SQSEventConfig) -> dict[str, Any]:
    # Otherwise Lambda ignores the handler's response, and one failed message fails its whole batch.
    mapping: dict[str, Any] = {"FunctionResponseTypes": ["ReportBatchItemFailures"]}
    if not queued.maximum_batching_window_in_seconds:
        # Chalice always writes a batching window. Lambda rejects one for FIFO queues, and its default is none.
        mapping["MaximumBatchingWindowInSeconds"] = {"Ref": "AWS::NoValue"}
    event = f"{to_cfn_resource_name(queued.name)}SqsEventSource"
    return {"Properties": _function(queued.name)["Properties"] | {"Events": {event: {"Properties": mapping}}}}
