"""Rate limits of rejected credentials: their holder loses no requests, and a network is limited."""

from typing import Final

import pytest

from chalicelib.kernel.identity import auth
from chalicelib.kernel.rate_limits import request_quota
from tests.conftest import SettingsOverride
from tests.harness.api import CLIENT_IP, ApiClient, ApiResponse
from tests.harness.clock import Clock
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.simulated_processes import SimulatedProcess

OTHER_ADDRESS: Final = "198.51.100.9"
PATH: Final = "/organizations"
PRINCIPAL_LIMIT: Final = 25
"""Requests per minute of a principal."""

NETWORK_LIMIT: Final = 100
"""Rejected requests per minute of a network. A fifth of them may have the same secret."""


@pytest.fixture(autouse=True)
def _rate_limits(configure: SettingsOverride, clock: Clock) -> None:
    configure(requests_per_minute=str(PRINCIPAL_LIMIT), network_requests_per_minute=str(NETWORK_LIMIT))
    clock.freeze()


def remaining_requests(answer: ApiResponse) -> int:
    return int(answer.headers["RateLimit"].split(";r=")[1].split(";")[0])


def send_requests(api: ApiClient, secret: str | None, count: int = 1, ip: str = CLIENT_IP) -> list[ApiResponse]:
    return [api.get(PATH, caller=secret, ip=ip) for _ in range(count)]


@pytest.fixture
def secrets(api: ApiClient, organization: CreatedOrganization) -> tuple[str, str]:
    """The former secret of a key, and its current one."""
    response = api.post(
        f"{organization.path}/api-keys", caller=organization.owner, json={"name": "K", "scopes": ["read"]}
    )
    current_secret = api.post(f"{response.location}/rotate", caller=organization.owner, json={"graceHours": 0})
    return response.json["key"], current_secret.json["key"]


class TestHolder:
    def test_requests_with_a_rotated_secret_do_not_count_for_the_key(self, api, secrets):
        former_secret, current_secret = secrets
        responses = send_requests(api, former_secret, 40)
        assert {answer.status for answer in responses} == {401, 429}
        assert remaining_requests(send_requests(api, current_secret)[0]) == PRINCIPAL_LIMIT - 1
        assert [answer.status for answer in send_requests(api, current_secret, PRINCIPAL_LIMIT - 1)] == [200] * (
            PRINCIPAL_LIMIT - 1
        )

    def test_requests_from_a_disallowed_network_do_not_count_for_the_key(self, api, organization):
        key = create_api_key(api, organization, "read", allowedIps=[f"{CLIENT_IP}/32"])
        assert {answer.status for answer in send_requests(api, key.credential, 40, ip=OTHER_ADDRESS)} == {403, 429}
        assert remaining_requests(send_requests(api, key.credential)[0]) == PRINCIPAL_LIMIT - 1

    @pytest.mark.parametrize("process_is_new", [True, False])
    def test_requests_with_a_recently_rotated_secret_are_refunded(self, api, organization, *, process_is_new):
        response = api.post(
            f"{organization.path}/api-keys", caller=organization.owner, json={"name": "K", "scopes": ["read"]}
        )
        former_secret = response.json["key"]
        assert remaining_requests(send_requests(api, former_secret)[0]) == PRINCIPAL_LIMIT - 1
        current_secret = api.post(
            f"{response.location}/rotate", caller=organization.owner, json={"graceHours": 0}
        ).json["key"]
        if process_is_new:
            auth._accepted_keys.clear()  # noqa: SLF001 - a process that has not met the secret
        responses = send_requests(api, former_secret, 15)
        assert {answer.status for answer in responses} == {401}
        assert not [answer for answer in responses if "RateLimit" in answer.headers]
        assert remaining_requests(send_requests(api, current_secret)[0]) == PRINCIPAL_LIMIT - 2

    def test_rejections_in_several_processes_do_not_count_for_the_key(self, api, secrets):
        former_secret, current_secret = secrets
        for process in [SimulatedProcess() for _ in range(3)]:
            with process():
                send_requests(api, former_secret, 30)
        with SimulatedProcess()():
            assert remaining_requests(send_requests(api, current_secret)[0]) == PRINCIPAL_LIMIT - 1

    def test_a_valid_key_is_accepted_while_its_network_sends_rejected_requests(self, api, organization, secrets):
        key = create_api_key(api, organization, "read")
        assert send_requests(api, key.credential)[0].status == 200
        send_requests(api, secrets[0], 60)
        assert [answer.status for answer in send_requests(api, key.credential, 5)] == [200] * 5

    def test_rejections_by_operations_for_users_do_not_count_for_the_key(self, api, secrets):
        former_secret, current_secret = secrets
        assert {api.post(PATH, caller=former_secret, json={"name": "E"}).status for _ in range(20)} == {401}
        answer = api.post(PATH, caller=current_secret, json={"name": "E"})
        assert (answer.status, remaining_requests(answer)) == (403, PRINCIPAL_LIMIT - 1)


class TestFlood:
    def test_one_rejected_secret_is_limited_without_reads(self, api, secrets):
        answers = send_requests(api, secrets[0], 60)
        per_secret_limit = NETWORK_LIMIT // 5
        assert [answer.status for answer in answers] == [401] * per_secret_limit + [429] * (60 - per_secret_limit)
        assert {tuple(answer.calls.call_names) for answer in answers[per_secret_limit:]} == {()}
        assert answers[-1].headers["RateLimit-Policy"] == f'"refused-credential";q={per_secret_limit};w=60'
        assert int(answers[-1].headers["Retry-After"]) >= 1

    def test_unknown_secrets_are_limited_by_network_without_reads(self, api):
        answers = [send_requests(api, secret)[0] for secret in generate_keys(NETWORK_LIMIT + 20)]
        assert [answer.status for answer in answers] == [401] * NETWORK_LIMIT + [429] * 20
        assert {tuple(answer.calls.call_names) for answer in answers[NETWORK_LIMIT:]} == {()}
        write_count = sum(answer.calls.call_names.count("dynamodb:UpdateItem") for answer in answers)
        assert write_count <= NETWORK_LIMIT / request_quota.BATCH_SIZE

    def test_other_networks_are_not_limited(self, api, secrets):
        send_requests(api, secrets[0], 60)
        assert send_requests(api, secrets[0], ip=OTHER_ADDRESS)[0].status == 401

    def test_the_limit_ends_after_a_minute(self, api, secrets, clock):
        responses = send_requests(api, secrets[0], 60)[-1]
        clock.shift(seconds=int(responses.headers["Retry-After"]))
        assert send_requests(api, secrets[0])[0].status == 401

    def test_invalid_tokens_count_for_the_network(self, api):
        answers = send_requests(api, "nonsense", NETWORK_LIMIT + 5)
        assert [answer.status for answer in answers] == [401] * NETWORK_LIMIT + [429] * 5

    def test_users_of_a_limited_network_are_accepted(self, api, ada):
        send_requests(api, "nonsense", NETWORK_LIMIT + 5)
        assert api.get(PATH, caller=ada).status == 200


def generate_keys(count: int) -> list[str]:
    from chalicelib.kernel.identity import api_key_format

    return [api_key_format.generate_api_key() for _ in range(count)]
