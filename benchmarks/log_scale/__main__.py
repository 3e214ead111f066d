"""Measure the cost of an audit log as it grows: `python -m benchmarks.log_scale --entries 1000000`.

The ledger's own code fills logs of 1,000, 10,000 … entries, up to `--entries`. Each log is then listed, verified and
exported. The results are written to `benchmarks/results/log_scale.json` and `docs/reference/scale.md`.

The table is stored in SQLite (`disk_table.py`), in a temporary file. `--dynamodb` uses Amazon's DynamoDB Local at that
URL instead (1.25 or later, Java 17). It calculates the capacity of a call with Amazon's code, but needs an hour or more
and several GiB for a million entries:

    java -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -sharedDb -inMemory -port 8001

It keeps its logs as long as it runs, and the next run continues an interrupted one. It listens on all addresses of the
machine; use `unshare -n` to give it and this program a network of their own.
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
    """Fill and measure the logs that the command line requests."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.log_scale", description="Measure the cost of an audit log as it grows."
    )
    parser.add_argument("--entries", type=int, default=_MIN_ENTRIES, help="the number of entries of the longest log")
    parser.add_argument("--dynamodb", metavar="URL", help="the URL of DynamoDB Local")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="measure only this; may be repeated")
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
    document.PAGE_FILE.write_text(document.render_page(results.load_results()))


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
