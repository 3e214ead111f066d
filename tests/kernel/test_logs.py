import json
import logging
from typing import Any

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from chalicelib.kernel.core import logs
from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work import queues
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.log_lines import measures, written
from tests.harness.workers import Workers


def test_a_line_is_written_once_although_chalice_has_a_logger_of_the_same_name(api: Api) -> None:
    assert api.get("/status").status == 200
    assert len(logging.getLogger("atrium").handlers) == 1


class TestAMessageThatFails:
    def test_is_an_error_with_its_trace_and_counted(self, workers: Workers) -> None:
        queues.forward({"task": "nothing.known", "secret": "s3cret"})
        with written() as lines:
            assert len(workers.attempt().failed) == 1
        (line,) = lines
        assert (line["level"], line["operation"], line["error"]) == ("ERROR", "nothing.known", "UnknownTask")
        assert "tasks.py" in line["exception"]
        assert measures(line, "stage", "kind")["Errors"] == 1
        assert line["receives"] == 1
        assert "s3cret" not in repr(line)

    def test_is_one_also_if_it_can_not_be_read(self, workers: Workers) -> None:
        client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody="no json")
        with written() as lines:
            assert workers.attempt().failed == ["no json"]
        (line,) = lines
        assert (line["level"], line["operation"], line["error"]) == ("ERROR", "run_task", "JSONDecodeError")
        assert measures(line, "stage", "kind")["Errors"] == 1


class TestMeasures:
    def test_are_in_the_line_as_powertools_would_write_them(self, api: Api) -> None:
        with written() as lines:
            api.get("/status")
        (line,) = lines
        judge = EphemeralMetrics(namespace="Atrium")
        judge.add_dimension("stage", "local")
        judge.add_dimension("kind", "request")
        for name, unit in (
            ("Latency", MetricUnit.Milliseconds),
            ("Errors", MetricUnit.Count),
            ("Throttles", MetricUnit.Count),
        ):
            judge.add_metric(name=name, unit=unit, value=line[name])
        judge.timestamp = line["_aws"]["Timestamp"]
        described: dict[str, Any] = {**judge.serialize_metric_set()}
        assert line["_aws"] == described.pop("_aws")
        assert {name: line[name] for name in described} == {
            name: value[0] if isinstance(value, list) else value for name, value in described.items()
        }

    def test_of_the_stage_stand_beside_those_of_the_kind(self) -> None:
        with written() as lines, logs.log_scope("schedule", "sweep"):
            logs.add_metrics(DueLag=5)
        assert measures(lines[0], "stage") == {"DueLag": 5}
        assert measures(lines[0], "stage", "kind").keys() == {"Latency", "Errors", "Throttles"}

    @pytest.mark.usefixtures("aws")
    def test_are_written_also_where_only_errors_are_logged(
        self, configure: Configure, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        quiet = Logger(service="quiet", level="WARNING")
        monkeypatch.setattr(logs, "logger", lambda: quiet)
        configure(log_level="WARNING")
        with logs.log_scope("request", "get_status"):
            pass
        (text,) = capsys.readouterr().out.splitlines()
        assert measures(json.loads(text), "stage", "kind").keys() == {"Latency", "Errors", "Throttles"}
        assert "operation" not in json.loads(text)


class TestALine:
    def test_is_marked_if_it_is_the_first_of_its_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(logs, "_record_counter", iter(range(2)))
        with written() as lines:
            for _ in range(2):
                with logs.log_scope("request", "get_status"):
                    pass
        assert [line.get("coldStart") for line in lines] == [True, None]

    def test_names_each_request_once_and_a_hundred_at_most(self) -> None:
        with written() as lines, logs.log_scope("message", "append_entries"):
            logs.add_request_ids(["a", "b", "a"])
            logs.add_request_ids(str(number) for number in range(1000))
        assert lines[0]["requestIds"][:3] == ["a", "b", "0"]
        assert len(lines[0]["requestIds"]) == 100

    def test_of_a_request_names_that_alone(self) -> None:
        with written() as lines, logs.log_scope("request", "get_status", requestId="a"), logs.correlate("a"):
            logs.add_request_ids(["b"])
        assert (lines[0]["requestId"], "requestIds" in lines[0]) == ("a", False)
