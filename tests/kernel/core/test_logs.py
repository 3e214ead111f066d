"""Each request and message writes one log record with its fields, metrics and errors."""

import json
import logging

import pytest
from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from chalicelib.kernel.core import logs
from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work import queues
from tests.harness.log_records import capture_log_records, embedded_metrics

KIND_METRICS = {"Latency", "Errors", "Throttles"}


def test_a_failed_message_is_logged_as_an_error_with_its_traceback(workers):
    queues.enqueue_message({"task": "nothing.known", "secret": "s3cret"})
    with capture_log_records() as records:
        assert len(workers.try_deliver().failed_bodies) == 1
    (record,) = records
    assert (record["level"], record["operation"], record["error"]) == ("ERROR", "nothing.known", "UnknownTask")
    assert "tasks.py" in record["exception"]
    assert embedded_metrics(record, "stage", "kind")["Errors"] == 1
    assert record["receives"] == 1
    assert "s3cret" not in repr(record)


def test_an_unreadable_message_is_logged_as_an_error(workers):
    client("sqs").send_message(QueueUrl=settings().jobs_queue_url, MessageBody="no json")
    with capture_log_records() as records:
        assert workers.try_deliver().failed_bodies == ["no json"]
    (record,) = records
    assert (record["level"], record["operation"], record["error"]) == ("ERROR", "run_task", "JSONDecodeError")
    assert embedded_metrics(record, "stage", "kind")["Errors"] == 1


def test_a_request_writes_one_record_with_metrics_in_the_format_of_powertools(api):
    with capture_log_records() as records:
        assert api.get("/status").status == 200
    (record,) = records
    assert len(logging.getLogger("atrium").handlers) == 1, "Chalice's logger would write it again"
    powertools = EphemeralMetrics(namespace="Atrium")
    powertools.add_dimension("stage", "local")
    powertools.add_dimension("kind", "request")
    units = {"Latency": MetricUnit.Milliseconds, "Errors": MetricUnit.Count, "Throttles": MetricUnit.Count}
    for name, unit in units.items():
        powertools.add_metric(name=name, unit=unit, value=record[name])
    powertools.timestamp = record["_aws"]["Timestamp"]
    expected = dict(powertools.serialize_metric_set())
    assert record["_aws"] == expected.pop("_aws")
    values = {name: value[0] if isinstance(value, list) else value for name, value in expected.items()}
    assert {name: record[name] for name in expected} == values


def test_metrics_of_the_stage_are_beside_those_of_the_kind():
    with capture_log_records() as records, logs.write_log_record_of_block("schedule", "sweep"):
        logs.add_metrics(DueLag=5)
    assert embedded_metrics(records[0], "stage") == {"DueLag": 5}
    assert embedded_metrics(records[0], "stage", "kind").keys() == KIND_METRICS


@pytest.mark.usefixtures("aws")
def test_metrics_are_written_at_every_log_level(configure, capsys, monkeypatch):
    quiet = Logger(service="quiet", level="WARNING")
    monkeypatch.setattr(logs, "powertools_logger", lambda: quiet)
    configure(log_level="WARNING")
    with logs.write_log_record_of_block("request", "get_status"):
        pass
    record = json.loads(capsys.readouterr().out)
    assert embedded_metrics(record, "stage", "kind").keys() == KIND_METRICS
    assert "operation" not in record


def test_the_first_record_of_a_process_is_marked_as_a_cold_start(monkeypatch):
    monkeypatch.setattr(logs, "_record_counter", iter(range(2)))
    with capture_log_records() as records:
        for _ in range(2):
            with logs.write_log_record_of_block("request", "get_status"):
                pass
    assert [record.get("coldStart") for record in records] == [True, None]


def test_a_record_names_each_request_once_and_at_most_a_hundred():
    with capture_log_records() as records, logs.write_log_record_of_block("message", "append_entries"):
        logs.add_request_ids(["a", "b", "a"])
        logs.add_request_ids(str(number) for number in range(1000))
    assert records[0]["requestIds"][:3] == ["a", "b", "0"]
    assert len(records[0]["requestIds"]) == 100


def test_the_record_of_a_request_names_only_that_request():
    with (
        capture_log_records() as records,
        logs.write_log_record_of_block("request", "get_status", requestId="a"),
        logs.originating_request_ids_scope("a"),
    ):
        logs.add_request_ids(["b"])
    assert (records[0]["requestId"], "requestIds" in records[0]) == ("a", False)
