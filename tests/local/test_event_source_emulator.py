"""The emulator of event sources: queues invoke handlers in batches, and schedules at their rates."""

import itertools
import json
import logging
import threading
from collections.abc import Callable
from threading import Event
from typing import Any
from unittest.mock import Mock, call

import pytest
from chalice.app import Chalice, CloudWatchEvent, Rate

from chalicelib.kernel.core.aws import client
from infrastructure.resources import RECURSIVE_FUNCTIONS
from local.server import event_source_emulator as event_source_module
from local.server import recursive_loops
from local.server.event_source_emulator import Consumer, consumers, run_event_sources, schedules
from local.server.provisioning import provision
from tests.harness.waiting import wait_until

ENTRY = {"Id": "1", "MessageBody": "{}"}


@pytest.fixture
def urls(aws):
    return provision("atrium")


def create_consumer(handle, queue="jobs", batch_size=10, name="handler"):
    """Return the consumer of an app whose handler passes the records of each batch to a function."""
    app = Chalice("test")
    app.on_sqs_message(queue=queue, batch_size=batch_size, name=name)(lambda event: handle(event.to_dict()["Records"]))
    return next(consumers(app))


def send(url: str, *bodies: str, **parameters: Any) -> None:
    for body in bodies:
        client("sqs").send_message(QueueUrl=url, MessageBody=body, **parameters)


def count_messages(url):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


def test_a_handler_receives_the_event_that_lambda_sends(urls):
    records: list[dict[str, Any]] = []
    attribute = {"trace": {"StringValue": "abc", "DataType": "String"}}
    send(urls["jobs_queue_url"], '{"task": "purge"}', MessageAttributes=attribute)
    create_consumer(records.extend).poll(0)
    (record,) = records
    assert record["body"] == '{"task": "purge"}'
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"].endswith(":atrium-jobs")
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["messageAttributes"]["trace"] == {"stringValue": "abc", "dataType": "String"}
    assert all(record[name] for name in ("messageId", "receiptHandle", "md5OfBody"))


@pytest.mark.parametrize(
    ("failures", "remaining"),
    [
        (lambda _: None, 0),
        (lambda _: {"batchItemFailures": None}, 0),
        (lambda records: {"batchItemFailures": [{"itemIdentifier": records[1]["messageId"]}]}, 1),
        (lambda _: {"batchItemFailures": [{"itemIdentifier": ""}]}, 3),
    ],
    ids=["no result", "empty result", "one failed", "unknown message id"],
)
def test_processed_messages_are_deleted_and_failed_ones_return_to_the_queue(failures, remaining, urls):
    send(urls["jobs_queue_url"], "a", "b", "c")
    create_consumer(failures).poll(0)
    assert count_messages(urls["jobs_queue_url"]) == remaining


def test_a_handler_that_raises_receives_its_messages_again(urls, caplog):
    batch_sizes: list[int] = []

    def fail_first(records: list[Any]) -> None:
        batch_sizes.append(len(records))
        if len(batch_sizes) == 1:
            raise ValueError("broken")

    visible_at_once = {"VisibilityTimeout": "0"}
    client("sqs").set_queue_attributes(QueueUrl=urls["jobs_queue_url"], Attributes=visible_at_once)
    send(urls["jobs_queue_url"], "a")
    create_consumer(fail_first).poll(0)
    assert "broken" in caplog.text
    create_consumer(fail_first).poll(0)
    assert batch_sizes == [1, 1]
    assert count_messages(urls["jobs_queue_url"]) == 0


def test_the_messages_of_a_group_keep_their_order_and_the_app_sets_the_batch_size(urls):
    batches: list[list[str]] = []
    for i in range(12):
        send(urls["events_queue_url"], str(i), MessageGroupId="org", MessageDeduplicationId=str(i))
    for batch_size in (10, 1, 1):
        create_consumer(lambda r: batches.append([each["body"] for each in r]), "events.fifo", batch_size).poll(0)
    assert batches == [[str(i) for i in range(10)], ["10"], ["11"]]


def test_a_queue_can_be_given_by_its_full_name_or_its_arn(urls):
    app = Chalice("test")
    app.on_sqs_message(queue="atrium-jobs", name="full")(lambda _: None)
    arn = "arn:aws:sqs:us-east-1:123456789012:atrium-deliveries-slow"
    app.on_sqs_message(queue_arn=arn, name="arn")(lambda _: None)
    assert [c.queue_url.rpartition("/")[2] for c in consumers(app)] == ["atrium-jobs", "atrium-deliveries-slow"]


@pytest.fixture(params=["jobs", "deliveries.fifo"])
def loop(request, urls):
    """A function that runs a number of consumers' turns of a handler that sends a message to its own queue."""
    is_fifo = request.param.endswith(".fifo")
    url = urls["deliveries_queue_url" if is_fifo else "jobs_queue_url"]
    sent = itertools.count(1)

    def send_next(_records: object = None) -> None:
        number = str(next(sent))
        group = {"MessageGroupId": "group", "MessageDeduplicationId": number} if is_fifo else {}
        send(url, number, **group)

    def run(function: str, polls: int) -> list[str]:
        bodies = list[str]()

        def handle(records: list[Any]) -> None:
            bodies.extend(record["body"] for record in records)
            send_next()

        consumer = create_consumer(handle, request.param, name=function)
        send_next()
        for _ in range(polls):
            consumer.poll(0)
        return bodies

    return run


def dead_letters(url):
    dead = url.replace("-jobs", "-jobs-dead").replace("-deliveries.", "-deliveries-dead.")
    answer = client("sqs").receive_message(QueueUrl=dead, MaxNumberOfMessages=10, WaitTimeSeconds=0)
    return [message["Body"] for message in answer.get("Messages", [])]


class TestRecursiveLoops:
    def test_a_loop_ends_after_16_turns_and_its_message_becomes_a_dead_letter(self, loop, urls, caplog):
        assert loop("mirror", 20) == [str(turn) for turn in range(1, 17)]
        letters = [dead_letters(urls[name]) for name in ("jobs_queue_url", "deliveries_queue_url")]
        assert sorted(letters) == [[], ["17"]]
        assert count_messages(urls["jobs_queue_url"]) + count_messages(urls["deliveries_queue_url"]) == 0
        assert "mirror dropped 1 messages of a recursive loop" in caplog.text

    @pytest.mark.parametrize("function", RECURSIVE_FUNCTIONS)
    def test_a_function_that_may_run_in_loops_continues(self, loop, function):
        assert len(loop(function, 20)) == 20

    def test_each_message_from_outside_starts_a_chain(self, urls):
        bodies = list[str]()
        consumer = create_consumer(lambda records: bodies.extend(record["body"] for record in records), name="mirror")
        for number in range(20):
            send(urls["jobs_queue_url"], str(number))
            consumer.poll(0)
        assert len(bodies) == 20

    def test_a_loop_through_two_functions_is_counted_for_each(self, urls):
        turns = list[str]()

        def forward(name: str, url: str) -> Callable[[list[Any]], None]:
            def handle(_records: list[Any]) -> None:
                turns.append(name)
                send(url, "onwards")

            return handle

        first = create_consumer(forward("first", urls["deliveries_slow_queue_url"]), name="first")
        second = create_consumer(forward("second", urls["jobs_queue_url"]), "deliveries-slow", name="second")
        send(urls["jobs_queue_url"], "start")
        for _ in range(20):
            first.poll(0)
            second.poll(0)
        assert turns == ["first", "second"] * 16

    def test_a_batch_continues_the_longest_of_its_chains(self, urls):
        sizes = list[int]()

        def handle(records: list[Any]) -> None:
            sizes.append(len(records))
            send(urls["jobs_queue_url"], "next")

        consumer = create_consumer(handle, name="mirror")
        send(urls["jobs_queue_url"], "first")
        for _ in range(15):
            consumer.poll(0)
        send(urls["jobs_queue_url"], "new")
        consumer.poll(0)
        consumer.poll(0)
        assert sizes == [1] * 15 + [2], "the seventeenth turn is dropped"

    def test_without_a_dead_letter_queue_the_message_is_lost(self, urls):
        url = urls["jobs_queue_url"]
        client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})
        consumer = create_consumer(lambda _: send(url, "next"), name="mirror")
        assert consumer.dead_letter_url is None
        send(url, "first")
        for _ in range(17):
            consumer.poll(0)
        assert count_messages(url) == 0

    @pytest.mark.parametrize("header", ["Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1", "Lineage=", "Lineage=x"])
    def test_other_trace_headers_count_no_turns(self, urls, header):
        trace = {"AWSTraceHeader": {"StringValue": header, "DataType": "String"}}
        send(urls["jobs_queue_url"], "a", MessageSystemAttributes=trace)
        records = list[Any]()
        create_consumer(records.extend, name="mirror").poll(0)
        assert [record["attributes"]["AWSTraceHeader"] for record in records] == [header]

    def test_batches_of_messages_carry_the_count_too(self, urls):
        sqs, sent = client("sqs"), list[Any]()
        recursive_loops.forward_trace_header(sqs)
        sqs.meta.events.register("before-parameter-build.sqs.SendMessageBatch", lambda params, **_: sent.append(params))
        with recursive_loops.invocation_scope("mirror", []):
            sqs.send_message_batch(QueueUrl=urls["jobs_queue_url"], Entries=[ENTRY, ENTRY | {"Id": "2"}])
        headers = [
            entry["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"]
            for params in sent
            for entry in params["Entries"]
        ]
        assert headers == ["Lineage=mirror:1"] * 2


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


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [("rate(1 minute)", 5), ("rate(1 hour)", 3600), (Rate(2, unit=Rate.DAYS), 172_800)],
    ids=["every minute", "every hour", "every other day"],
)
def test_a_schedule_fires_after_a_few_seconds_and_then_at_its_rate(rate, seconds):
    app, events = Chalice("test"), list[CloudWatchEvent]()
    stopped = Mock(wait=Mock(side_effect=[False, False, False, True]))
    app.schedule(rate, name="tick")(events.append)
    (schedule,) = schedules(app)
    schedule.keep_firing(stopped)
    assert stopped.wait.call_args_list == [call(5), *[call(seconds)] * 3]
    assert len(events) == 3


@pytest.mark.parametrize("expression", ["cron(0 * * * ? *)", "rate(1 fortnight)"])
def test_an_expression_that_is_not_a_rate_is_rejected_at_the_start(expression):
    app = Chalice("test")
    app.schedule(expression)(lambda _: None)
    with pytest.raises(ValueError, match="supports only rate expressions"):
        list(schedules(app))


def test_queues_and_schedules_run_until_they_are_stopped(urls, monkeypatch):
    monkeypatch.setattr(event_source_module, "SCHEDULE_SECONDS", 0.01)
    app, stopped, seen = Chalice("test"), Event(), set[str]()

    def record(event: Any) -> None:
        seen.update(record["body"] for record in event.to_dict().get("Records", [{"body": "tick"}]))
        if len(seen) == 3:
            stopped.set()

    app.on_sqs_message(queue="jobs", name="jobs")(record)
    app.on_sqs_message(queue="events.fifo", name="ledger")(record)
    app.schedule("rate(1 minute)", name="sweep")(record)
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
        wait_until(lambda: "could not poll its queue" in caplog.text)
        client("sqs").create_queue(QueueName="atrium-jobs")
        send(url, json.dumps({}))

    jobs = Consumer("jobs", app.handler_map["jobs"], url, "arn", batch_size=1, pollers=1, timeout_seconds=1)
    monkeypatch.setattr(event_source_module, "consumers", lambda _: iter([jobs]))
    recreator = threading.Thread(target=recreate_queue)
    recreator.start()
    run_event_sources(app, stopped)
    recreator.join()
    assert "could not poll its queue" in caplog.text


def test_a_queue_is_polled_again_after_any_exception(caplog, monkeypatch):
    monkeypatch.setattr(event_source_module, "_PAUSE_SECONDS", 0.01)
    stopped = Event()

    def fail_first(_wait_seconds: int) -> None:
        if "could not poll its queue" in caplog.text:
            stopped.set()
        else:
            raise RuntimeError("broken")

    monkeypatch.setattr(event_source_module, "consumers", lambda _: [Mock(poll=fail_first, pollers=1)])
    run_event_sources(Chalice("test"), stopped)
    assert caplog.text.count("RuntimeError: broken") == 1
