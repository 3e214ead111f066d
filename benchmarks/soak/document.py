"""Write `docs/operations/reliability.md`: the guarantees under failures, their tests, and the last soak's results."""

import json
from collections.abc import Mapping
from typing import Any, Final

from local.generators.markdown import table
from local.paths import ROOT

PAGE_FILE: Final = ROOT / "docs" / "operations" / "reliability.md"
_RESULTS: Final = ROOT / "benchmarks" / "results" / "soak.json"

PROMISES: Final = {
    "acknowledged": "Every acknowledged change is in the log: each version in a response has exactly one entry.",
    "reported": "Every acknowledged application event has exactly one entry, and every batch of events was written "
    "completely or not at all.",
    "whole": "Every record in a response has the version that its log shows, or is deleted and its log shows that.",
    "complete": "A change without a response is stored completely or not at all: lists and logs agree on all records.",
    "ordered": "No log and no history of a record has a gap.",
    "verified": "Every log verifies, and every checkpoint from the run is a prefix of its log.",
    "told": "Every event reached every webhook, or its delivery gives the reason.",
    "streamed": "Every log stream sent the whole log in order, each entry at least once.",
    "answered": "Every response was as expected: reads return acknowledged changes, changes of an outdated version are "
    "rejected, and a repeated `Idempotency-Key` gets the same bytes.",
    "exported": "Every export of a log is completed, and its file matches its digest.",
    "bounded": "No process used more than 512 MiB or more than 512 open files.",
    "struck": "The service and the workers were killed, each at least once.",
}
"""The promises that a soak checks, by their names in the results."""


def save_results(results: Mapping[str, Any]) -> None:
    """Replace the stored results, and write the page."""
    _RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    PAGE_FILE.write_text(render_page())


def render_page() -> str:
    """Return the page."""
    return _HEAD + "\n" + render_results(json.loads(_RESULTS.read_text()))


def render_results(results: Mapping[str, Any]) -> str:
    """Return the section about a soak's results."""
    request_rows = [[kind, f"{count:,}"] for kind, count in sorted(results["asked"].items(), key=lambda pair: -pair[1])]
    promise_rows = [
        [text, _outcome_text(results["broken"][name])] for name, text in PROMISES.items() if name in results["broken"]
    ]
    violation_lines = [f"- {line}" for lines in results["broken"].values() for line in lines[:_MAX_VIOLATIONS_SHOWN]]
    parts = [
        _SOAK.format(
            **results | results["of"],
            requests=sum(results["asked"].values()),
            service=results["kills"]["service"],
            workers=results["kills"]["workers"],
            letters=sum(results["deadLetters"].values()),
            statuses=", ".join(
                f"{count:,} with status {status}" for status, count in sorted(results["answers"].items())
            ),
            took=", ".join(
                f"{name} {mib:.0f} MiB and {results['files'][name]} files"
                for name, mib in sorted(results["memory"].items())
            ),
        ),
        table(["request", "responses"], request_rows),
        table(["promise", "kept"], promise_rows),
        *violation_lines,
        _LIMITS,
    ]
    return "\n\n".join(parts)


def _outcome_text(violations: list[str]) -> str:
    return "yes" if not violations else f"**no**: {len(violations)} times"


_MAX_VIOLATIONS_SHOWN: Final = 20

_HEAD: Final = """\
# Reliability

A process may be killed at any moment. AWS may throttle, or time out before or after it has done the work. Messages may
arrive late, twice or in another order. Atrium promises:

- **An acknowledged change is stored.** A 2xx response to a change means that its record, its log entry, its event and
  its idempotency record were committed in one transaction.
- **A change without a response is stored completely or not at all.** Repeat the request with the same
  `Idempotency-Key`, or read the record.
- **A batch of application events is written completely or not at all.**
- **The log verifies, and it keeps the order of changes.** If a change was acknowledged before another request was
  sent, its entry comes first in the log.
- **Every event reaches its subscribers** at least once, or its delivery gives the reason.
- **A log stream sends the log in order,** each entry at least once, until it is paused or disabled.
- **A repeated `Idempotency-Key` gets the same response** for 24 hours, as long as its caller may see the record.

These tests check the promises:

- `tests/faults`: every mutation of the catalogue and every task of a queue. Every AWS call in them is throttled,
  cancelled, or times out before and after its work; the process ends before and after the call. Messages are lost,
  repeated and late.
- `tests/kernel/work/test_chains.py`: work that takes more messages than [a chain](../adr/0039-recursive-loops.md) may
  have. The schedule continues it. Further tests check this for anchoring and for the backlogs of webhooks.
- `tests/emulator/test_crashes.py` and `test_crashes_of_workers.py`: real processes that are killed at each of their AWS
  calls, with an emulator of DynamoDB and SQS. `test_races.py` and others in that folder test concurrent callers.
- `tests/model`: stories that Hypothesis generates, compared with a model of the service. They have several callers,
  messages that arrive late, twice, never or in another order, and a clock that jumps.
- `tests/emulator/test_freezing.py`: a process that is frozen whenever it has responded, behind a network that forgets
  its idle connections.
- `make soak`: the whole service under load while its processes are killed.

## Frozen processes

Lambda freezes a process when its response leaves, and continues it with the next request, perhaps an hour later. So no
work depends on what runs after a response. One module starts all threads (`chalicelib/kernel/core/threads.py`): each
ends before the response or is abandoned without harm. The response waits at most 150 ms for the time at which an API
key was last used. Networks drop idle connections without a sign. All clients with pooled connections therefore open new
ones after 30 s without a request, by the wall clock (`chalicelib/kernel/core/idle_connections.py`).
"""

_SOAK: Final = """\
## The last soak

`make soak` ran the whole service, as `make run` does, for {minutes:g} minutes. During that time it killed the service's
process {service} times and the process of all workers {workers} times, at random moments (`SEED={seed}`). Tenants sent
{requests:,} requests ({statuses}). After a lost connection they repeated the request, {triedAgain:,} times in all; they
abandoned {abandoned:,} changes without knowing the outcome. A killed service responded again after {revived[p50]:g} s
in the median and {revived[max]:g} s at most, the time that Python takes to start.

{acknowledged:,} changes were acknowledged. The logs contain {entries:,} entries. {deliveries:,} requests reached the
two webhooks of each tenant, one of which fails three times out of ten. An event arrived {lag[p50]:g} s after its commit
in the median, {lag[p99]:g} s in the 99th percentile and {lag[max]:g} s at most. The long times occur because a killed
worker's message returns only after its visibility time-out, or the sweep finds the due work. After the load,
{settled:g} s passed until nothing was pending. The soak checked {exports} exports and {checkpoints} checkpoints. The
dead-letter queues contained {letters} messages: a message whose workers are killed five times moves there, and the
sweep repeats its work. Peak use: {took}.

On {machine}, Python {python}, {day}."""

_LIMITS: Final = """\
A soak cannot show that DynamoDB, SQS and S3 keep their own promises, because an emulator replaces them and is never
killed. It also cannot show the effects of a real network, or of months of operation.
"""
