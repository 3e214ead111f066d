import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage import table
from tests.conftest import Configure
from tests.harness import snapshots
from tests.harness.clock import Clock
from tests.harness.processes import Process

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture(autouse=True)
def _limited(configure: Configure, clock: Clock) -> None:
    configure(requests_per_minute="100")
    clock.freeze()


def passes(principal: str = "ada") -> bool:
    try:
        return request_quota.check_request_rate(principal) is not None
    except Problem:
        return False


def passed(times: int, principal: str = "ada") -> int:
    return sum(passes(principal) for _ in range(times))


class TestLeases:
    def test_threads_of_a_process_let_through_exactly_what_there_is(self) -> None:
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(lambda _: passes(), range(400))) == 100
        (item,) = snapshots.stored().values()
        assert item["used"] == 100

    def test_the_table_keeps_an_item_for_each_minute_until_it_is_over(self, clock: Clock) -> None:
        for _ in range(2):
            passed(20)
            clock.shift(minutes=1)
        items = [*snapshots.stored().values()]
        assert [item["used"] for item in items] == [39, 39]
        assert not [item for item in items if item["ttl"] > time.time() + request_quota.WINDOW_SECONDS]

    def test_minutes_of_principals_begin_at_different_seconds(self) -> None:
        shares = [request_quota.check_request_rate(f"user-{number}") for number in range(50)]
        assert len({share.reset_after_seconds for share in shares if share}) > 20

    def test_a_process_remembers_no_more_than_a_thousand_principals(self) -> None:
        passed(19)
        for number in range(1000):
            passes(f"user-{number}")
        assert Process.here().principals == 1000
        assert passed(19) == 19
        assert snapshots.stored() == {}

    def test_one_principal_waits_for_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow(*_: object, **__: object) -> int:
            assert passed(5, "grace") == 5
            return 39

        monkeypatch.setattr(table, "increment", slow)
        assert passed(20) == 20

    def test_what_other_processes_took_is_gone(self) -> None:
        one, other = Process(), Process()
        with one():
            assert passed(75) == 75
        with other():
            assert passed(40) == 21  # 19 untold; by its first write it learns that two are left
        with one():
            assert passed(40) == 4
