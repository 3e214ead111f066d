import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.kernel.clock import milliseconds, now_ms
from chalicelib.kernel.settings import settings
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.organizations import found
from tests.harness.workers import Workers


class TestGetStatus:
    def test_anyone_reads_whether_the_service_is_well(self, api: Api, ada: Person) -> None:
        for caller in (None, ada):
            answer = api.get("/status", as_=caller)
            assert answer.status == 200
            assert answer.json["status"] == "ok"
            assert {check["name"]: (check["status"], check["detail"]) for check in answer.json["checks"]} == {
                "table": ("ok", None), "queue": ("ok", None), "due": ("ok", None),
            }  # fmt: skip

    def test_it_has_exactly_the_contracts_fields(self, api: Api) -> None:
        status = api.get("/status").json
        assert set(status) == {
            "status", "version", "apiVersion", "time", "checks", "auditPublicKey", "auditPublicKeys",
        }  # fmt: skip
        assert status["apiVersion"] == "2026-11-20"
        assert abs(milliseconds(status["time"]) - now_ms()) < 5000

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
    @pytest.mark.parametrize(("call", "name"), [("dynamodb:GetItem", "table"), ("sqs:GetQueueAttributes", "queue")])
    def test_what_does_not_answer_is_named_and_the_answer_stays_200(
        self, api: Api, fault: Fault, call: str, name: str
    ) -> None:
        with failing(fault, name=call, times=None):
            answer = api.get("/status")
        assert (answer.status, answer.json["status"]) == (200, "degraded")
        assert [check["name"] for check in answer.json["checks"] if check["status"] != "ok"] == [name]

    def test_what_has_been_due_for_long_is_told(self, api: Api, ada: Person, clock: Clock, workers: Workers) -> None:
        found(api, ada)
        clock.shift(minutes=6)
        status = api.get("/status").json
        assert (status["status"], status["checks"][2]["status"]) == ("degraded", "degraded")
        assert workers.deliver()

    def test_it_asks_at_most_every_few_seconds(self, api: Api) -> None:
        assert api.get("/status").calls.names
        assert api.get("/status").calls.names == []
