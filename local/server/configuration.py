"""The settings that the local stage gives the service."""

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from chalicelib.kernel.core.aws import reset_clients
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import SettingsError, settings, settings_model
from chalicelib.kernel.crypto.checkpoints import public_key
from infrastructure.account import Refused
from infrastructure.configuration import deployed, variables
from infrastructure.resources import QUEUES, anchors_bucket, exports_bucket, queue_setting
from local.paths import settings_of_run, write_private
from local.server.issuer import Issuer

PREFIX: Final = "atrium"
SENDER: Final = "Atrium <mail@atrium.test>"
"""Whom mail comes from, unless the environment says otherwise; the emulator delivers none."""

_KEYS: Final = ("audit_signing_key", "seal_key", "entry_key", "data_key", "token_key")

_DECIDED_HERE: Final = (
    "TABLE_NAME",
    "EXPORTS_BUCKET",
    "ANCHORS_BUCKET",
    *(queue_setting(queue).upper() for queue in QUEUES),
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
    "AWS_REGION",
)


def forget_the_cloud() -> None:
    """Drop from the environment what would lead the service past the emulator; every other variable passes through.

    Raises SettingsError if it means another stage: who asks for that one must not get this.
    """
    if os.environ.get("STAGE", "local") != "local":
        raise SettingsError("STAGE: must be local, or not set; this machine runs no other stage.")
    for name in _DECIDED_HERE:
        os.environ.pop(name, None)


def configure(folder: Path, *, endpoint: str, public_url: str) -> Path:
    """Write the settings of a stage into its folder, make them this process's own, and return their file.

    Keys stay what they were. Raises SettingsError if the environment says otherwise of one, but wrongly.
    """
    file = folder / "settings.json"
    former = json.loads(file.read_text()) if file.exists() else {}
    given = {
        "stage": "local",
        "public_url": public_url,
        "aws_endpoint_url": endpoint,
        "table_name": PREFIX,
        "exports_bucket": exports_bucket(PREFIX),
        "anchors_bucket": anchors_bucket(PREFIX),
        **Issuer().settings(),
        **(keys := {key: former.get(key) or to_base64(secrets.token_bytes(32)) for key in _KEYS}),
        "audit_public_keys": _public_halves(os.environ.get("AUDIT_SIGNING_KEY", keys["audit_signing_key"])),
        "mail_from": SENDER,
        "webhook_allow_private": True,
        "requests_per_minute": 0,
        "network_requests_per_minute": 0,
        "platforms_addresses": "127.0.0.1",
    }
    write_private(file, json.dumps(given, indent=2))
    _use(file)
    settings()
    return file


def _public_halves(signing_keys: str) -> str:
    """Return the public halves of signing keys; of what is none, what the settings refuse with it."""
    try:
        return ",".join(to_base64(public_key(from_base64(key.strip()))) for key in signing_keys.split(","))
    except ValueError:
        return ""


def use_place(stage: str | None, port: int | None) -> None:
    """Make the settings of a deployed stage this process's own, or those of a run. Raises SettingsError."""
    if stage:
        use_stage(stage)
        return
    forget_the_cloud()
    if not use_run(port):
        raise SettingsError("Nothing runs there. Start `make run`, or name a deployed stage by --stage.")


def use_stage(name: str) -> None:
    """Make what `.chalice/config.json` says of a deployed stage this process's own settings.

    Whose AWS account that is, the environment says (`AWS_PROFILE`, …); the region is that of the stage's queues. Raises
    SettingsError if it was not bootstrapped, or something there is wrong.
    """
    try:
        place = deployed(name)
    except Refused as refused:
        raise SettingsError(str(refused)) from refused
    for setting in ("SETTINGS_FILE", *(field.upper() for field in settings_model().model_fields)):
        os.environ.pop(setting, None)
    # boto3 goes by the second name of the region, the service by the first.
    os.environ.update(variables(name), AWS_REGION=place.region, AWS_DEFAULT_REGION=place.region)
    settings.cache_clear()
    reset_clients()
    settings()


def use_run(port: int | None) -> bool:
    """Make the settings of the run on a port, or of the one that came last, this process's own.

    Return whether there are any.
    """
    file = settings_of_run(port)
    _use(file)
    return file.exists()


def _use(file: Path) -> None:
    os.environ["SETTINGS_FILE"] = str(file)
    settings.cache_clear()


def stand_ins(sources: str) -> dict[str, Any]:
    """Return the settings that lead to what stands in for each public source of research, but for those named already.

    It may be asked as often as one likes.
    """
    names = [name for name in ("orcid", "openalex", "dblp") if f"{name.upper()}_BASE_URL" not in os.environ]
    return {f"{name}_base_url": sources for name in names} | {f"{name}_rate": 100 for name in names}


def complete(file: Path, found: Mapping[str, Any]) -> None:
    """Add what was found out since, and let `chalice local --stage local` find the settings."""
    text = json.dumps(json.loads(file.read_text()) | dict(found), indent=2)
    write_private(file, text)
    write_private(settings_of_run(None), text)
