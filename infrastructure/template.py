"""What `chalice package` can't say by itself, as the template it merges into its own (`--merge-template`)."""

from collections.abc import Iterable
from typing import Any

from infrastructure.gateway import THROTTLE, responses


def template(queue_handlers: Iterable[str]) -> dict[str, Any]:
    """Return the template; `queue_handlers` are the handlers' names in it, which Chalice makes of the functions'."""
    return {"Resources": {"RestAPI": _api(), **{name: _reporting_failures(name) for name in queue_handlers}}}


def _api() -> dict[str, Any]:
    every_method = {"ResourcePath": "/*", "HttpMethod": "*"}
    return {"Properties": {"GatewayResponses": responses(), "MethodSettings": [every_method | THROTTLE]}}


def _reporting_failures(name: str) -> dict[str, Any]:
    # Without this, what a handler answers is ignored: one failed message returns the whole batch, or is lost with it.
    source = {"Properties": {"FunctionResponseTypes": ["ReportBatchItemFailures"]}}
    return {"Properties": {"Events": {f"{name}SqsEventSource": source}}}
