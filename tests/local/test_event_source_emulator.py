"""The emulator of event sources: queues invoke handlers in batches, and schedules at their rates."""

import json
import logging
import threading
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from chalice.app import Chalice, CloudWatchEvent, Rate, SQSEvent

from chalicelib.kernel.core.aws import client
from local.server import event_source_emulator as event_source_module
from local.server.event_source_emulator import Consumer, consumers, run_event_sources, schedules
from local.server.provisioning import provision
from tests.harness.waiting import wait_until

Record = dict[str, Any]
RecordsHandler = Callable[[list[Record]], object]


@pytest.fixture
def urls(aws: None) -> dict[str, str]:
    assert aws is None
    return dict(provision("atrium"))


def create_consumer(handle: RecordsHandler, queue: str = "jobs", batch_size: int = 10) -> Consumer:
    app = Chalice("test")

    @app.on_sqs_message(queue=queue, batch_size=batch_size)
    def take(event: SQSEvent) -> object:
        return handle(event.to_dict()["Records"])

    return next(consumers(app))


def send(url: str, *bodies: str, **parameters: Any) -> None:
    for body in bodies:
        client("sqs").send_message(QueueUrl=url, MessageBody=body, **parameters)


def count_messages(url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


def end_visibility_timeout(url: str) -> None:
    """Make the messages of a queue visible at once after each receive."""
    client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "0"})


def test_a_handler_receives_the_event_that_lambda_sends(urls):
    records: list[Record] = []
    attribute = {"trace": {"StringValue": "abc", "DataType": "String"}}
    send(urls["jobs_queue_url"], '{"task": "purge"}', MessageAttributes=attribute)
    create_consumer(records.extend).poll(0)
    (record,) = records
    assert record["body"] == '{"task": "purge"}'
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"].endswith(":atrium-jobs")
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["messageAttributes"]["trace"] == {"stringValue": "abc", "dataType": "String"}
    assert record["messageId"]
    assert record["receiptHandle"]
    assert record["md5OfBody"]


def test_processed_messages_are_deleted(urls):
    send(urls["jobs_queue_url"], "a", "b")
    create_consumer(lambda _: None).poll(0)
    assert count_messages(urls["jobs_queue_url"]) == 0


def test_only_failed_messages_return_to_the_queue(urls):
    def fail_one(records: list[Record]) -> object:
        return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in records if r["body"] == "b"]}

    send(urls["jobs_queue_url"], "a", "b", "c")
    create_consumer(fail_one).poll(0)
    assert count_messages(urls["jobs_queue_url"]) == 1


def test_a_result_with_an_unknown_message_id_returns_all_messages(urls):
    send(urls["jobs_queue_url"], "a", "b")
    create_consumer(lambda _: {"batchItemFailures": [{"itemIdentifier": ""}]}).poll(0)
    assert count_messages(urls["jobs_queue_url"]) == 2


def test_an_empty_result_returns_no_messages(urls):
    send(urls["jobs_queue_url"], "a")
    create_consumer(lambda _: {"batchItemFailures": None}).poll(0)
    assert count_messages(urls["jobs_queue_url"]) == 0


def test_a_handler_that_raises_receives_its_messages_again(urls, caplog):
    batch_sizes: list[int] = []

    def fail_first(records: list[Record]) -> None:
        batch_sizes.append(len(records))
        if len(batch_sizes) == 1:
            raise ValueError("broken")

    end_visibility_timeout(urls["jobs_queue_url"])
    send(urls["jobs_queue_url"], "a")
    create_consumer(fail_first).poll(0)
    assert "broken" in caplog.text
    create_consumer(fail_first).poll(0)
    assert batch_sizes == [1, 1]
    assert count_messages(urls["jobs_queue_url"]) == 0


def test_the_messages_of_a_group_keep_their_order(urls):
    bodies: list[str] = []
    for i in range(12):
        send(urls["events_queue_url"], str(i), MessageGroupId="org", MessageDeduplicationId=str(i))
    ledger = create_consumer(lambda records: bodies.extend(r["body"] for r in records), queue="events.fifo")
    ledger.poll(0)
    assert bodies == [str(i) for i in range(10)]
    ledger.poll(0)
    assert bodies == [str(i) for i in range(12)]


def test_the_app_sets_the_batch_size(urls):
    batch_sizes: list[int] = []
    send(urls["jobs_queue_url"], "a", "b", "c")
    single_consumer = create_consumer(lambda records: batch_sizes.append(len(records)), batch_size=1)
    for _ in range(3):
        single_consumer.poll(0)
    assert batch_sizes == [1, 1, 1]


@pytest.mark.usefixtures("urls")
def test_a_queue_can_be_given_by_its_full_name_or_its_arn():
    app = Chalice("test")
    app.on_sqs_message(queue="atrium-jobs", name="full")(lambda _: None)
    arn = "arn:aws:sqs:us-east-1:123456789012:atrium-deliveries-slow"
    app.on_sqs_message(queue_arn=arn, name="arn")(lambda _: None)
    assert [c.queue_url.rpartition("/")[2] for c in consumers(app)] == ["atrium-jobs", "atrium-deliveries-slow"]


def test_a_schedule_fires_again_after_its_handler_fails(caplog):
    app = Chalice("test")
    ticks: list[dict[str, Any]] = []

    @app.schedule("rate(1 minute)")
    def sweep(event: CloudWatchEvent) -> None:
        ticks.append(event.to_dict())
        context: Any = event.context
        assert context.get_remaining_time_in_millis() > 0
        raise ValueError("broken")

    (schedule,) = schedules(app)
    schedule.fire()
    schedule.fire()
    assert [tick["detail-type"] for tick in ticks] == ["Scheduled Event", "Scheduled Event"]
    assert caplog.text.count("ValueError: broken") == 2


class RecordingEvent(Event):
    """An event that records the timeouts of its waits, and is set after the third."""

    def __init__(self) -> None:
        super().__init__()
        self.timeouts: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.timeouts.append(timeout)
        return len(self.timeouts) > 3


@pytest.mark.parametrize(
    ("rate", "expected_timeouts"),
    [
        ("rate(1 minute)", [5, 5, 5, 5]),
        ("rate(1 hour)", [5, 3600, 3600, 3600]),
        (Rate(2, unit=Rate.DAYS), [5, 172_800, 172_800, 172_800]),
    ],
    ids=["every minute", "every hour", "every other day"],
)
def test_a_schedule_fires_after_a_few_seconds_and_then_at_its_rate(rate, expected_timeouts):
    app, stopped, events = Chalice("test"), RecordingEvent(), list[CloudWatchEvent]()
    app.schedule(rate, name="tick")(events.append)
    (schedule,) = schedules(app)
    schedule.keep_firing(stopped)
    assert stopped.timeouts == expected_timeouts
    assert len(events) == 3


@pytest.mark.parametrize("expression", ["cron(0 * * * ? *)", "rate(1 fortnight)"])
def test_an_expression_that_is_not_a_rate_is_rejected_at_the_start(expression):
    app = Chalice("test")
    app.schedule(expression)(lambda _: None)
    with pytest.raises(ValueError, match="supports only rate expressions"):
        list(schedules(app))


def test_the_pump_runs_queues_and_schedules_until_it_is_stopped(urls, monkeypatch):
    monkeypatch.setattr(event_source_module, "SCHEDULE_SECONDS", 0.01)
    app, stopped, seen = Chalice("test"), Event(), set[str]()

    def record(body: str) -> None:
        seen.add(body)
        if len(seen) == 3:
            stopped.set()

    app.on_sqs_message(queue="jobs", name="jobs")(lambda event: record(event.to_dict()["Records"][0]["body"]))
    app.on_sqs_message(queue="events.fifo", name="ledger")(lambda event: record(event.to_dict()["Records"][0]["body"]))
    app.schedule("rate(1 minute)", name="sweep")(lambda _: record("tick"))
    send(urls["jobs_queue_url"], "job")
    send(urls["events_queue_url"], "wake", MessageGroupId="org", MessageDeduplicationId="1")
    thread_count = threading.active_count()
    run_event_sources(app, stopped)
    assert seen == {"job", "wake", "tick"}
    assert threading.active_count() == thread_count


def test_an_unreachable_queue_is_polled_again(urls, caplog, monkeypatch):
    monkeypatch.setattr(event_source_module, "_PAUSE_SECONDS", 0.01)
    app, stopped = Chalice("test"), Event()
    app.on_sqs_message(queue="jobs", name="jobs")(lambda _: stopped.set())
    url = urls["jobs_queue_url"]
    client("sqs").delete_queue(QueueUrl=url)
    caplog.set_level(logging.ERROR)

    def recreate_queue() -> None:
        wait_until(lambda: "cannot reach its queue" in caplog.text)
        client("sqs").create_queue(QueueName="atrium-jobs")
        send(url, json.dumps({}))

    jobs = Consumer("jobs", app.handler_map["jobs"], url, "arn", batch_size=1, pollers=1, timeout_seconds=1)
    monkeypatch.setattr(event_source_module, "consumers", lambda _: iter([jobs]))
    recreator = threading.Thread(target=recreate_queue)
    recreator.start()
    run_event_sources(app, stopped)
    recreator.join()
    assert "cannot reach its queue" in caplog.text
