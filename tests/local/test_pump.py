import json
import logging
import threading
import time
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from chalice.app import Chalice, CloudWatchEvent, Rate, SQSEvent

from chalicelib.kernel.core.aws import client
from local.server import event_source_emulator as pump_module
from local.server.event_source_emulator import Consumer, consumers, pump, schedules
from local.server.provisioning import provision

Record = dict[str, Any]
Handle = Callable[[list[Record]], object]


@pytest.fixture
def urls(aws: None) -> dict[str, str]:
    assert aws is None
    return dict(provision("atrium"))


def consumer(handle: Handle, queue: str = "jobs", batch_size: int = 10) -> Consumer:
    app = Chalice("test")

    @app.on_sqs_message(queue=queue, batch_size=batch_size)
    def take(event: SQSEvent) -> object:
        return handle(event.to_dict()["Records"])

    return next(consumers(app))


def send(url: str, *bodies: str, **more: Any) -> None:
    for body in bodies:
        client("sqs").send_message(QueueUrl=url, MessageBody=body, **more)


def left(url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def return_all(url: str) -> None:
    """Let the visibility time-out of a queue's messages be over."""
    client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "0"})


def test_a_handler_gets_what_lambda_would_give_it(urls: dict[str, str]) -> None:
    got: list[Record] = []
    attribute = {"trace": {"StringValue": "abc", "DataType": "String"}}
    send(urls["jobs_queue_url"], '{"task": "purge"}', MessageAttributes=attribute)
    consumer(got.extend).poll(0)
    (record,) = got
    assert record["body"] == '{"task": "purge"}'
    assert record["eventSource"] == "aws:sqs"
    assert record["eventSourceARN"].endswith(":atrium-jobs")
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["messageAttributes"]["trace"] == {"stringValue": "abc", "dataType": "String"}
    assert record["messageId"]
    assert record["receiptHandle"]
    assert record["md5OfBody"]


def test_what_was_done_is_deleted(urls: dict[str, str]) -> None:
    send(urls["jobs_queue_url"], "a", "b")
    consumer(lambda _: None).poll(0)
    assert left(urls["jobs_queue_url"]) == 0


def test_only_what_was_not_done_returns(urls: dict[str, str]) -> None:
    def fail_one(records: list[Record]) -> object:
        return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in records if r["body"] == "b"]}

    send(urls["jobs_queue_url"], "a", "b", "c")
    consumer(fail_one).poll(0)
    assert left(urls["jobs_queue_url"]) == 1


def test_an_answer_that_names_an_unknown_message_returns_all(urls: dict[str, str]) -> None:
    send(urls["jobs_queue_url"], "a", "b")
    consumer(lambda _: {"batchItemFailures": [{"itemIdentifier": ""}]}).poll(0)
    assert left(urls["jobs_queue_url"]) == 2


def test_an_empty_answer_returns_none(urls: dict[str, str]) -> None:
    send(urls["jobs_queue_url"], "a")
    consumer(lambda _: {"batchItemFailures": None}).poll(0)
    assert left(urls["jobs_queue_url"]) == 0


def test_a_handler_that_raises_gets_its_messages_again(urls: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []

    def fail_first(records: list[Record]) -> None:
        tries.append(len(records))
        if len(tries) == 1:
            raise ValueError("broken")

    return_all(urls["jobs_queue_url"])
    send(urls["jobs_queue_url"], "a")
    consumer(fail_first).poll(0)
    assert "broken" in caplog.text
    consumer(fail_first).poll(0)
    assert tries == [1, 1]
    assert left(urls["jobs_queue_url"]) == 0


def test_a_group_keeps_its_order(urls: dict[str, str]) -> None:
    got: list[str] = []
    for i in range(12):
        send(urls["events_queue_url"], str(i), MessageGroupId="org", MessageDeduplicationId=str(i))
    ledger = consumer(lambda records: got.extend(r["body"] for r in records), queue="events.fifo")
    ledger.poll(0)
    assert got == [str(i) for i in range(10)]
    ledger.poll(0)
    assert got == [str(i) for i in range(12)]


def test_a_batch_is_as_large_as_the_app_says(urls: dict[str, str]) -> None:
    sizes: list[int] = []
    send(urls["jobs_queue_url"], "a", "b", "c")
    one = consumer(lambda records: sizes.append(len(records)), batch_size=1)
    for _ in range(3):
        one.poll(0)
    assert sizes == [1, 1, 1]


@pytest.mark.usefixtures("urls")
def test_a_queue_may_be_named_in_full_or_by_its_arn() -> None:
    app = Chalice("test")
    app.on_sqs_message(queue="atrium-jobs", name="full")(lambda _: None)
    arn = "arn:aws:sqs:us-east-1:123456789012:atrium-deliveries-slow"
    app.on_sqs_message(queue_arn=arn, name="arn")(lambda _: None)
    assert [c.queue_url.rpartition("/")[2] for c in consumers(app)] == ["atrium-jobs", "atrium-deliveries-slow"]


def test_a_schedule_gets_a_tick_and_survives_its_failure(caplog: pytest.LogCaptureFixture) -> None:
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


class Counted(Event):
    """Notes how long it is waited for, and is set after the third time."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        return len(self.waited) > 3


@pytest.mark.parametrize(
    ("rate", "pauses"),
    [
        ("rate(1 minute)", [5, 5, 5, 5]),
        ("rate(1 hour)", [5, 3600, 3600, 3600]),
        (Rate(2, unit=Rate.DAYS), [5, 172_800, 172_800, 172_800]),
    ],
    ids=["every minute", "every hour", "every other day"],
)
def test_a_schedule_fires_soon_and_then_at_its_rate_or_every_few_seconds(rate: str | Rate, pauses: list[float]) -> None:
    app, stopped, fired = Chalice("test"), Counted(), list[CloudWatchEvent]()
    app.schedule(rate, name="tick")(fired.append)
    (schedule,) = schedules(app)
    schedule.keep_firing(stopped)
    assert stopped.waited == pauses
    assert len(fired) == 3


@pytest.mark.parametrize("expression", ["cron(0 * * * ? *)", "rate(1 fortnight)"])
def test_what_is_no_rate_is_refused_at_the_start(expression: str) -> None:
    app = Chalice("test")
    app.schedule(expression)(lambda _: None)
    with pytest.raises(ValueError, match="supports only rate expressions"):
        list(schedules(app))


def test_the_pump_keeps_queues_and_schedules_going_until_told(
    urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "SCHEDULE_SECONDS", 0.01)
    app, stopped, seen = Chalice("test"), Event(), set[str]()

    def note(what: str) -> None:
        seen.add(what)
        if len(seen) == 3:
            stopped.set()

    app.on_sqs_message(queue="jobs", name="jobs")(lambda event: note(event.to_dict()["Records"][0]["body"]))
    app.on_sqs_message(queue="events.fifo", name="ledger")(lambda event: note(event.to_dict()["Records"][0]["body"]))
    app.schedule("rate(1 minute)", name="sweep")(lambda _: note("tick"))
    send(urls["jobs_queue_url"], "job")
    send(urls["events_queue_url"], "wake", MessageGroupId="org", MessageDeduplicationId="1")
    before = threading.active_count()
    pump(app, stopped)
    assert seen == {"job", "wake", "tick"}
    assert threading.active_count() == before


def test_a_queue_out_of_reach_is_tried_again(
    urls: dict[str, str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "_PAUSE_SECONDS", 0.01)
    app, stopped = Chalice("test"), Event()
    app.on_sqs_message(queue="jobs", name="jobs")(lambda _: stopped.set())
    url = urls["jobs_queue_url"]
    client("sqs").delete_queue(QueueUrl=url)
    caplog.set_level(logging.ERROR)

    def mend() -> None:
        deadline = time.monotonic() + 10
        while "cannot reach its queue" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
        client("sqs").create_queue(QueueName="atrium-jobs")
        send(url, json.dumps({}))

    jobs = Consumer("jobs", app.handler_map["jobs"], url, "arn", batch_size=1, pollers=1, timeout_seconds=1)
    monkeypatch.setattr(pump_module, "consumers", lambda _: iter([jobs]))
    mender = threading.Thread(target=mend)
    mender.start()
    pump(app, stopped)
    mender.join()
    assert "cannot reach its queue" in caplog.text
