"""What is stored of leads."""

from dataclasses import field
from typing import Any, Final, Self

from chalicelib.features.leads.models import LeadOut, PublicLeadOut, Status
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.unique_values import Unique

Sent = dict[str, Any]
"""What was sent at one time, by the names of `models.Submission`, and its own `history`."""

_SHARDS: Final = 8


class Lead(Entity):
    """A lead, with all that was sent by one address while it was `open_until` a moment, the oldest first.

    What was sent first has the id of the lead. While a lead is open its address leads to it.
    """

    kind, parameter = "lead", "lead_id"
    pk, sk = "L#{id}", "{id}"
    listed = Collection("L#{shard}", "{id}", index="index1", newest_first=True, shards=_SHARDS)
    by_status = Facet("L#S#{status}", "facet1", newest_first=True)
    by_email = Facet("L#E#{contact_email}", "facet2", newest_first=True)
    by_both = Facet("L#E#{contact_email}#{status}", "facet3", newest_first=True)
    by_address = Unique(
        "lead-email",
        "{contact_email}",
        error_code="",
        field="contactEmail",
        expires_at_field="open_until",
        applies_to=lambda lead: lead.open_until is not None,
    )
    output_model = LeadOut

    contact_email: str
    status: Status = "new"
    submissions: list[Sent]
    history: list[dict[str, Any]]
    notes: list[dict[str, Any]] = field(default_factory=list)
    open_until: str | None = None

    @classmethod
    def pick_item(cls, key: ItemKey, read: dict[ItemKey, Item]) -> Item | None:
        """Return the item of the lead of an id; if that is of something that was merged into a lead, of this one."""
        sent = read.get((key[0], Submission.sk))
        if key not in read and sent:
            read |= table.get_all([key := cls.make_item_key(id=sent["lead_id"])])
        return read.get(key)

    @property
    def contact_name(self) -> str:
        """The name that was sent first."""
        return str(self._first("contact_name"))

    @property
    def company_name(self) -> str | None:
        """The company that was sent first."""
        company_name: str | None = self._first("company_name")
        return company_name

    @property
    def message(self) -> str | None:
        """The message that was sent first."""
        message: str | None = self._first("message")
        return message

    @property
    def source(self) -> str | None:
        """The source that was sent first."""
        source: str | None = self._first("source")
        return source

    @property
    def consent(self) -> dict[str, Any] | None:
        """The consent that was sent first."""
        consent: dict[str, Any] | None = self._first("consent")
        return consent

    @property
    def log_label(self) -> str:
        """The person's name."""
        return self.contact_name

    def sent(self, sent_id: str) -> Sent:
        """Return what was sent under an id."""
        return next(sent for sent in self.submissions if sent["id"] == sent_id)

    def _first(self, name: str) -> Any:
        """Return a field of what was sent first: what came later may be somebody else's, who knows the address."""
        return self.submissions[0][name]


class Submission(Entity):
    """That something was sent by the public, and which lead holds it; `found_in` is that, once it is found.

    It has as many versions as its history has entries: what else happens to the lead changes nothing of it.
    """

    kind, parameter = "lead.submission", "lead_id"
    pk, sk = "L#{id}", "S#"
    version_fields = ("lead_id",)
    computed_fields = frozenset({"found_in"})
    output_model = PublicLeadOut

    lead_id: str
    found_in: Lead | None = None

    @classmethod
    def within(cls, lead: Lead, sent_id: str) -> Self:
        """Return what a lead holds under an id, as it is now."""
        sent = lead.sent(sent_id)
        history = sent["history"]
        return cls(
            id=sent_id,
            created_at=sent["submitted_at"],
            updated_at=history[-1]["at"],
            version=len(history),
            lead_id=lead.id,
            found_in=lead,
        )

    def hydrate(self, read: dict[ItemKey, Item]) -> Self | None:
        """Return it with the lead that holds it, which takes one more read if that has another id."""
        key = Lead.make_item_key(id=self.lead_id)
        if key not in read:
            read |= table.get_all([key])
        return self.within(Lead.from_item(read[key]), self.id)

    @property
    def lead(self) -> Lead:
        """The lead that holds it."""
        if self.found_in is None:
            raise ValueError(f"the lead of {self.id} was not looked for")
        return self.found_in

    @property
    def sent(self) -> Sent:
        """What was sent, and what has become of it."""
        return self.lead.sent(self.id)

    @property
    def contact_name(self) -> str:
        """The name that was sent."""
        return str(self.sent["contact_name"])

    @property
    def contact_email(self) -> str:
        """The address that was sent."""
        return self.lead.contact_email

    @property
    def company_name(self) -> str | None:
        """The company that was sent."""
        company_name: str | None = self.sent["company_name"]
        return company_name

    @property
    def message(self) -> str | None:
        """The message that was sent."""
        message: str | None = self.sent["message"]
        return message

    @property
    def consent(self) -> dict[str, Any] | None:
        """The consent that was sent."""
        consent: dict[str, Any] | None = self.sent["consent"]
        return consent

    @property
    def status(self) -> Status:
        """Its own status."""
        status: Status = self.sent["status"]
        return status

    @property
    def history(self) -> list[dict[str, Any]]:
        """Its own history."""
        return list(self.sent["history"])
