"""Deploy, package and delete a stage's functions, roles and API with Chalice.

Chalice runs in this process, so that hooks can add parameters to its AWS calls. Each event source is created with
partial batch responses and without an empty batching window, and the API with its gateway responses. Functions that may
run in a loop with a queue are allowed to before their event sources exist.
"""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any, Final

from botocore.session import Session
from chalice.cli.factory import CLIFactory
from chalice.config import Config
from chalice.deploy.appgraph import ChaliceBuildError
from chalice.deploy.deployer import ChaliceDeploymentError
from chalice.utils import UI

from infrastructure import configuration, deployed_functions
from infrastructure.account import CommandError, client, translate_errors
from infrastructure.configuration import PROJECT, write_json
from infrastructure.gateway import Throttle, openapi_gateway_responses
from infrastructure.names import Stage
from infrastructure.resources import RECURSIVE_FUNCTIONS
from infrastructure.template import template_of_api

_FUNCTION_RESPONSE_TYPES: Final = ["ReportBatchItemFailures"]


def deploy(stage: Stage, project: Path, throttle: Throttle) -> dict[str, Any]:
    """Deploy a stage from a project folder. Return Chalice's record of each resource by name. Raises CommandError.

    Resources of an earlier deployment are reused, even if it was interrupted.
    """
    factory, config = _load_project(stage, project)
    _write_record(stage, config, project)
    session = _create_session(factory, stage)
    for call in ("ImportRestApi", "PutRestApi"):
        session.register(f"provide-client-params.api-gateway.{call}", partial(_add_gateway_responses, stage, throttle))
    deployer = factory.create_default_deployer(session, config, UI())  # It reads the record.
    try:
        _run_chalice(partial(deployer.deploy, config, stage.name))
    finally:
        _write_record(stage, config, PROJECT)
    return {
        resource["name"]: resource for resource in json.loads(_record_file(stage, PROJECT).read_text())["resources"]
    }


def delete(stage: Stage) -> None:
    """Delete the resources of a stage, even of an interrupted deployment. Raises CommandError."""
    factory, config = _load_project(stage, PROJECT)
    _write_record(stage, config, PROJECT)
    deployer = factory.create_deletion_deployer(_create_session(factory, stage), UI())
    try:
        _run_chalice(partial(deployer.deploy, config, stage.name))
    finally:
        _write_record(stage, config, PROJECT)


def package(stage: Stage, project: Path, throttle: Throttle) -> Path:
    """Write a stage's CloudFormation template and package, and return their folder. Raises CommandError."""
    factory, config = _load_project(stage, project)
    out, merged_file = project / "out", project / "template.json"
    write_json(merged_file, template_of_api(configuration.api_path(stage.name), throttle))
    merged = str(merged_file)
    packager = factory.create_app_packager(config, factory.create_package_options(), "cloudformation", "json", merged)
    _run_chalice(partial(packager.package_app, config, str(out), stage.name))
    return out


def _load_project(stage: Stage, project: Path) -> tuple[CLIFactory, Config]:
    factory = CLIFactory(str(project), environ=os.environ)  # app.py reads the names of the queues from there.
    return factory, factory.create_config_obj(chalice_stage_name=stage.name)


def _create_session(factory: CLIFactory, stage: Stage) -> Session:
    session = factory.create_botocore_session()
    session.set_config_variable("retry_mode", "adaptive")
    session.set_config_variable("max_attempts", 10)
    for call in ("CreateEventSourceMapping", "UpdateEventSourceMapping"):
        session.register(f"provide-client-params.lambda.{call}", _correct_queue_mapping)
    for call in ("PutFunctionConcurrency", "DeleteFunctionConcurrency"):
        session.register(f"provide-client-params.lambda.{call}", partial(_allow_recursive_loops, stage))
    return session


def _correct_queue_mapping(params: dict[str, Any], **_: object) -> dict[str, Any]:
    # Chalice always sends a batching window. Lambda rejects one for FIFO queues, and its default is none.
    sent = {name: value for name, value in params.items() if (name, value) != ("MaximumBatchingWindowInSeconds", 0)}
    # Otherwise Lambda ignores the handler's response, and one failed message fails its whole batch.
    return sent | {"FunctionResponseTypes": _FUNCTION_RESPONSE_TYPES}


def _allow_recursive_loops(stage: Stage, params: dict[str, Any], **_: object) -> None:
    # Chalice makes one of these calls for each function, new or not, when it is ready and before its event source.
    # Without this setting Lambda drops the messages of a chain after some 16 turns.
    if params["FunctionName"] in [stage.function_name(name) for name in RECURSIVE_FUNCTIONS]:
        client("lambda").put_function_recursion_config(FunctionName=params["FunctionName"], RecursiveLoop="Allow")


def _add_gateway_responses(stage: Stage, throttle: Throttle, params: dict[str, Any], **_: object) -> dict[str, Any]:
    document = json.loads(params["body"])
    document["info"]["description"] = deployed_functions.api_description(stage)
    document["x-amazon-apigateway-gateway-responses"] = openapi_gateway_responses(
        configuration.api_path(stage.name), throttle
    )
    return params | {"body": json.dumps(document)}


def _write_record(stage: Stage, config: Config, project: Path) -> None:
    file = _record_file(stage, project)
    record = _record_file(stage, PROJECT)
    former = json.loads(record.read_text())["resources"] if record.exists() else []
    with translate_errors():
        resources = deployed_functions.find_resources(stage, config, former)
    write_json(file, {"resources": resources, "schema_version": "2.0", "backend": "api"})


def _record_file(stage: Stage, project: Path) -> Path:
    return project / f".chalice/deployed/{stage.name}.json"


def _run_chalice(step: partial[Any]) -> None:
    try:
        with translate_errors():
            step()
    except (ChaliceDeploymentError, ChaliceBuildError, RuntimeError) as error:
        raise CommandError(
            f"Chalice failed: {error}\nCreated resources remain. Run the command again to continue."
        ) from error
