"""The task of a chain test."""

from typing import Any

from chalicelib.features.admin.chain_tests.entities import ChainTest
from chalicelib.kernel.work import jobs
from chalicelib.kernel.work.tasks import task


@task(ChainTest.task)
def count_turn(message: dict[str, Any]) -> None:
    """Count this message, and queue the next one unless it was the last."""
    test = jobs.claim(ChainTest, message)
    if test is None:
        return
    completed_turns = test.completed_turns + 1
    if completed_turns >= test.turns:
        jobs.finish(test, completed_turns=completed_turns)
    else:
        jobs.release(test, completed_turns=completed_turns)
