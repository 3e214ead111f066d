"""Read and update the stages in `.chalice/config.json`."""

import json
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from chalicelib.kernel.core.settings import parse_settings
from infrastructure.account import CommandError, current_stage
from infrastructure.names import Stage, primary_stage_name

PROJECT: Final = Path(__file__).resolve().parent.parent
CHALICE_FOLDER: Final = PROJECT / ".chalice"
CONFIG_FILE: Final = CHALICE_FOLDER / "config.json"

FORMER_SEALS_SETTING: Final = "SIGNING_KEY_SEALS_UNTIL"
"""Setting of a stage from its first SEAL_KEY until `renew-seals` is done; afterwards it is empty."""

UNAUTHENTICATED_ENTRIES_SETTING: Final = "UNAUTHENTICATED_ENTRIES_UNTIL"
"""Setting of a stage from its first deployment: until when log entries without a MAC are accepted."""

UNAUTHENTICATED_RECORDS_SETTING: Final = "UNAUTHENTICATED_RECORDS_UNTIL"
"""Setting of a stage from its first deployment: until when records without a MAC are accepted."""

UPGRADE_SETTINGS: Final = (FORMER_SEALS_SETTING, UNAUTHENTICATED_ENTRIES_SETTING, UNAUTHENTICATED_RECORDS_SETTING)
"""Settings that weaken the log during an upgrade. Only the commands set them."""

_VARIABLES: Final = "environment_variables"
_RESERVED: Final = "reserved_concurrency"
_QUEUE: Final = "EVENTS_QUEUE_URL"


def environment_variables(stage: str) -> dict[str, str]:
    """Return the environment variables of a stage. The result is empty if the stage does not exist."""
    return dict(_stages().get(stage, {}).get(_VARIABLES, {}))


def gateway_stage(stage: str) -> str:
    """Return the name of the API Gateway stage: the last segment of the API's URL."""
    return str(_stages()[stage]["api_gateway_stage"])


def api_path(stage: str) -> str:
    """Return the path of the API's URL, such as `/prod`: that of PUBLIC_URL or, before it is known, of the default URL.

    A domain of the API's own has no path.
    """
    public_url = environment_variables(stage).get("PUBLIC_URL")
    return urlsplit(public_url).path.rstrip("/") if public_url else f"/{gateway_stage(stage)}"


def update_variables(stage: str, values: Mapping[str, str], removed: Collection[str] = ()) -> bool:
    """Add, replace or remove environment variables of a stage. Return whether the file changed."""
    config = _read_config()
    former = deepcopy(config)
    known = config["stages"].setdefault(stage, {})
    variables = known.get(_VARIABLES, {}) | values
    known[_VARIABLES] = {name: value for name, value in variables.items() if name not in removed}
    if config != former:
        write_json(CONFIG_FILE, config)
    return bool(config != former)


def reserved_concurrency(stage: str) -> dict[str, int]:
    """Return the reserved concurrency of each function of a stage that has one."""
    functions = _stages()[stage]["lambda_functions"]
    return {name: function[_RESERVED] for name, function in functions.items() if _RESERVED in function}


def reserve_concurrency(stage: str, reserved: Mapping[str, int]) -> None:
    """Replace the concurrent executions that the functions of a stage reserve."""
    config = _read_config()
    functions = config["stages"][stage]["lambda_functions"]
    for name, function in functions.items():
        function.pop(_RESERVED, None)
        function.update({_RESERVED: reserved[name]} if name in reserved else {})
    write_json(CONFIG_FILE, config)


def add_stage(stage: str, template_stage: str) -> None:
    """Add a stage with the configuration of another one, without its environment variables."""
    config = _read_config()
    if stage not in config["stages"]:
        text = json.dumps(config["stages"][template_stage]).replace(
            f'"policies/{template_stage}/', f'"policies/{stage}/'
        )
        stage_settings = config["stages"][stage] = json.loads(text)
        del stage_settings[_VARIABLES]
        for function in stage_settings["lambda_functions"].values():
            function.pop(_RESERVED, None)  # Most accounts can reserve it once.
        write_json(CONFIG_FILE, config)


def load_stage(name: str) -> Stage:
    """Return a stage as `bootstrap` wrote it. Raises CommandError if it is missing, SettingsError if it is invalid."""
    known = environment_variables(name)
    if _QUEUE not in known:
        arguments = " ISSUER=... AUDIENCE=... DOMAIN=..." if name == primary_stage_name(name) else ""
        raise CommandError(
            f"The stage {name} is missing in .chalice/{CONFIG_FILE.name}. Run: make bootstrap STAGE={name}{arguments}"
            "\nIt comes first, and needs the credentials of an AWS account, where it creates the stage's table, queues"
            " and secrets. If somebody ran it already, get the file that they committed."
        )
    parse_settings({key.lower(): value for key, value in known.items()})
    address = urlsplit(known[_QUEUE])
    _, account, queue = address.path.split("/")
    data = queue.removeprefix("atrium-").removesuffix("-events.fifo")
    host = str(address.hostname).split(".")
    stage = Stage(name, account, host[1], _partition_of_host(host), primary_stage="" if data == name else data)
    return with_restored_resources(stage, known)


def with_restored_resources(stage: Stage, known: Mapping[str, str]) -> Stage:
    """Return a stage with the restored table and anchors bucket that its settings name, if any."""
    table, anchors = known.get("TABLE_NAME", ""), known.get("ANCHORS_BUCKET", "")
    return replace(
        stage,
        restored_table="" if table == stage.table_name else table,
        restored_anchors_bucket="" if anchors == stage.bucket_name("anchors") else anchors,
    )


def load_stage_in_current_account(name: str) -> Stage:
    """Return a configured stage. Raises CommandError if the credentials are for another account or region."""
    stage, found = load_stage(name), current_stage(name)
    if (stage.account, stage.region) != (found.account, found.region):
        raise CommandError(
            f"{name} is in account {stage.account}, region {stage.region}. The current credentials and region are"
            f" {found.account}, {found.region}: set AWS_PROFILE or AWS_REGION."
        )
    return stage


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.draft")
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(file)


def _partition_of_host(host: list[str]) -> str:
    if host[-1] == "cn":
        return "aws-cn"
    return "aws-us-gov" if host[1].startswith("us-gov-") else "aws"


def _stages() -> Mapping[str, Any]:
    stages: Mapping[str, Any] = _read_config()["stages"]
    return stages


def _read_config() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(CONFIG_FILE.read_text())
    except ValueError as error:
        raise CommandError(f"{CONFIG_FILE} is not JSON: {error}") from None
    return found
