"""Start of a chain test, by an operator's command."""

from chalicelib.features.admin.chain_tests.entities import ChainTest
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues


def start_chain_test(organization_id: str, turns: int) -> ChainTest:
    """Create a chain test in an organization's partition, and queue its first message."""
    started_at = now()
    changes = UnitOfWork(started_at)
    test = changes.create(
        ChainTest(
            **new_id_and_time_fields(started_at), organization_id=organization_id, turns=turns, lease_until=started_at
        )
    )
    changes.commit()
    queues.enqueue(test.task, test.item_key)
    return test
