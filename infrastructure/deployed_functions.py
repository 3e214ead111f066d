"""The resources of a stage that Chalice deployed, found on AWS by their names.

Chalice records them in a file at the end of a deployment. After an interrupted deployment, or in a fresh checkout, the
file is missing; Chalice would then create a second API, and fail at existing event sources.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from chalice.app import Chalice, ScheduledEventConfig, SQSEventConfig
from chalice.config import Config

from infrastructure.account import client
from infrastructure.names import Stage

Resource = dict[str, Any]

_API: Final = "rest_api"


def function_names(app: Chalice) -> list[str]:
    """Return the names of an app's functions."""
    handlers: list[Any] = [*app.event_sources, *app.pure_lambda_functions]
    return ["api_handler", *(handler.name for handler in handlers)]


def api_description(stage: Stage) -> str:
    """Return the description that identifies the API of a stage. All APIs have the same name."""
    return f"Stage {stage.name} of Atrium."


def find_resources(stage: Stage, config: Config, former: Iterable[Resource]) -> list[Resource]:
    """Return the deployed resources of a stage in Chalice's format, in the order of their creation.

    Resources in the `former` record that the app no longer has are included, so that Chalice deletes them.
    """
    app = config.chalice_app
    known = {name for function in function_names(app) for name in _resource_names(function)} | {_API}
    gone = [resource for resource in former if resource["name"] not in known]
    recorded = {resource["name"]: resource for resource in former}
    return [
        *gone,
        *(resource for function in function_names(app) for resource in _find_function(stage, function)),
        *(resource for source in app.event_sources for resource in _find_event_source(stage, source)),
        *_find_api(stage, config, recorded.get(_API, {}).get("rest_api_id")),
    ]


def function_variables(stage: Stage, name: str) -> dict[str, str] | None:
    """Return the environment variables of a deployed function, or None if it does not exist."""
    made = _call_or_none("lambda", "get_function", "ResourceNotFoundException", FunctionName=stage.function_name(name))
    return dict(made["Configuration"].get("Environment", {}).get("Variables", {})) if made else None


def _resource_names(function: str) -> tuple[str, ...]:
    return function, f"{function}_role", f"{function}-event", f"{function}-sqs-event-source"


def _find_function(stage: Stage, name: str) -> Iterator[Resource]:
    role, function = f"atrium-{stage.name}-{name}", stage.function_name(name)
    if made := _call_or_none("iam", "get_role", "NoSuchEntityException", RoleName=role):
        arn = made["Role"]["Arn"]
        yield {"name": f"{name}_role", "resource_type": "iam_role", "role_arn": arn, "role_name": role}
    if made := _call_or_none("lambda", "get_function", "ResourceNotFoundException", FunctionName=function):
        arn = made["Configuration"]["FunctionArn"]
        yield {"name": name, "resource_type": "lambda_function", "lambda_arn": arn}


def _find_event_source(stage: Stage, source: Any) -> Iterator[Resource]:
    if isinstance(source, SQSEventConfig):
        yield from _find_event_source_mappings(stage, source.name, str(source.queue))
    elif isinstance(source, ScheduledEventConfig):
        rule = f"atrium-{stage.name}-{source.name}-event"
        if _call_or_none("events", "describe_rule", "ResourceNotFoundException", Name=rule):
            yield {"name": f"{source.name}-event", "resource_type": "cloudwatch_event", "rule_name": rule}


def _find_event_source_mappings(stage: Stage, name: str, queue: str) -> Iterator[Resource]:
    queue_arn, function_arn = stage.arn("sqs", queue), stage.arn("lambda", f"function:{stage.function_name(name)}")
    pages = client("lambda").get_paginator("list_event_source_mappings").paginate(EventSourceArn=queue_arn)
    for mapping in (mapping for page in pages for mapping in page["EventSourceMappings"]):
        if mapping["FunctionArn"] == function_arn and mapping.get("State") != "Deleting":
            yield {
                "name": f"{name}-sqs-event-source",
                "resource_type": "sqs_event",
                "queue": queue,
                "queue_arn": queue_arn,
                "event_uuid": mapping["UUID"],
                "lambda_arn": function_arn,
            }


def _find_api(stage: Stage, config: Config, recorded: str | None) -> Iterator[Resource]:
    pages = client("apigateway").get_paginator("get_rest_apis").paginate()
    apis: list[Mapping[str, Any]] = [api for page in pages for api in page["items"]]
    ours = [
        api["id"] for api in apis if (api["name"], api.get("description")) == (config.app_name, api_description(stage))
    ]
    ids = [recorded] if recorded in {api["id"] for api in apis} else ours
    for id_ in ids[:1]:
        url = f"https://{id_}.execute-api.{stage.region}.{stage.dns_suffix}/{config.api_gateway_stage}/"
        yield {"name": _API, "resource_type": "rest_api", "rest_api_id": id_, "rest_api_url": url}


def _call_or_none(service: str, method: str, missing_error: str, **arguments: str) -> Mapping[str, Any] | None:
    asked = client(service)
    try:
        answer: Mapping[str, Any] = getattr(asked, method)(**arguments)
    except getattr(asked.exceptions, missing_error):
        return None
    return answer
