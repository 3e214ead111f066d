"""Configures a stage in a copy of the project as `bootstrap` does, without calls to AWS."""

import json
from pathlib import Path

from chalicelib.kernel.crypto.keyrings import KeyPurpose
from infrastructure.bootstrap import data_settings
from infrastructure.names import Stage
from infrastructure.policies import policies

STAGE = Stage("dev", "123456789012", "eu-central-1")
KMS_KEY_ARN = STAGE.arn("kms", "key/1f0e4c1a-3c62-4b57-9d0b-6a3a0d6f2a11")
WRAPPED_KEY = "kms:bm90IGEga2V5IG9mIGFueWJvZHk="


def configure_stage(project: Path) -> dict[str, str]:
    """Write the variables and policies of the stage into the copy's .chalice folder, and return the variables."""
    file = project / ".chalice/config.json"
    config = json.loads(file.read_text())
    variables = data_settings(STAGE) | {
        "AUTH_ISSUER": "https://login.example.com",
        "AUTH_JWKS": "https://login.example.com/keys.json",
        "AUTH_AUDIENCE": "atrium",
        "PLATFORMS_DOMAIN": "atrium.example.com",
        **dict.fromkeys((purpose.setting_name.upper() for purpose in KeyPurpose), WRAPPED_KEY),
        "AUDIT_PUBLIC_KEYS": "A" * 43 + "=",
    }
    config["stages"][STAGE.name]["environment_variables"] = variables
    file.write_text(json.dumps(config))
    folder = project / ".chalice/policies" / STAGE.name
    folder.mkdir(parents=True, exist_ok=True)
    for function, policy in policies(STAGE, KMS_KEY_ARN).items():
        (folder / f"{function}.json").write_text(json.dumps(policy))
    return variables
