"""What each operation costs on AWS: `python -m benchmarks.costs`, some minutes.

Every operation's example is performed in memory, with the work behind it, and what it asks of AWS is priced. Figures go
to `benchmarks/results/costs.json`, and from there to `docs/reference/costs.md`; `--document` only writes that page.

`--dynamodb` compares the units that are reckoned with those of Amazon's DynamoDB Local at this address, started beside
this (Java 17):

    java -Djava.library.path=DynamoDBLocal_lib -jar DynamoDBLocal.jar -sharedDb -inMemory -port 8001

It listens on every address of the machine; `unshare -n` gives it, and this program, a network of their own.
"""

import argparse

from benchmarks.costs import document, results
from benchmarks.costs.compare import compare_units
from benchmarks.costs.measuring import DEFAULT_REPETITIONS, bench
from benchmarks.log_scale.results import describe_environment


def main() -> None:
    """Measure, or compare, as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description="What each operation costs.")
    parser.add_argument(
        "--times", type=int, default=DEFAULT_REPETITIONS, help="measure each so often (default: %(default)s)"
    )
    parser.add_argument("--dynamodb", metavar="URL", help="only compare with DynamoDB Local, which answers there")
    parser.add_argument("--document", action="store_true", help="only write the page anew")
    options = parser.parse_args()
    if options.dynamodb:
        with bench() as metered_bench:
            results.update_results(compared=compare_units(metered_bench, options.dynamodb))
    elif not options.document:
        with bench() as metered_bench:
            measured = {
                "operations": dict(metered_bench.operations(options.times)),
                "others": dict(metered_bench.others(options.times)),
            }
        results.update_results(of=describe_environment(), **measured)
    document.FILE.write_text(document.document(results.read()))


if __name__ == "__main__":
    main()
