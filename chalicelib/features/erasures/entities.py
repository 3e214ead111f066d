"""What is stored of an erasure."""

from dataclasses import field
from typing import Literal

from chalicelib.features.erasures.models import ErasureOut, Status
from chalicelib.kernel.entity import Item, Limit
from chalicelib.kernel.jobs import Job
from chalicelib.kernel.person import Person

MOST_RUNNING = 10

Step = Literal["accounts", "addresses", "records", "entries"]


class Erasure(Job):
    """The erasure of a person. `step` and `position` are how far it is; once it ends it forgets whom it was about.

    From `completed_at` on it looks once more for what was under way until then; what is made later is left alone. Once
    completed it counts no more against the limit.
    """

    kind, parameter, task = "organization.erasure", "erasure_id", "erasures.run"
    pk, sk = "O#{organization_id}", "Z#{id}"
    limit = Limit(
        "running erasures", "O#{organization_id}", MOST_RUNNING,
        lambda erasure: erasure.status in ("queued", "running"), "Wait until one is completed.",
    )  # fmt: skip
    public = ErasureOut

    organization_id: str
    user_ids: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    status: Status = "queued"
    step: Step
    position: Item | None = None
    completed_at: str | None = None
    erased_records: int = 0
    erased_entries: int = 0
    error: str | None = None

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done of it."""
        return self.turn_at is None

    @property
    def person(self) -> Person:
        """Whom it is about."""
        return Person(frozenset(self.user_ids), frozenset(self.emails))
