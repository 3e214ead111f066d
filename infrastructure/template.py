"""The template that `chalice package` merges into its own (`--merge-template`), for what Chalice cannot express.

One file serves every stage. The parameter `Stage` has no default, so a deployment without it fails at once.
"""

from collections.abc import Iterable
from typing import Any, Final

from chalice.app import Chalice, SQSEventConfig
from chalice.utils import to_cfn_resource_name

from infrastructure import access_log
from infrastructure.cfn import HERE, sub
from infrastructure.deployed_functions import functions
from infrastructure.gateway import THROTTLE, responses
from infrastructure.names import NAMES

_STAGE: Final = {
    "Type": "String",
    "AllowedPattern": NAMES,
    "Description": "The packaged stage, which is part of the names of functions, as with chalice deploy.",
}


def template(app: Chalice) -> dict[str, Any]:
    """Return the template for an app."""
    queued = [source.name for source in app.event_sources if isinstance(source, SQSEventConfig)]
    others = [name for name in functions(app)[1:] if name not in queued]
    return {
        "Parameters": {"Stage": _STAGE},
        "Resources": {
            "RestAPI": _api(),
            "APIHandler": _function("api_handler"),
            **_named(others),
            **{name: _reporting_failures(name, f) for name, f in _named(queued).items()},
        },
    }


def _api() -> dict[str, Any]:
    every_method = {"ResourcePath": "/*", "HttpMethod": "*"}
    destination = sub(HERE.arn("logs", f"log-group:{HERE.access_log}"))
    return {
        "Properties": {
            "GatewayResponses": responses(),
            "MethodSettings": [every_method | THROTTLE],
            "AccessLogSetting": {"DestinationArn": destination, "Format": access_log.FORMAT},
            "OpenApiVersion": "2.0",  # Otherwise AWS SAM creates an additional stage named Stage.
        }
    }


def _named(names: Iterable[str]) -> dict[str, Any]:
    return {to_cfn_resource_name(name): _function(name) for name in names}


def _function(name: str) -> dict[str, Any]:
    return {"Properties": {"FunctionName": sub(HERE.function(name))}}


def _reporting_failures(name: str, function: dict[str, Any]) -> dict[str, Any]:
    # Otherwise Lambda ignores the handler's response, and one failed message fails its whole batch.
    source = {"Properties": {"FunctionResponseTypes": ["ReportBatchItemFailures"]}}
    return {"Properties": function["Properties"] | {"Events": {f"{name}SqsEventSource": source}}}
