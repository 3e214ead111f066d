"""The commands `make deploy`, `make template` and `make delete`: a stage's functions, roles and API."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from chalicelib.kernel.core.clock import after, now
from infrastructure import access_log, chalice_deployment, configuration, deployed_functions, quotas, safeguards
from infrastructure.account import CommandError, client, long_timeout_client, translate_errors
from infrastructure.chalice_project import create_project
from infrastructure.configuration import (
    FORMER_SEALS_SETTING,
    UNAUTHENTICATED_ENTRIES_SETTING,
    UNAUTHENTICATED_RECORDS_SETTING,
)
from infrastructure.gateway import SMALLEST_THROTTLE, Throttle
from infrastructure.names import Stage
from infrastructure.package import build_package

_SEAL_KEY: Final = "SEAL_KEY"
_LOG_WRITING_FUNCTIONS: Final = ("api_handler", "jobs", "events")
"""Functions that commit log entries, or create or verify entry MACs."""

_MAX_FUNCTION_SECONDS: Final = 900
"""How long a function of the previous release can still run."""

_ACCEPTANCE_SECONDS: Final[Mapping[str, int]] = {
    UNAUTHENTICATED_ENTRIES_SETTING: _MAX_FUNCTION_SECONDS,
    UNAUTHENTICATED_RECORDS_SETTING: 30 * 86_400,
}
"""How long entries and records without a MAC are accepted after an upgrade, by the setting that stores the end.

The existing records get their MACs in this time, by `make audit-records STAGE=… RENEW=1`.
"""


def deploy(name: str) -> None:
    """Deploy a stage, apply its migrations and print its URL. Raises CommandError, and SettingsError.

    The command can be repeated and interrupted: it continues with existing resources.
    """
    stage = configuration.load_stage_in_current_account(name)
    quotas.check_concurrency(stage)
    throttle = quotas.read_throttle()
    print("Building the package.", flush=True)
    zipped = build_package()
    with translate_errors():
        present = _deployed_variables(stage)
    _limit_unauthenticated(stage, present)
    _limit_former_seals(stage, present)
    resources = chalice_deployment.deploy(stage, create_project(name, package=zipped), throttle)
    url = resources["rest_api"]["rest_api_url"].rstrip("/")
    if _needs_new_public_url(configuration.environment_variables(name).get("PUBLIC_URL"), url):
        print(f"The API has a new URL: {url}. Deploying again, to give it to the functions.", flush=True)
        configuration.update_variables(name, {"PUBLIC_URL": url})
        resources = chalice_deployment.deploy(stage, create_project(name, package=zipped), throttle)
    _configure_gateway_stage(stage, resources["rest_api"]["rest_api_id"], throttle)
    _apply_migrations(stage)
    print(f"\n{name} is deployed at {url}. Try it:\n    curl {url}/status\n    make smoke STAGE={name} < token.txt")


def package(name: str) -> None:
    """Write a stage's template for CloudFormation beside the package. Raises CommandError, and SettingsError."""
    stage = configuration.load_stage(name)
    os.environ["AWS_DEFAULT_REGION"] = stage.region  # Chalice requires a region, although it makes no AWS call here.
    throttle = _check_quotas_if_possible(stage)
    out = chalice_deployment.package(stage, create_project(name), throttle)
    folder = out.relative_to(configuration.PROJECT)
    print(f"{folder}/ contains sam.json and deployment.zip. docs/guides/deployment.md describes the next steps.")


def _check_quotas_if_possible(stage: Stage) -> Throttle:
    """Check the quotas of the stage's account and return its throttle, or say that they are unknown.

    Raises CommandError if the account has too little concurrency.
    """
    try:
        configuration.load_stage_in_current_account(stage.name)
    except CommandError as error:
        print(f"{error}\n{quotas.describe_requirements(stage)}")
        return SMALLEST_THROTTLE
    quotas.check_concurrency(stage)
    return quotas.read_throttle()


def delete(name: str) -> None:
    """Delete a stage's functions, roles and API. Its table, queues, buckets and keys remain. Raises CommandError."""
    chalice_deployment.delete(configuration.load_stage_in_current_account(name))
    print(f"Deleted the functions, roles and API of {name}. Its table, queues, buckets and keys remain.")


def _deployed_variables(stage: Stage) -> list[dict[str, str]]:
    """Return the environment variables of the functions that this deployment replaces or runs beside."""
    known = [deployed_functions.function_variables(stage, name) for name in _LOG_WRITING_FUNCTIONS]
    known += [
        deployed_functions.function_variables(replace(stage, name=stage.data_stage), name)
        for name in _LOG_WRITING_FUNCTIONS
        if stage.primary_stage
    ]
    return [variables for variables in known if variables is not None]


def _limit_unauthenticated(stage: Stage, deployed: Sequence[Mapping[str, str]]) -> None:
    """Accept entries and records without a MAC for some time if this deployment replaces functions that store them.

    Functions that are already deployed keep their times. A stage without functions has no such entries and records.
    """
    for setting, seconds in _ACCEPTANCE_SECONDS.items():
        if any(setting not in variables for variables in deployed):
            until = after(now(), seconds=seconds)
        else:
            times = [variables[setting] for variables in deployed]
            until = configuration.environment_variables(stage.name).get(setting, min(times, default=now()))
        configuration.update_variables(stage.name, {setting: until})


def _limit_former_seals(stage: Stage, deployed: Sequence[Mapping[str, str]]) -> None:
    """Create entry MACs with the signing key for 15 minutes if this deployment replaces functions without SEAL_KEY.

    Such MACs stay valid until `renew-seals` replaces them. A stage without functions has none.
    """
    if any(_SEAL_KEY not in variables for variables in deployed):
        configuration.update_variables(stage.name, {FORMER_SEALS_SETTING: after(now(), seconds=_MAX_FUNCTION_SECONDS)})
    elif FORMER_SEALS_SETTING not in configuration.environment_variables(stage.name):
        times = [variables[FORMER_SEALS_SETTING] for variables in deployed if variables.get(FORMER_SEALS_SETTING)]
        configuration.update_variables(stage.name, {FORMER_SEALS_SETTING: min(times)} if times else {})


def _needs_new_public_url(public: str | None, url: str) -> bool:
    # A new API has another URL. A custom domain was chosen by the operator and stays.
    return public is None or (".execute-api." in public and public != url)


def _configure_gateway_stage(stage: Stage, api: str, throttle: Throttle) -> None:
    gateway_stage = configuration.gateway_stage(stage.name)
    values = {"rateLimit": throttle.requests_per_second, "burstLimit": throttle.burst}
    limits = [{"op": "replace", "path": f"/*/*/throttling/{key}", "value": str(value)} for key, value in values.items()]
    with translate_errors():
        client("apigateway").update_stage(restApiId=api, stageName=gateway_stage, patchOperations=limits)
        safeguards.associate_web_acl(stage, api)
        access_log.enable_logging(stage)
        try:
            patches = access_log.access_log_patch_operations(stage)
            client("apigateway").update_stage(restApiId=api, stageName=gateway_stage, patchOperations=patches)
        except client("apigateway").exceptions.BadRequestException as error:
            print(access_log.CANNOT_LOG_MESSAGE.format(error.response["Error"]["Message"]))


def _apply_migrations(stage: Stage) -> None:
    print("Applying migrations.", flush=True)
    with translate_errors():
        answer = long_timeout_client("lambda").invoke(FunctionName=stage.function_name("migrate"), Payload=b"{}")
    outcomes = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise CommandError(f"The function migrate failed: {outcomes.get('errorMessage', outcomes)}. {_RETRY_ADVICE}")
    for outcome in outcomes:
        print(f"  {_describe_outcome(outcome)}")
    if any(outcome["state"] != "applied" for outcome in outcomes):
        raise CommandError(f"Not every migration was applied. {_RETRY_ADVICE}")
    if not outcomes:
        print("  No migrations are pending.")


_RETRY_ADVICE: Final = "The new code is deployed. Read the log of the function, then run `make deploy` again."


def _describe_outcome(outcome: Mapping[str, Any]) -> str:
    reason = f" {outcome['error']}" if outcome.get("error") else ""
    return f"{outcome['id'] or 'migrations'}: {outcome['state']}.{reason}"
