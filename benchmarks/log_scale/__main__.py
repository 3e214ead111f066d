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
from benchmarks.log_scale.stage import run_stage
from tests.harness.callers import Person

_MIN_ENTRIES: Final = 1_000
_REPORT_INTERVAL_SECONDS: Final = 30

MEASUREMENTS: Final[Mapping[str, Callable[[Log, Person], Any]]] = {
    "pages": listing.measure_pages,
    "walk": listing.measure_all_pages,
    "verify": verifying.verify,
    "export": exporting.export,
}


def main() -> None:
    """Fill and measure as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.log_scale", description="What a log costs as it grows.")
    parser.add_argument("--entries", type=int, default=_MIN_ENTRIES, help="how many the longest log holds")
    parser.add_argument("--dynamodb", metavar="URL", help="where DynamoDB Local answers")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="measure this only; may be repeated")
    options = parser.parse_args()
    table_name = results.DYNAMODB_LOCAL if options.dynamodb else results.SQLITE
    with run_stage(options.dynamodb) as owner:
        for entries in _sizes(options.entries):
            log = Log(entries)
            _fill(log, owner)
            for measure in options.only or MEASUREMENTS:
                measured = MEASUREMENTS[measure](log, owner)
                results.save_measurement(table_name, entries, measure, measured)
                print(f"{entries:,} entries, {measure}: {measured}", flush=True)
    document.FILE.write_text(document.document(results.read()))


def _sizes(max_entries: int) -> list[int]:
    sizes = [_MIN_ENTRIES]
    while sizes[-1] < max_entries:
        sizes.append(min(sizes[-1] * 10, max_entries))
    return sizes


def _fill(log: Log, owner: Person) -> None:
    log.create_organization(owner)
    started_at = reported_at = time.monotonic()
    for size in log.fill():
        if time.monotonic() - reported_at > _REPORT_INTERVAL_SECONDS:
            reported_at = time.monotonic()
            print(f"{size:,} of {log.entries:,} entries after {reported_at - started_at:.0f} s", flush=True)


if __name__ == "__main__":
    main()
