"""The stored record of a chain test."""

from chalicelib.kernel.work.jobs import Job


class ChainTest(Job):
    """A job whose slices only count, so that its messages form a chain of `turns` messages.

    Lambda ends chains of about 16 messages between a function and a queue, unless the function allows them. If it ended
    this chain, `completed_turns` stays below `turns` until the sweep continues the job minutes later.
    """

    kind, task = "organization.chain_test", "chain_tests.run"
    pk, sk = "O#{organization_id}", "CHAIN#{id}"

    organization_id: str
    turns: int
    completed_turns: int = 0
