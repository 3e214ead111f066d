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
from tests.conftest import Configure
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.organizations import found
from tests.harness.workers import Workers


def unwell(answer: Answer) -> dict[str, str]:
    """What is not well, by the name of its check."""
    return {check["name"]: check["detail"] for check in answer.json["checks"] if check["status"] != "ok"}


class TestGetStatus:
    def test_anyone_reads_whether_the_service_is_well(self, api: Api, ada: Person) -> None:
        for caller in (None, ada):
            answer = api.get("/status", as_=caller)
            assert answer.status == 200
            assert answer.json["status"] == "ok"
            assert {check["name"]: (check["status"], check["detail"]) for check in answer.json["checks"]} == {
                "table": ("ok", None),
                "queues": ("ok", None),
                "ledger": ("ok", None),
                "due": ("ok", None),
            }

    def test_it_has_exactly_the_contracts_fields(self, api: Api) -> None:
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

    def test_the_public_key_is_the_signing_keys(self, api: Api) -> None:
        status = api.get("/status").json
        key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(settings().audit_signing_key)).public_key()
        assert base64.b64decode(status["auditPublicKey"]) == key.public_bytes_raw()
        assert status["auditPublicKeys"] == [status["auditPublicKey"]]

    def test_former_keys_are_listed_too(self, api: Api, configure: Configure) -> None:
        former = [base64.b64encode(bytes([n]) * 32).decode() for n in range(2)]
        configure(audit_former_public_keys=", ".join(former))
        status = api.get("/status").json
        assert status["auditPublicKeys"] == [status["auditPublicKey"], *former]

    @pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.TIMED_OUT, Fault.BROKEN])
    @pytest.mark.parametrize(
        ("call", "names"),
        [
            ("dynamodb:GetItem", ["table"]),
            ("sqs:GetQueueAttributes", ["queues"]),
            ("dynamodb:Query", ["ledger", "due"]),
        ],
    )
    def test_what_does_not_answer_is_named_and_the_answer_stays_200(
        self, api: Api, fault: Fault, call: str, names: list[str]
    ) -> None:
        with failing(fault, name=call, times=None):
            answer = api.get("/status")
        assert (answer.status, answer.json["status"]) == (200, "degraded")
        assert [*unwell(answer)] == names

    @pytest.mark.parametrize("queue", QUEUES)
    def test_each_queue_is_asked_and_the_one_that_does_not_answer_is_named(
        self, api: Api, queue: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reach = queues.ping

        def reach_others(url: str) -> None:
            if url.endswith(queue):
                raise unavailable("The queue is busy.")
            reach(url)

        monkeypatch.setattr(queues, "ping", reach_others)
        name = queue.removesuffix(".fifo")
        assert unwell(api.get("/status")) == {"queues": f"{name}: The queue is busy. Try again in a moment."}

    def test_what_takes_too_long_is_told_after_a_second(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        answered = Event()
        monkeypatch.setattr(queues, "ping", lambda _url: answered.wait(10))
        began = time.monotonic()
        answer = api.get("/status")
        took = time.monotonic() - began
        answered.set()
        assert TIMEOUT_SECONDS <= took < 2 * TIMEOUT_SECONDS
        assert unwell(answer)["queues"].count("It did not respond within 1 s.") == len(QUEUES)

    def test_what_can_not_be_asked_is_told_without_its_reason(
        self, api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(_url: str) -> None:
            raise PermissionError("arn:aws:sqs:eu-central-1:123456789012:atrium-jobs is out of bounds")

        monkeypatch.setattr(queues, "ping", refuse)
        answer = api.get("/status")
        assert "The check failed. See the log for the reason." in unwell(answer)["queues"]
        assert "arn:aws" not in answer.text
        assert "is out of bounds" in caplog.text

    def test_entries_that_wait_for_long_are_told_though_the_sweep_goes_on_looking_at_them(
        self, api: Api, ada: Person, clock: Clock, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organization = found(api, ada)
        for _ in range(3):
            clock.shift(minutes=1)
            workers.sweep()  # Nobody delivers what it queues.
        assert unwell(api.get("/status")) == {
            "ledger": f"A log entry has been pending since {organization.record['createdAt']}."
        }
        workers.deliver()
        monkeypatch.setattr(logic, "_CACHE_SECONDS", 0)
        assert unwell(api.get("/status")) == {}

    def test_what_has_been_due_for_long_is_told(self, api: Api, ada: Person, clock: Clock, workers: Workers) -> None:
        found(api, ada)
        clock.shift(minutes=6)
        assert [*unwell(api.get("/status"))] == ["ledger", "due"]
        assert workers.deliver()

    def test_it_asks_at_most_every_few_seconds(self, api: Api) -> None:
        assert api.get("/status").calls.names
        assert api.get("/status").calls.names == []
