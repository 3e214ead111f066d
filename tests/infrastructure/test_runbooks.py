"""Every command of the runbooks runs in a shell against a simulated AWS account, as far as the simulation goes.

`aws` is the AWS CLI. `make` and `.venv/bin/python` run the project's own commands on a copy of the project.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from infrastructure.resources import queue_name
from local.paths import ROOT
from tests.infrastructure.simulated_account import COMMAND_SCRIPT, PROD, Account, run_account_with_stage

pytestmark = pytest.mark.xdist_group("deploy")

RUNBOOKS: Final = sorted((ROOT / "docs/operations").glob("*.md"))
COMMAND_LINE: Final = re.compile(r"^ {4,}((?:aws|make|\.venv/bin/python|for|until) .*)$")

MESSAGES_COUNT: Final = "ApproximateNumberOfMessages"

EXCEPTIONS: Final = {
    ".venv/bin/python -m local redrive": "needs messages: tests/local/test_redrive.py runs it",
    ".venv/bin/python -m local renew-seals": "needs logs: tests/infrastructure/test_operator_permissions.py runs it",
    ".venv/bin/python -m local reseal": "needs logs: tests/infrastructure/test_operator_permissions.py runs it",
    ".venv/bin/python -m local verify": "needs logs: tests/http/audit/test_restored_tables.py runs it",
    ".venv/bin/python -m local reanchor": "needs logs: tests/http/audit/test_restored_tables.py runs it",
    "make audit-records": "needs logs: tests/infrastructure/test_operator_permissions.py runs it",
    ".venv/bin/python -m infrastructure rotate --stage prod token-key finish": "waits 91 days: test_secrets.py runs it",
    ".venv/bin/python -m infrastructure rotate --stage prod data-key return": "needs a key that a rotation dropped:"
    " test_secrets.py runs it",
    "aws backup ": "moto does not implement its jobs; the test below validates the arguments",
    "aws cloudtrail lookup-events": "moto does not implement it; the test below validates its arguments",
}
"""Commands that do not run here, by the words that they begin with, and why."""


def commands(text: str) -> list[str]:
    """Return the commands of the code blocks of a page in order, each with the lines that continue it."""
    found: list[str] = []
    is_continued = False
    for line in text.splitlines():
        if is_continued:
            found[-1] += f"\n{line.strip()}"
        elif match := COMMAND_LINE.match(line):
            found.append(match[1])
        else:
            continue
        is_loop_open = found[-1].startswith(("for ", "until ")) and "done" not in found[-1].split()
        is_continued = line.endswith("\\") or is_loop_open
    return found


DOCUMENTED: Final = [command for page in RUNBOOKS for command in commands(page.read_text())]


def exception_of(command: str) -> str | None:
    return next((start for start in EXCEPTIONS if command.startswith(start)), None)


def test_every_code_block_of_a_runbook_is_found_and_every_exception_is_needed():
    in_blocks = re.findall(r"^ {4,}.*\b(?:aws|make|python -m) ", "".join(p.read_text() for p in RUNBOOKS), re.MULTILINE)
    assert len(DOCUMENTED) >= 25
    assert len(in_blocks) <= sum(len(command.splitlines()) for command in DOCUMENTED)
    assert {exception_of(command) for command in DOCUMENTED} - {None} == set(EXCEPTIONS)


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """An account with the deployed stage of the runbooks, and the programs that they call."""
    with run_account_with_stage(tmp_path_factory.mktemp("project")) as account:
        # moto's CloudFormation does not give alarms their names.
        metric = {"Namespace": "Atrium", "MetricName": "DueLag", "Statistic": "Maximum", "Period": 60}
        options = {"EvaluationPeriods": 1, "Threshold": 0, "ComparisonOperator": "GreaterThanThreshold"}
        account.client("cloudwatch").put_metric_alarm(AlarmName="atrium-prod-due-lag", **metric, **options)
        yield account


@pytest.fixture(scope="module")
def shell_folder(account, tmp_path_factory):
    """A folder with the programs `aws`, `make` and `.venv/bin/python`."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "command.py").write_text(COMMAND_SCRIPT)
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "Makefile").symlink_to(ROOT / "Makefile")
    python, project, source = shlex.quote(sys.executable), shlex.quote(str(account.project)), shlex.quote(str(ROOT))
    own = f'test "$1 $2" = "-m infrastructure" || exit 9; shift 2; cd {source}; export PYTHONPATH={source}:$PYTHONPATH'
    write_program(folder / ".venv/bin/python", f'{own}; exec {python} {folder}/command.py {project} "$@"')
    write_program(folder / "make", 'exec /usr/bin/env -u MAKEFLAGS PATH="$SYSTEM_PATH" make -o .venv/installed "$@"')
    write_program(folder / "aws", f'exec {python} -m awscli --endpoint-url "$AWS_ENDPOINT_URL" "$@"')
    return folder


def write_program(file: Path, line: str) -> None:
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)


def with_values(command: str, account: Account) -> str:
    """Return a command with the values of the account in place of those that a reader replaces."""
    stack = account.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    values = {
        "<AlarmTopicArn>": outputs["AlarmTopicArn"],
        "<AnchorsBucket>": outputs["AnchorsBucket"],
        "<rewrittenAnchor>": "log/999999999990",
        "<tenant>": "log",
        "https://sqs.us-east-1.amazonaws.com": account.endpoint,
        "ACCOUNT-us-east-1": f"{PROD.account}-{PROD.region}",
        "ACCOUNT": PROD.account,
        # The runbook works in us-east-1, where S3 takes no location.
        "--object-lock-enabled-for-bucket": "--object-lock-enabled-for-bucket"
        f" --create-bucket-configuration LocationConstraint={PROD.region}",
    }
    for name, value in values.items():
        command = command.replace(name, value)
    return command


def run(command: str, account: Account, folder: Path) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = inherited | account.environment | {"AWS_DEFAULT_REGION": PROD.region, "AWS_PAGER": ""}
    paths = {"SYSTEM_PATH": os.environ["PATH"], "PATH": f"{folder}:{os.environ['PATH']}"}
    shell = ["bash", "-eu", "-o", "pipefail", "-c", with_values(command, account)]
    return subprocess.run(
        shell, cwd=folder, env=environment | paths, capture_output=True, text=True, check=False, timeout=300
    )


def test_the_commands_of_the_runbooks_run_in_their_order(account, shell_folder):
    account.set_migration_result([])
    jobs_queue = account.client("sqs").get_queue_url(QueueName=queue_name(PROD.prefix, "jobs"))["QueueUrl"]
    account.client("sqs").send_message(QueueUrl=jobs_queue, MessageBody="{}")
    failures = []
    for command in (each for each in DOCUMENTED if exception_of(each) is None):
        completed = run(command, account, shell_folder)
        if completed.returncode:
            failures.append(f"$ {command}\n{completed.stdout[-500:]}{completed.stderr[-1000:]}")
    assert not failures, "\n".join(failures)
    restored = account.client("dynamodb").describe_table(TableName="atrium-prod-2")["Table"]
    assert restored["DeletionProtectionEnabled"]
    ttl = account.client("dynamodb").describe_time_to_live(TableName="atrium-prod-2")["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "ttl"
    count = account.client("sqs").get_queue_attributes(QueueUrl=jobs_queue, AttributeNames=[MESSAGES_COUNT])
    assert count["Attributes"] == {MESSAGES_COUNT: "0"}, "the queues were purged"
    mappings = account.deployed_resources()["mappings"].values()
    assert {mapping["State"] for mapping in mappings} == {"Enabled"}, "the stage runs after its restore"


@pytest.mark.parametrize("command", [each for each in DOCUMENTED if each.startswith("aws ") and exception_of(each)])
def test_arguments_of_commands_that_moto_lacks_are_valid(command, account, shell_folder):
    completed = run(f"{command} --generate-cli-skeleton output", account, shell_folder)
    assert completed.returncode == 0, completed.stderr


def test_a_command_that_fails_is_noticed(account, shell_folder):
    for command in (
        "aws sqs get-queue-url --queue-name no-such-queue",
        "make pause STAGE=dev",
        "aws s3api no-such-call",
    ):
        assert run(command, account, shell_folder).returncode != 0, command
