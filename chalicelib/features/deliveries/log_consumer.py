"""Following a log: a second cursor behind its head, for what becomes of each sealed entry, once and in their order.

The head is due while the cursor is behind it. What is made of the entries is written in the transaction that moves the
cursor, on condition that nobody moved it since: so a message that is lost or doubled, and two workers at once, change
nothing.
"""

from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.audit_log.ledger import head_key
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.table import Write

_MARK: Final = ("duepk", "duesk", "task", "log")
_NOWHERE: Final = "attribute_not_exists(#followed)"


@dataclass(frozen=True)
class Cursor:
    """How far a log is followed: all entries up to `sequence`, and of the next so much as `part` says."""

    sequence: int = 0
    part: int = 0

    @classmethod
    def of(cls, head: Item | None) -> "Cursor":
        """Return the cursor of a log by its head."""
        return cls(int(head.get("followed", 0)), int(head.get("followed_part", 0))) if head else cls()

    def moved(self, log: str, to: "Cursor", size: int) -> Write:
        """Return the write that moves it in a log of that size, if neither has changed; at the end nothing is due."""
        done = to.sequence == size
        forget = " REMOVE " + ", ".join(f"#{name}" for name in _MARK) if done else ""
        here = "#followed = :was AND #followed_part = :was_part" if self != Cursor() else _NOWHERE
        was = {"was": self.sequence, "was_part": self.part} if self != Cursor() else {}
        return Write(
            "Update",
            head_key(log),
            update="SET #followed = :to, #followed_part = :to_part" + forget,
            condition=f"#size = :size AND {here}",
            names=["size", "followed", "followed_part", *(_MARK if done else ())],
            values={"size": size, "to": to.sequence, "to_part": to.part, **was},
        )
