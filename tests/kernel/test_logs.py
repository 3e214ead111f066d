import json
import logging
from typing import Any

import pytest

from chalicelib.kernel import queues
from chalicelib.kernel.aws import client
from chalicelib.kernel.settings import settings
from tests.harness.api import Api
from tests.harness.workers import Workers


def test_a_line_is_written_once_although_chalice_has_a_logger_of_the_same_name(api: Api) -> None:
    assert api.get("/status").status == 200
    assert len(logging.getLogger("atrium").handlers) == 1


def measured(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    (found,) = [line for line in lines if "_aws" in line]
    return dict(found)


class TestAMessageThatFails:
    def test_is_an_error_with_its_trace_and_counted(
        self, workers: Workers, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        queues.forward({"task": "nothing.known", "secret": "s3cret"})
        assert len(workers.attempt().failed) == 1
        (line,) = [vars(record) for record in caplog.records if record.name == "atrium"]
        assert (line["levelname"], line["operation"], line["error"]) == ("ERROR", "nothing.known", "UnknownTask")
        assert "tasks.py" in line["exc_text"]
        measures = measured(capsys)
        assert (measures["operation"], measures["Errors"]) == ("nothing.known", [1.0])
        assert "s3cret" not in repr([line, measures])

    def test_is_one_also_if_it_can_not_be_read(
        self, workers: Workers, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody="no json")
        assert workers.attempt().failed == ["no json"]
        (line,) = [vars(record) for record in caplog.records if record.name == "atrium"]
        assert (line["levelname"], line["error"]) == ("ERROR", "JSONDecodeError")
        measures = measured(capsys)
        assert (measures["operation"], measures["Errors"]) == ("run_task", [1.0])
