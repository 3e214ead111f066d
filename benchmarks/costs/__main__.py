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
from benchmarks.costs.compare import compared
from benchmarks.costs.measuring import TIMES, bench
from benchmarks.log_scale.results import circumstances


def main() -> None:
    """Measure, or compare, as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description="What each operation costs.")
    parser.add_argument("--times", type=int, default=TIMES, help="measure each so often (default: %(default)s)")
    parser.add_argument("--dynamodb", metavar="URL", help="only compare with DynamoDB Local, which answers there")
    parser.add_argument("--document", action="store_true", help="only write the page anew")
    wanted = parser.parse_args()
    if wanted.dynamodb:
        with bench() as made:
            results.keep(compared=compared(made, wanted.dynamodb))
    elif not wanted.document:
        with bench() as made:
            measured = {"operations": dict(made.operations(wanted.times)), "others": dict(made.others(wanted.times))}
        results.keep(of=circumstances(), **measured)
    document.FILE.write_text(document.document(results.read()))


if __name__ == "__main__":
    main()
