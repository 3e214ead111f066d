"""The stored record of a chain test."""

from chalicelib.kernel.work.jobs import Job


class ChainTest(Job):
    """A job whose slices only count, so that its messages form a chain of `turns` messages.

    Lambda ends chains of about 16 messages between a function and a queue, unless the function allows them. The sweep
    then continues the job with a new chain, so `longest_chain` stays below `turns`. `slices` limits the number of them.
    """

    kind, task = "organization.chain_test", "chain_tests.run"
    pk, sk = "O#{organization_id}", "CHAIN#{id}"

    organization_id: str
    turns: int
    slices: int = 0
    longest_chain: int = 0
