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

_SCHEDULE_ATTRIBUTES: Final = ("duepk", "duesk", "task", "log")
_NOT_STARTED_CONDITION: Final = "attribute_not_exists(#followed)"


@dataclass(frozen=True)
class ConsumerOffset:
    """How far a log is followed: all entries up to `sequence`, and of the next so much as `part` says."""

    sequence: int = 0
    part: int = 0

    @classmethod
    def from_head(cls, head: Item | None) -> "ConsumerOffset":
        """Return the cursor of a log by its head."""
        return cls(int(head.get("followed", 0)), int(head.get("followed_part", 0))) if head else cls()

    def advance(self, log: str, target: "ConsumerOffset", size: int) -> Write:
        """Return the write that moves it in a log of that size, if neither has changed; at the end nothing is due."""
        is_at_end = target.sequence == size
        remove_clause = " REMOVE " + ", ".join(f"#{name}" for name in _SCHEDULE_ATTRIBUTES) if is_at_end else ""
        offset_condition = (
            "#followed = :was AND #followed_part = :was_part" if self != ConsumerOffset() else _NOT_STARTED_CONDITION
        )
        offset_values = {"was": self.sequence, "was_part": self.part} if self != ConsumerOffset() else {}
        return Write(
            "Update",
            head_key(log),
            update="SET #followed = :to, #followed_part = :to_part" + remove_clause,
            condition=f"#size = :size AND {offset_condition}",
            names=["size", "followed", "followed_part", *(_SCHEDULE_ATTRIBUTES if is_at_end else ())],
            values={"size": size, "to": target.sequence, "to_part": target.part, **offset_values},
        )
