"""Configures a stage in a copy of the project as `bootstrap` does, without calls to AWS."""

import json
from pathlib import Path

from infrastructure.bootstrap import places
from infrastructure.names import Stage
from infrastructure.policies import policies

STAGE = Stage("dev", "123456789012", "eu-central-1")
KEY = STAGE.arn("kms", "key/1f0e4c1a-3c62-4b57-9d0b-6a3a0d6f2a11")
WRAPPED = "kms:bm90IGEga2V5IG9mIGFueWJvZHk="


def configure(project: Path) -> dict[str, str]:
    """Write the variables and policies of the stage into the copy's .chalice folder, and return the variables."""
    file = project / ".chalice/config.json"
    config = json.loads(file.read_text())
    variables = places(STAGE) | {
        "AUTH_ISSUER": "https://login.example.com",
        "AUTH_JWKS": "https://login.example.com/keys.json",
        "AUTH_AUDIENCE": "atrium",
        "PLATFORMS_DOMAIN": "atrium.example.com",
        "AUDIT_SIGNING_KEY": WRAPPED,
        "SEAL_KEY": WRAPPED,
        "ENTRY_KEY": WRAPPED,
        "DATA_KEY": WRAPPED,
        "TOKEN_KEY": WRAPPED,
        "AUDIT_PUBLIC_KEYS": "A" * 43 + "=",
    }
    config["stages"][STAGE.name]["environment_variables"] = variables
    file.write_text(json.dumps(config))
    folder = project / ".chalice/policies" / STAGE.name
    folder.mkdir(parents=True, exist_ok=True)
    for function, policy in policies(STAGE, KEY).items():
        (folder / f"{function}.json").write_text(json.dumps(policy))
    return variables
