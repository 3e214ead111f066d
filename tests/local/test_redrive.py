import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.kernel.core.aws import client, reset_clients
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work.queues import enqueue, notify_ledger
from infrastructure import account, configuration
from local.__main__ import main
from local.tools import redrive as module
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.organizations import CreatedOrganization
from tests.harness.workers import Workers, queued_bodies

GONE = ("O#gone", "#")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, _aws: None) -> Iterator[None]:
    """Settings are those of the test; nobody waits for a queue that is empty."""
    monkeypatch.setattr("local.server.configuration.use_place", lambda *_: None)
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0)
    module.sqs.cache_clear()
    yield
    module.sqs.cache_clear()


def messages(name: str) -> list[Any]:
    queue = next(queue for queue in memory_aws.get_queues() if queue.name == f"atrium-{name}")
    return queue._messages  # noqa: SLF001 - as moto holds them


def give_up(name: str) -> None:
    """Let what waits in a queue be given up, as SQS does after five tries."""
    stem, dot, suffix = name.partition(".")
    messages(f"{stem}-dead{dot}{suffix}").extend(messages(name))
    messages(name).clear()


def said(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["redrive", *words]) == 0
    return capsys.readouterr().out.splitlines()


class TestADryRun:
    def test_says_what_each_is_about_and_changes_nothing(
        self, capsys: pytest.CaptureFixture[str], api: ApiClient, organization: CreatedOrganization
    ) -> None:
        assert api.patch(organization.path, caller=organization.owner, json={"name": "Engines"}).status == 200
        client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody="no JSON")
        enqueue("erasures.run", GONE)
        enqueue("of.another.release", GONE)
        for queue in ("events.fifo", "jobs"):
            give_up(queue)
        capsys.readouterr()
        for _ in range(2):
            lines = said(capsys)
            assert [line for line in lines if not line.startswith(" ")] == [
                "atrium-events-dead.fifo: 5",
                "atrium-jobs-dead: 3",
                "atrium-deliveries-dead.fifo: 0",
                "atrium-deliveries-slow-dead: 0",
                "Nothing was changed. With --send they go back to their queues.",
            ]
            told = "\n".join(lines)
            assert f"ledger.append of log {organization.id}: 5 entries wait in it" in told
            assert "not JSON: it will be given up again" in told
            assert "erasures.run of O#gone #: its record is gone, so nothing is left to be done; " in told
            assert "of.another.release of O#gone #: no task of this release, so it will be given up again" in told

    @pytest.mark.parametrize(
        ("named", "told"),
        [
            (["one"], "; requests one; "),
            (["a", "b", "c", "d", "e"], "; requests a, b, c and 2 more; "),
            ([], "gone #: no"),
            ("no list", "gone #: no"),
            ([{"no": "id"}], "gone #: no"),
        ],
    )
    def test_names_the_requests_it_was_for(self, named: object, told: str, capsys: pytest.CaptureFixture[str]) -> None:
        body = json.dumps({"requestIds": named, "task": "of.another.release", "pk": "O#gone", "sk": "#"})
        client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody=body)
        give_up("jobs")
        (line,) = [line for line in said(capsys, "--queue", "jobs") if "of.another.release" in line]
        assert told in line
        assert ("; requests " in line) == ("requests" in told)

    def test_looks_at_no_more_than_it_is_told(self, capsys: pytest.CaptureFixture[str]) -> None:
        for _ in range(13):
            enqueue("erasures.run", GONE)
        give_up("jobs")
        lines = said(capsys, "--queue", "jobs", "--most", "12")
        assert len([line for line in lines if "erasures.run" in line]) == 12
        assert "  … and 1 that were not looked at" in lines


class TestSending:
    def test_brings_them_back_and_the_work_is_done(
        self, capsys: pytest.CaptureFixture[str], organization: CreatedOrganization, workers: Workers
    ) -> None:
        give_up("events.fifo")
        lines = said(capsys, "--send", "--queue", "events")
        assert lines == [
            "atrium-events-dead.fifo: 4 sent back (4 of ledger.append)",
            "4 sent back. What fails again is given up again.",
        ]
        assert messages("events-dead.fifo") == []
        workers.deliver()
        assert f"ledger.append of log {organization.id}: 0 entries" in module.about(
            json.dumps({"log": organization.id})
        )

    def test_keeps_the_order_of_a_group_and_deduplicates_anew(self, capsys: pytest.CaptureFixture[str]) -> None:
        for number in range(23):
            notify_ledger("log", f"d{number}", [("task", (str(number), "#"))])
        before = queued_bodies("events.fifo")
        former = {message.deduplication_id for message in messages("events.fifo")}
        give_up("events.fifo")
        said(capsys, "--send")
        assert queued_bodies("events.fifo") == before
        fresh = {message.deduplication_id for message in messages("events.fifo")}
        assert len(fresh) == 23
        assert not fresh & former

    def test_that_is_interrupted_loses_nothing_and_is_gone_on_with(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(5):
            enqueue("erasures.run", (str(number), "#"))
        wanted = set(queued_bodies("jobs"))
        give_up("jobs")
        sends = 0
        sqs: Any = module.sqs()
        original = sqs.delete_message

        def interrupted(**words: Any) -> Any:
            nonlocal sends
            sends += 1
            if sends == 3:  # It was sent, and is not deleted yet.
                raise KeyboardInterrupt
            return original(**words)

        monkeypatch.setattr(sqs, "delete_message", interrupted)
        assert main(["redrive", "--send"]) == 130
        told = capsys.readouterr()
        assert "atrium-jobs-dead: 2 sent back (2 of erasures.run)" in told.out
        assert "Run the same command to continue" in told.err
        assert set(queued_bodies("jobs")) | {message.body for message in messages("jobs-dead")} == wanted
        assert said(capsys, "--send")[-1] == "3 sent back. What fails again is given up again."
        assert set(queued_bodies("jobs")) == wanted

    def test_leaves_alone_what_this_release_would_give_up_again(self, capsys: pytest.CaptureFixture[str]) -> None:
        poison = ["no JSON", "[]", json.dumps({"neither": "log nor task"}), json.dumps({"task": "erasures.run"})]
        for body in poison:
            client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody=body)
        enqueue("of.another.release", GONE)
        poison.append(queued_bodies("jobs")[-1])
        enqueue("erasures.run", GONE)
        give_up("jobs")
        left = "1 of erasures.run, 1 of of.another.release, 2 of what is not JSON, 1 of what names no task"
        assert said(capsys, "--send", "--queue", "jobs") == [
            f"atrium-jobs-dead: 1 sent back (1 of erasures.run); left alone: {left}",
            "1 sent back. What fails again is given up again.",
        ]
        told = "\n".join(said(capsys, "--queue", "jobs"))
        assert told.count("given up again") == told.count("received") == len(poison)
        assert [json.loads(body)["pk"] for body in queued_bodies("jobs")] == ["O#gone"]
        assert [message.body for message in messages("jobs-dead")] == poison

    def test_leaves_what_is_given_up_meanwhile(self, capsys: pytest.CaptureFixture[str]) -> None:
        enqueue("erasures.run", GONE)
        enqueue("api_keys.expire", GONE)
        give_up("jobs")
        messages("jobs-dead")[0].sent_timestamp += 60_000
        assert said(capsys, "--send")[-1].startswith("1 sent back")
        assert [json.loads(body)["task"] for body in queued_bodies("jobs")] == ["api_keys.expire"]
        (left,) = messages("jobs-dead")
        assert json.loads(left.body)["task"] == "erasures.run"


def test_a_stage_is_used_by_what_its_configuration_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()
    config = json.loads(configuration.FILE.read_text())
    config["stages"]["prod"]["environment_variables"] = {"STAGE": "prod"}
    config["stages"]["dev"]["environment_variables"] = {
        name.upper(): str(value) for name, value in settings().model_dump().items() if value not in (None, "")
    } | {"WEBHOOK_ALLOW_PRIVATE": "false"}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    monkeypatch.setattr(configuration, "FILE", file)
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0)
    assert main(["redrive", "--stage", "prod"]) == 1
    assert "The stage prod is missing in .chalice/config.json. Run: make" in capsys.readouterr().err
    enqueue("erasures.run", GONE)
    give_up("jobs")
    with patch.dict(os.environ):
        assert said(capsys, "--stage", "dev", "--send")[-1].startswith("1 sent back")
        for command in ("redrive", "verify", "reseal"):
            assert refused_without_credentials(command)
            assert "Sign in (`aws sso login`" in capsys.readouterr().err
    reset_clients()


def refused_without_credentials(command: str) -> bool:
    nobody = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "", "AWS_SHARED_CREDENTIALS_FILE": ""}
    with patch.dict(os.environ, nobody):
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            os.environ.pop(name, None)
        account._session.cache_clear()  # noqa: SLF001 - it keeps the credentials that it was made with
        return main([command, "--stage", "dev"]) == 1


@pytest.mark.parametrize("command", ["redrive", "verify", "reseal"])
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--stage", "local"], "must be dev, prod, or a secondary stage"),
        (["--stage", "production"], "must be dev, prod, or a secondary stage"),
        (["--stage", "prod", "--port", "8000"], "not allowed with argument --stage"),
    ],
)
def test_a_place_is_a_stage_or_a_run(
    command: str, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, *words])
    assert why in capsys.readouterr().err
