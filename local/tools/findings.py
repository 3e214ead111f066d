"""What the checks of `make doctor` and `make smoke` find."""

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """The outcome of a step. `MISSING`: it works without, but somebody may need it.

    `make doctor` rejects settings and tokens. The checks of `make smoke` fail, or are skipped where they do not apply.
    """

    ACCEPTED = "ok"
    MISSING = "missing"
    REJECTED = "REJECTED"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """The result of one step of a check: what it is about, and what was found. `remedy`: what to change."""

    step: str
    outcome: Outcome
    text: str
    remedy: str = ""

    def to_text(self) -> str:
        """Return the lines to print."""
        first_line = f"{self.outcome.value:<9} {self.step}: {self.text}"
        return f"{first_line}\n{'':<10}{self.remedy}" if self.remedy else first_line
