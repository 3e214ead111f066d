"""The package as AWS Lambda runs it: unpacked, by its runtime interface client, in each Python that Lambda has."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zipfile import ZipFile

import boto3
import pytest
from chalice.local import LambdaEventConverter, RouteMatcher
from uv import find_uv_bin

from app import app
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from infrastructure.account import Refused
from infrastructure.package import LAMBDA_PYTHONS, interpreter, running
from local.server.provisioning import provision
from tests.harness import data_keys, moto_server
from tests.harness.callers import Issuer, Person
from tests.harness.lambda_runtime import ACCOUNT, REGION, LambdaFunction

pytestmark = pytest.mark.xdist_group("package")
REQUIREMENTS = Path(__file__).with_name("requirements-runtime.txt")


@dataclass(frozen=True)
class Runtime:
    """One version of Python as Lambda has it, and our package in it."""

    python: Path
    task: Path
    settings: Mapping[str, str]
    logs: Path

    def function(self, name: str, **settings: str) -> LambdaFunction:
        """Return a function of the app, to be started."""
        log = self.logs / f"{name}.log"
        return LambdaFunction(self.python, self.task, f"app.{name}", {**self.settings, **settings}, log)


@pytest.fixture(scope="module")
def cloud() -> Iterator[str]:
    """Return where AWS is."""
    with moto_server.run_moto_server() as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def deployed(cloud: str, issuer: Issuer) -> Mapping[str, str]:
    """Return the settings of a stage `prod` whose resources are there."""
    told = {"AWS_ENDPOINT_URL": cloud, "STAGE": "local"}
    with patch.dict(os.environ, told):
        _forget()
        made = {
            name.upper(): value
            for name, value in {**provision("atrium-prod"), **data_keys.create_wrapped_key_settings()}.items()
        }
    _forget()
    return {
        **made,
        **issuer.settings(),
        "STAGE": "prod",
        "AWS_ENDPOINT_URL": cloud,
        "LOG_LEVEL": "INFO",
        "PUBLIC_URL": "https://api.atrium.example",
        "PLATFORMS_DOMAIN": "atrium.example",
    }


def _forget() -> None:
    settings.cache_clear()
    aws.reset_clients()


@pytest.fixture(scope="module", params=LAMBDA_PYTHONS)
def runtime(
    request: pytest.FixtureRequest,
    deployed: Mapping[str, str],
    build_package: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Runtime:
    """A version of Python with what Lambda has beside the package, and nothing of this environment."""
    version: str = request.param
    try:
        python = interpreter(version)
    except Refused as error:
        if version == running():
            raise
        pytest.skip(f"The package is not proven in Python {version} here. {error}")
    folder = tmp_path_factory.mktemp(f"python{version}")
    _uv("venv", "--python", python, str(folder / "runtime"))
    own = folder / "runtime" / "bin" / "python"
    _uv(
        "pip",
        "install",
        "--python",
        str(own),
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
        str(REQUIREMENTS),
    )
    with ZipFile(build_package(version)) as package:
        package.extractall(folder / "task")
    return Runtime(own, folder / "task", deployed, folder)


def _uv(*words: str) -> None:
    done = subprocess.run([find_uv_bin(), *words, "--quiet"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


_TICK = {
    "version": "0",
    "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
    "detail-type": "Scheduled Event",
    "detail": {},
    "source": "aws.events",
    "account": ACCOUNT,
    "time": "2026-11-22T12:00:00Z",
    "region": REGION,
    "resources": [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/atrium-prod-sweep-event"],
}


def _request(method: str, path: str, person: Person, body: Any = None) -> dict[str, Any]:
    """Return what API Gateway sends."""
    headers = {"authorization": f"Bearer {person.credential}", "content-type": "application/json"}
    text = json.dumps(body) if body else ""
    event = LambdaEventConverter(RouteMatcher(list(app.routes))).create_lambda_event(method, path, headers, b"")
    event["requestContext"] |= {"requestId": f"{method} {path}", "stage": "api", "path": f"/api{path}"}
    return {**event, "headers": headers, "body": text, "isBase64Encoded": False}


def _message(message_id: str, body: str, group: str) -> dict[str, Any]:
    """Return what Lambda hands over of a FIFO queue's message."""
    return {
        "messageId": message_id,
        "receiptHandle": message_id,
        "body": body,
        "messageAttributes": {},
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1795341600000",
            "SenderId": ACCOUNT,
            "ApproximateFirstReceiveTimestamp": "1795341600001",
            "SequenceNumber": "1",
            "MessageGroupId": group,
            "MessageDeduplicationId": message_id,
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:atrium-prod-events.fifo",
        "awsRegion": REGION,
        "md5OfBody": "",
    }


def test_the_package_serves_requests_appends_to_the_log_and_sweeps(
    runtime: Runtime, ada: Person, deployed: Mapping[str, str]
) -> None:
    with runtime.function("app") as api:
        made = api.invoke(_request("POST", "/organizations", ada, {"name": "Engines"}))
        assert made["statusCode"] == 201, made
        path = made["headers"]["Location"].removeprefix("/api")
        read = api.invoke(_request("GET", path, ada))
        assert (read["statusCode"], json.loads(read["body"])["name"]) == (200, "Engines")
        first, second = api.read_log_records()
        assert (first["operation"], first["status"]) == ("create_organization", 201)
        assert first["awsCalls"] >= 2
        assert (second["operation"], second["status"]) == ("get_organization", 200)

    sqs = boto3.client("sqs", endpoint_url=deployed["AWS_ENDPOINT_URL"], region_name=REGION)
    (sent,) = sqs.receive_message(QueueUrl=deployed["EVENTS_QUEUE_URL"])["Messages"]
    sqs.delete_message(QueueUrl=deployed["EVENTS_QUEUE_URL"], ReceiptHandle=sent["ReceiptHandle"])
    with runtime.function("events") as events:
        records = [_message("good", sent["Body"], "organization"), _message("bad", "{", "organization")]
        assert events.invoke({"Records": records}) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}

    with runtime.function("sweep") as sweep:
        assert isinstance(sweep.invoke(_TICK), int)
        assert sweep.read_log_records()

    with runtime.function("app") as api:
        log = api.invoke(_request("GET", f"{path}/audit-log", ada))
        assert [entry["type"] for entry in json.loads(log["body"])["items"]] == ["organization.created"]


def test_a_wrong_setting_ends_the_start_with_its_name(runtime: Runtime) -> None:
    with runtime.function("anchor", AUTH_ISSUER="") as function:
        outcome = function.next_outcome()
    assert outcome.kind == "error"
    assert outcome.value["errorType"] == "SettingsError"
    assert "AUTH_ISSUER: must be set on a deployed stage" in outcome.value["errorMessage"]
