"""The commands `make deploy`, `make template` and `make delete`: a stage's functions, roles and API."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from botocore.exceptions import ClientError

from chalicelib.kernel.core.clock import after, now
from infrastructure import access_log, chalice_deployment, configuration, deployed_functions
from infrastructure.account import Refused, client, explained, patient_client
from infrastructure.chalice_project import stage_project
from infrastructure.configuration import FORMER_SEALS
from infrastructure.gateway import THROTTLE
from infrastructure.names import Stage
from infrastructure.package import build

_UNAUTHENTICATED: Final = "UNAUTHENTICATED_ENTRIES_UNTIL"
_SEAL_KEY: Final = "SEAL_KEY"
_COMMITTING: Final = ("api_handler", "jobs", "events")
"""Functions that commit log entries, or create or verify entry MACs."""

_REPLACED_SECONDS: Final = 900
"""How long a function of the previous release can still run."""

UNRESERVED: Final = 100
"""Concurrent executions that AWS keeps unreserved in each account."""


def deploy(name: str) -> None:
    """Deploy a stage, apply its migrations and print its URL. Raises Refused, and SettingsError.

    The command can be repeated and interrupted: it continues with existing resources.
    """
    stage = configuration.here(name)
    check_room(stage)
    print("Building the package.", flush=True)
    zipped = build()
    with explained():
        present = _present(stage)
    _bound_unauthenticated_entries(stage, present)
    _bound_former_seals(stage, present)
    resources = chalice_deployment.deploy(stage, stage_project(name, package=zipped))
    url = resources["rest_api"]["rest_api_url"].rstrip("/")
    if _needs_notice(configuration.variables(name).get("PUBLIC_URL"), url):
        print(f"The API has a new URL: {url}. Deploying again, to give it to the functions.", flush=True)
        configuration.write(name, {"PUBLIC_URL": url})
        resources = chalice_deployment.deploy(stage, stage_project(name, package=zipped))
    _set_stage(stage, resources["rest_api"]["rest_api_id"])
    _migrate(stage)
    print(f"\n{name} is deployed at {url}. Try it:\n    curl {url}/status")


def package(name: str) -> None:
    """Write a stage's template for CloudFormation beside the package. Raises Refused, and SettingsError."""
    stage = configuration.deployed(name)
    os.environ["AWS_DEFAULT_REGION"] = stage.region  # Chalice requires a region, although it makes no AWS call here.
    out = chalice_deployment.package(stage, stage_project(name))
    folder = out.relative_to(configuration.PROJECT)
    print(f"{folder}/ contains sam.json and deployment.zip. docs/guides/deployment.md describes the next steps.")


def delete(name: str) -> None:
    """Delete a stage's functions, roles and API. Its table, queues, buckets and keys remain. Raises Refused."""
    chalice_deployment.delete(configuration.here(name))
    print(f"Deleted the functions, roles and API of {name}. Its table, queues, buckets and keys remain.")


def _present(stage: Stage) -> list[dict[str, str]]:
    """Return the environment variables of the functions that this deployment replaces or runs beside."""
    known = [deployed_functions.variables(stage, name) for name in _COMMITTING]
    known += [
        deployed_functions.variables(replace(stage, name=stage.data), name) for name in _COMMITTING if stage.data_of
    ]
    return [variables for variables in known if variables is not None]


def _bound_unauthenticated_entries(stage: Stage, present: Sequence[Mapping[str, str]]) -> None:
    """Accept entries without a MAC for 15 minutes if this deployment replaces functions that commit them.

    Functions that are already deployed keep their time. A stage without functions has no such entries.
    """
    times = [variables[_UNAUTHENTICATED] for variables in present if _UNAUTHENTICATED in variables]
    if times and len(times) == len(present):
        until = configuration.variables(stage.name).get(_UNAUTHENTICATED, min(times))
    else:
        until = after(now(), seconds=_REPLACED_SECONDS if present else 0)
    configuration.write(stage.name, {_UNAUTHENTICATED: until})


def _bound_former_seals(stage: Stage, present: Sequence[Mapping[str, str]]) -> None:
    """Create entry MACs with the signing key for 15 minutes if this deployment replaces functions without SEAL_KEY.

    Such MACs stay valid until `renew-seals` replaces them. A stage without functions has none.
    """
    if any(_SEAL_KEY not in variables for variables in present):
        configuration.write(stage.name, {FORMER_SEALS: after(now(), seconds=_REPLACED_SECONDS)})
    elif FORMER_SEALS not in configuration.variables(stage.name):
        times = [variables[FORMER_SEALS] for variables in present if variables.get(FORMER_SEALS)]
        configuration.write(stage.name, {FORMER_SEALS: min(times)} if times else {})


def _needs_notice(public: str | None, url: str) -> bool:
    # A new API has another URL. A custom domain was chosen by the operator and stays.
    return public is None or (".execute-api." in public and public != url)


def check_room(stage: Stage) -> None:
    """Raise Refused if the account has less unreserved concurrency than the stage reserves."""
    wanted = chalice_deployment.reserved(stage)
    try:
        free = client("lambda").get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
        held = sum(_held(stage.function(name)) for name in wanted)
    except ClientError:
        return  # Without this permission, Lambda itself reports a lack of concurrency.
    if wanted and free + held - sum(wanted.values()) < UNRESERVED:
        raise Refused(
            f"{stage.name} reserves {sum(wanted.values())} concurrent executions. This account has {free + held} in"
            f" {stage.region}, of which {UNRESERVED} must stay unreserved. Request more (Service Quotas: Lambda,"
            " Concurrent executions, L-B99A9384), or remove `reserved_concurrency` of this stage from"
            " .chalice/config.json."
        )


def _held(function: str) -> int:
    try:
        return int(client("lambda").get_function_concurrency(FunctionName=function)["ReservedConcurrentExecutions"])
    except (KeyError, client("lambda").exceptions.ResourceNotFoundException):
        return 0


def _set_stage(stage: Stage, api: str) -> None:
    gateway_stage = configuration.gateway_stage(stage.name)
    throttle = {"rateLimit": THROTTLE["ThrottlingRateLimit"], "burstLimit": THROTTLE["ThrottlingBurstLimit"]}
    limits = [
        {"op": "replace", "path": f"/*/*/throttling/{key}", "value": str(value)} for key, value in throttle.items()
    ]
    with explained():
        client("apigateway").update_stage(restApiId=api, stageName=gateway_stage, patchOperations=limits)
        access_log.allow(stage)
        try:
            patches = access_log.patches(stage)
            client("apigateway").update_stage(restApiId=api, stageName=gateway_stage, patchOperations=patches)
        except client("apigateway").exceptions.BadRequestException as error:
            print(access_log.ADVICE.format(error.response["Error"]["Message"]))


def _migrate(stage: Stage) -> None:
    print("Applying migrations.", flush=True)
    with explained():
        answer = patient_client("lambda").invoke(FunctionName=stage.function("migrate"), Payload=b"{}")
    outcomes = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise Refused(f"The function migrate failed: {outcomes.get('errorMessage', outcomes)}. {_AGAIN}")
    for outcome in outcomes:
        print(f"  {_report(outcome)}")
    if any(outcome["state"] != "applied" for outcome in outcomes):
        raise Refused(f"Not every migration was applied. {_AGAIN}")
    if not outcomes:
        print("  No migrations are pending.")


_AGAIN: Final = "The new code is deployed. Read the log of the function, then run `make deploy` again."


def _report(outcome: Mapping[str, Any]) -> str:
    reason = f" {outcome['error']}" if outcome.get("error") else ""
    return f"{outcome['id'] or 'migrations'}: {outcome['state']}.{reason}"
