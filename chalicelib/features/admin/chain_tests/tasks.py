"""The task of a chain test."""

from typing import Any, Final

from chalicelib.features.admin.chain_tests.entities import ChainTest
from chalicelib.kernel.work import jobs, queues
from chalicelib.kernel.work.tasks import task

_MAX_SLICES_PER_TURN: Final = 3


@task(ChainTest.task)
def count_turn(message: dict[str, Any]) -> None:
    """Count this message, and queue the next one unless a chain is complete or several chains have ended early."""
    test = jobs.claim(ChainTest, message)
    if test is None:
        return
    slices, longest_chain = test.slices + 1, max(test.longest_chain, queues.turn_of(message))
    is_done = longest_chain >= test.turns or slices >= _MAX_SLICES_PER_TURN * test.turns
    store = jobs.finish if is_done else jobs.release
    store(test, slices=slices, longest_chain=longest_chain)
