import base64
import time
from threading import Event

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.admin.status import logic
from chalicelib.features.admin.status.logic import TIMEOUT_SECONDS
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.work import queues
from infrastructure.resources import QUEUES
from tests.harness.api import ApiResponse
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_organization


def failed_checks(answer: ApiResponse) -> dict[str, str]:
    """Return the details of the checks that are not `ok`, by name."""
    return {check["name"]: check["detail"] for check in answer.json["checks"] if check["status"] != "ok"}


class TestGetStatus:
    def test_anyone_sees_that_the_service_is_healthy(self, api, ada):
        for caller in (None, ada):
            answer = api.get("/status", caller=caller)
            assert answer.status == 200
            assert answer.json["status"] == "ok"
            assert {check["name"]: (check["status"], check["detail"]) for check in answer.json["checks"]} == {
                "table": ("ok", None),
                "queues": ("ok", None),
                "ledger": ("ok", None),
                "due": ("ok", None),
            }

    def test_has_exactly_the_documented_fields(self, api):
        status = api.get("/status").json
        assert set(status) == {
            "status",
            "version",
            "apiVersion",
            "time",
            "checks",
            "auditPublicKey",
            "auditPublicKeys",
        }
        assert status["apiVersion"] == "2026-11-20"
        assert abs(timestamp_ms(status["time"]) - now_ms()) < 5000

    def test_contains_the_public_key_of_the_signing_key(self, api):
        status = api.get("/status").json
        key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(settings().audit_signing_key)).public_key()
        assert base64.b64decode(status["auditPublicKey"]) == key.public_bytes_raw()
        assert status["auditPublicKeys"] == [status["auditPublicKey"]]

    def test_lists_retired_keys_too(self, api, configure):
        retired_keys = [base64.b64encode(bytes([n]) * 32).decode() for n in range(2)]
        configure(audit_former_public_keys=", ".join(retired_keys))
        status = api.get("/status").json
        assert status["auditPublicKeys"] == [status["auditPublicKey"], *retired_keys]

    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.TIMED_OUT, Fault.INTERNAL_ERROR])
    @pytest.mark.parametrize(
        ("call", "names"),
        [
            ("dynamodb:GetItem", ["table"]),
            ("sqs:GetQueueAttributes", ["queues"]),
            ("dynamodb:Query", ["ledger", "due"]),
        ],
    )
    def test_failed_checks_are_named_and_the_answer_remains_200(self, api, fault, call, names):
        with inject_fault(fault, call_name=call, times=None):
            answer = api.get("/status")
        assert (answer.status, answer.json["status"]) == (200, "degraded")
        assert [*failed_checks(answer)] == names

    @pytest.mark.parametrize("queue", QUEUES)
    def test_each_queue_is_checked_and_the_failed_one_is_named(self, api, queue, monkeypatch):
        ping = queues.require_reachable_queue

        def ping_unless_selected(url: str) -> None:
            if url.endswith(queue):
                raise unavailable("The queue is busy.")
            ping(url)

        monkeypatch.setattr(queues, "require_reachable_queue", ping_unless_selected)
        name = queue.removesuffix(".fifo")
        assert failed_checks(api.get("/status")) == {"queues": f"{name}: The queue is busy. Try again in a moment."}

    def test_a_slow_check_times_out_after_a_second(self, api, monkeypatch):
        release = Event()
        monkeypatch.setattr(queues, "require_reachable_queue", lambda _url: release.wait(60))
        started_at = time.monotonic()
        answer = api.get("/status")
        elapsed_seconds = time.monotonic() - started_at
        release.set()
        assert TIMEOUT_SECONDS <= elapsed_seconds < len(QUEUES) * TIMEOUT_SECONDS
        assert failed_checks(answer)["queues"].count("It did not respond within 1 s.") == len(QUEUES)

    def test_an_unexpected_error_is_reported_without_its_message(self, api, monkeypatch, caplog):
        def fail(_url: str) -> None:
            raise PermissionError("arn:aws:sqs:eu-central-1:123456789012:atrium-jobs is out of bounds")

        monkeypatch.setattr(queues, "require_reachable_queue", fail)
        answer = api.get("/status")
        assert "The check failed. See the log for the reason." in failed_checks(answer)["queues"]
        assert "arn:aws" not in answer.text
        assert "is out of bounds" in caplog.text

    def test_old_pending_entries_are_reported_although_the_sweep_enqueues_them(
        self, api, ada, clock, workers, monkeypatch
    ):
        organization = create_organization(api, ada)
        for _ in range(3):
            clock.shift(minutes=1)
            workers.run_sweep()  # Its messages are not delivered.
        assert failed_checks(api.get("/status")) == {
            "ledger": f"A log entry has been pending since {organization.record['createdAt']}."
        }
        workers.deliver()
        monkeypatch.setattr(logic, "_CACHE_SECONDS", 0)
        assert failed_checks(api.get("/status")) == {}

    def test_overdue_tasks_are_reported(self, api, ada, clock, workers):
        create_organization(api, ada)
        clock.shift(minutes=6)
        assert [*failed_checks(api.get("/status"))] == ["ledger", "due"]
        assert workers.deliver()

    def test_results_are_cached_for_a_few_seconds(self, api):
        assert api.get("/status").calls.call_names
        assert api.get("/status").calls.call_names == []
