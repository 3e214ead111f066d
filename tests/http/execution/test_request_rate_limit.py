"""Test the request rate limit of principals: its headers, its AWS calls, and who is not limited."""

from typing import Final

import pytest

from chalicelib.kernel.rate_limits import request_quota
from tests.conftest import SettingsOverride
from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller
from tests.harness.clock import Clock
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import create_api_key
from tests.harness.simulated_processes import SimulatedProcess

pytestmark = pytest.mark.usefixtures("organization")

LEASE: Final = "dynamodb:UpdateItem"
FAULTS: Final = (Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST, Fault.RETRIED)


@pytest.fixture(autouse=True)
def _rate_limit_of_600(configure: SettingsOverride, clock: Clock) -> None:
    configure(requests_per_minute="600")
    clock.freeze()


def send_requests(
    api: ApiClient, caller: Caller | None, times: int = 1, path: str = "/organizations"
) -> list[ApiResponse]:
    return [api.get(path, caller=caller) for _ in range(times)]


def count_accepted(answers: list[ApiResponse]) -> int:
    assert {answer.status for answer in answers} <= {200, 429}
    return sum(answer.status == 200 for answer in answers)


def count_leases(answers: list[ApiResponse]) -> int:
    return sum(answer.calls.call_names.count(LEASE) for answer in answers)


def get_seconds_left(answer: ApiResponse) -> int:
    return int(answer.headers["RateLimit"].rpartition("=")[2])


class TestRequestRateLimit:
    def test_rejects_the_601st_request_until_the_minute_is_over(self, api, ada, clock):
        answers = send_requests(api, ada, 600)
        assert count_accepted(answers) == 600
        seconds_left = get_seconds_left(answers[0])
        assert [answer.headers["RateLimit"] for answer in answers] == [
            f'"requests";r={599 - n};t={seconds_left}' for n in range(600)
        ]
        rejection = send_requests(api, ada)[0]
        assert rejection.status_and_code == "429 rate_limited"
        assert rejection.json["detail"] == f"This is allowed 600 times in 60 s. Try again in {seconds_left} s."
        assert rejection.headers["Retry-After"] == str(seconds_left)
        assert rejection.headers["RateLimit"] == f'"requests";r=0;t={seconds_left}'
        assert rejection.headers["RateLimit-Policy"] == '"requests";q=600;w=60'
        clock.shift(seconds=seconds_left)
        assert send_requests(api, ada)[0].headers["RateLimit"] == '"requests";r=599;t=60'

    def test_counting_takes_one_write_in_twenty_requests_and_no_read(self, api, ada):
        answers = send_requests(api, ada, 200)
        assert count_leases(answers) == 10
        reads = {tuple(answer.calls.read_names) for answer in answers}
        assert reads == {("dynamodb:Query", "dynamodb:BatchGetItem")}
        for answer in answers:
            assert [name for name in answer.calls.call_names if name != LEASE] == answer.calls.read_names

    def test_few_requests_cause_no_write(self, api, ada, clock):
        items_before = snapshots.items_by_key()
        for _ in range(3):
            assert count_leases(send_requests(api, ada, 6)) == 0
            clock.shift(minutes=1)
        assert snapshots.items_by_key() == items_before

    def test_a_flood_is_rejected_without_any_aws_call(self, api, ada, configure):
        configure(requests_per_minute="30")
        send_requests(api, ada, 30)
        assert [answer.calls.call_names for answer in send_requests(api, ada, 50)] == [[]] * 50

    def test_a_continued_flood_is_counted_from_the_first_request_of_the_next_minute(self, api, ada, configure, clock):
        configure(requests_per_minute="30")
        send_requests(api, ada, 60)
        clock.shift(minutes=1)
        assert [count_leases([answer]) for answer in send_requests(api, ada, 3)] == [1, 0, 0]

    def test_a_mutation_remains_one_transaction_after_the_lease(self, api, organization):
        send_requests(api, organization.owner, 19)
        answer = api.patch(organization.path, caller=organization.owner, json={"name": "Engines"})
        assert answer.status == 200
        assert answer.calls.call_names == [
            LEASE,
            "dynamodb:BatchGetItem",
            "dynamodb:TransactWriteItems",
            "sqs:SendMessage",
        ]

    def test_a_limit_below_a_batch_is_exact_within_a_process(self, api, ada, configure):
        configure(requests_per_minute="3")
        answers = send_requests(api, ada, 50)
        assert [answer.status for answer in answers] == [200] * 3 + [429] * 47
        assert count_leases(answers) == 0

    def test_disabled_limit_counts_nothing_and_sends_no_headers(self, api, ada, configure):
        configure(requests_per_minute="0")
        answers = send_requests(api, ada, 25)
        assert count_accepted(answers) == 25
        assert count_leases(answers) == 0
        assert not [answer for answer in answers if "RateLimit" in answer.headers]


class TestCountedPrincipals:
    @pytest.fixture(autouse=True)
    def _rate_limit_of_25(self, configure: SettingsOverride) -> None:
        configure(requests_per_minute="25")

    def test_each_principal_is_counted_separately(self, api, organization, grace):
        key, other_key = (create_api_key(api, organization, "read") for _ in range(2))
        assert count_accepted(send_requests(api, key, 30)) == 25
        assert count_accepted(send_requests(api, other_key, 25)) == 25
        assert count_accepted(send_requests(api, grace, 30)) == 25

    def test_a_rotated_key_keeps_its_count(self, api, organization):
        creation = api.post(
            f"{organization.path}/api-keys", caller=organization.owner, json={"name": "K", "scopes": ["read"]}
        )
        first_secret = creation.json["key"]
        rotation = api.post(f"{creation.location}/rotate", caller=organization.owner)
        answers = [api.get("/organizations", caller=secret) for secret in [first_secret, rotation.json["key"]] * 15]
        assert count_accepted(answers) == 25

    def test_anonymous_requests_are_not_counted_where_networks_are_not(self, api):
        answers = send_requests(api, None, 30, "/public/leads/statuses")
        assert count_accepted(answers) == 30
        assert not [answer for answer in answers if "RateLimit" in answer.headers]

    def test_an_invalid_credential_is_rejected_without_being_counted(self, api):
        answers = [api.get("/organizations", caller="nonsense") for _ in range(30)]
        assert {answer.status_and_code for answer in answers} == {"401 unauthenticated"}
        assert not [answer for answer in answers if "RateLimit" in answer.headers]

    def test_authenticated_requests_to_public_operations_are_counted(self, api, ada):
        assert count_accepted(send_requests(api, ada, 30, "/public/leads/statuses")) == 25

    def test_rejected_requests_are_counted(self, api, stranger, organization):
        assert [answer.status for answer in send_requests(api, stranger, 27, organization.path)] == [404] * 25 + [
            429
        ] * 2


class TestRateLimitHeaders:
    def test_are_on_every_answer_to_a_counted_principal(self, api, organization, stranger):
        path, owner = organization.path, organization.owner
        etag = api.get(path, caller=owner).etag
        answers = [
            api.get(path, caller=owner, headers={"If-None-Match": etag}),
            api.patch(path, caller=owner, json={"nonsense": 1}),
            api.patch(path, caller=owner, json={}, headers={"If-Match": '"stale"'}),
            api.get(path, caller=stranger),
            api.get("/system/audit-log", caller=owner),
        ]
        assert [answer.status for answer in answers] == [304, 422, 412, 404, 403]
        assert all(answer.headers["RateLimit-Policy"] == '"requests";q=600;w=60' for answer in answers)
        assert all(answer.headers["RateLimit"].startswith('"requests";r=59') for answer in answers)

    def test_are_merged_with_those_of_the_operation(self, api, ada):
        body = {"researcherId": "0000-0002-1825-0097"}
        answers = [api.post("/research/import", caller=ada, json=body) for _ in range(11)]
        assert [answer.status for answer in answers] == [202] * 10 + [429]
        policies = '"research-import";q=10;w=3600, "requests";q=600;w=60'
        assert {answer.headers["RateLimit-Policy"] for answer in answers} == {policies}
        seconds_left = get_seconds_left(answers[0])
        assert answers[0].headers["RateLimit"] == f'"research-import";r=9;t=3600, "requests";r=599;t={seconds_left}'
        assert answers[10].headers["RateLimit"] == f'"research-import";r=0;t=3600, "requests";r=589;t={seconds_left}'
        assert answers[10].headers["Retry-After"] == "3600"

    def test_of_a_replayed_answer_are_current(self, api, ada):
        headers = {"Idempotency-Key": "k"}
        first_answer, replayed_answer = (
            api.post("/organizations", caller=ada, json={"name": "Engines"}, headers=headers) for _ in range(2)
        )
        assert replayed_answer.headers["Idempotency-Replayed"] == "true"
        assert (first_answer.text, first_answer.status) == (replayed_answer.text, replayed_answer.status)
        assert [answer.headers["RateLimit"][:16] for answer in (first_answer, replayed_answer)] == [
            '"requests";r=599',
            '"requests";r=598',
        ]

    def test_the_log_record_names_the_limited_principal(self, api, ada, configure):
        configure(requests_per_minute="1")
        with capture_log_records() as log_records:
            send_requests(api, ada, 2)
        assert "limited" not in log_records[0]
        assert (log_records[1]["problem"], log_records[1]["limited"]) == ("rate_limited", ada.id)


class TestSeveralProcesses:
    def test_share_the_limit(self, api, ada):
        processes = [SimulatedProcess() for _ in range(3)]
        answers = []
        for _ in range(30):
            for process in processes:
                with process():
                    answers += send_requests(api, ada, 10)
        assert 600 - 2 * request_quota.BATCH_SIZE <= count_accepted(answers) <= 600 + 2 * (request_quota.BATCH_SIZE - 1)
        assert count_leases(answers) <= 900 / 20
        answers_elsewhere = send_requests(api, ada, 20)  # A fourth process, which knows no counts yet.
        assert (count_accepted(answers_elsewhere), count_leases(answers_elsewhere)) == (19, 1)

    def test_a_lease_of_a_terminated_process_is_lost_until_the_minute_is_over(self, api, ada, configure, clock):
        configure(requests_per_minute="50")
        terminated_process, running_process = SimulatedProcess(), SimulatedProcess()
        with terminated_process():
            assert count_accepted(send_requests(api, ada, 20)) == 20  # 19 more are leased.
        with running_process():
            assert count_accepted(send_requests(api, ada, 60)) == 19  # Its first lease reports them; none are left.
            clock.shift(minutes=1)
            assert count_accepted(send_requests(api, ada, 60)) == 50


class TestFailingLease:
    @pytest.mark.parametrize("times", [1, None])
    @pytest.mark.parametrize("fault", FAULTS)
    def test_does_not_fail_the_mutation(self, api, organization, fault, times):
        send_requests(api, organization.owner, 19)
        with capture_log_records() as log_records, inject_fault(fault, call_name=LEASE, times=times) as injected_fault:
            answer = api.patch(organization.path, caller=organization.owner, json={"name": "Engines"})
        assert injected_fault.failed_call == LEASE
        assert (answer.status, answer.json["name"]) == (200, "Engines")
        assert answer.headers["RateLimit"].startswith('"requests";r=5')
        entries = api.get_items(
            f"{organization.path}/audit-log", caller=organization.owner, query={"type": "organization.*"}
        )
        assert [entry["context"]["requestId"] for entry in entries].count(answer.request_id) == 1
        assert log_records[0].get("uncounted") == (None if fault is Fault.RETRIED else "unavailable")

    @pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
    def test_a_crash_leaves_no_trace_of_the_mutation_and_a_retry_succeeds(self, api, organization, fault):
        owner, count_before = organization.owner, len(api.get_items("/organizations", caller=organization.owner))
        arguments = {"caller": owner, "json": {"name": "Engines"}, "headers": {"Idempotency-Key": "k"}}
        send_requests(api, owner, 18)
        with inject_fault(fault, call_name=LEASE), pytest.raises(ProcessDied):
            api.post("/organizations", **arguments)
        assert len(api.get_items("/organizations", caller=owner)) == count_before
        with SimulatedProcess()():
            assert api.post("/organizations", **arguments).status == 201
        assert len(api.get_items("/organizations", caller=owner)) == count_before + 1

    def test_is_retried_after_twenty_more_requests(self, api, ada):
        send_requests(api, ada, 19)
        with inject_fault(Fault.INTERNAL_ERROR, call_name=LEASE, times=None):
            assert [len(answer.calls.names_of_service("dynamodb")) for answer in send_requests(api, ada, 20)] == [3] + [
                2
            ] * 19
        answer = send_requests(api, ada)[0]
        assert count_leases([answer]) == 1
        assert answer.headers["RateLimit"].startswith('"requests";r=560')

    def test_keeps_the_limit_within_the_process(self, api, ada, configure):
        configure(requests_per_minute="30")
        with inject_fault(Fault.INTERNAL_ERROR, call_name=LEASE, times=None):
            assert count_accepted(send_requests(api, ada, 50)) == 30
