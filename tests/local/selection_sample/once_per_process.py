"""Code that runs once in a process, however many tests need it."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


def called_by_one_test() -> str:
    return "in one test"


def called_by_fixture() -> str:
    return "in a fixture"


@cache
def cached_function() -> str:
    return called_by_cached_function() + "".join(file.read_text() for file in FOLDER.glob("*.txt"))


def called_by_cached_function() -> str:
    return "in a cached function"


def called_by_scenario() -> str:
    return "in a scenario"


def called_at_import() -> str:
    return "at import"


VALUE = called_at_import() + (FOLDER / "read_at_import.md").read_text()
