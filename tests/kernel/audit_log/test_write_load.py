"""100 application events a second for one organization, in batches of 25, with entries of up to 2 KB."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.application_events import ApplicationEvent, Reception, ReportedEvent, receive_events
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.application_events import ADA, INVOICE, NIGHTLY_EXPORT
from tests.harness.partition_units import TABLE, count_write_units

pytestmark = pytest.mark.usefixtures("aws")

LOG: Final = "01939d3c-0000-7000-8000-00000000000a"
EVENTS_PER_SECOND: Final = 100
BATCH: Final = 25
BATCHES_PER_SECOND: Final = EVENTS_PER_SECOND // BATCH
MAX_ENTRY_BYTES: Final = 2048
MAX_UNITS_PER_SECOND: Final = 900
"""DynamoDB's limit for a partition key is 1,000."""


def receive_batch() -> list[ApplicationEvent]:
    """Return events whose entries have almost 2 KB. All have the same type, actor and target."""
    report = ReportedEvent("invoice.approved", 1, actor=ADA, targets=[INVOICE], data={"text": "x" * 1400})
    events = receive_events([report] * BATCH, Reception(LOG, now(), NIGHTLY_EXPORT, "create_events", None))
    assert MAX_ENTRY_BYTES * 0.95 < len(events[0].canonical_leaf_bytes()) <= MAX_ENTRY_BYTES
    return events


def commit_batch() -> None:
    UnitOfWork(now(), Chains.read(LOG)).commit(events=receive_batch())


def test_no_partition_key_of_the_table_or_an_index_needs_more_than_900_write_units_a_second():
    seconds = 2
    with count_write_units() as units:
        for _ in range(seconds * BATCHES_PER_SECOND):
            commit_batch()
            ledger.append_pending_and_return_longest_wait_ms(LOG)  # The worst case: an append for each batch.
    units_per_second = {key: count / seconds for key, count in units.items()}
    assert max(units_per_second.values()) <= MAX_UNITS_PER_SECOND, units_per_second
    indexed = {key: 2 * count for (key, count) in units_per_second.items() if key[0] != TABLE}
    assert max(indexed.values()) <= MAX_UNITS_PER_SECOND, "also if DynamoDB doubled those of indexes"
    assert {index for index, _ in units} == {TABLE, "index1", "index2", "facet1", "facet2", "facet3", "due"}


@pytest.mark.usefixtures("conflicts")
def test_concurrent_batches_all_succeed_while_the_ledger_appends():
    with ThreadPoolExecutor(BATCHES_PER_SECOND + 1) as pool:
        batches = [pool.submit(commit_batch) for _ in range(3 * BATCHES_PER_SECOND)]
        while not all(batch.done() for batch in batches):
            with suppress(ConcurrentModification):  # Its message is delivered again.
                ledger.append_pending_and_return_longest_wait_ms(LOG)
    for batch in batches:
        batch.result()
    ledger.append_pending_and_return_longest_wait_ms(LOG)
    assert ledger.Head.from_item_or_empty(ledger.Outbox.read(LOG).head).tree.size == len(batches) * BATCH
