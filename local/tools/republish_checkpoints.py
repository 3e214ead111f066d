"""Lets every log that has no anchor in its bucket wait for one: `python -m local reanchor`, once that is another.

A log that has not grown since it was anchored elsewhere would have none there until it grows.
"""

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files, table
from local.tools.verify_logs import places


class NotReanchored(Exception):
    """There is no bucket, or something did not answer; says what to do."""


def reanchor() -> None:
    """Let the logs wait that the next turn of the schedule is to anchor, and say how many. It may be repeated.

    Raises NotReanchored.
    """
    bucket = settings().anchors_bucket
    if not bucket:
        raise NotReanchored("This stage has no bucket of anchors: there is no ANCHORS_BUCKET.")
    try:
        logs = sum(_waits(bucket, place.log) for place in places(""))
    except (Problem, ClientError, BotoCoreError) as error:
        raise NotReanchored(f"{error} Run it again: those that wait already do so still.") from error
    print(f"{logs} logs wait for their first anchor in {bucket}; the next full hour brings it.")


def _waits(bucket: str, log: str) -> bool:
    """Let a log wait for its anchor, unless it has one in the bucket, or nothing to anchor; return whether it does."""
    head = table.get(ledger.head_key(log))
    if head is None or files.find_first_key(bucket, f"{log}/"):
        return False
    return "index2pk" in head or ledger.mark_unanchored(log, head)
