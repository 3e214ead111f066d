"""`docs/operations/reliability.md`: what is promised though machines fail, who holds it, and what a soak has found."""

import json
from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table
from local.paths import ROOT

FILE: Final = ROOT / "docs" / "operations" / "reliability.md"
_RESULTS: Final = ROOT / "benchmarks" / "results" / "soak.json"

PROMISES: Final = {
    "acknowledged": "What was acknowledged is there: each version that an answer named is in its log, exactly once.",
    "whole": "Every record that an answer named is of the version that its log says, and no other, or gone and its log "
    "says so.",
    "complete": "What was not acknowledged is there wholly or not at all: lists and logs say the same of all records.",
    "ordered": "No log and no record's history leaves anything out.",
    "verified": "Every log verifies, and each checkpoint that was kept along the way is one of its beginnings.",
    "told": "Every event reached every webhook, or its delivery says why not.",
    "answered": "No answer was other than expected: what was read is what was acknowledged before, a stale change is "
    "refused, a repeated `Idempotency-Key` is answered with the same bytes.",
    "exported": "Every export of a log is completed, and its file is what its digest says.",
    "bounded": "No process took more than 512 MiB or had more than 512 files open.",
    "struck": "The service and the workers were killed, each at least once.",
}
"""What is held against what the callers were told, in words."""


def keep(results: Mapping[str, Any]) -> None:
    """Keep the figures in place of former ones, and write the page anew."""
    _RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    FILE.write_text(document())


def document() -> str:
    """Return the page."""
    return _HEAD + "\n" + written(json.loads(_RESULTS.read_text()))


def written(found: Mapping[str, Any]) -> str:
    """Return what a soak has found."""
    asked = [[kind, f"{count:,}"] for kind, count in sorted(found["asked"].items(), key=lambda pair: -pair[1])]
    promises = [[text, _held(found["broken"][name])] for name, text in PROMISES.items() if name in found["broken"]]
    broken = [f"- {line}" for lines in found["broken"].values() for line in lines[:_SHOWN]]
    parts = [
        _SOAK.format(
            **found | found["of"],
            requests=sum(found["asked"].values()),
            service=found["kills"]["service"],
            workers=found["kills"]["workers"],
            letters=sum(found["deadLetters"].values()),
            statuses=", ".join(f"{status} {count:,} times" for status, count in sorted(found["answers"].items())),
            took=", ".join(
                f"{name} {mib:.0f} MiB and {found['files'][name]} files"
                for name, mib in sorted(found["memory"].items())
            ),
        ),
        table(["asked", "answered, times"], asked),
        table(["promise", "held"], promises),
        *broken,
        _LIMITS,
    ]
    return "\n\n".join(parts)


def _held(broken: list[str]) -> str:
    return "yes" if not broken else f"**no**: {len(broken)} times"


_SHOWN: Final = 20

_HEAD: Final = """\
# What holds though machines fail

A process may be killed at any moment; AWS may throttle, time out before or after it has done what it was asked, lose
the order of messages, deliver them twice or late. What Atrium promises then:

- **Acknowledged is present.** A 2xx of a change means that its record, its log entry, its event and its idempotency
  record were committed in one transaction.
- **Not acknowledged is all or nothing.** Ask again with the same `Idempotency-Key`, or look.
- **The log verifies**, and no entry precedes one that was answered before its request was sent.
- **Every event reaches its subscribers**, at least once, or its delivery says why not.
- **A repeated `Idempotency-Key` gets the same answer**, for 24 hours, as long as its caller may see what it is about.

Who holds that:

- `tests/faults`: every mutation of the catalogue and every task of a queue, and in each of them every call of AWS:
  throttled, timed out before it was done and after, cancelled, and the end of the process before it and after. Messages
  are lost, doubled and late.
- `tests/emulator/test_crashes.py` and `test_crashes_of_workers.py`: real processes that are killed at each of their
  calls, against an emulator of DynamoDB and SQS. `test_races.py` and its neighbours: many callers at once.
- `tests/model`: stories that Hypothesis makes up, of several callers, messages that come twice, late, never and in
  disorder, and a clock that jumps, held against a model of the service.
- `make soak`: the whole service under load while its processes are killed.
"""

_SOAK: Final = """\
## The soak

`make soak` runs the whole service as `make run` does for {minutes:g} minutes, while {service} times the service's
process was killed and {workers} times that of all workers, at random (`SEED={seed}`), in the middle of whatever they
did. Tenants asked {requests:,} times for something ({statuses}). Where a connection was cut they asked again,
{triedAgain:,} times; {abandoned:,} changes they left as they were, not knowing. A killed service answered again after
{revived[p50]:g} s in the middle, {revived[max]:g} s at most, which is how long Python takes to start.

{acknowledged:,} changes were acknowledged. {entries:,} entries are in the logs, {deliveries:,} requests reached the two
webhooks of each tenant, one of which fails three times of ten. An event arrived {lag[p50]:g} s after it was committed
in the middle, after {lag[p99]:g} s in 99 of 100 cases, after {lag[max]:g} s at most: a message that a killed worker
held comes back when its time is over, or the sweep finds what is due. After the load, {settled:g} s passed until
nothing waited any more. {exports} exports and {checkpoints} kept checkpoints were looked at. In dead-letter queues were
{letters} messages: one whose workers are killed five times goes there, and the sweep makes up for it. At most they
took: {took}.

On {machine}, Python {python}, {day}."""

_LIMITS: Final = """\
What it can't show: that DynamoDB, SQS and S3 keep what they promise themselves (an emulator stands for them, which is
not killed), what a network does between them, and months instead of minutes.
"""
