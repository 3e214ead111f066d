"""How many requests a principal may make in a minute: what they are told, what it takes of AWS, who is left alone."""

from typing import Final

import pytest

from chalicelib.kernel.rate_limits import request_quota
from tests.conftest import Configure
from tests.harness import snapshots
from tests.harness.api import Answer, Api
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.faults import Died, Fault, failing
from tests.harness.log_lines import written
from tests.harness.organizations import Founded, make_key
from tests.harness.processes import Process

pytestmark = pytest.mark.usefixtures("organization")

LEASE: Final = "dynamodb:UpdateItem"
FAULTS: Final = (Fault.THROTTLED, Fault.BROKEN, Fault.TIMED_OUT, Fault.UNANSWERED, Fault.RETRIED)


@pytest.fixture(autouse=True)
def _limited(configure: Configure, clock: Clock) -> None:
    configure(requests_per_minute="600")
    clock.freeze()


def ask(api: Api, as_: Caller | None, times: int = 1, path: str = "/organizations") -> list[Answer]:
    return [api.get(path, as_=as_) for _ in range(times)]


def let_through(answers: list[Answer]) -> int:
    assert {answer.status for answer in answers} <= {200, 429}
    return sum(answer.status == 200 for answer in answers)


def leased(answers: list[Answer]) -> int:
    return sum(answer.calls.names.count(LEASE) for answer in answers)


def seconds_left(answer: Answer) -> int:
    return int(answer.headers["RateLimit"].rpartition("=")[2])


class TestRequestsAMinute:
    def test_the_601st_is_refused_until_the_minute_is_over(self, api: Api, ada: Person, clock: Clock) -> None:
        answers = ask(api, ada, 600)
        assert let_through(answers) == 600
        left = seconds_left(answers[0])
        assert [answer.headers["RateLimit"] for answer in answers] == [
            f'"requests";r={599 - number};t={left}' for number in range(600)
        ]
        refused = ask(api, ada)[0]
        assert refused.code == "429 rate_limited"
        assert refused.json["detail"] == f"This is allowed 600 times in 60 s. Try again in {left} s."
        assert refused.headers["Retry-After"] == str(left)
        assert refused.headers["RateLimit"] == f'"requests";r=0;t={left}'
        assert refused.headers["RateLimit-Policy"] == '"requests";q=600;w=60'
        clock.shift(seconds=left)
        assert ask(api, ada)[0].headers["RateLimit"] == '"requests";r=599;t=60'

    def test_counting_takes_a_write_in_twenty_requests_and_no_read(self, api: Api, ada: Person) -> None:
        answers = ask(api, ada, 200)
        assert leased(answers) == 10
        reads = {tuple(answer.calls.reads) for answer in answers}
        assert reads == {("dynamodb:Query", "dynamodb:BatchGetItem")}
        for answer in answers:
            assert [name for name in answer.calls.names if name != LEASE] == answer.calls.reads

    def test_who_makes_few_takes_no_write_at_all(self, api: Api, ada: Person, clock: Clock) -> None:
        before = snapshots.stored()
        for _ in range(3):
            assert leased(ask(api, ada, 6)) == 0
            clock.shift(minutes=1)
        assert snapshots.stored() == before

    def test_a_flood_is_refused_without_any_call(self, api: Api, ada: Person, configure: Configure) -> None:
        configure(requests_per_minute="30")
        ask(api, ada, 30)
        assert [answer.calls.names for answer in ask(api, ada, 50)] == [[]] * 50

    def test_a_flood_that_goes_on_is_counted_from_the_first_request_of_the_next_minute(
        self, api: Api, ada: Person, configure: Configure, clock: Clock
    ) -> None:
        configure(requests_per_minute="30")
        ask(api, ada, 60)
        clock.shift(minutes=1)
        assert [leased([answer]) for answer in ask(api, ada, 3)] == [1, 0, 0]

    def test_a_mutation_is_still_one_transaction_and_the_lease_comes_before_it(
        self, api: Api, organization: Founded
    ) -> None:
        ask(api, organization.owner, 19)
        changed = api.patch(organization.path, as_=organization.owner, json={"name": "Engines"})
        assert changed.status == 200
        assert changed.calls.names == [
            LEASE,
            "dynamodb:BatchGetItem",
            "dynamodb:TransactWriteItems",
            "sqs:SendMessage",
        ]

    def test_a_limit_below_a_batch_is_exact_in_a_process(self, api: Api, ada: Person, configure: Configure) -> None:
        configure(requests_per_minute="3")
        answers = ask(api, ada, 50)
        assert [answer.status for answer in answers] == [200] * 3 + [429] * 47
        assert leased(answers) == 0

    def test_off_it_counts_and_says_nothing(self, api: Api, ada: Person, configure: Configure) -> None:
        configure(requests_per_minute="0")
        answers = ask(api, ada, 25)
        assert let_through(answers) == 25
        assert leased(answers) == 0
        assert not [answer for answer in answers if "RateLimit" in answer.headers]


class TestWhoIsCounted:
    @pytest.fixture(autouse=True)
    def _few(self, configure: Configure) -> None:
        configure(requests_per_minute="25")

    def test_each_principal_by_itself(self, api: Api, organization: Founded, grace: Person) -> None:
        key, another = (make_key(api, organization, "read") for _ in range(2))
        assert let_through(ask(api, key, 30)) == 25
        assert let_through(ask(api, another, 25)) == 25
        assert let_through(ask(api, grace, 30)) == 25

    def test_a_key_by_itself_and_not_by_what_it_was_sent_as(self, api: Api, organization: Founded) -> None:
        made = api.post(f"{organization.path}/api-keys", as_=organization.owner, json={"name": "K", "scopes": ["read"]})
        first = made.json["key"]
        rotated = api.post(f"{made.location}/rotate", as_=organization.owner)
        spent = [api.get("/organizations", as_=text) for text in [first, rotated.json["key"]] * 15]
        assert let_through(spent) == 25

    def test_nobody_without_a_credential_where_networks_are_not_counted(self, api: Api) -> None:
        answers = ask(api, None, 30, "/public/leads/statuses")
        assert let_through(answers) == 30
        assert not [answer for answer in answers if "RateLimit" in answer.headers]

    def test_a_broken_credential_is_told_that_and_nothing_else(self, api: Api) -> None:
        refused = [api.get("/organizations", as_="nonsense") for _ in range(30)]
        assert {answer.code for answer in refused} == {"401 unauthenticated"}
        assert not [answer for answer in refused if "RateLimit" in answer.headers]

    def test_whoever_has_one_also_where_none_is_needed(self, api: Api, ada: Person) -> None:
        assert let_through(ask(api, ada, 30, "/public/leads/statuses")) == 25

    def test_what_is_refused_too(self, api: Api, stranger: Person, organization: Founded) -> None:
        assert [answer.status for answer in ask(api, stranger, 27, organization.path)] == [404] * 25 + [429] * 2


class TestWhatIsSaid:
    def test_on_every_answer_to_whoever_is_counted(self, api: Api, organization: Founded, stranger: Person) -> None:
        path, owner = organization.path, organization.owner
        etag = api.get(path, as_=owner).etag
        answers = [
            api.get(path, as_=owner, headers={"If-None-Match": etag}),
            api.patch(path, as_=owner, json={"nonsense": 1}),
            api.patch(path, as_=owner, json={}, headers={"If-Match": '"stale"'}),
            api.get(path, as_=stranger),
            api.get("/system/audit-log", as_=owner),
        ]
        assert [answer.status for answer in answers] == [304, 422, 412, 404, 403]
        assert all(answer.headers["RateLimit-Policy"] == '"requests";q=600;w=60' for answer in answers)
        assert all(answer.headers["RateLimit"].startswith('"requests";r=59') for answer in answers)

    def test_beside_a_budget_of_the_operations_own(self, api: Api, ada: Person) -> None:
        body = {"researcherId": "0000-0002-1825-0097"}
        answers = [api.post("/research/import", as_=ada, json=body) for _ in range(11)]
        assert [answer.status for answer in answers] == [202] * 10 + [429]
        policies = '"research-import";q=10;w=3600, "requests";q=600;w=60'
        assert {answer.headers["RateLimit-Policy"] for answer in answers} == {policies}
        left = seconds_left(answers[0])
        assert answers[0].headers["RateLimit"] == f'"research-import";r=9;t=3600, "requests";r=599;t={left}'
        assert answers[10].headers["RateLimit"] == f'"research-import";r=0;t=3600, "requests";r=589;t={left}'
        assert answers[10].headers["Retry-After"] == "3600"

    def test_of_a_replay_what_it_has_left_itself(self, api: Api, ada: Person) -> None:
        once = {"Idempotency-Key": "k"}
        first, again = (api.post("/organizations", as_=ada, json={"name": "Engines"}, headers=once) for _ in range(2))
        assert again.headers["Idempotency-Replayed"] == "true"
        assert (first.text, first.status) == (again.text, again.status)
        assert [answer.headers["RateLimit"][:16] for answer in (first, again)] == [
            '"requests";r=599',
            '"requests";r=598',
        ]

    def test_the_line_names_who_is_refused(self, api: Api, ada: Person, configure: Configure) -> None:
        configure(requests_per_minute="1")
        with written() as lines:
            ask(api, ada, 2)
        assert "limited" not in lines[0]
        assert (lines[1]["problem"], lines[1]["limited"]) == ("rate_limited", ada.id)


class TestSeveralProcesses:
    def test_share_what_there_is(self, api: Api, ada: Person) -> None:
        processes = [Process() for _ in range(3)]
        answers = []
        for _ in range(30):
            for process in processes:
                with process():
                    answers += ask(api, ada, 10)
        assert 600 - 2 * request_quota.BATCH_SIZE <= let_through(answers) <= 600 + 2 * (request_quota.BATCH_SIZE - 1)
        assert leased(answers) <= 900 / 20
        others = ask(api, ada, 20)  # a fourth process, which nobody has told
        assert (let_through(others), leased(others)) == (19, 1)

    def test_a_batch_that_the_end_of_one_leaves_is_lost_until_the_minute_is_over(
        self, api: Api, ada: Person, configure: Configure, clock: Clock
    ) -> None:
        configure(requests_per_minute="50")
        ended, goes_on = Process(), Process()
        with ended():
            assert let_through(ask(api, ada, 20)) == 20  # and 19 more are leased
        with goes_on():
            assert let_through(ask(api, ada, 60)) == 19  # which it tells with its first write; nothing is left
            clock.shift(minutes=1)
            assert let_through(ask(api, ada, 60)) == 50


class TestALeaseThatFails:
    @pytest.mark.parametrize("times", [1, None])
    @pytest.mark.parametrize("fault", FAULTS)
    def test_lets_a_mutation_happen_all_the_same(
        self, api: Api, organization: Founded, fault: Fault, times: int | None
    ) -> None:
        ask(api, organization.owner, 19)
        with written() as lines, failing(fault, name=LEASE, times=times) as injected:
            changed = api.patch(organization.path, as_=organization.owner, json={"name": "Engines"})
        assert injected.hit == LEASE
        assert (changed.status, changed.json["name"]) == (200, "Engines")
        assert changed.headers["RateLimit"].startswith('"requests";r=5')
        entries = api.items(f"{organization.path}/audit-log", as_=organization.owner, query={"type": "organization.*"})
        assert [entry["context"]["requestId"] for entry in entries].count(changed.request_id) == 1
        assert lines[0].get("uncounted") == (None if fault is Fault.RETRIED else "unavailable")

    @pytest.mark.parametrize("fault", [Fault.DIED_BEFORE, Fault.DIED_AFTER])
    def test_with_its_process_leaves_nothing_of_the_mutation_and_the_next_try_does_it(
        self, api: Api, organization: Founded, fault: Fault
    ) -> None:
        owner, before = organization.owner, len(api.items("/organizations", as_=organization.owner))
        words = {"as_": owner, "json": {"name": "Engines"}, "headers": {"Idempotency-Key": "k"}}
        ask(api, owner, 18)
        with failing(fault, name=LEASE), pytest.raises(Died):
            api.post("/organizations", **words)
        assert len(api.items("/organizations", as_=owner)) == before
        with Process()():
            assert api.post("/organizations", **words).status == 201
        assert len(api.items("/organizations", as_=owner)) == before + 1

    def test_is_tried_again_after_twenty_more(self, api: Api, ada: Person) -> None:
        ask(api, ada, 19)
        with failing(Fault.BROKEN, name=LEASE, times=None):
            assert [len(answer.calls.of("dynamodb")) for answer in ask(api, ada, 20)] == [3] + [2] * 19
        told = ask(api, ada)[0]
        assert leased([told]) == 1
        assert told.headers["RateLimit"].startswith('"requests";r=560')

    def test_leaves_the_limit_of_the_process_as_it_is(self, api: Api, ada: Person, configure: Configure) -> None:
        configure(requests_per_minute="30")
        with failing(Fault.BROKEN, name=LEASE, times=None):
            assert let_through(ask(api, ada, 50)) == 30
