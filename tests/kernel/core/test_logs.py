"""Each request and message writes one log record with its fields, metrics and errors."""

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
from tests.harness.log_records import capture_log_records, embedded_metrics


def test_a_record_is_written_once_despite_chalices_logger(api):
    assert api.get("/status").status == 200
    assert len(logging.getLogger("atrium").handlers) == 1


class TestFailedMessage:
    def test_a_failure_is_logged_as_an_error_with_its_traceback(self, workers):
        queues.enqueue_message({"task": "nothing.known", "secret": "s3cret"})
        with capture_log_records() as records:
            assert len(workers.try_deliver().failed_bodies) == 1
        (record,) = records
        assert (record["level"], record["operation"], record["error"]) == ("ERROR", "nothing.known", "UnknownTask")
        assert "tasks.py" in record["exception"]
        assert embedded_metrics(record, "stage", "kind")["Errors"] == 1
        assert record["receives"] == 1
        assert "s3cret" not in repr(record)

    def test_an_unreadable_message_is_logged_as_an_error(self, workers):
        client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody="no json")
        with capture_log_records() as records:
            assert workers.try_deliver().failed_bodies == ["no json"]
        (record,) = records
        assert (record["level"], record["operation"], record["error"]) == ("ERROR", "run_task", "JSONDecodeError")
        assert embedded_metrics(record, "stage", "kind")["Errors"] == 1


class TestMetrics:
    def test_metrics_have_the_format_of_powertools(self, api):
        with capture_log_records() as records:
            api.get("/status")
        (record,) = records
        powertools = EphemeralMetrics(namespace="Atrium")
        powertools.add_dimension("stage", "local")
        powertools.add_dimension("kind", "request")
        for name, unit in (
            ("Latency", MetricUnit.Milliseconds),
            ("Errors", MetricUnit.Count),
            ("Throttles", MetricUnit.Count),
        ):
            powertools.add_metric(name=name, unit=unit, value=record[name])
        powertools.timestamp = record["_aws"]["Timestamp"]
        expected: dict[str, Any] = {**powertools.serialize_metric_set()}
        assert record["_aws"] == expected.pop("_aws")
        assert {name: record[name] for name in expected} == {
            name: value[0] if isinstance(value, list) else value for name, value in expected.items()
        }

    def test_metrics_of_the_stage_are_beside_those_of_the_kind(self):
        with capture_log_records() as records, logs.write_log_record_of_block("schedule", "sweep"):
            logs.add_metrics(DueLag=5)
        assert embedded_metrics(records[0], "stage") == {"DueLag": 5}
        assert embedded_metrics(records[0], "stage", "kind").keys() == {"Latency", "Errors", "Throttles"}

    @pytest.mark.usefixtures("aws")
    def test_metrics_are_written_at_every_log_level(self, configure, capsys, monkeypatch):
        quiet = Logger(service="quiet", level="WARNING")
        monkeypatch.setattr(logs, "powertools_logger", lambda: quiet)
        configure(log_level="WARNING")
        with logs.write_log_record_of_block("request", "get_status"):
            pass
        (text,) = capsys.readouterr().out.splitlines()
        assert embedded_metrics(json.loads(text), "stage", "kind").keys() == {"Latency", "Errors", "Throttles"}
        assert "operation" not in json.loads(text)


class TestLogRecord:
    def test_the_first_record_of_a_process_is_marked_as_a_cold_start(self, monkeypatch):
        monkeypatch.setattr(logs, "_record_counter", iter(range(2)))
        with capture_log_records() as records:
            for _ in range(2):
                with logs.write_log_record_of_block("request", "get_status"):
                    pass
        assert [record.get("coldStart") for record in records] == [True, None]

    def test_a_record_names_each_request_once_and_at_most_a_hundred(self):
        with capture_log_records() as records, logs.write_log_record_of_block("message", "append_entries"):
            logs.add_request_ids(["a", "b", "a"])
            logs.add_request_ids(str(number) for number in range(1000))
        assert records[0]["requestIds"][:3] == ["a", "b", "0"]
        assert len(records[0]["requestIds"]) == 100

    def test_the_record_of_a_request_names_only_that_request(self):
        with (
            capture_log_records() as records,
            logs.write_log_record_of_block("request", "get_status", requestId="a"),
            logs.originating_request_ids_scope("a"),
        ):
            logs.add_request_ids(["b"])
        assert (records[0]["requestId"], "requestIds" in records[0]) == ("a", False)
