"""Deploy, package and delete a stage's functions, roles and API with Chalice.

Chalice runs in this process, so that hooks can add parameters to its AWS calls. Each event source is created with
partial batch responses, and the API with its gateway responses.
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

from infrastructure import deployed_functions
from infrastructure.account import Refused, explained
from infrastructure.configuration import PROJECT, write_whole
from infrastructure.gateway import extension
from infrastructure.names import Stage

_REPORTING_FAILURES: Final = ["ReportBatchItemFailures"]


def deploy(stage: Stage, project: Path) -> dict[str, Any]:
    """Deploy a stage from a project folder. Return Chalice's record of each resource by name. Raises Refused.

    Resources of an earlier deployment are reused, even if it was interrupted.
    """
    factory, config = _chalice(stage, project)
    _record(stage, config, project)
    deployer = factory.create_default_deployer(_session(factory, stage), config, UI())  # It reads the record.
    try:
        _run(partial(deployer.deploy, config, stage.name))
    finally:
        _record(stage, config, PROJECT)
    return {resource["name"]: resource for resource in json.loads(_file(stage, PROJECT).read_text())["resources"]}


def delete(stage: Stage) -> None:
    """Delete the resources of a stage, even of an interrupted deployment. Raises Refused."""
    factory, config = _chalice(stage, PROJECT)
    _record(stage, config, PROJECT)
    deployer = factory.create_deletion_deployer(_session(factory, stage), UI())
    try:
        _run(partial(deployer.deploy, config, stage.name))
    finally:
        _record(stage, config, PROJECT)


def package(stage: Stage, project: Path) -> Path:
    """Write a stage's CloudFormation template and package, and return their folder. Raises Refused."""
    factory, config = _chalice(stage, project)
    out = project / "out"
    merged = str(PROJECT / "infrastructure/template.json")
    packager = factory.create_app_packager(config, factory.create_package_options(), "cloudformation", "json", merged)
    _run(partial(packager.package_app, config, str(out), stage.name))
    return out


def reserved(stage: Stage) -> dict[str, int]:
    """Return the reserved concurrency of each function that has one."""
    _, config = _chalice(stage, PROJECT)
    scopes = {name: config.scope(stage.name, name) for name in deployed_functions.functions(config.chalice_app)}
    return {name: scope.reserved_concurrency for name, scope in scopes.items() if scope.reserved_concurrency}


def _chalice(stage: Stage, project: Path) -> tuple[CLIFactory, Config]:
    factory = CLIFactory(str(project), environ=os.environ)  # app.py reads the names of the queues from there.
    return factory, factory.create_config_obj(chalice_stage_name=stage.name)


def _session(factory: CLIFactory, stage: Stage) -> Session:
    session = factory.create_botocore_session()
    session.set_config_variable("retry_mode", "adaptive")
    session.set_config_variable("max_attempts", 10)
    for call in ("CreateEventSourceMapping", "UpdateEventSourceMapping"):
        session.register(f"provide-client-params.lambda.{call}", _report_failures)
    for call in ("ImportRestApi", "PutRestApi"):
        session.register(f"provide-client-params.api-gateway.{call}", partial(_answer_as_the_service, stage))
    return session


def _report_failures(params: dict[str, Any], **_: object) -> dict[str, Any]:
    # Otherwise Lambda ignores the handler's response, and one failed message fails its whole batch.
    return params | {"FunctionResponseTypes": _REPORTING_FAILURES}


def _answer_as_the_service(stage: Stage, params: dict[str, Any], **_: object) -> dict[str, Any]:
    document = json.loads(params["body"])
    document["info"]["description"] = deployed_functions.description(stage)
    document["x-amazon-apigateway-gateway-responses"] = extension()
    return params | {"body": json.dumps(document)}


def _record(stage: Stage, config: Config, project: Path) -> None:
    file = _file(stage, project)
    record = _file(stage, PROJECT)
    former = json.loads(record.read_text())["resources"] if record.exists() else []
    with explained():
        resources = deployed_functions.resources(stage, config, former)
    write_whole(file, {"resources": resources, "schema_version": "2.0", "backend": "api"})


def _file(stage: Stage, project: Path) -> Path:
    return project / f".chalice/deployed/{stage.name}.json"


def _run(step: partial[Any]) -> None:
    try:
        with explained():
            step()
    except (ChaliceDeploymentError, ChaliceBuildError, RuntimeError) as error:
        raise Refused(
            f"Chalice failed: {error}\nCreated resources remain. Run the command again to continue."
        ) from error
