"""What is stored of an erasure."""

from dataclasses import field
from typing import Literal

from chalicelib.features.erasures.models import ErasureOut, Status
from chalicelib.kernel.entity import Item, Limit, Person
from chalicelib.kernel.jobs import Job

MOST_RUNNING = 10

Step = Literal["search", "records", "entries"]


class Erasure(Job):
    """The erasure of a person. `step`, `position` and `sequence` are how far it is; it forgets whom once it ends."""

    kind, parameter, task = "organization.erasure", "erasure_id", "erasures.run"
    pk, sk = "O#{organization_id}", "Z#{id}"
    limit = Limit("running erasures", "O#{organization_id}", MOST_RUNNING, lambda erasure: not erasure.over)
    public = ErasureOut

    organization_id: str
    user_ids: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    status: Status = "queued"
    step: Step = "search"
    position: Item | None = None
    sequence: int = 0
    erased_records: int = 0
    erased_entries: int = 0
    error: str | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.status in ("completed", "failed")

    @property
    def person(self) -> Person:
        """Whom it is about."""
        return Person(frozenset(self.user_ids), frozenset(self.emails))
