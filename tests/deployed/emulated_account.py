"""An AWS account in an emulator of its own, whose functions run in the Python environment of AWS Lambda."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import boto3

from local.paths import ROOT
from local.server.emulator import PYTHON, emulator_environment, responds
from local.server.processes import Child, start_process, stop_processes
from local.server.run import free_port
from tests.emulator.local_stage import list_processes
from tests.harness.waiting import wait_until

REGION: Final = "eu-central-1"
_CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""The credentials that the service uses with an emulator."""

_EMULATOR_SCRIPT: Final = str(ROOT / "tests" / "deployed" / "launch.py")

RUNTIME_MODULES: Final = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
"""The modules of the Lambda runtime: the AWS SDK and its dependencies."""

_LIST_MODULES_SCRIPT: Final = """
import pkgutil, sys
print(*sorted(m.name for m in pkgutil.iter_modules(p for p in sys.path if p.endswith("site-packages"))))
"""

_HEALTH_PATH: Final = "/_ministack/health"
_READY_SECONDS: Final = 120
_STOP_SECONDS: Final = 120


@dataclass
class EmulatedAccount:
    """An initially empty account. `authority` is the file of the certificates that its functions trust."""

    state: Path
    authority: Path
    port: int = field(default_factory=free_port)
    python: Path = Path()
    _children: list[Child] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables with which an AWS command uses this account."""
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, **_CREDENTIALS}

    def start(self) -> None:
        self.python = lambda_python(self.state / "python")
        command = [str(PYTHON), _EMULATOR_SCRIPT, str(self.python)]
        settings = {"PERSIST_STATE": "0", "S3_PERSIST": "0", "LOG_LEVEL": "INFO", "SSL_CERT_FILE": str(self.authority)}
        environ = {**emulator_environment(self.port, self.state / "emulator"), **settings}
        self._children.append(start_process("emulator", command, self.state / "emulator.log", environ))
        wait_until(lambda: self._alive() and responds(self.port, _HEALTH_PATH), timeout_seconds=_READY_SECONDS)

    def _alive(self) -> bool:
        for child in self._children:
            child.check_running()
        return True

    def stop(self) -> None:
        stop_processes(self._children, _STOP_SECONDS)
        wait_until(lambda: not self.list_function_processes(), timeout_seconds=_STOP_SECONDS)
        shutil.rmtree(self.state / "emulator")  # The emulator leaves a copy of the package for each process.

    def client(self, service: str) -> Any:
        credentials = {name.lower(): value for name, value in _CREDENTIALS.items()}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=REGION, **credentials)

    def invoke(self, function: str, event: object = None) -> Any:
        """Invoke a function, which must succeed, and return its result."""
        invocation = self.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event or {}))
        result = json.loads(invocation["Payload"].read())
        assert "FunctionError" not in invocation, result
        return result

    def read_log_lines(self, function: str) -> list[str]:
        pages = self.client("logs").get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}")
        return [event["message"] for page in pages for event in page["events"]]

    def list_function_processes(self) -> list[int]:
        """Return the ids of the functions' running processes."""
        return [*list_processes("AWS_LAMBDA_FUNCTION_NAME=", str(self.state))]


def lambda_python(folder: Path) -> Path:
    """Create the environment in a folder, with the SDK of this process, and return its Python executable."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (modules,) = folder.glob("lib/python*/site-packages")
    for name in RUNTIME_MODULES:
        spec = find_spec(name)
        assert spec is not None
        source = Path(str(spec.origin))
        package_path = source.parent if source.name == "__init__.py" else source
        (modules / package_path.name).symlink_to(package_path)
    return folder / "bin" / "python"


def list_installed_modules(python: Path) -> list[str]:
    """Return the modules of a Python environment besides those of the standard library."""
    result = subprocess.run([python, "-c", _LIST_MODULES_SCRIPT], capture_output=True, text=True, check=True)
    return result.stdout.split()
