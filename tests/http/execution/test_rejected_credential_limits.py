"""Rate limits of rejected credentials: their holder loses no requests, and a network is limited."""

from typing import Final

import pytest

from chalicelib.kernel.identity import api_key_format, auth
from chalicelib.kernel.rate_limits import request_quota
from tests.harness.api import CLIENT_IP
from tests.harness.organizations import create_api_key
from tests.harness.simulated_processes import SimulatedProcess

OTHER_ADDRESS: Final = "198.51.100.9"
PATH: Final = "/organizations"
PRINCIPAL_LIMIT: Final = 25
"""Requests per minute of a principal."""

NETWORK_LIMIT: Final = 100
"""Rejected requests per minute of a network. A fifth of them may have the same secret."""


@pytest.fixture(autouse=True)
def rate_limits(configure, clock):
    configure(requests_per_minute=str(PRINCIPAL_LIMIT), network_requests_per_minute=str(NETWORK_LIMIT))
    clock.freeze()


def remaining_requests(answer):
    return int(answer.headers["RateLimit"].split(";r=")[1].split(";")[0])


def send_requests(api, secret, count=1, ip=CLIENT_IP):
    return [api.get(PATH, caller=secret, ip=ip) for _ in range(count)]


@pytest.fixture
def rotate(api, organization):
    """A function that rotates a key, optionally after a request with its first secret, and returns both secrets."""

    def rotate(*, is_used_first: bool = False) -> tuple[str, str]:
        body, owner = {"name": "K", "scopes": ["read"]}, organization.owner
        key = api.post(organization.api_keys_path, caller=owner, json=body)
        if is_used_first:
            assert remaining_requests(send_requests(api, key.json["key"])[0]) == PRINCIPAL_LIMIT - 1
        rotated = api.post(f"{key.location}/rotate", caller=owner, json={"graceHours": 0})
        return key.json["key"], rotated.json["key"]

    return rotate


class TestHolder:
    def test_requests_with_a_rotated_secret_do_not_count_for_the_key(self, api, rotate):
        former_secret, current_secret = rotate()
        assert {answer.status for answer in send_requests(api, former_secret, 40)} == {401, 429}
        answers = send_requests(api, current_secret, PRINCIPAL_LIMIT)
        assert {answer.status for answer in answers} == {200}
        assert remaining_requests(answers[0]) == PRINCIPAL_LIMIT - 1

    def test_requests_from_a_disallowed_network_do_not_count_for_the_key(self, api, organization):
        key = create_api_key(api, organization, "read", allowedIps=[f"{CLIENT_IP}/32"])
        assert {answer.status for answer in send_requests(api, key.credential, 40, ip=OTHER_ADDRESS)} == {403, 429}
        assert remaining_requests(send_requests(api, key.credential)[0]) == PRINCIPAL_LIMIT - 1

    @pytest.mark.parametrize("process_is_new", [True, False])
    def test_requests_with_a_recently_rotated_secret_are_refunded(self, api, rotate, process_is_new):
        former_secret, current_secret = rotate(is_used_first=True)
        if process_is_new:
            auth._accepted_keys.clear()  # noqa: SLF001 - a process that has not met the secret
        responses = send_requests(api, former_secret, 15)
        assert {answer.status for answer in responses} == {401}
        assert not [answer for answer in responses if "RateLimit" in answer.headers]
        assert remaining_requests(send_requests(api, current_secret)[0]) == PRINCIPAL_LIMIT - 2

    def test_rejections_in_several_processes_do_not_count_for_the_key(self, api, rotate):
        former_secret, current_secret = rotate()
        for process in [SimulatedProcess() for _ in range(3)]:
            with process():
                send_requests(api, former_secret, 30)
        with SimulatedProcess()():
            assert remaining_requests(send_requests(api, current_secret)[0]) == PRINCIPAL_LIMIT - 1

    def test_a_valid_key_is_accepted_while_its_network_sends_rejected_requests(self, api, organization, rotate):
        key = create_api_key(api, organization, "read")
        assert send_requests(api, key.credential)[0].status == 200
        send_requests(api, rotate()[0], 60)
        assert [answer.status for answer in send_requests(api, key.credential, 5)] == [200] * 5

    def test_rejections_by_operations_for_users_do_not_count_for_the_key(self, api, rotate):
        former_secret, current_secret = rotate()
        assert {api.post(PATH, caller=former_secret, json={"name": "E"}).status for _ in range(20)} == {401}
        answer = api.post(PATH, caller=current_secret, json={"name": "E"})
        assert (answer.status, remaining_requests(answer)) == (403, PRINCIPAL_LIMIT - 1)


class TestFlood:
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
        assert api.get(PATH, caller=ada).status == 200
