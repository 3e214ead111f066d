"""Measure the cost of each operation on AWS: `python -m benchmarks.costs`. It takes some minutes.

It runs the example of every operation in memory, with its background work, and prices the AWS calls. The results are
written to `benchmarks/results/costs.json` and `docs/reference/costs.md`. `--document` only writes the page.

`--dynamodb` compares the calculated units with those of Amazon's DynamoDB Local at this URL. Start it first (Java 17):

    java -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -sharedDb -inMemory -port 8001

It listens on all addresses of the machine; use `unshare -n` to give it and this program a network of their own.
"""

import argparse

from benchmarks.costs import document, results
from benchmarks.costs.bench import DEFAULT_REPETITIONS, open_bench
from benchmarks.costs.compare import compare_units
from benchmarks.log_scale.results import describe_environment


def main() -> None:
    """Measure or compare, as the command line requests."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.costs", description="Measure the cost of each operation."
    )
    parser.add_argument(
        "--times", type=int, default=DEFAULT_REPETITIONS, help="measurements of each operation (default: %(default)s)"
    )
    parser.add_argument("--dynamodb", metavar="URL", help="only compare with DynamoDB Local at this URL")
    parser.add_argument("--document", action="store_true", help="only write the page")
    options = parser.parse_args()
    if options.dynamodb:
        with open_bench() as metered_bench:
            results.update_results(compared=compare_units(metered_bench, options.dynamodb))
    elif not options.document:
        with open_bench() as metered_bench:
            measured = {
                "operations": dict(metered_bench.measure_operations(options.times)),
                "others": dict(metered_bench.measure_other_requests(options.times)),
            }
        results.update_results(of=describe_environment(), **measured)
    document.PAGE_FILE.write_text(document.render_page(results.load_results()))


if __name__ == "__main__":
    main()
