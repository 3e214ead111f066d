"""The package runs as on AWS Lambda: unpacked, with the runtime interface client, in each Python that Lambda has."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch
from zipfile import ZipFile

import boto3
import pytest
from chalice.local import LambdaEventConverter, RouteMatcher
from uv import find_uv_bin

from app import app
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from infrastructure.account import CommandError
from infrastructure.package import LAMBDA_PYTHONS, find_python, running_python_version
from local.server.provisioning import provision
from tests.harness import data_keys, moto_server
from tests.harness.lambda_runtime import ACCOUNT, REGION, LambdaFunction
from tests.harness.workers import SCHEDULED_EVENT

pytestmark = [pytest.mark.exhaustive, pytest.mark.xdist_group("package")]
REQUIREMENTS = Path(__file__).with_name("requirements-runtime.txt")


@dataclass(frozen=True)
class Runtime:
    """A Python version with Lambda's libraries, and the unpacked package."""

    python: Path
    task: Path
    settings: Mapping[str, str]
    logs: Path

    def function(self, name: str, **settings: str) -> LambdaFunction:
        """Return a function of the app that is not started yet."""
        log = self.logs / f"{name}.log"
        return LambdaFunction(self.python, self.task, f"app.{name}", {**self.settings, **settings}, log)


def reset_caches():
    settings.cache_clear()
    aws.reset_clients()


@pytest.fixture(scope="module")
def deployed(issuer):
    """The settings of a stage `prod` whose resources exist in a simulated AWS."""
    with moto_server.run_moto_server() as endpoint:
        with patch.dict(os.environ, {"AWS_ENDPOINT_URL": endpoint, "STAGE": "local"}):
            reset_caches()
            resources = {**provision("atrium-prod"), **data_keys.create_wrapped_key_settings()}
        reset_caches()
        yield {
            **{name.upper(): value for name, value in resources.items()},
            **issuer.settings(),
            "STAGE": "prod",
            "AWS_ENDPOINT_URL": endpoint,
            "LOG_LEVEL": "INFO",
            "PUBLIC_URL": "https://api.atrium.example",
            "PLATFORMS_DOMAIN": "atrium.example",
        }


@pytest.fixture(scope="module", params=LAMBDA_PYTHONS)
def runtime(request, deployed, build_package, tmp_path_factory):
    """A virtual environment of a Python version with the libraries that Lambda provides."""
    version = request.param
    try:
        python = find_python(version)
    except CommandError as error:
        if version == running_python_version():
            raise
        pytest.skip(f"The package is not tested with Python {version} on this machine. {error}")
    folder = tmp_path_factory.mktemp(f"python{version}")
    runtime_python = folder / "runtime" / "bin" / "python"
    run_uv("venv", "--python", python, str(folder / "runtime"))
    run_uv(
        *("pip", "install", "--python", str(runtime_python), "--require-hashes", "--only-binary", ":all:"),
        *("--requirement", str(REQUIREMENTS)),
    )
    with ZipFile(build_package(version)) as package:
        package.extractall(folder / "task")
    return Runtime(runtime_python, folder / "task", deployed, folder)


def run_uv(*arguments: str) -> None:
    completed = subprocess.run([find_uv_bin(), *arguments, "--quiet"], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr


def http_event(method, path, person, body=None):
    headers = {"authorization": f"Bearer {person.credential}", "content-type": "application/json"}
    event = LambdaEventConverter(RouteMatcher(list(app.routes))).create_lambda_event(method, path, headers, b"")
    event["requestContext"] |= {"requestId": f"{method} {path}", "stage": "api", "path": f"/api{path}"}
    return {**event, "headers": headers, "body": json.dumps(body) if body else "", "isBase64Encoded": False}


def sqs_record(message_id, body, group):
    """Return the record that Lambda passes to the function for a message of a FIFO queue."""
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:atrium-prod-events.fifo"
    source = {"eventSource": "aws:sqs", "eventSourceARN": arn, "awsRegion": REGION}
    times = {"SentTimestamp": "1795341600000", "ApproximateFirstReceiveTimestamp": "1795341600001"}
    attributes = {"ApproximateReceiveCount": "1", "SenderId": ACCOUNT, "SequenceNumber": "1", "MessageGroupId": group}
    attributes |= {**times, "MessageDeduplicationId": message_id}
    message = {"messageId": message_id, "receiptHandle": message_id, "body": body, "md5OfBody": ""}
    return {**message, "attributes": attributes, "messageAttributes": {}, **source}


def test_the_package_serves_requests_appends_to_the_log_and_sweeps(runtime, ada, deployed):
    with runtime.function("app") as api:
        created = api.invoke(http_event("POST", "/organizations", ada, {"name": "Engines"}))
        assert created["statusCode"] == 201, created
        path = created["headers"]["Location"].removeprefix("/api")
        response = api.invoke(http_event("GET", path, ada))
        assert (response["statusCode"], json.loads(response["body"])["name"]) == (200, "Engines")
        first, second = api.read_log_records()
        assert (first["operation"], first["status"]) == ("create_organization", 201)
        assert first["awsCalls"] >= 2
        assert (second["operation"], second["status"]) == ("get_organization", 200)

    sqs = boto3.client("sqs", endpoint_url=deployed["AWS_ENDPOINT_URL"], region_name=REGION)
    (queue_message,) = sqs.receive_message(QueueUrl=deployed["EVENTS_QUEUE_URL"])["Messages"]
    sqs.delete_message(QueueUrl=deployed["EVENTS_QUEUE_URL"], ReceiptHandle=queue_message["ReceiptHandle"])
    with runtime.function("events") as events:
        records = [sqs_record("good", queue_message["Body"], "organization"), sqs_record("bad", "{", "organization")]
        assert events.invoke({"Records": records}) == {"batchItemFailures": [{"itemIdentifier": "bad"}]}

    with runtime.function("sweep") as sweep:
        assert isinstance(sweep.invoke(SCHEDULED_EVENT), int)
        assert sweep.read_log_records()

    with runtime.function("app") as api:
        log = api.invoke(http_event("GET", f"{path}/audit-log", ada))
        assert [entry["type"] for entry in json.loads(log["body"])["items"]] == ["organization.created"]


def test_an_invalid_setting_fails_the_start_with_its_name(runtime):
    with runtime.function("anchor", AUTH_ISSUER="") as function:
        outcome = function.next_outcome()
    assert outcome.kind == "error"
    assert outcome.value["errorType"] == "SettingsError"
    assert "AUTH_ISSUER: must be set on a deployed stage" in outcome.value["errorMessage"]
