"""What is stored of an erasure."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from chalicelib.features.privacy.erasures.models import ErasureOut, Status
from chalicelib.kernel.storage.entity import Item, Quota
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.work.jobs import Job

MOST_RUNNING = 10

Step = Literal["accounts", "addresses", "records", "entries"]

Room = dict[str, Any]
"""A partition: its `pk`, the `index` it is one of, if it lists places, and `after` which position to go on."""

Account = tuple[str, str]
"""A user id, and an e-mail address that was seen to be that user's."""


class Erasure(Job):
    """The erasure of a person. `step`, `rooms` and `position` are how far it is.

    `rooms` are the partitions that are still to be looked through for records; before it begins with that there are
    none. `position` is where it goes on in the log.

    `user_ids` and `emails` are who was named, `accounts` what it found out about them. Once it ends it forgets whom it
    was about; one that ends with an `error` keeps the accounts for the next, since it may have erased what told them.

    From `completed_at` on it looks once more for what was under way until then; what is made later is left alone. Once
    completed it counts no more against the limit.
    """

    kind, parameter, task = "organization.erasure", "erasure_id", "erasures.run"
    pk, sk = "O#{organization_id}", "Z#{id}"
    quota = Quota(
        "running erasures",
        "O#{organization_id}",
        MOST_RUNNING,
        lambda erasure: erasure.status in ("queued", "running"),
        "Wait until one is completed.",
    )
    output_model = ErasureOut

    organization_id: str
    user_ids: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    accounts: list[list[str]] = field(default_factory=list)
    status: Status = "queued"
    step: Step
    rooms: list[Room] = field(default_factory=list)
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
    def known(self) -> set[Account]:
        """The accounts it found out."""
        return {(user_id, email) for user_id, email in self.accounts}

    @property
    def person(self) -> PersonalData:
        """Whom it is about."""
        user_ids, emails = ({account[n] for account in self.known} for n in (0, 1))
        return PersonalData(frozenset({*self.user_ids, *user_ids}), frozenset({*self.emails, *emails}))

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets one that ended with an error forget the accounts with an id or an address of the person."""
        left = [a for a in self.accounts if a[0] not in person.user_ids and a[1] not in person.emails]
        return {"accounts": left} if self.over and left != self.accounts else {}
