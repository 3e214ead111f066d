"""The dead-letter queues, as operators see them over HTTP."""

import json
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.features.admin.dead_letters.entities import DeadLetterRedrive
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import run_task
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.dead_letters import put_dead_letter, start_redrive, waiting_bodies
from tests.harness.faults import Fault, inject_fault
from tests.harness.memory_aws import get_queues

PATH = "/system/dead-letters"
REDRIVE = f"{PATH}/redrive"
ERASURE = {"task": "erasures.run", "pk": "O#gone", "sk": "#secret"}
OTHER_RELEASE = {"task": "of.another.release", "pk": "O#gone", "sk": "#"}


def list_queues(api: ApiClient, operator: Person) -> dict[str, Json]:
    return {each["queue"]: each for each in api.get(PATH, caller=operator).expect(200).json["queues"]}


def run_redrive(api: ApiClient, operator: Person, queue: str, **body: object) -> Json:
    """Start a redrive, run it, and return it. Messages that it sends back are not delivered."""
    location = start_redrive(api, operator, queue, **body).location
    redrive_id = location.rpartition("/")[2]
    run_task({"task": DeadLetterRedrive.task, "pk": "REDRIVES", "sk": f"R#{redrive_id}"})
    return api.get(location, caller=operator).expect(200).json


def test_the_list_shows_each_queue_and_which_work_fails_but_no_bodies(api, operator):
    message_id = put_dead_letter("jobs", {**ERASURE, "requestIds": ["r1", "r2", "r3", "r4", {"no": "id"}]})
    for body in (OTHER_RELEASE, "no JSON", {"neither": "log nor task"}):
        put_dead_letter("jobs", body)
    put_dead_letter("events", {"log": "some-log"})
    response = api.get(PATH, caller=operator).expect(200)
    queues = {each["queue"]: each for each in response.json["queues"]}
    assert {name: (each["name"], each["messageCount"]) for name, each in queues.items()} == {
        "events": ("atrium-events-dead.fifo", 1),
        "jobs": ("atrium-jobs-dead", 4),
        "deliveries": ("atrium-deliveries-dead.fifo", 0),
        "deliveries-slow": ("atrium-deliveries-slow-dead", 0),
    }
    shown = queues["jobs"]["messages"]
    assert [(each["task"], each["canBeRedriven"]) for each in shown] == [
        ("erasures.run", True),
        ("of.another.release", False),
        (None, False),
        (None, False),
    ]
    assert (shown[0]["messageId"], shown[0]["requestIds"]) == (message_id, ["r1", "r2", "r3"])
    assert [each["task"] for each in queues["events"]["messages"]] == ["ledger.append"]
    assert queues["jobs"]["oldestSentAt"] == min(each["sentAt"] for each in shown)
    assert queues["deliveries"]["oldestSentAt"] is None
    assert "O#gone" not in response.text
    assert "some-log" not in response.text
    assert response.headers["Cache-Control"] == "no-store"


def test_a_look_changes_nothing_and_shows_at_most_ten_messages(api, operator):
    for number in range(12):
        put_dead_letter("jobs", {**ERASURE, "sk": f"#{number}"})
    before = waiting_bodies("jobs", dead=True)
    first, second = (list_queues(api, operator)["jobs"] for _ in range(2))
    assert [len(each["messages"]) for each in (first, second)] == [10, 10]
    assert (first["messageCount"], second["messageCount"]) == (12, 12)
    assert second["messages"][0]["receiveCount"] == first["messages"][0]["receiveCount"] + 1
    assert waiting_bodies("jobs", dead=True) == before


def get_redrive(api: ApiClient, operator: Person, started: ApiResponse) -> Json:
    return api.get(started.location, caller=operator).expect(200).json


class TestRedrive:
    def test_sends_messages_back_and_skips_those_that_would_fail_again(self, api, operator, workers):
        for body in (ERASURE, OTHER_RELEASE, ERASURE):
            put_dead_letter("jobs", body)
        started = start_redrive(api, operator, "jobs")
        assert (started.json["status"], started.json["sent"]) == ("queued", 0)
        workers.deliver()
        done = api.get(started.location, caller=operator).json
        assert (done["status"], done["queue"], done["sent"], done["skipped"]) == ("completed", "jobs", 2, 1)
        assert done["completedAt"]
        assert [json.loads(body) for body in waiting_bodies("jobs", dead=True)] == [OTHER_RELEASE]
        assert waiting_bodies("jobs") == []
        assert api.get_items(REDRIVE, caller=operator) == [done]

    @pytest.mark.parametrize("queue", ["events", "jobs", "deliveries", "deliveries-slow"])
    def test_sends_messages_of_each_queue_to_their_source(self, api, operator, queue):
        body = ERASURE if queue != "events" else {"log": "some-log"}
        put_dead_letter(queue, body)
        assert run_redrive(api, operator, queue)["sent"] == 1
        assert json.dumps(body) in waiting_bodies(queue)
        assert waiting_bodies(queue, dead=True) == []

    def test_ends_at_the_maximum(self, api, operator):
        for number in range(5):
            put_dead_letter("events", {"log": f"log-{number}"}, group=f"log-{number}")
        redrives = [run_redrive(api, operator, "events", maxMessages=2) for _ in range(3)]
        assert [(each["status"], each["sent"]) for each in redrives] == [("completed", number) for number in (2, 2, 1)]
        assert waiting_bodies("events", dead=True) == []

    def test_continues_in_the_next_slice(self, api, operator, workers, monkeypatch):
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
        for _ in range(3):
            put_dead_letter("jobs", ERASURE)
        redrive = run_redrive(api, operator, "jobs")
        assert (redrive["status"], redrive["sent"], redrive["completedAt"]) == ("running", 1, None)
        workers.run_until_idle()
        done = api.get(f"{REDRIVE}/{redrive['id']}", caller=operator).json
        assert (done["status"], done["sent"]) == ("completed", 3)

    def test_leaves_messages_that_fail_after_its_start(self, api, operator, workers):
        redrive = start_redrive(api, operator, "jobs")
        put_dead_letter("jobs", ERASURE)
        (queue,) = (each for each in get_queues() if each.name == "atrium-jobs-dead")
        message: Any = queue._messages[0]  # noqa: SLF001
        message.sent_timestamp += 60_000
        workers.deliver()
        assert get_redrive(api, operator, redrive)["sent"] == 0
        assert len(waiting_bodies("jobs", dead=True)) == 1

    def test_is_recorded_in_the_system_log_when_it_is_requested_and_when_it_ends(self, api, operator):
        put_dead_letter("jobs", ERASURE)
        redrive = run_redrive(api, operator, "jobs")
        query = {"targetId": redrive["id"]}
        completed, requested = api.get_items("/system/audit-log", caller=operator, query=query)
        assert requested["type"] == "system.dead_letter_redrive.requested"
        assert (requested["actor"]["type"], requested["actor"]["id"]) == ("operator", operator.id)
        assert (completed["type"], completed["actor"]["type"]) == ("system.dead_letter_redrive.completed", "system")
        assert completed["data"] == redrive

    def test_fails_if_sqs_fails_again_and_again(self, api, operator, clock):
        put_dead_letter("jobs", ERASURE)
        redrive = start_redrive(api, operator, "jobs")
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:ReceiveMessage", times=None):
            for _ in range(jobs.MAX_FAILURES + 2):
                clock.shift(seconds=jobs.LEASE_SECONDS + 1)
                with suppress(Problem):
                    run_task({"task": DeadLetterRedrive.task, "pk": "REDRIVES", "sk": f"R#{redrive.json['id']}"})
        failed = get_redrive(api, operator, redrive)
        assert (failed["status"], failed["sent"]) == ("failed", 0)
        assert "Start another redrive" in failed["error"]
        assert len(waiting_bodies("jobs", dead=True)) == 1

    def test_continues_after_an_outage_and_counts_what_it_sent_before(self, api, operator, workers):
        for _ in range(3):
            put_dead_letter("jobs", ERASURE)
        started = start_redrive(api, operator, "jobs")
        with inject_fault(Fault.TIMED_OUT, call_name="sqs:DeleteMessage", first_call=2, times=2):
            run_task({"task": DeadLetterRedrive.task, "pk": "REDRIVES", "sk": f"R#{started.json['id']}"})
        assert (get_redrive(api, operator, started)["status"], get_redrive(api, operator, started)["sent"]) == (
            "running",
            1,
        )
        workers.run_until_idle()
        assert (get_redrive(api, operator, started)["status"], get_redrive(api, operator, started)["sent"]) == (
            "completed",
            3,
        )

    def test_is_limited_in_number(self, api, operator):
        for _ in range(4):
            start_redrive(api, operator, "jobs")
        rejected = api.post(REDRIVE, caller=operator, json={"queue": "jobs"})
        assert rejected.status_and_code == "409 limit_exceeded"


@pytest.mark.parametrize("call", ["sqs:ReceiveMessage", "sqs:GetQueueAttributes"])
def test_an_outage_of_the_queues_is_unavailable(api, operator, call):
    put_dead_letter("jobs", ERASURE)
    with inject_fault(Fault.TIMED_OUT, call_name=call, times=None):
        assert api.get(PATH, caller=operator).status == 503
    assert len(waiting_bodies("jobs", dead=True)) == 1


def test_the_time_of_a_message_is_when_it_was_sent(api, operator):
    earliest = now_ms()
    put_dead_letter("jobs", ERASURE)
    shown = list_queues(api, operator)["jobs"]["messages"][0]
    assert earliest <= timestamp_ms(shown["sentAt"]) <= now_ms()


def test_invalid_requests_and_other_callers_are_refused(api, operator, ada):
    for body in ({}, {"queue": "other"}, {"queue": "jobs", "maxMessages": 0}, {"queue": "jobs", "maxMessages": 10_001}):
        api.post(REDRIVE, caller=operator, json=body).expect(422)
    for caller, status in ((ada, 403), (None, 401)):
        api.get(PATH, caller=caller).expect(status)
        api.post(REDRIVE, caller=caller, json={"queue": "jobs"}).expect(status)
        api.get(REDRIVE, caller=caller).expect(status)
