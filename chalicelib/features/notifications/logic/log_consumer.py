"""Following a log: a second cursor behind its head, for what becomes of each sealed entry, once and in their order.

The head is due while the cursor is behind it. What is made of the entries is written in the transaction that moves the
cursor, on condition that nobody moved it since: so a message that is lost or doubled, and two workers at once, change
nothing.
"""

from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.audit_log.ledger import head_key
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.writes import ItemUpdate, Write

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
        started = self != ConsumerOffset()
        offset_condition = "#followed = :was AND #followed_part = :was_part" if started else _NOT_STARTED_CONDITION
        offset_values = {"was": self.sequence, "was_part": self.part} if started else {}
        update = ItemUpdate(
            head_key(log),
            set={"followed": target.sequence, "followed_part": target.part},
            remove=_SCHEDULE_ATTRIBUTES if is_at_end else (),
        )
        return update.write(f"#size = :size AND {offset_condition}", size=size, **offset_values)
