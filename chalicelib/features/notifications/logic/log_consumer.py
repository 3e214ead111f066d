"""The offset of a consumer that processes the sequenced entries of a log, each of them once and in order.

The offset is stored in the head of the log, which is scheduled while the offset is behind its size. The results of the
entries are written in the transaction that advances the offset, on condition that no other worker has advanced it. So
lost or repeated messages and concurrent workers do no harm.
"""

from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.audit_log.ledger import head_key, unconsumed_schedule_attributes
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.writes import ItemUpdate, Write

_SCHEDULE_ATTRIBUTES: Final = ("duepk", "duesk", "task", "log")
_NOT_STARTED_CONDITION: Final = "attribute_not_exists(#followed)"


@dataclass(frozen=True)
class ConsumerOffset:
    """The progress in a log: all entries up to `sequence`, and the first `part` deliveries of the next entry."""

    sequence: int = 0
    part: int = 0

    @classmethod
    def from_head_item(cls, head: Item | None) -> "ConsumerOffset":
        """Return the offset that the head of a log contains."""
        return cls(int(head.get("followed", 0)), int(head.get("followed_part", 0))) if head else cls()

    def advance_write(self, log_id: str, new_offset: "ConsumerOffset", log_size: int) -> Write:
        """Return the write that moves the offset, on condition that neither it nor the size of the log has changed.

        At the end of the log, the write also removes the head from the schedule. Before, it schedules it anew, because
        the log has made progress.
        """
        is_at_end = new_offset.sequence == log_size
        started = self != ConsumerOffset()
        offset_condition = "#followed = :was AND #followed_part = :was_part" if started else _NOT_STARTED_CONDITION
        offset_values = {"was": self.sequence, "was_part": self.part} if started else {}
        update = ItemUpdate(
            head_key(log_id),
            set={
                "followed": new_offset.sequence,
                "followed_part": new_offset.part,
                **({} if is_at_end else unconsumed_schedule_attributes(log_id)),
            },
            remove=_SCHEDULE_ATTRIBUTES if is_at_end else (),
        )
        return update.to_write(f"#size = :size AND {offset_condition}", size=log_size, **offset_values)
