"""An AWS account that moto simulates, and a copy of the project whose commands deploy to it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
from httpx import post

from infrastructure.names import Stage
from local.paths import ROOT
from tests.harness import moto_server, project_copies

PROD: Final = Stage("prod", "123456789012", "eu-central-1")
BOOTSTRAP: Final = (
    *("bootstrap", "--stage", "prod", "--issuer", "https://login.example.com", "--audience", "atrium"),
    *("--jwks", "https://login.example.com/keys.json", "--domain", "atrium.example.com"),
    *("--set", "AUTH_OPERATOR_GROUP=staff", "--set", "AUTH_CLAIM_EMAIL=https://x.example/email,email"),
)
"""The arguments that bootstrap the stage."""

ENTRIES_UNTIL: Final = "UNAUTHENTICATED_ENTRIES_UNTIL"
RECORDS_UNTIL: Final = "UNAUTHENTICATED_RECORDS_UNTIL"
SEALS_UNTIL: Final = "SIGNING_KEY_SEALS_UNTIL"

# Runs a command on a copy of the project. Other tests cover the package, so a small one is built here.
COMMAND_SCRIPT: Final = """
import sys
from pathlib import Path
from zipfile import ZipFile
from infrastructure import configuration

configuration.PROJECT = Path(sys.argv.pop(1))
configuration.CHALICE_FOLDER = configuration.PROJECT / ".chalice"
configuration.CONFIG_FILE = configuration.CHALICE_FOLDER / "config.json"

from infrastructure import package

def build_package():
    folder = configuration.PROJECT / "build/package"
    folder.mkdir(parents=True, exist_ok=True)
    with ZipFile(folder / "atrium.zip", "w") as zipped:
        zipped.write("app.py")
    return folder / "atrium.zip"

package.build_package = build_package

from botocore.client import BaseClient

make_call, command = BaseClient._make_api_call, sys.argv[1]

def record_and_call(client, name, parameters):
    service = client.meta.service_model
    method = service.operation_model(name).http["method"]
    with (configuration.PROJECT / "calls.txt").open("a") as file:
        file.write(f"{command} {service.service_name} {name} {method}\\n")
    return make_call(client, name, parameters)

BaseClient._make_api_call = record_and_call
from infrastructure.__main__ import main
sys.exit(main())
"""


@dataclass(frozen=True)
class Account:
    """An AWS account, and a copy of the project that is deployed there."""

    project: Path
    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a command that uses the account.

        Chalice reads only `AWS_DEFAULT_REGION`; the project's commands prefer `AWS_REGION`.
        """
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

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command. An empty variable is removed from its environment."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment = {name: value for name, value in (inherited | self.environment | variables).items() if value}
        command = [sys.executable, "-c", COMMAND_SCRIPT, str(self.project), *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    def run_checked(self, *arguments: str) -> str:
        """Run a command that has to succeed, and return its output."""
        completed = self.run(*arguments)
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    def run_with_error(self, *arguments: str, **variables: str) -> str:
        """Run a command that has to fail without a traceback, and return its error output."""
        completed = self.run(*arguments, **variables)
        assert completed.returncode == 1, completed.stdout + completed.stderr
        assert "Traceback" not in completed.stderr
        return completed.stderr

    def run_chalice(self, command: str) -> None:
        """Run Chalice's own command on the stage."""
        arguments = [str(Path(sys.executable).with_name("chalice")), command, "--stage", "prod"]
        project_copies.run_in_copy(arguments, self.project, **self.environment | {"AWS_DEFAULT_REGION": PROD.region})

    def deploy(self, *migrations: object, stage: str = "prod") -> str:
        """Deploy a stage, whose function `migrate` returns these results, and return the output."""
        self.set_migration_result(migrations)
        return self.run_checked("deploy", "--stage", stage)

    def set_migration_result(self, result: object) -> None:
        """Set what the next invocation of the function `migrate` returns."""
        body = {"results": [json.dumps(result)], "region": PROD.region}
        post(f"{self.endpoint}/moto-api/static/lambda-simple/response", json=body).raise_for_status()

    def set_function_variables(self, name: str, variables: Mapping[str, str]) -> None:
        """Set the environment variables of a deployed function of the stage `prod`."""
        environment = {"Variables": dict(variables)}
        function = PROD.function_name(name)
        self.client("lambda").update_function_configuration(FunctionName=function, Environment=environment)

    def function_values(self, variable: str) -> set[str]:
        """Return the values that an environment variable has in the deployed functions; empty where it is not set."""
        functions = self.deployed_resources()["functions"].values()
        return {function["Environment"]["Variables"].get(variable, "") for function in functions}

    def client(self, service: str) -> Any:
        credentials = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=PROD.region, **credentials)

    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(self._config_file.read_text())
        return config

    def variables(self) -> dict[str, str]:
        """Return the environment variables of the stage `prod` in its configuration."""
        variables: dict[str, str] = self.config()["stages"]["prod"]["environment_variables"]
        return variables

    def configure(self, *removed: str, **changed: str) -> None:
        """Remove and change environment variables of the stage `prod` in its configuration."""
        config = self.config()
        variables = {**self.variables(), **changed}
        kept = {name: value for name, value in variables.items() if name not in removed}
        config["stages"]["prod"]["environment_variables"] = kept
        self._config_file.write_text(json.dumps(config, indent=2) + "\n")

    def recorded_calls(self, command: str) -> set[tuple[str, str, str]]:
        """Return the calls to AWS that a command has made: service, operation and HTTP method."""
        calls = {tuple(line.split(" ")) for line in (self.project / "calls.txt").read_text().splitlines()}
        return {(service, name, method) for caller, service, name, method in calls if caller == command}

    @property
    def _config_file(self) -> Path:
        return self.project / ".chalice/config.json"

    def deployed_resources(self) -> dict[str, Any]:
        """Return the resources that a deployment has created, by type and then by unique name or ID."""
        functions = self.client("lambda").list_functions()["Functions"]
        mappings = self.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        roles = self.client("iam").list_roles()["Roles"]
        return {
            "functions": {f["FunctionName"]: f for f in functions},
            "mappings": {m["UUID"]: m for m in mappings},
            "apis": {a["id"]: a for a in self.client("apigateway").get_rest_apis()["items"]},
            "rules": {r["Name"]: r for r in self.client("events").list_rules()["Rules"]},
            "roles": {r["RoleName"]: r for r in roles if "atrium-prod" in r["RoleName"]},
        }


def copy_project(folder: Path) -> Path:
    """Copy what the commands read to a folder, without earlier deployments."""
    return project_copies.copy_project((".chalice", "infrastructure"), folder, "deployments", "deployed", "policies")


@contextmanager
def run_account(folder: Path) -> Iterator[Account]:
    """Run an empty account for the block. The project is copied to the folder."""
    with moto_server.run_moto_server() as endpoint:
        yield Account(copy_project(folder), endpoint)


@contextmanager
def run_account_with_stage(folder: Path) -> Iterator[Account]:
    """Run an account with a deployed stage for the block."""
    with run_account(folder) as account:
        account.run_checked(*BOOTSTRAP)
        account.deploy()
        yield account
