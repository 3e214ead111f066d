"""What a refused credential costs: its rightful holder nothing, and the service no more than a network may ask for."""

from typing import Final

import pytest

from chalicelib.kernel.identity import auth
from chalicelib.kernel.rate_limits import request_quota
from tests.conftest import Configure
from tests.harness.api import ADDRESS, Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, make_key
from tests.harness.processes import Process

ELSEWHERE: Final = "198.51.100.9"
PATH: Final = "/organizations"
MOST: Final = 25
"""Requests a minute of a principal."""

FROM_A_NETWORK: Final = 100
"""Refused requests a minute of a client's network; a fifth of it with one secret."""


@pytest.fixture(autouse=True)
def _limited(configure: Configure, clock: Clock) -> None:
    configure(requests_per_minute=str(MOST), network_requests_per_minute=str(FROM_A_NETWORK))
    clock.freeze()


def left(answer: Answer) -> int:
    return int(answer.headers["RateLimit"].split(";r=")[1].split(";")[0])


def ask(api: Api, secret: str | None, times: int = 1, ip: str = ADDRESS) -> list[Answer]:
    return [api.get(PATH, as_=secret, ip=ip) for _ in range(times)]


@pytest.fixture
def rotated(api: Api, organization: Founded) -> tuple[str, str]:
    """A key's secret that was rotated away, and the one that counts."""
    made = api.post(f"{organization.path}/api-keys", as_=organization.owner, json={"name": "K", "scopes": ["read"]})
    again = api.post(f"{made.location}/rotate", as_=organization.owner, json={"graceHours": 0})
    return made.json["key"], again.json["key"]


class TestItsRightfulHolder:
    def test_loses_nothing_by_requests_with_a_secret_that_was_rotated_away(
        self, api: Api, rotated: tuple[str, str]
    ) -> None:
        dead, live = rotated
        refused = ask(api, dead, 40)
        assert {answer.status for answer in refused} == {401, 429}
        assert left(ask(api, live)[0]) == MOST - 1
        assert [answer.status for answer in ask(api, live, MOST - 1)] == [200] * (MOST - 1)

    def test_loses_nothing_by_requests_from_a_network_that_is_not_allowed(
        self, api: Api, organization: Founded
    ) -> None:
        key = make_key(api, organization, "read", allowedIps=[f"{ADDRESS}/32"])
        assert {answer.status for answer in ask(api, key.credential, 40, ip=ELSEWHERE)} == {403, 429}
        assert left(ask(api, key.credential)[0]) == MOST - 1

    @pytest.mark.parametrize("process_is_new", [True, False])
    def test_gets_back_what_was_counted_of_a_secret_that_held_a_moment_ago(
        self, api: Api, organization: Founded, *, process_is_new: bool
    ) -> None:
        made = api.post(f"{organization.path}/api-keys", as_=organization.owner, json={"name": "K", "scopes": ["read"]})
        former = made.json["key"]
        assert left(ask(api, former)[0]) == MOST - 1
        again = api.post(f"{made.location}/rotate", as_=organization.owner, json={"graceHours": 0}).json["key"]
        if process_is_new:
            auth._accepted_keys.clear()  # noqa: SLF001 - a process that has not met the secret
        refused = ask(api, former, 15)
        assert {answer.status for answer in refused} == {401}
        assert not [answer for answer in refused if "RateLimit" in answer.headers]
        assert left(ask(api, again)[0]) == MOST - 2

    def test_loses_nothing_where_several_processes_refuse(self, api: Api, rotated: tuple[str, str]) -> None:
        dead, live = rotated
        for process in [Process() for _ in range(3)]:
            with process():
                ask(api, dead, 30)
        with Process()():
            assert left(ask(api, live)[0]) == MOST - 1

    def test_is_let_in_while_others_of_the_network_send_what_is_refused(
        self, api: Api, organization: Founded, rotated: tuple[str, str]
    ) -> None:
        key = make_key(api, organization, "read")
        assert ask(api, key.credential)[0].status == 200
        ask(api, rotated[0], 60)
        assert [answer.status for answer in ask(api, key.credential, 5)] == [200] * 5

    def test_loses_nothing_where_only_users_may_ask(self, api: Api, rotated: tuple[str, str]) -> None:
        dead, live = rotated
        assert {api.post(PATH, as_=dead, json={"name": "E"}).status for _ in range(20)} == {401}
        answer = api.post(PATH, as_=live, json={"name": "E"})
        assert (answer.status, left(answer)) == (403, MOST - 1)


class TestAFlood:
    def test_with_one_refused_secret_ends_in_429_and_costs_no_read(self, api: Api, rotated: tuple[str, str]) -> None:
        answers = ask(api, rotated[0], 60)
        fifth = FROM_A_NETWORK // 5
        assert [answer.status for answer in answers] == [401] * fifth + [429] * (60 - fifth)
        assert {tuple(answer.calls.names) for answer in answers[fifth:]} == {()}
        assert answers[-1].headers["RateLimit-Policy"] == f'"refused-credential";q={fifth};w=60'
        assert int(answers[-1].headers["Retry-After"]) >= 1

    def test_with_secrets_that_nobody_has_costs_no_read_beyond_what_a_network_may_ask_for(self, api: Api) -> None:
        answers = [ask(api, secret)[0] for secret in unknown(FROM_A_NETWORK + 20)]
        assert [answer.status for answer in answers] == [401] * FROM_A_NETWORK + [429] * 20
        assert {tuple(answer.calls.names) for answer in answers[FROM_A_NETWORK:]} == {()}
        written = sum(answer.calls.names.count("dynamodb:UpdateItem") for answer in answers)
        assert written <= FROM_A_NETWORK / request_quota.BATCH_SIZE

    def test_from_one_network_leaves_the_others_theirs(self, api: Api, rotated: tuple[str, str]) -> None:
        ask(api, rotated[0], 60)
        assert ask(api, rotated[0], ip=ELSEWHERE)[0].status == 401

    def test_is_over_with_its_minute(self, api: Api, rotated: tuple[str, str], clock: Clock) -> None:
        refused = ask(api, rotated[0], 60)[-1]
        clock.shift(seconds=int(refused.headers["Retry-After"]))
        assert ask(api, rotated[0])[0].status == 401

    def test_with_tokens_that_do_not_hold_counts_for_the_network(self, api: Api) -> None:
        answers = ask(api, "nonsense", FROM_A_NETWORK + 5)
        assert [answer.status for answer in answers] == [401] * FROM_A_NETWORK + [429] * 5

    def test_of_a_network_refuses_no_user_of_it(self, api: Api, ada: Person) -> None:
        ask(api, "nonsense", FROM_A_NETWORK + 5)
        assert api.get(PATH, as_=ada).status == 200


def unknown(number: int) -> list[str]:
    from chalicelib.kernel.identity import api_key_format

    return [api_key_format.generate_api_key() for _ in range(number)]
