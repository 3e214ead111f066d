"""A task that makes no progress is reported with its whole age, by the sweep and by the backlog, until it does."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.kernel.audit_log.ledger import append_pending_and_return_longest_wait_ms, head_key
from chalicelib.kernel.core.clock import after, now, now_ms, timestamp_ms
from chalicelib.kernel.core.logs import write_log_record_of_block
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.due_keys import claimed_due_since, due_time, make_claimed_due_key, make_due_key
from chalicelib.kernel.storage.entity import KINDS
from chalicelib.kernel.storage.key_lengths import MAX_SORT_KEY_BYTES
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.jobs import Job
from chalicelib.kernel.work.scheduler import enqueue_due_tasks, postpone, read_oldest_due_task_and_entry_times
from infrastructure.alarms import define_alarms
from tests.harness.clock import Clock
from tests.harness.log_records import capture_log_records, embedded_metrics
from tests.harness.sample_entity import LOG_ID, Parcel, create_logged_parcel, create_parcel
from tests.harness.stored_records import committed_changes, load_item, new_id_and_time_fields
from tests.harness.workers import queued_bodies

pytestmark = pytest.mark.usefixtures("aws")

STEP_SECONDS = st.integers(1, 1200)


class Tunnel(Job):
    kind, task = "tunnel", "tunnels.dig"
    pk, sk = "E#{organization_id}", "{id}"
    output_model: ClassVar[Any] = None

    organization_id: str = LOG_ID
    meters: int = 0


del KINDS["tunnel"]


def sweep_and_return_lag() -> int:
    """Run the sweep, and return the metric that its log record contains, in milliseconds."""
    with capture_log_records() as records, write_log_record_of_block("schedule", "sweep"):
        enqueue_due_tasks()
    return int(embedded_metrics(records[0], "stage")["DueLag"])


def backlog_age() -> int:
    """Return the age that `GET /status` reports, in milliseconds."""
    since = read_oldest_due_task_and_entry_times().due_since
    return now_ms() - timestamp_ms(since) if since else 0


def message(job: Job) -> dict[str, str]:
    return {"task": job.task, "pk": job.item_key[0], "sk": job.item_key[1]}


class Worker:
    """A worker that meets a job with a message, and what the job's age counts from."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        with committed_changes() as changes:
            self.job = changes.create(Tunnel(**new_id_and_time_fields(now()), lease_until=now()))
        self.due_since = now()

    def sweep(self) -> None:
        expected = max(now_ms() - timestamp_ms(self.due_since), 0)
        assert (sweep_and_return_lag(), backlog_age()) == (expected, expected)

    def crash(self) -> None:
        jobs.claim(Tunnel, message(self.job))

    def progress(self) -> None:
        if job := jobs.claim(Tunnel, message(self.job)):
            self._advance(1)
            self._reschedule(jobs.save_progress_and_extend_lease(job, meters=job.meters + 1))

    def fail(self) -> None:
        if job := jobs.claim(Tunnel, message(self.job)):
            self._reschedule(jobs.release(job, delay_seconds=300))

    def _reschedule(self, job: Job) -> None:
        self.due_since = str(job.lease_until)


@pytest.fixture
def advance(clock: Clock) -> Callable[[int], None]:
    clock.freeze()
    return lambda seconds: clock.shift(seconds=seconds)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(STEP_SECONDS, st.sampled_from(["sweep", "sweep", "crash", "progress", "fail"]))))
def test_the_lag_of_a_job_is_its_age_since_its_last_progress(advance, steps):
    worker = Worker(advance)
    try:
        for seconds, action in steps:
            advance(seconds)
            getattr(worker, action)()
    finally:
        table.write_transaction([Write("Delete", worker.job.item_key)])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pauses=st.lists(STEP_SECONDS, min_size=2))
def test_the_lag_of_a_stuck_task_grows_and_falls_with_progress(advance, pauses):
    parcel, lags = create_parcel("a", due_at=now(), sent=False), list[int]()
    try:
        for seconds in pauses:
            advance(seconds)
            lags.append(sweep_and_return_lag())
        assert lags == [sum(pauses[: n + 1]) * 1000 for n in range(len(pauses))]
        with committed_changes() as changes:
            changes.update_untracked(parcel, due_at=after(now(), seconds=60))
        assert (sweep_and_return_lag(), backlog_age()) == (0, 0)
    finally:
        with committed_changes() as changes:
            changes.delete(Parcel.from_item(load_item(parcel.item_key)))


def test_the_alarm_reports_a_task_that_is_stuck_for_half_an_hour_until_it_is_done(clock):
    alarm = define_alarms([])["due-lag"]
    ((_, metric),) = alarm.metrics.items()
    assert (metric.name, metric.statistic, alarm.period_seconds) == ("DueLag", "Maximum", 60)
    clock.freeze()
    parcel, lags, firing = create_parcel("a", due_at=now()), list[int](), list[bool]()
    for _ in range(30):
        clock.shift(minutes=1)
        lags.append(sweep_and_return_lag())
        recent = lags[-alarm.evaluation_periods :]
        firing.append(sum(lag > alarm.threshold for lag in recent) >= alarm.breaching_periods)
    assert firing == [False] * 7 + [True] * 23
    assert len(queued_bodies("jobs")) == 5, "a waiting message is not queued again each minute"
    with committed_changes() as changes:
        changes.delete(parcel)
    assert sweep_and_return_lag() == 0


def test_the_log_record_names_the_oldest_due_task(clock):
    clock.freeze()
    create_parcel("b", due_at=after(now(), seconds=-5))
    pk, sk = create_parcel("a", due_at=after(now(), seconds=-60)).item_key
    with capture_log_records() as records, write_log_record_of_block("schedule", "sweep"):
        enqueue_due_tasks()
    assert records[0]["oldestDue"] == f"parcels.send {pk} {sk}"


def test_a_postponed_task_is_not_overdue_and_returns(clock):
    clock.freeze()
    parcel = create_parcel("a", due_at=now())
    clock.shift(minutes=10)
    assert sweep_and_return_lag() == 600_000
    postpone(parcel, seconds=60)
    clock.shift(seconds=60)
    assert (sweep_and_return_lag(), len(queued_bodies("jobs"))) == (0, 2)
    postpone(parcel.replace(version=7), seconds=3600)
    postpone(create_parcel("b"), seconds=60)
    clock.shift(seconds=60)
    assert (sweep_and_return_lag(), len(queued_bodies("jobs"))) == (60_000, 3)


def test_entries_appended_to_a_log_do_not_hide_that_its_consumer_is_stuck(clock):
    clock.freeze()
    started = now()
    for n in range(20):
        create_logged_parcel(f"a{n}")
        append_pending_and_return_longest_wait_ms(LOG_ID)
        clock.shift(seconds=50)
        enqueue_due_tasks()
    assert claimed_due_since(table.get(head_key(LOG_ID)) or {}) == after(started, seconds=10)


def test_keys_of_other_writers_are_claimed_without_a_time():
    timestamp = now()
    long = {"pk": "A", "sk": "x" * (MAX_SORT_KEY_BYTES - 40), "duesk": f"{timestamp}#"}
    for item in ({"pk": "A", "sk": "b"}, {"pk": "A", "sk": "b", "duesk": "no time"}, long):
        assert make_claimed_due_key(timestamp, item) == make_due_key(timestamp, (item["pk"], item["sk"]))


def test_code_that_does_not_know_claims_reads_the_time_of_a_claimed_key():
    timestamp = now()
    item = {"pk": "A", "sk": "b", "duesk": make_due_key(timestamp, ("A", "b"))}
    claimed = {**item, "duesk": make_claimed_due_key(after(timestamp, seconds=60), item)}
    assert claimed["duesk"].partition("#")[0] == after(timestamp, seconds=60) == due_time(claimed)
    assert claimed_due_since(claimed) == timestamp
    assert claimed_due_since(item) is None
