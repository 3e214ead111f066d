"""`.chalice/config.json`: what it says of a stage is read here, and changed where a command knows more."""

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
"""The setting that a stage has from its first SEAL_KEY until `renew-seals` has done its work; then it is empty."""

_VARIABLES: Final = "environment_variables"
_QUEUE: Final = "EVENTS_QUEUE_URL"


def variables(stage: str) -> dict[str, str]:
    """Return the environment variables of a stage; none if there is no such stage yet."""
    return dict(_stages().get(stage, {}).get(_VARIABLES, {}))


def gateway_stage(stage: str) -> str:
    """Return what API Gateway calls a stage: the last part of its API's address."""
    return str(_stages()[stage]["api_gateway_stage"])


def write(stage: str, found: Mapping[str, str]) -> bool:
    """Give a stage these variables, and return whether that changes the file; what else stands there stays."""
    whole = _whole()
    former = deepcopy(whole)
    known = whole["stages"].setdefault(stage, {})
    known[_VARIABLES] = known.get(_VARIABLES, {}) | found
    if whole != former:
        write_whole(FILE, whole)
    return bool(whole != former)


def begin(stage: str, like: str) -> None:
    """Let a stage that is not there yet begin as another one is: memory, time-outs and all."""
    whole = _whole()
    if stage not in whole["stages"]:
        text = json.dumps(whole["stages"][like]).replace(f'"policies/{like}/', f'"policies/{stage}/')
        stage_settings = whole["stages"][stage] = json.loads(text)
        del stage_settings[_VARIABLES]
        for function in stage_settings["lambda_functions"].values():
            function.pop("reserved_concurrency", None)  # An account has enough for one such stage, as a rule.
        write_whole(FILE, whole)


def deployed(name: str) -> Stage:
    """Return where a stage is, by what `bootstrap` has written. Raises Refused, and SettingsError if that is wrong."""
    known = variables(name)
    if _QUEUE not in known:
        raise Refused(
            f"The stage {name} is not known in .chalice/{FILE.name}. Begin with: make bootstrap STAGE={name}. If"
            " somebody else has done that, fetch the file that was committed then."
        )
    validate_settings({key.lower(): value for key, value in known.items()})
    address = urlsplit(known[_QUEUE])
    _, account, queue = address.path.split("/")
    data = queue.removeprefix("atrium-").removesuffix("-events.fifo")
    host = str(address.hostname).split(".")
    stage = Stage(name, account, host[1], _partition(host), data_of="" if data == name else data)
    return stored_in(stage, known)


def stored_in(stage: Stage, known: Mapping[str, str]) -> Stage:
    """Return a stage with the table and the bucket of anchors that its settings name, if they are not the stack's."""
    table, anchors = known.get("TABLE_NAME", ""), known.get("ANCHORS_BUCKET", "")
    return replace(
        stage,
        restored="" if table == stage.table else table,
        anchors="" if anchors == stage.bucket("anchors") else anchors,
    )


def here(name: str) -> Stage:
    """Return a stage as it was configured, if the credentials lead there. Raises Refused if they lead elsewhere."""
    stage, found = deployed(name), stage_here(name)
    if (stage.account, stage.region) != (found.account, found.region):
        raise Refused(
            f"{name} is in account {stage.account}, region {stage.region}. These credentials and this region lead to"
            f" {found.account}, {found.region}: set AWS_PROFILE or AWS_REGION."
        )
    return stage


def write_whole(file: Path, content: Mapping[str, Any]) -> None:
    """Write a file of JSON, whole or not at all."""
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
