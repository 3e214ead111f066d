"""An account of AWS, as moto has it, and a checkout of the project that is deployed there by its own commands."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
from httpx import post

from infrastructure.names import Stage
from local.paths import ROOT
from tests.harness import project_copies

PROD: Final = Stage("prod", "123456789012", "eu-central-1")

# The commands work on a checkout of their own. The package has its own tests; here it is a small one, made at once.
COMMAND: Final = """
import sys
from pathlib import Path
from zipfile import ZipFile
from infrastructure import configuration

configuration.PROJECT = Path(sys.argv.pop(1))
configuration.CHALICE = configuration.PROJECT / ".chalice"
configuration.FILE = configuration.CHALICE / "config.json"

from infrastructure import package

def build():
    folder = configuration.PROJECT / "build/package"
    folder.mkdir(parents=True, exist_ok=True)
    with ZipFile(folder / "atrium.zip", "w") as zipped:
        zipped.write("app.py")
    return folder / "atrium.zip"

package.build = build
from infrastructure.__main__ import main
sys.exit(main())
"""


@dataclass(frozen=True)
class Cloud:
    """An account of AWS, and a checkout of the project that is deployed there."""

    project: Path
    endpoint: str

    @property
    def account(self) -> dict[str, str]:
        """What leads a command there; Chalice knows the second name of the region only, our commands both."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": PROD.region,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def run(self, *words: str, **told: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = {name: value for name, value in (kept | self.account | told).items() if value}
        return subprocess.run(
            [sys.executable, "-c", COMMAND, str(self.project), *words],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def printed(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, *words: str, **told: str) -> str:
        done = self.run(*words, **told)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    def chalice(self, command: str) -> None:
        """Let Chalice's own command work on the stage."""
        words = [str(Path(sys.executable).with_name("chalice")), command, "--stage", "prod"]
        project_copies.run_in_copy(words, self.project, **self.account | {"AWS_DEFAULT_REGION": PROD.region})

    def migrates(self, answer: object) -> None:
        said = {"results": [json.dumps(answer)], "region": PROD.region}
        post(f"{self.endpoint}/moto-api/static/lambda-simple/response", json=said).raise_for_status()

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=PROD.region,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )

    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.project / ".chalice/config.json").read_text())
        return found

    def made(self) -> dict[str, Any]:
        """Return all that a deployment has made, by what is unique about it."""
        functions = self.client("lambda").list_functions()["Functions"]
        mappings = self.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        return {
            "functions": {f["FunctionName"]: f for f in functions},
            "mappings": {m["UUID"]: m for m in mappings},
            "apis": {a["id"]: a for a in self.client("apigateway").get_rest_apis()["items"]},
            "rules": {r["Name"]: r for r in self.client("events").list_rules()["Rules"]},
            "roles": {
                r["RoleName"]: r for r in self.client("iam").list_roles()["Roles"] if "atrium-prod" in r["RoleName"]
            },
        }
