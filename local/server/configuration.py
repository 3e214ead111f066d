"""The settings of the service on the local stage."""

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from chalicelib.entrypoints.kinds import KINDS
from chalicelib.kernel.core.aws import reset_clients
from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.core.settings import SettingsError, settings, settings_model
from chalicelib.kernel.crypto.checkpoints import public_key
from chalicelib.kernel.identity.discovery import discovery_url
from chalicelib.kernel.storage.record_types import register_import_targets
from infrastructure.account import CommandError
from infrastructure.configuration import environment_variables, load_stage
from infrastructure.resources import QUEUES, anchors_bucket, exports_bucket, queue_setting
from local.paths import settings_file, write_private
from local.server.issuer import Issuer
from local.server.sign_in import CLIENT_ID

# Every command that works on a run or a stage chooses its settings here. Some of them look for all record types.
register_import_targets(KINDS)

PREFIX: Final = "atrium"
SENDER: Final = "Atrium <mail@atrium.test>"
"""Default sender of mail. The emulator delivers no mail."""

_KEYS: Final = ("audit_signing_key", "seal_key", "entry_key", "data_key", "token_key")

_MANAGED_VARIABLES: Final = (
    "TABLE_NAME",
    "EXPORTS_BUCKET",
    "ANCHORS_BUCKET",
    *(queue_setting(queue).upper() for queue in QUEUES),
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
    "AWS_REGION",
)


def clear_cloud_variables() -> None:
    """Remove variables from the environment that refer to real AWS resources.

    Raises SettingsError if STAGE names a deployed stage.
    """
    if os.environ.get("STAGE", "local") != "local":
        raise SettingsError("STAGE: must be `local` or unset on the local stage.")
    for name in _MANAGED_VARIABLES:
        os.environ.pop(name, None)


def write_run_settings(folder: Path, *, endpoint: str, public_url: str) -> Path:
    """Write the settings of a run into its folder, use them in this process, and return the file.

    Existing keys stay. The settings of another issuer (`AUTH_…`) are copied from the environment, so that commands
    in other terminals use them too. Raises SettingsError if the environment contains an invalid setting.
    """
    file = folder / "settings.json"
    stored = json.loads(file.read_text()) if file.exists() else {}
    values = {
        "stage": "local",
        "public_url": public_url,
        "aws_endpoint_url": endpoint,
        "table_name": PREFIX,
        "exports_bucket": exports_bucket(PREFIX),
        "anchors_bucket": anchors_bucket(PREFIX),
        **Issuer().settings(),
        **_issuer_settings_of_environment(),
        **(keys := {key: stored.get(key) or to_base64(secrets.token_bytes(32)) for key in _KEYS}),
        "audit_public_keys": _public_keys(os.environ.get("AUDIT_SIGNING_KEY", keys["audit_signing_key"])),
        "mail_from": SENDER,
        "webhook_allow_private": True,
        "requests_per_minute": 0,
        "network_requests_per_minute": 0,
        "platforms_addresses": "127.0.0.1",
    }
    write_private(file, json.dumps(values, indent=2))
    _use_settings_file(file)
    settings()
    return file


def _issuer_settings_of_environment() -> dict[str, str]:
    names = (name for name in settings_model().model_fields if name.startswith(("auth_", "console_")))
    return {name: os.environ[name.upper()] for name in names if name.upper() in os.environ}


def _public_keys(signing_keys: str) -> str:
    """Return the public keys of signing keys, or an empty text for invalid keys, which the settings reject later."""
    try:
        return ",".join(to_base64(public_key(from_base64(key.strip()))) for key in signing_keys.split(","))
    except ValueError:
        return ""


def use_stage_or_run(stage: str | None, port: int | None) -> None:
    """Use the settings of a deployed stage or of a run in this process. Raises SettingsError."""
    if stage:
        use_stage(stage)
        return
    clear_cloud_variables()
    if not use_run(port):
        raise SettingsError("No run was found. Start `make run`, or pass a deployed stage with --stage.")


def use_stage(name: str) -> None:
    """Use the settings of a deployed stage from `.chalice/config.json` in this process.

    The environment supplies the AWS credentials (`AWS_PROFILE`, …); the region is that of the stage's queues. Raises
    SettingsError if the stage was not bootstrapped or its settings are invalid.
    """
    try:
        place = load_stage(name)
    except CommandError as refused:
        raise SettingsError(str(refused)) from refused
    for setting in ("SETTINGS_FILE", *(field.upper() for field in settings_model().model_fields)):
        os.environ.pop(setting, None)
    # The service reads AWS_REGION, and boto3 reads AWS_DEFAULT_REGION.
    os.environ.update(environment_variables(name), AWS_REGION=place.region, AWS_DEFAULT_REGION=place.region)
    settings.cache_clear()
    reset_clients()
    settings()


def use_run(port: int | None) -> bool:
    """Use the settings of the run on a port, by default of the last run. Return whether they exist."""
    file = settings_file(port)
    _use_settings_file(file)
    return file.exists()


def _use_settings_file(file: Path) -> None:
    os.environ["SETTINGS_FILE"] = str(file)
    settings.cache_clear()


def stub_source_settings(base_url: str) -> dict[str, Any]:
    """Return settings that replace the public sources of research by stubs, unless the environment configures them.

    The stubs have high rate limits.
    """
    names = [name for name in ("orcid", "openalex", "dblp") if f"{name.upper()}_BASE_URL" not in os.environ]
    return {f"{name}_base_url": base_url for name in names} | {f"{name}_rate": 100 for name in names}


def sign_in_settings(url: str) -> dict[str, str]:
    """Return settings with which people sign in to the console at the local issuer.

    They are empty if the environment configures another issuer, or a client of the console.
    """
    if "AUTH_ISSUER" in os.environ or "CONSOLE_CLIENT_ID" in os.environ:
        return {}
    return {"console_client_id": CLIENT_ID, "console_discovery_url": discovery_url(url)}


def add_settings(file: Path, values: Mapping[str, Any]) -> None:
    """Add settings to a file, and copy it for `chalice local --stage local`."""
    text = json.dumps(json.loads(file.read_text()) | dict(values), indent=2)
    write_private(file, text)
    write_private(settings_file(None), text)
