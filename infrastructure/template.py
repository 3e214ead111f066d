"""What `chalice package` can't say by itself, as the template it merges into its own (`--merge-template`).

One file is for every stage: the parameter `Stage` has no default, so that a deployment which forgets it fails at once.
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
    "Description": "The stage that was packaged; functions have it in their names, as with chalice deploy.",
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
            "OpenApiVersion": "2.0",  # Without it, AWS SAM makes a stage called Stage beside ours.
        }
    }


def _named(names: Iterable[str]) -> dict[str, Any]:
    return {to_cfn_resource_name(name): _function(name) for name in names}


def _function(name: str) -> dict[str, Any]:
    return {"Properties": {"FunctionName": sub(HERE.function(name))}}


def _reporting_failures(name: str, function: dict[str, Any]) -> dict[str, Any]:
    # Without this, what a handler answers is ignored: one failed message returns the whole batch, or is lost with it.
    source = {"Properties": {"FunctionResponseTypes": ["ReportBatchItemFailures"]}}
    return {"Properties": function["Properties"] | {"Events": {f"{name}SqsEventSource": source}}}
