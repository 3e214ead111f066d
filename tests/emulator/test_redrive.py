"""The commands that redrive dead-letter queues and verify all logs of the local stage."""

import json
import subprocess
import sys
from typing import Any, Final

import boto3
import pytest

from local.paths import ROOT
from tests.emulator.local_stage import LocalStage, process_environment
from tests.emulator.log_reader import wait_until_appended
from tests.harness.memory_aws import REGION
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

DEAD_MESSAGES: Final = 12


def run_local_command(stage: LocalStage, *arguments: str) -> tuple[int, str]:
    """Run a command of the local stage, and return its exit code and output."""
    command = [sys.executable, "-m", "local", *arguments, f"--port={stage.port}"]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=process_environment(stage.state),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return result.returncode, result.stdout + result.stderr


def message_count(sqs: Any, queue: str) -> int:
    queue_url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    attribute_names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(
        map(int, sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=attribute_names)["Attributes"].values())
    )


def test_redriven_dead_messages_are_processed(stage, create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    wait_until_appended(ada, organization)
    sqs = boto3.Session("local", "local", region_name=REGION).client("sqs", endpoint_url=stage.emulator_url)
    dead_letter_queue_url = sqs.get_queue_url(QueueName="atrium-events-dead.fifo")["QueueUrl"]
    for number in range(DEAD_MESSAGES):  # As SQS moves them there.
        sqs.send_message(
            QueueUrl=dead_letter_queue_url,
            MessageBody=json.dumps({"log": organization}),
            MessageGroupId=organization,
            MessageDeduplicationId=str(number),
        )
    for _ in range(2):
        code, output = run_local_command(stage, "redrive", "--queue", "events")
        assert (code, message_count(sqs, "atrium-events-dead.fifo")) == (0, DEAD_MESSAGES), output
        assert f"atrium-events-dead.fifo: {DEAD_MESSAGES}\n" in output
        assert f"ledger.append of log {organization}: 0 pending entries" in output
    code, output = run_local_command(stage, "redrive", "--send")
    assert (code, message_count(sqs, "atrium-events-dead.fifo")) == (0, 0), output
    assert f"{DEAD_MESSAGES} sent back (ledger.append: 12)" in output
    wait_until(lambda: message_count(sqs, "atrium-events.fifo") == 0, timeout_seconds=120)
    assert message_count(sqs, "atrium-events-dead.fifo") == 0


def test_verify_command_checks_every_log(stage, create_client):
    ada = create_client("ada")
    wait_until_appended(ada, ada.create_organization())
    code, output = run_local_command(stage, "verify")
    assert code == 0, output
    assert "all verified" in output
