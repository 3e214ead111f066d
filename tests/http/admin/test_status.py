import base64
import time
from threading import Event

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.admin.status import logic
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work import queues
from infrastructure.resources import QUEUES
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_organization


def failed_checks(answer):
    """Return the details of the checks that are not `ok`, by name."""
    return {check["name"]: check["detail"] for check in answer.json["checks"] if check["status"] != "ok"}


def test_anyone_sees_that_the_service_is_healthy_and_its_current_and_retired_keys(api, ada, configure):
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(settings().audit_signing_key)).public_key()
    public_key = base64.b64encode(key.public_bytes_raw()).decode()
    retired_keys = [base64.b64encode(bytes([n]) * 32).decode() for n in range(2)]
    configure(audit_former_public_keys=", ".join(retired_keys))
    for caller in (None, ada):
        answer = api.get("/status", caller=caller).expect(200)
        keys = {"auditPublicKey": public_key, "auditPublicKeys": [public_key, *retired_keys]}
        assert answer.json | keys | {"status": "ok"} == answer.json
        assert abs(timestamp_ms(answer.json["time"]) - now_ms()) < 5000


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.TIMED_OUT, Fault.INTERNAL_ERROR])
@pytest.mark.parametrize(
    ("call", "names"),
    [("dynamodb:GetItem", ["table"]), ("sqs:GetQueueAttributes", ["queues"]), ("dynamodb:Query", ["ledger", "due"])],
)
def test_failed_checks_are_named_and_the_answer_remains_200(api, fault, call, names):
    with inject_fault(fault, call_name=call, times=None):
        answer = api.get("/status")
    assert (answer.status, answer.json["status"]) == (200, "degraded")
    assert [*failed_checks(answer)] == names


@pytest.mark.parametrize("queue", QUEUES)
def test_each_queue_is_checked_and_the_failed_one_is_named(api, queue, monkeypatch):
    ping = queues.require_reachable_queue

    def ping_unless_selected(url: str) -> None:
        if url.endswith(queue):
            raise unavailable("The queue is busy.")
        ping(url)

    monkeypatch.setattr(queues, "require_reachable_queue", ping_unless_selected)
    name = queue.removesuffix(".fifo")
    assert failed_checks(api.get("/status")) == {"queues": f"{name}: The queue is busy. Try again in a moment."}


def test_slow_checks_time_out_together_after_a_second(api, monkeypatch):
    assert logic.TIMEOUT_SECONDS == 1
    release = Event()
    monkeypatch.setattr(queues, "require_reachable_queue", lambda _url: release.wait(60))
    started_at = time.monotonic()
    answer = api.get("/status")
    elapsed_seconds = time.monotonic() - started_at
    release.set()
    assert logic.TIMEOUT_SECONDS <= elapsed_seconds < len(QUEUES) * logic.TIMEOUT_SECONDS
    assert failed_checks(answer)["queues"].count("It did not respond within 1 s.") == len(QUEUES)


def test_an_unexpected_error_is_reported_without_its_message(api, monkeypatch, caplog):
    def fail(_url: str) -> None:
        raise PermissionError("arn:aws:sqs:eu-central-1:123456789012:atrium-jobs is out of bounds")

    monkeypatch.setattr(queues, "require_reachable_queue", fail)
    answer = api.get("/status")
    assert "The check failed. See the log for the reason." in failed_checks(answer)["queues"]
    assert "arn:aws" not in answer.text
    assert "is out of bounds" in caplog.text


def test_old_pending_entries_are_reported_although_the_sweep_enqueues_them(api, ada, clock, workers, monkeypatch):
    created_at = create_organization(api, ada).record["createdAt"]
    for _ in range(3):
        clock.shift(minutes=1)
        workers.run_sweep()  # Its messages are not delivered.
    assert failed_checks(api.get("/status")) == {"ledger": f"A log entry has been pending since {created_at}."}
    workers.deliver()
    monkeypatch.setattr(logic, "_CACHE_SECONDS", 0)
    assert failed_checks(api.get("/status")) == {}


def test_overdue_tasks_are_reported(api, ada, clock, workers):
    create_organization(api, ada)
    clock.shift(minutes=6)
    assert [*failed_checks(api.get("/status"))] == ["ledger", "due"]
    assert workers.deliver()


def test_results_are_cached_for_a_few_seconds(api):
    assert api.get("/status").calls.call_names
    assert api.get("/status").calls.call_names == []
