"""The command `python -m local redrive`, and the option `--stage` of the operator commands."""

import json
import os
import re
from typing import Any
from unittest.mock import Mock, patch

import pytest

from chalicelib.kernel.core.aws import client, reset_clients
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work import dead_letters
from chalicelib.kernel.work.queues import enqueue, notify_ledger
from infrastructure import account, configuration
from local.__main__ import main
from local.tools import redrive as module
from tests.harness import memory_aws
from tests.harness.workers import queued_bodies

DELETED_RECORD = ("O#gone", "#")


@pytest.fixture(autouse=True)
def local_settings(monkeypatch, _aws):
    """Use the settings of the test."""
    monkeypatch.setattr("local.server.configuration.use_stage_or_run", lambda *_: None)


def queue_messages(name):
    queue = next(queue for queue in memory_aws.get_queues() if queue.name == f"atrium-{name}")
    return queue._messages  # noqa: SLF001 - moto has no public access


def move_to_dead_letter_queue(name):
    """Move the messages of a queue to its dead-letter queue, as SQS does after five attempts."""
    stem, dot, suffix = name.partition(".")
    queue_messages(f"{stem}-dead{dot}{suffix}").extend(queue_messages(name))
    queue_messages(name).clear()


def send_to_jobs(*bodies: str) -> None:
    for body in bodies:
        client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody=body)


def run_redrive(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["redrive", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_dry_run_describes_each_message_and_changes_nothing(capsys, api, organization):
    assert api.patch(organization.path, caller=organization.owner, json={"name": "Engines"}).status == 200
    send_to_jobs("no JSON")
    enqueue("erasures.run", DELETED_RECORD)
    enqueue("of.another.release", DELETED_RECORD)
    for queue in ("events.fifo", "jobs"):
        move_to_dead_letter_queue(queue)
    capsys.readouterr()
    for _ in range(2):
        lines = run_redrive(capsys)
        assert [line for line in lines if not line.startswith(" ")] == [
            "atrium-events-dead.fifo: 5",
            "atrium-jobs-dead: 3",
            "atrium-deliveries-dead.fifo: 0",
            "atrium-deliveries-slow-dead: 0",
            "Nothing was changed. Use --send to send the messages back to their queues.",
        ]
        output = "\n".join(lines)
        assert f"ledger.append of log {organization.id}: 5 pending entries" in output
        assert "not a JSON object: it would fail again" in output
        assert "erasures.run of O#gone #: its record was deleted: nothing is left to do; " in output
        assert "of.another.release of O#gone #: unknown task in this release: it would fail again" in output


def test_a_dry_run_prints_the_ids_of_the_requests_that_caused_a_message_and_at_most_a_number_of_messages(capsys):
    task = {"task": "of.another.release", "pk": "O#gone", "sk": "#"}
    ids: Any = (["one"], ["a", "b", "c", "d", "e"], [], "no list", [{"no": "id"}], [])
    send_to_jobs(*(json.dumps({"requestIds": request_ids, **task}) for request_ids in ids))
    move_to_dead_letter_queue("jobs")
    lines = run_redrive(capsys, "--queue", "jobs", "--most", "5")
    described = [re.findall(r"; requests [^;]*;", line) for line in lines if "of O#gone #: unknown" in line]
    assert described == [["; requests one;"], ["; requests a, b, c and 2 more;"], [], [], []]
    assert "  … and 1 more" in lines


def test_messages_are_sent_back_and_the_work_is_done(capsys, organization, workers):
    move_to_dead_letter_queue("events.fifo")
    assert run_redrive(capsys, "--send", "--queue", "events") == [
        "atrium-events-dead.fifo: 4 sent back (ledger.append: 4)",
        "4 sent back. Messages that fail again return to the dead-letter queues.",
    ]
    assert queue_messages("events-dead.fifo") == []
    workers.deliver()
    description = module.describe_message({"log": organization.id})
    assert f"ledger.append of log {organization.id}: 0 pending entries" in description


def test_sending_keeps_the_order_of_a_group_and_assigns_new_deduplication_ids(capsys):
    for number in range(12):
        notify_ledger("log", f"d{number}", [("task", (str(number), "#"))])
    before = queued_bodies("events.fifo")
    old_ids = {message.deduplication_id for message in queue_messages("events.fifo")}
    move_to_dead_letter_queue("events.fifo")
    run_redrive(capsys, "--send")
    assert queued_bodies("events.fifo") == before
    new_ids = {message.deduplication_id for message in queue_messages("events.fifo")}
    assert len(new_ids) == 12
    assert not new_ids & old_ids


def test_an_interruption_loses_no_message_and_the_next_call_continues(capsys):
    for number in range(5):
        enqueue("erasures.run", (str(number), "#"))
    expected = set(queued_bodies("jobs"))
    move_to_dead_letter_queue("jobs")
    sqs: Any = dead_letters._sqs_client()  # noqa: SLF001 - the client whose calls fail
    deletes = [sqs.delete_message, sqs.delete_message, Mock(side_effect=KeyboardInterrupt)]

    def delete(**parameters: Any) -> Any:
        return deletes.pop(0)(**parameters)

    with patch.object(sqs, "delete_message", delete):
        assert main(["redrive", "--send"]) == 130  # The third message was sent, and is not deleted yet.
    output = capsys.readouterr()
    assert "atrium-jobs-dead: 2 sent back (erasures.run: 2)" in output.out
    assert "Run the same command to continue" in output.err
    assert set(queued_bodies("jobs")) | {message.body for message in queue_messages("jobs-dead")} == expected
    last_line = "3 sent back. Messages that fail again return to the dead-letter queues."
    assert run_redrive(capsys, "--send")[-1] == last_line
    assert set(queued_bodies("jobs")) == expected


def test_sending_skips_messages_that_would_fail_again(capsys):
    poison = ["no JSON", "[]", json.dumps({"neither": "log nor task"}), json.dumps({"task": "erasures.run"})]
    send_to_jobs(*poison)
    enqueue("of.another.release", DELETED_RECORD)
    poison.append(queued_bodies("jobs")[-1])
    enqueue("erasures.run", DELETED_RECORD)
    move_to_dead_letter_queue("jobs")
    skipped = "erasures.run: 1, not a JSON object: 2, of.another.release: 1, without task: 1"
    assert run_redrive(capsys, "--send", "--queue", "jobs") == [
        f"atrium-jobs-dead: 1 sent back (erasures.run: 1); 5 skipped ({skipped})",
        "1 sent back. Messages that fail again return to the dead-letter queues.",
    ]
    output = "\n".join(run_redrive(capsys, "--queue", "jobs"))
    assert output.count("would fail again") == output.count("received") == len(poison)
    assert [json.loads(body)["pk"] for body in queued_bodies("jobs")] == ["O#gone"]
    assert [message.body for message in queue_messages("jobs-dead")] == poison


def test_sending_skips_messages_that_fail_during_the_command(capsys):
    enqueue("erasures.run", DELETED_RECORD)
    enqueue("api_keys.expire", DELETED_RECORD)
    move_to_dead_letter_queue("jobs")
    queue_messages("jobs-dead")[0].sent_timestamp += 60_000
    assert run_redrive(capsys, "--send")[-1].startswith("1 sent back")
    assert [json.loads(body)["task"] for body in queued_bodies("jobs")] == ["api_keys.expire"]
    (remaining_message,) = queue_messages("jobs-dead")
    assert json.loads(remaining_message.body)["task"] == "erasures.run"


def test_the_option_stage_uses_the_settings_in_the_configuration(monkeypatch, tmp_path, capsys):
    monkeypatch.undo()
    config = json.loads(configuration.CONFIG_FILE.read_text())
    config["stages"]["prod"]["environment_variables"] = {"STAGE": "prod"}
    known = {name.upper(): str(value) for name, value in settings().model_dump().items() if value not in (None, "")}
    config["stages"]["dev"]["environment_variables"] = known | {"WEBHOOK_ALLOW_PRIVATE": "false"}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    monkeypatch.setattr(configuration, "CONFIG_FILE", file)
    assert main(["redrive", "--stage", "prod"]) == 1
    assert "The stage prod is missing in .chalice/config.json. Run: make" in capsys.readouterr().err
    enqueue("erasures.run", DELETED_RECORD)
    move_to_dead_letter_queue("jobs")
    with patch.dict(os.environ):
        assert run_redrive(capsys, "--stage", "dev", "--send")[-1].startswith("1 sent back")
        for command in ("redrive", "verify", "reseal"):
            assert fails_without_credentials(command)
            assert "Sign in (`aws sso login`" in capsys.readouterr().err
    reset_clients()


def fails_without_credentials(command):
    no_credentials = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "", "AWS_SHARED_CREDENTIALS_FILE": ""}
    with patch.dict(os.environ, no_credentials):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            os.environ.pop(name, None)
        account._session.cache_clear()  # noqa: SLF001 - the session caches its credentials
        return main([command, "--stage", "dev"]) == 1


@pytest.mark.parametrize("command", ["redrive", "verify", "reseal"])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        *((["--stage", name], "must be dev, prod, or a secondary stage") for name in ("local", "production")),
        (["--stage", "prod", "--port", "8000"], "not allowed with argument --stage"),
    ],
)
def test_commands_take_either_a_stage_or_a_run(command, arguments, error, capsys):
    with pytest.raises(SystemExit):
        main([command, *arguments])
    assert error in capsys.readouterr().err
