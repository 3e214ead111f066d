"""Checks the configuration of a run or a stage step by step: `make doctor`.

Each check is a function in `CHECKS`, which yields findings.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import dropwhile
from typing import Final

from local.tools import issuer_checks, mail_checks, token_checks
from local.tools.findings import Finding, Outcome

TOKEN_VARIABLE: Final = "TOKEN"  # noqa: S105 - the name of a variable
_MAX_INPUT_CHARACTERS: Final = 100_000
_QUOTATION_MARKS: Final = "\"'"
_WORDS_BEFORE_TOKEN: Final = ("authorization:", "bearer")

CHECKS: Final[Sequence[Callable[[str | None], Iterable[Finding]]]] = (
    issuer_checks.check_issuer,
    token_checks.check_token,
    mail_checks.check_mail,
)
"""The checks in their order. Each gets the token to check, or None."""


def diagnose(token: str | None) -> int:
    """Print the findings of all checks, and return the exit code: 1 if a step rejects the token or the settings."""
    has_rejection = False
    with _without_log_output():
        for check in CHECKS:
            for finding in check(token):
                print(finding.to_text(), flush=True)
                has_rejection = has_rejection or finding.outcome is Outcome.REJECTED
    return 1 if has_rejection else 0


@contextmanager
def _without_log_output() -> Iterator[None]:
    """Suppress the log of the service's functions: the findings say the same in the words of the settings."""
    former_level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(former_level)


def read_token_or_none() -> str | None:
    """Return the text from the variable TOKEN, or from stdin unless that is a terminal, or None if it is empty.

    `Authorization: Bearer` before the token and quotation marks around it are ignored. The variable is removed, so that
    no other process inherits the token.
    """
    text = os.environ.pop(TOKEN_VARIABLE, "")
    if not text and not sys.stdin.isatty():
        text = sys.stdin.read(_MAX_INPUT_CHARACTERS)
    words = [word.strip(_QUOTATION_MARKS) for word in text.split()]
    words = list(dropwhile(lambda word: word.lower() in _WORDS_BEFORE_TOKEN, words))
    return " ".join(words) or None
