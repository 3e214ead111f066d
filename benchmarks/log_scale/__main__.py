"""What a log costs as it grows: `python -m benchmarks.log_scale --entries 1000000`.

Logs of 1,000 entries and ten times as many, and so on up to `--entries`, are filled through the ledger's own code, then
listed, verified and exported. Figures go to `benchmarks/results/log_scale.json`, and from there to
`docs/reference/scale.md`.

The table is a stand-in for DynamoDB on SQLite (`disk.py`), in a file that goes with the program. `--dynamodb` takes the
address of Amazon's DynamoDB Local instead, started beside this (1.25 or later, Java 17), which needs an hour or more
for a million entries and several GiB, but reckons by Amazon's own code what a call costs:

    java -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -sharedDb -inMemory -port 8001

As long as it runs it has its logs: a run that was ended is gone on with by the next. It listens on every address of the
machine; `unshare -n` gives it, and this program, a network of their own.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks.log_scale import document, exporting, listing, results, verifying
from benchmarks.log_scale.logs import Log
from benchmarks.log_scale.stage import stage
from tests.harness.callers import Person

_SMALLEST: Final = 1_000
_REPORT_INTERVAL_SECONDS: Final = 30

MEASURES: Final[Mapping[str, Callable[[Log, Person], Any]]] = {
    "pages": listing.pages,
    "walk": listing.walk,
    "verify": verifying.verify,
    "export": exporting.export,
}


def main() -> None:
    """Fill and measure as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log_scale", description="What a log costs as it grows.")
    parser.add_argument("--entries", type=int, default=_SMALLEST, help="how many the longest log holds")
    parser.add_argument("--dynamodb", metavar="URL", help="where DynamoDB Local answers")
    parser.add_argument("--only", choices=MEASURES, action="append", help="measure this only; may be repeated")
    wanted = parser.parse_args()
    table = results.DYNAMODB_LOCAL if wanted.dynamodb else results.STAND_IN
    with stage(wanted.dynamodb) as owner:
        for entries in _sizes(wanted.entries):
            log = Log(entries)
            _fill(log, owner)
            for measure in wanted.only or MEASURES:
                figures = MEASURES[measure](log, owner)
                results.keep(table, entries, measure, figures)
                print(f"{entries:,} entries, {measure}: {figures}", flush=True)
    document.FILE.write_text(document.document(results.read()))


def _sizes(most: int) -> list[int]:
    sizes = [_SMALLEST]
    while sizes[-1] < most:
        sizes.append(min(sizes[-1] * 10, most))
    return sizes


def _fill(log: Log, owner: Person) -> None:
    log.found(owner)
    began = reported_at = time.monotonic()
    for size in log.fill():
        if time.monotonic() - reported_at > _REPORT_INTERVAL_SECONDS:
            reported_at = time.monotonic()
            print(f"{size:,} of {log.entries:,} entries after {reported_at - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
