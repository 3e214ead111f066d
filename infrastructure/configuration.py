"""Read and update the stages in `.chalice/config.json`."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from chalicelib.kernel.core.settings import validate_settings
from infrastructure.account import Refused, stage_here
from infrastructure.names import Stage

PROJECT: Final = Path(__file__).resolve().parent.parent
CHALICE: Final = PROJECT / ".chalice"
FILE: Final = CHALICE / "config.json"

FORMER_SEALS: Final = "SIGNING_KEY_SEALS_UNTIL"
"""Setting of a stage from its first SEAL_KEY until `renew-seals` is done; afterwards it is empty."""

_VARIABLES: Final = "environment_variables"
_QUEUE: Final = "EVENTS_QUEUE_URL"


def variables(stage: str) -> dict[str, str]:
    """Return the environment variables of a stage. The result is empty if the stage does not exist."""
    return dict(_stages().get(stage, {}).get(_VARIABLES, {}))


def gateway_stage(stage: str) -> str:
    """Return the name of the API Gateway stage: the last segment of the API's URL."""
    return str(_stages()[stage]["api_gateway_stage"])


def write(stage: str, found: Mapping[str, str]) -> bool:
    """Add or replace environment variables of a stage. Return whether the file changed."""
    whole = _whole()
    former = deepcopy(whole)
    known = whole["stages"].setdefault(stage, {})
    known[_VARIABLES] = known.get(_VARIABLES, {}) | found
    if whole != former:
        write_whole(FILE, whole)
    return bool(whole != former)


def begin(stage: str, like: str) -> None:
    """Add a stage with the configuration of another one, without its environment variables."""
    whole = _whole()
    if stage not in whole["stages"]:
        text = json.dumps(whole["stages"][like]).replace(f'"policies/{like}/', f'"policies/{stage}/')
        stage_settings = whole["stages"][stage] = json.loads(text)
        del stage_settings[_VARIABLES]
        for function in stage_settings["lambda_functions"].values():
            function.pop("reserved_concurrency", None)  # Most accounts can reserve it once.
        write_whole(FILE, whole)


def deployed(name: str) -> Stage:
    """Return a stage as `bootstrap` wrote it. Raises Refused if it is missing, SettingsError if it is invalid."""
    known = variables(name)
    if _QUEUE not in known:
        raise Refused(
            f"The stage {name} is missing in .chalice/{FILE.name}. Run: make bootstrap STAGE={name}. If somebody ran it"
            " already, get the file that they committed."
        )
    validate_settings({key.lower(): value for key, value in known.items()})
    address = urlsplit(known[_QUEUE])
    _, account, queue = address.path.split("/")
    data = queue.removeprefix("atrium-").removesuffix("-events.fifo")
    host = str(address.hostname).split(".")
    stage = Stage(name, account, host[1], _partition(host), data_of="" if data == name else data)
    return stored_in(stage, known)


def stored_in(stage: Stage, known: Mapping[str, str]) -> Stage:
    """Return a stage with the restored table and anchors bucket that its settings name, if any."""
    table, anchors = known.get("TABLE_NAME", ""), known.get("ANCHORS_BUCKET", "")
    return replace(
        stage,
        restored="" if table == stage.table else table,
        anchors="" if anchors == stage.bucket("anchors") else anchors,
    )


def here(name: str) -> Stage:
    """Return a configured stage. Raises Refused if the credentials are for another account or region."""
    stage, found = deployed(name), stage_here(name)
    if (stage.account, stage.region) != (found.account, found.region):
        raise Refused(
            f"{name} is in account {stage.account}, region {stage.region}. The current credentials and region are"
            f" {found.account}, {found.region}: set AWS_PROFILE or AWS_REGION."
        )
    return stage


def write_whole(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.draft")
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(file)


def _partition(host: list[str]) -> str:
    if host[-1] == "cn":
        return "aws-cn"
    return "aws-us-gov" if host[1].startswith("us-gov-") else "aws"


def _stages() -> Mapping[str, Any]:
    stages: Mapping[str, Any] = _whole()["stages"]
    return stages


def _whole() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(FILE.read_text())
    except ValueError as error:
        raise Refused(f"{FILE} is not JSON: {error}") from None
    return found
