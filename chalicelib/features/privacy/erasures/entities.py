"""The stored record of an erasure."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal

from chalicelib.features.privacy.erasures.models import ErasureOut, ErasureStatus
from chalicelib.kernel.storage.entity import Collection, Item
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import PublicJob

MAX_RUNNING_ERASURES = 10

Step = Literal["accounts", "addresses", "records", "entries"]

ScanRange = dict[str, Any]
"""A partition: its `pk`, the `index` if it is a partition of one, and `after`, the position at which to continue."""

Identity = tuple[str, str]
"""A user id, and an e-mail address that the user proved to own."""


class Erasure(PublicJob):
    """The erasure of a person. `step`, `pending_ranges` and `log_cursor` are its progress.

    `pending_ranges` are the partitions still to be searched for records, empty before that step begins. `log_cursor` is
    the position in the log at which to continue.

    `user_ids`, `emails` and `actor` identify the person in the request; `actor` has the type and the id of an actor of
    application events. `identities` are the pairs that the erasure found. All four are cleared when the erasure ends.
    If it ends with an `error`, it keeps the identities for the next erasure, because it may have erased the entries
    that contained them.

    After `completed_at` it searches once more for records that were in flight at that time, and ignores later ones. A
    completed erasure does not count toward the limit.
    """

    kind, parameter, task = "organization.erasure", "erasure_id", "erasures.run"
    pk, sk = "O#{organization_id}", "Z#{id}"
    in_organization = Collection("O#{organization_id}", "Z#{id}", newest_first=True)
    fields_omitted_from_lists = frozenset({"identities", "pending_ranges", "log_cursor"})
    quota = Quota(
        "running erasures",
        "O#{organization_id}",
        MAX_RUNNING_ERASURES,
        lambda erasure: erasure.status in ("queued", "running"),
        "Wait until one is completed.",
    )
    output_model = ErasureOut
    attribute_names: ClassVar = {
        "identities": "accounts",
        "pending_ranges": "rooms",
        "log_cursor": "position",
    }

    organization_id: str
    user_ids: list[str] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    actor: dict[str, str] | None = None
    identities: list[list[str]] = field(default_factory=list)
    status: ErasureStatus = "queued"
    step: Step
    pending_ranges: list[ScanRange] = field(default_factory=list)
    log_cursor: Item | None = None
    completed_at: str | None = None
    erased_records: int = 0
    erased_entries: int = 0
    error: str | None = None

    @property
    def is_job_finished(self) -> bool:
        """Return whether nothing is left to do."""
        return self.lease_until is None

    @property
    def known_identities(self) -> set[Identity]:
        """Return the identities that the erasure found."""
        return {(user_id, email) for user_id, email in self.identities}

    @property
    def person(self) -> PersonIdentifiers:
        """Return the person to erase."""
        user_ids, emails = ({identity[n] for identity in self.known_identities} for n in (0, 1))
        actor_ids = {self.actor["id"]} if self.actor else set()
        return PersonIdentifiers(
            frozenset({*self.user_ids, *user_ids}), frozenset({*self.emails, *emails}), frozenset(actor_ids)
        )

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that remove the person's identities from an erasure that ended with an error."""
        remaining = [
            identity
            for identity in self.identities
            if identity[0] not in person.user_ids and identity[1] not in person.emails
        ]
        return {"identities": remaining} if self.is_job_finished and remaining != self.identities else {}
