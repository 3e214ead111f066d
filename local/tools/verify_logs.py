"""Verifies every log there is, as after a restore: `python -m local verify`. It changes nothing.

No list of logs is kept, and anchors name only those that grew since their bucket was made: so the table is scanned for
logs. Anchors name those that are gone from the table altogether.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log.logic.entry_verification import Fault
from chalicelib.features.audit.log.logic.log_verification import VerificationProgress, VerificationResult
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.storage import table

_STORED: Final = "stored"
_ANCHORED: Final = "anchored"
_OUTBOX, _ = ledger.head_key("")
_SCAN: Final[dict[str, Any]] = {
    "ConsistentRead": True,
    "ProjectionExpression": "pk",
    "FilterExpression": "begins_with(pk, :outbox)",
    "ExpressionAttributeValues": {":outbox": {"S": _OUTBOX}},
}
_AT_ONCE: Final = 8
_REPORT_INTERVAL_SECONDS: Final = 20
_BEHIND_SLASH: Final = "0"


class NotVerified(Exception):
    """What is asked does not answer, or the question was wrong; says where to go on."""


@dataclass(frozen=True)
class Place:
    """A log, and what leads back behind it: `stored/<log>`, or `anchored/<log>` of one that the table has lost."""

    log: str
    after: str


def verify_logs(after: str = "", bucket: str | None = None) -> bool:
    """Verify all logs behind a place, print a line for each that fails and a summary; return whether none did.

    They are held against the anchors in `bucket`, else in the one that the settings name. Raises NotVerified.
    """
    if bucket:
        os.environ["ANCHORS_BUCKET"] = bucket
        settings.cache_clear()
    done = Turn(after)
    try:
        done.verify(places(after))
    except Problem as problem:
        raise NotVerified(f"{problem.detail} {done.how_to_go_on}") from problem
    except (ClientError, BotoCoreError) as error:
        raise NotVerified(f"{error}. {done.how_to_go_on}") from error
    except KeyboardInterrupt:
        print(f"Interrupted. {done.how_to_go_on}", file=sys.stderr)
        raise
    if not (done.logs or after):
        raise NotVerified("There is no log: this is another table than you meant, or an empty one. Look at TABLE_NAME.")
    source = f"the anchors in {settings().anchors_bucket}" if settings().anchors_bucket else "their heads; no anchors"
    found = f"{done.failed} failed" if done.failed else "all are as they were signed"
    print(f"{done.logs} logs of {done.entries:,} entries, held against {source}: {found}.")
    return not done.failed


@dataclass
class Turn:
    """How far one call of the command is: the place behind which the next would go on, and what it has found."""

    after: str
    logs: int = 0
    entries: int = 0
    failed: int = 0

    @property
    def how_to_go_on(self) -> str:
        """What to type to verify the rest."""
        return f"To go on from here: --after {self.after}" if self.after else "Begin again."

    def verify(self, logs: Iterator[Place]) -> None:
        """Verify the logs, some at the same time, in their order."""
        reported_at = time.monotonic()
        while batch := list(islice(logs, _AT_ONCE)):
            for place, outcomes in zip(batch, table.gather(lambda p: outcomes_of(p.log), batch), strict=True):
                self._count(place, outcomes)
            if time.monotonic() - reported_at > _REPORT_INTERVAL_SECONDS:
                reported_at = time.monotonic()
                print(f"{self.logs} logs so far. {self.how_to_go_on}", file=sys.stderr, flush=True)

    def _count(self, place: Place, outcomes: Sequence[VerificationResult]) -> None:
        self.logs += 1
        self.entries += outcomes[-1].progress.verified.tree.size
        if outcomes[0].fault or outcomes[0].progress.suppressed_count:
            self.failed += 1
            print(f"{place.log}: {', and what is left: '.join(map(_described, outcomes))}", flush=True)
        self.after = place.after


def outcomes_of(log: str) -> list[VerificationResult]:
    """Return what comes of a whole log and, if it was cut off, of what is left of it. Raises Problem `unavailable`."""
    outcome = _followed(log, log_verification.verify_next_window(log, None, None))
    cut_off = outcome.fault is not None and outcome.fault.failure == "truncated"
    if not (cut_off and outcome.progress.anchor_note and outcome.progress.head_size):
        return [outcome]
    # What is left is held against its own head alone, which has no more of the log than is there.
    left = {**outcome.progress.to_cursor(), "anchor": ""}
    return [outcome, _followed(log, log_verification.verify_next_window(log, left, None))]


def _followed(log: str, outcome: VerificationResult) -> VerificationResult:
    while not outcome.is_complete:
        outcome = log_verification.verify_next_window(log, outcome.progress.to_cursor(), None)
    return outcome


def _described(outcome: VerificationResult) -> str:
    """Return what is wrong with a log; of one that was cut off, how much of what was anchored is left."""
    fault, progress = outcome.fault, outcome.progress
    suppressed = (
        f"; {progress.suppressed_count} taken away before they were sealed" if progress.suppressed_count else ""
    )
    return _described_fault(fault, progress) + suppressed


def _described_fault(fault: Fault | None, progress: VerificationProgress) -> str:
    if fault is None:
        return "as it was signed"
    where = f" at sequence {fault.sequence}" if fault.sequence else ""
    if fault.failure == "truncated" and fault.sequence and progress.anchor_note:
        anchored, left = checkpoints.parse(progress.anchor_note).checkpoint.size, fault.sequence - 1
        return f"truncated{where}: {left} of the {anchored} entries that were anchored are left, {anchored - left} lost"
    return f"{fault.failure}{where}, of {progress.head_size} entries"


def places(after: str) -> Iterator[Place]:
    """Yield every log behind a place: all that the table holds, then those that have but an anchor left.

    Raises NotVerified if there is no such place.
    """
    kind, _, log = after.partition("/")
    if kind not in ("", _STORED, _ANCHORED) or (kind and not log):
        raise NotVerified(f"--after {after}: no place that this command has named. Leave it out to begin.")
    if kind != _ANCHORED:
        yield from (Place(stored, f"{_STORED}/{stored}") for stored in _stored(log))
    for anchored in _anchored(log if kind == _ANCHORED else ""):
        outbox, _ = ledger.head_key(anchored)
        if not table.query(outbox, limit=1).items:
            yield Place(anchored, f"{_ANCHORED}/{anchored}")


def _stored(after: str) -> Iterator[str]:
    """Yield the logs that have a head or an outbox in the table, each once: items of a partition stand together."""
    pk, sk = ledger.head_key(after)
    former, asked = pk if after else None, _SCAN | {"TableName": settings().table_name}
    if after:
        asked["ExclusiveStartKey"] = {"pk": {"S": pk}, "sk": {"S": sk}}
    for page in aws.client("dynamodb").get_paginator("scan").paginate(**asked):
        for item in page["Items"]:
            if (pk := item["pk"]["S"]) != former:
                former = pk
                yield pk.removeprefix(_OUTBOX)


def _anchored(after: str) -> Iterator[str]:
    """Yield the logs that have an anchor, in the order of their names, a thousand a request."""
    asked: dict[str, Any] = {"Bucket": settings().anchors_bucket, "Delimiter": "/"}
    if not asked["Bucket"]:
        return
    if after:
        asked["StartAfter"] = after + _BEHIND_SLASH  # Sorts behind all that this log has.
    for page in aws.client("s3").get_paginator("list_objects_v2").paginate(**asked):
        yield from (prefix["Prefix"].removesuffix("/") for prefix in page.get("CommonPrefixes", []))
