"""A chain test states how long the chains of its messages became, also if something ends them early."""

import pytest

from chalicelib.features.admin.chain_tests.entities import ChainTest
from chalicelib.features.admin.chain_tests.logic import start_chain_test
from chalicelib.kernel.work import queues
from tests.harness.sample_entity import LOG_ID
from tests.harness.stored_records import load_item

pytestmark = pytest.mark.usefixtures("aws")


def stored(test):
    return ChainTest.from_item(load_item(test.item_key))


def test_a_chain_has_as_many_messages_as_turns(workers):
    test = start_chain_test(LOG_ID, turns=20)
    assert len(workers.deliver()) == 20
    assert (stored(test).longest_chain, stored(test).lease_until) == (20, None)


def test_a_chain_that_ends_early_is_not_completed_by_others(workers, monkeypatch):
    monkeypatch.setattr(queues, "MAX_CHAIN_TURNS", 3)
    test = start_chain_test(LOG_ID, turns=4)
    for slices in (3, 6, 9, 12):
        assert stored(test).lease_until is not None
        workers.deliver()
        assert (stored(test).longest_chain, stored(test).slices) == (3, slices)
        workers.run_sweep()
    assert stored(test).lease_until is None
    assert workers.deliver() == []
