"""Types of command-line arguments."""

import argparse
from collections.abc import Callable


def _number_in(numbers: range, meaning: str) -> Callable[[str], int]:
    """Return a function that parses a number in a range, as argparse calls it."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) not in numbers:
            raise argparse.ArgumentTypeError(f"must be {meaning}: {numbers[0]} to {numbers[-1]}")
        return int(text)

    return parse


port = _number_in(range(1, 65_536), "a port")
status = _number_in(range(200, 600), "a status of a response")
