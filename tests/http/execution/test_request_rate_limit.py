"""Rate limits of requests: of principals and their headers, and of rejected credentials and their networks."""

from typing import Final

import pytest

from chalicelib.kernel.identity import api_key_format, auth
from chalicelib.kernel.rate_limits import request_quota
from tests.harness.api import CLIENT_IP
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import create_api_key
from tests.harness.simulated_processes import SimulatedProcess

pytestmark = pytest.mark.usefixtures("organization")

LEASE: Final = "dynamodb:UpdateItem"
FAULTS: Final = (Fault.THROTTLED, Fault.INTERNAL_ERROR, Fault.TIMED_OUT, Fault.RESPONSE_LOST, Fault.RETRIED)
LIMIT: Final = 100
OTHER_ADDRESS: Final = "198.51.100.9"
NETWORK_LIMIT: Final = 100
"""Rejected requests per minute of a network. A fifth of them may have the same secret."""


@pytest.fixture(autouse=True)
def set_limit(configure, clock):
    """Set the limit. A test can set another one."""
    clock.freeze()
    configure(requests_per_minute=str(LIMIT))
    return lambda limit: configure(requests_per_minute=str(limit))


def send_requests(api, caller, times=1, path="/organizations", ip=CLIENT_IP):
    return [api.get(path, caller=caller, ip=ip) for _ in range(times)]


def count_accepted(answers):
    assert {answer.status for answer in answers} <= {200, 429}
    return sum(answer.status == 200 for answer in answers)


def count_leases(answers):
    return sum(answer.calls.call_names.count(LEASE) for answer in answers)


def remaining_requests(answer):
    return int(answer.headers["RateLimit"].split(";r=")[1].split(";")[0])


def get_seconds_left(answer):
    return int(answer.headers["RateLimit"].rpartition("=")[2])


class TestRequestRateLimit:
    def test_rejects_the_101st_request_until_the_minute_is_over(self, api, ada, clock):
        answers = send_requests(api, ada, LIMIT)
        assert count_accepted(answers) == LIMIT
        seconds = get_seconds_left(answers[0])
        expected = [f'"requests";r={n};t={seconds}' for n in reversed(range(LIMIT))]
        assert [answer.headers["RateLimit"] for answer in answers] == expected
        rejection = send_requests(api, ada)[0].expect_problem("429 rate_limited")
        assert rejection.json["detail"] == f"This is allowed 100 times in 60 s. Try again in {seconds} s."
        assert rejection.headers["Retry-After"] == str(seconds)
        assert rejection.headers["RateLimit"] == f'"requests";r=0;t={seconds}'
        assert rejection.headers["RateLimit-Policy"] == '"requests";q=100;w=60'
        clock.shift(seconds=seconds)
        assert send_requests(api, ada)[0].headers["RateLimit"] == '"requests";r=99;t=60'

    def test_a_flood_is_rejected_without_any_aws_call_and_counted_from_the_next_minute(
        self, api, ada, set_limit, clock
    ):
        set_limit(30)
        send_requests(api, ada, 30)
        assert [answer.calls.call_names for answer in send_requests(api, ada, 30)] == [[]] * 30
        clock.shift(minutes=1)
        assert [count_leases([answer]) for answer in send_requests(api, ada, 3)] == [1, 0, 0]

    def test_a_limit_below_a_batch_is_exact_within_a_process(self, api, ada, set_limit):
        set_limit(3)
        answers = send_requests(api, ada, 50)
        assert [answer.status for answer in answers] == [200] * 3 + [429] * 47
        assert count_leases(answers) == 0

    def test_disabled_limit_counts_nothing_and_sends_no_headers(self, api, ada, set_limit):
        set_limit(0)
        answers = send_requests(api, ada, 25)
        assert (count_accepted(answers), count_leases(answers)) == (25, 0)
        assert not [answer for answer in answers if "RateLimit" in answer.headers]


@pytest.fixture
def limit_of_25(set_limit):
    set_limit(25)


@pytest.mark.usefixtures("limit_of_25")
class TestCountedPrincipals:
    def test_each_principal_is_counted_separately(self, api, organization, grace):
        for caller in (*(create_api_key(api, organization, "read") for _ in range(2)), grace):
            assert count_accepted(send_requests(api, caller, 27)) == 25

    def test_a_rotated_key_keeps_its_count(self, api, organization):
        body = {"name": "K", "scopes": ["read"]}
        creation = api.post(organization.api_keys_path, caller=organization.owner, json=body)
        rotation = api.post(f"{creation.location}/rotate", caller=organization.owner)
        secrets = [creation.json["key"], rotation.json["key"]] * 15
        assert count_accepted([api.get("/organizations", caller=secret) for secret in secrets]) == 25

    def test_anonymous_requests_and_invalid_credentials_are_not_counted_where_networks_are_not(self, api):
        answers = send_requests(api, None, 30, "/public/leads/statuses")
        assert count_accepted(answers) == 30
        rejections = send_requests(api, "nonsense", 30)
        assert {answer.status_and_code for answer in rejections} == {"401 unauthenticated"}
        assert not [answer for answer in answers + rejections if "RateLimit" in answer.headers]

    def test_authenticated_requests_to_public_operations_and_rejected_requests_are_counted(
        self, api, ada, stranger, organization
    ):
        assert count_accepted(send_requests(api, ada, 27, "/public/leads/statuses")) == 25
        statuses = [answer.status for answer in send_requests(api, stranger, 27, organization.path)]
        assert statuses == [404] * 25 + [429] * 2


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
        assert all(answer.headers["RateLimit-Policy"] == '"requests";q=100;w=60' for answer in answers)
        assert all(answer.headers["RateLimit"].startswith('"requests";r=9') for answer in answers)

    def test_are_merged_with_those_of_the_operation(self, api, ada):
        body = {"researcherId": "0000-0002-1825-0097"}
        answers = [api.post("/research/import", caller=ada, json=body) for _ in range(11)]
        assert [answer.status for answer in answers] == [202] * 10 + [429]
        policies = '"research-import";q=10;w=3600, "requests";q=100;w=60'
        assert {answer.headers["RateLimit-Policy"] for answer in answers} == {policies}
        seconds = get_seconds_left(answers[0])
        for n, imports, requests in ((0, 9, 99), (10, 0, 89)):
            limits = f'"research-import";r={imports};t=3600, "requests";r={requests};t={seconds}'
            assert answers[n].headers["RateLimit"] == limits
        assert answers[10].headers["Retry-After"] == "3600"

    def test_of_a_replayed_answer_are_current(self, api, ada):
        request = {"json": {"name": "Engines"}, "headers": {"Idempotency-Key": "k"}}
        first, replayed = (api.post("/organizations", caller=ada, **request) for _ in range(2))
        assert replayed.headers["Idempotency-Replayed"] == "true"
        assert (first.text, first.status) == (replayed.text, replayed.status)
        for answer, remaining in ((first, 99), (replayed, 98)):
            assert answer.headers["RateLimit"].startswith(f'"requests";r={remaining};')

    def test_the_log_record_names_the_limited_principal(self, api, ada, set_limit):
        set_limit(1)
        with capture_log_records() as log_records:
            send_requests(api, ada, 2)
        assert "limited" not in log_records[0]
        assert (log_records[1]["problem"], log_records[1]["limited"]) == ("rate_limited", ada.id)


def test_a_lease_of_a_terminated_process_is_lost_until_the_minute_is_over(api, ada, set_limit, clock):
    set_limit(50)
    terminated_process, running_process = SimulatedProcess(), SimulatedProcess()
    with terminated_process():
        assert count_accepted(send_requests(api, ada, 20)) == 20  # 19 more are leased.
    with running_process():
        assert count_accepted(send_requests(api, ada, 60)) == 19  # Its first lease reports them; none are left.
        clock.shift(minutes=1)
        assert count_accepted(send_requests(api, ada, 60)) == 50


class TestFailingLease:
    @pytest.mark.parametrize("fault", FAULTS)
    def test_does_not_fail_the_mutation(self, api, organization, fault):
        owner = organization.owner
        send_requests(api, owner, 19)
        with capture_log_records() as log_records, inject_fault(fault, call_name=LEASE, times=None) as injected_fault:
            answer = api.patch(organization.path, caller=owner, json={"name": "Engines"})
        assert injected_fault.failed_call == LEASE
        assert (answer.status, answer.json["name"]) == (200, "Engines")
        remaining = 41 if fault is Fault.RETRIED else 80  # The retry leases twenty requests more.
        assert answer.headers["RateLimit"].startswith(f'"requests";r={remaining};')
        entries = api.get_items(f"{organization.path}/audit-log", caller=owner, query={"type": "organization.*"})
        assert [entry["context"]["requestId"] for entry in entries].count(answer.request_id) == 1
        assert log_records[0].get("uncounted") == (None if fault is Fault.RETRIED else "unavailable")

    @pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
    def test_a_crash_leaves_no_trace_of_the_mutation_and_a_retry_succeeds(self, api, organization, fault):
        owner, count_before = organization.owner, len(api.get_items("/organizations", caller=organization.owner))
        request = {"caller": owner, "json": {"name": "Engines"}, "headers": {"Idempotency-Key": "k"}}
        send_requests(api, owner, 18)
        with inject_fault(fault, call_name=LEASE), pytest.raises(ProcessDied):
            api.post("/organizations", **request)
        assert len(api.get_items("/organizations", caller=owner)) == count_before
        with SimulatedProcess()():
            assert api.post("/organizations", **request).status == 201
        assert len(api.get_items("/organizations", caller=owner)) == count_before + 1

    def test_is_retried_after_twenty_more_requests(self, api, ada):
        send_requests(api, ada, 19)
        with inject_fault(Fault.INTERNAL_ERROR, call_name=LEASE, times=None):
            answers = send_requests(api, ada, 20)
        assert [len(answer.calls.names_of_service("dynamodb")) for answer in answers] == [3] + [2] * 19
        answer = send_requests(api, ada)[0]
        assert count_leases([answer]) == 1
        assert answer.headers["RateLimit"].startswith('"requests";r=60')

    def test_keeps_the_limit_within_the_process(self, api, ada, set_limit):
        set_limit(30)
        with inject_fault(Fault.INTERNAL_ERROR, call_name=LEASE, times=None):
            assert count_accepted(send_requests(api, ada, 40)) == 30


@pytest.fixture
def limited_networks(configure):
    configure(network_requests_per_minute=str(NETWORK_LIMIT))


@pytest.fixture
def rotate(api, organization):
    """A function that rotates a key, optionally after a request with its first secret, and returns both secrets."""

    def rotate(*, is_used_first: bool = False) -> tuple[str, str]:
        body, owner = {"name": "K", "scopes": ["read"]}, organization.owner
        key = api.post(organization.api_keys_path, caller=owner, json=body)
        if is_used_first:
            assert remaining_requests(send_requests(api, key.json["key"])[0]) == 24
        rotated = api.post(f"{key.location}/rotate", caller=owner, json={"graceHours": 0})
        return key.json["key"], rotated.json["key"]

    return rotate


@pytest.mark.usefixtures("limit_of_25", "limited_networks")
class TestHolderOfRejectedCredentials:
    def test_requests_with_a_rotated_secret_do_not_count_for_the_key(self, api, rotate):
        former_secret, current_secret = rotate()
        assert {answer.status for answer in send_requests(api, former_secret, 40)} == {401, 429}
        answers = send_requests(api, current_secret, 25)
        assert {answer.status for answer in answers} == {200}
        assert remaining_requests(answers[0]) == 24

    def test_requests_from_a_disallowed_network_do_not_count_for_the_key(self, api, organization):
        key = create_api_key(api, organization, "read", allowedIps=[f"{CLIENT_IP}/32"])
        assert {answer.status for answer in send_requests(api, key.credential, 40, ip=OTHER_ADDRESS)} == {403, 429}
        assert remaining_requests(send_requests(api, key.credential)[0]) == 24

    @pytest.mark.parametrize("process_is_new", [True, False])
    def test_requests_with_a_recently_rotated_secret_are_refunded(self, api, rotate, process_is_new):
        former_secret, current_secret = rotate(is_used_first=True)
        if process_is_new:
            auth._accepted_keys.clear()  # noqa: SLF001 - a process that has not met the secret
        responses = send_requests(api, former_secret, 15)
        assert {answer.status for answer in responses} == {401}
        assert not [answer for answer in responses if "RateLimit" in answer.headers]
        assert remaining_requests(send_requests(api, current_secret)[0]) == 23

    def test_rejections_in_several_processes_do_not_count_for_the_key(self, api, rotate):
        former_secret, current_secret = rotate()
        for process in [SimulatedProcess() for _ in range(3)]:
            with process():
                send_requests(api, former_secret, 30)
        with SimulatedProcess()():
            assert remaining_requests(send_requests(api, current_secret)[0]) == 24

    def test_a_valid_key_is_accepted_while_its_network_sends_rejected_requests(self, api, organization, rotate):
        key = create_api_key(api, organization, "read")
        assert send_requests(api, key.credential)[0].status == 200
        send_requests(api, rotate()[0], 60)
        assert [answer.status for answer in send_requests(api, key.credential, 5)] == [200] * 5

    def test_rejections_by_operations_for_users_do_not_count_for_the_key(self, api, rotate):
        former_secret, current_secret = rotate()
        assert {api.post("/organizations", caller=former_secret, json={"name": "E"}).status for _ in range(20)} == {401}
        answer = api.post("/organizations", caller=current_secret, json={"name": "E"})
        assert (answer.status, remaining_requests(answer)) == (403, 24)


@pytest.mark.usefixtures("limit_of_25", "limited_networks")
class TestFloodOfRejectedCredentials:
    def test_one_rejected_secret_is_limited_without_reads_for_a_minute_and_network(self, api, rotate, clock):
        secret, limit = rotate()[0], NETWORK_LIMIT // 5
        answers = send_requests(api, secret, 60)
        assert [answer.status for answer in answers] == [401] * limit + [429] * (60 - limit)
        assert {tuple(answer.calls.call_names) for answer in answers[limit:]} == {()}
        assert answers[-1].headers["RateLimit-Policy"] == f'"refused-credential";q={limit};w=60'
        assert int(answers[-1].headers["Retry-After"]) >= 1
        assert send_requests(api, secret, ip=OTHER_ADDRESS)[0].status == 401
        clock.shift(seconds=int(answers[-1].headers["Retry-After"]))
        assert send_requests(api, secret)[0].status == 401

    def test_unknown_secrets_are_limited_by_network_without_reads(self, api):
        secrets = [api_key_format.generate_api_key() for _ in range(NETWORK_LIMIT + 20)]
        answers = [send_requests(api, secret)[0] for secret in secrets]
        assert [answer.status for answer in answers] == [401] * NETWORK_LIMIT + [429] * 20
        assert {tuple(answer.calls.call_names) for answer in answers[NETWORK_LIMIT:]} == {()}
        write_count = sum(answer.calls.call_names.count("dynamodb:UpdateItem") for answer in answers)
        assert write_count <= NETWORK_LIMIT / request_quota.BATCH_SIZE

    def test_invalid_tokens_count_for_the_network_but_its_users_are_accepted(self, api, ada):
        answers = send_requests(api, "nonsense", NETWORK_LIMIT + 5)
        assert [answer.status for answer in answers] == [401] * NETWORK_LIMIT + [429] * 5
        assert api.get("/organizations", caller=ada).status == 200
