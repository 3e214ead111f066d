"""An account of AWS in an emulator of its own, whose functions run in the Python that AWS Lambda has."""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import boto3

from local.paths import ROOT
from local.server.emulator import PYTHON, answers, environment
from local.server.processes import Child, start, stop
from local.server.run import free_port
from tests.deployed.runtime import lambda_python
from tests.harness.waiting import until

REGION: Final = "eu-central-1"
_CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""Those that the service has when it is told of an emulator."""

_LAUNCH: Final = str(ROOT / "tests" / "deployed" / "launch.py")

_HEALTH: Final = "/_ministack/health"
_READY_SECONDS: Final = 30
_STOP_SECONDS: Final = 20


@dataclass
class Account:
    """An account, empty when it is opened. `authority` is the file of the certificates that its functions believe."""

    state: Path
    authority: Path
    port: int = field(default_factory=free_port)
    python: Path = Path()
    _children: list[Child] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        """Where the emulator answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What leads a command there that works on AWS."""
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, **_CREDENTIALS}

    @property
    def said(self) -> str:
        """What the emulator has logged."""
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self.state / "emulator.log"

    def open(self) -> None:
        """Start the emulator, and wait until it answers."""
        self.python = lambda_python(self.state / "python")
        command = [str(PYTHON), _LAUNCH, str(self.python)]
        told = {"PERSIST_STATE": "0", "S3_PERSIST": "0", "LOG_LEVEL": "INFO", "SSL_CERT_FILE": str(self.authority)}
        whole = {**environment(self.port, self.state / "emulator"), **told}
        self._children.append(start("emulator", command, self._log, whole))
        until(lambda: self._alive() and answers(self.port, _HEALTH), seconds=_READY_SECONDS)

    def _alive(self) -> bool:
        for child in self._children:
            child.check()
        return True

    def close(self) -> None:
        """Stop the emulator and the functions' processes, and those also that do not end."""
        stop(self._children, _STOP_SECONDS)
        until(lambda: not self.functions(), seconds=_STOP_SECONDS)
        shutil.rmtree(self.state / "emulator")  # It leaves the package behind, once for each process.

    def client(self, service: str) -> Any:
        """Return a client of one of the account's services."""
        words = {name.lower(): value for name, value in _CREDENTIALS.items()}
        return boto3.client(service, endpoint_url=self.endpoint, region_name=REGION, **words)

    def invoke(self, function: str, event: object = None) -> Any:
        """Return what a function answers to an event; it has to succeed."""
        said = self.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event or {}))
        answer = json.loads(said["Payload"].read())
        assert "FunctionError" not in said, answer
        return answer

    def lines(self, function: str) -> list[str]:
        """Return what a function has logged, the oldest first."""
        pages = self.client("logs").get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{function}")
        return [event["message"] for page in pages for event in page["events"]]

    def functions(self) -> list[int]:
        """Return the ids of the functions' processes that live."""
        return list(self._found())

    def _found(self) -> Iterator[int]:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                told = (folder / "environ").read_bytes()
            except OSError:  # It ended meanwhile, or belongs to somebody else.
                continue
            if b"AWS_LAMBDA_FUNCTION_NAME=" in told and str(self.state).encode() in told:
                yield int(folder.name)
