"""Dead letters of a run go back to their queues, and every log of it is verified, by the commands for that."""

import json
import subprocess
import sys
from typing import Any, Final

import boto3
import pytest

from local.paths import ROOT
from tests.emulator.conftest import Calling
from tests.emulator.outside import settled
from tests.emulator.stage import Stage, environment
from tests.harness.cloud import REGION
from tests.harness.waiting import until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

LETTERS: Final = 12


def local(stage: Stage, *words: str) -> tuple[int, str]:
    """Return the exit code of a command of the local stage, and what it printed."""
    command = [sys.executable, "-m", "local", *words, f"--port={stage.port}"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(stage.state), capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def waiting(sqs: Any, queue: str) -> int:
    address = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(map(int, sqs.get_queue_attributes(QueueUrl=address, AttributeNames=wanted)["Attributes"].values()))


def test_what_was_given_up_is_done_once_it_is_sent_back(stage: Stage, calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    settled(ada, organization)
    sqs = boto3.Session("local", "local", region_name=REGION).client("sqs", endpoint_url=stage.endpoint)
    dead = sqs.get_queue_url(QueueName="atrium-events-dead.fifo")["QueueUrl"]
    for number in range(LETTERS):  # As SQS puts them there.
        sqs.send_message(
            QueueUrl=dead,
            MessageBody=json.dumps({"log": organization}),
            MessageGroupId=organization,
            MessageDeduplicationId=str(number),
        )
    for _ in range(2):
        code, told = local(stage, "redrive", "--queue", "events")
        assert (code, waiting(sqs, "atrium-events-dead.fifo")) == (0, LETTERS), told
        assert f"atrium-events-dead.fifo: {LETTERS}\n" in told
        assert f"ledger.append of log {organization}: 0 entries wait in it" in told
    code, told = local(stage, "redrive", "--send")
    assert (code, waiting(sqs, "atrium-events-dead.fifo")) == (0, 0), told
    assert f"{LETTERS} sent back (12 of ledger.append)" in told
    until(lambda: waiting(sqs, "atrium-events.fifo") == 0, seconds=30)
    assert waiting(sqs, "atrium-events-dead.fifo") == 0


def test_every_log_of_a_run_is_verified(stage: Stage, calling: Calling) -> None:
    ada = calling("ada")
    settled(ada, ada.makes_organization())
    code, told = local(stage, "verify")
    assert code == 0, told
    assert "all are as they were signed" in told
