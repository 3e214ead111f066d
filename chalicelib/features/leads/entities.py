"""The stored leads and the submissions they consist of."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Self

from chalicelib.features.leads.models import LeadOut, LeadStatusCode, PublicLeadOut
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ItemKey, ItemReads
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS
from chalicelib.kernel.storage.name_index import FoundByName, NameIndex
from chalicelib.kernel.storage.unique_values import Unique

StoredSubmission = dict[str, Any]
"""The fields of `models.Submission`, and the `history` of the submission."""

_SHARDS: Final = 8


class Lead(FoundByName):
    """A lead with all submissions that one email address sent while the lead was open, the oldest first.

    The first submission has the id of the lead. Until `open_until`, the email address is mapped to the lead.
    """

    kind, parameter = "lead", "lead_id"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    pk, sk = "L#{id}", "{id}"
    all_leads = Collection("L#{shard}", "{id}", index="index1", newest_first=True, shards=_SHARDS)
    by_status = Facet("L#S#{status}", "facet1", newest_first=True)
    by_email = Facet("L#E#{contact_email}", "facet2", newest_first=True)
    by_email_and_status = Facet("L#E#{contact_email}#{status}", "facet3", newest_first=True)
    all_names = NameIndex(
        "L#NAMES#{shard}",
        names=("contact_name", "company_name", "contact_email"),
        ordered_by=("contact_name",),
        shards=_SHARDS,
    )
    name_indexes = (all_names,)
    open_by_email = Unique(
        "lead-email",
        "{contact_email}",
        error_code="",
        field="contactEmail",
        expires_at_field="open_until",
        applies_to=lambda lead: lead.open_until is not None,
    )
    output_model = LeadOut

    contact_email: str
    status: LeadStatusCode = "new"
    submissions: list[StoredSubmission]
    history: list[dict[str, Any]]
    notes: list[dict[str, Any]] = field(default_factory=list)
    open_until: str | None = None

    @classmethod
    def companion_keys(cls, parameters: Mapping[str, str]) -> list[ItemKey]:
        """Return the key of the submission with the same id, which may refer to another lead."""
        return [LeadSubmission.make_item_key(id=parameters["lead_id"])]

    @classmethod
    def key_of_alias(cls, key: ItemKey, items: Mapping[ItemKey, Item]) -> ItemKey:
        """Return the key of a lead by its id, or by the id of a submission that was merged into it."""
        submission = items.get((key[0], LeadSubmission.sk))
        return cls.make_item_key(id=submission["lead_id"]) if submission and key not in items else key

    @property
    def contact_name(self) -> str:
        """The name in the first submission."""
        return str(self._first_submission_field("contact_name"))

    @property
    def company_name(self) -> str | None:
        """The company in the first submission."""
        company_name: str | None = self._first_submission_field("company_name")
        return company_name

    @property
    def message(self) -> str | None:
        """The message in the first submission."""
        message: str | None = self._first_submission_field("message")
        return message

    @property
    def source(self) -> str | None:
        """The source in the first submission."""
        source: str | None = self._first_submission_field("source")
        return source

    @property
    def consent(self) -> dict[str, Any] | None:
        """The consent in the first submission."""
        consent: dict[str, Any] | None = self._first_submission_field("consent")
        return consent

    @property
    def audit_log_label(self) -> str:
        """The name of the contact."""
        return self.contact_name

    def existing_submission(self, submission_id: str) -> StoredSubmission:
        """Return the submission with an id."""
        return next(submission for submission in self.submissions if submission["id"] == submission_id)

    def _first_submission_field(self, name: str) -> Any:
        """Return a field of the first submission. Later ones may be from other people who know the email address."""
        return self.submissions[0][name]


class LeadSubmission(Entity):
    """A submission by the public, which refers to the lead that contains it.

    `loaded_lead` is that lead, once the submission is hydrated. The version is the number of history entries of the
    submission, so other changes of the lead don't affect it.
    """

    kind, parameter = "lead.submission", "lead_id"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    pk, sk = "L#{id}", "S#"
    version_fields = ("lead_id",)
    computed_fields = frozenset({"loaded_lead"})
    output_model = PublicLeadOut

    lead_id: str
    loaded_lead: Lead | None = None

    @classmethod
    def of_lead(cls, lead: Lead, submission_id: str) -> Self:
        """Return the current state of a submission in a lead."""
        submission = lead.existing_submission(submission_id)
        history = submission["history"]
        return cls(
            id=submission_id,
            created_at=submission["submitted_at"],
            updated_at=history[-1]["at"],
            version=len(history),
            lead_id=lead.id,
            loaded_lead=lead,
        )

    @classmethod
    def companion_keys(cls, parameters: Mapping[str, str]) -> list[ItemKey]:
        """Return the key of the lead with the same id."""
        return [Lead.make_item_key(id=parameters["lead_id"])]

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self]:
        """Request the lead if it has a different id, and return the submission with it."""
        key = Lead.make_item_key(id=self.lead_id)
        found = items if key in items else (yield [key])
        return self.of_lead(Lead.from_item(found[key]), self.id)

    @property
    def lead(self) -> Lead:
        """The lead that contains the submission. Raises ValueError if it was not hydrated."""
        if self.loaded_lead is None:
            raise ValueError(f"the lead of {self.id} was not loaded")
        return self.loaded_lead

    @property
    def stored_submission(self) -> StoredSubmission:
        """The stored fields of the submission."""
        return self.lead.existing_submission(self.id)

    @property
    def contact_name(self) -> str:
        """The name of the sender."""
        return str(self.stored_submission["contact_name"])

    @property
    def contact_email(self) -> str:
        """The email address of the sender."""
        return self.lead.contact_email

    @property
    def company_name(self) -> str | None:
        """The company of the sender."""
        company_name: str | None = self.stored_submission["company_name"]
        return company_name

    @property
    def message(self) -> str | None:
        """The message of the sender."""
        message: str | None = self.stored_submission["message"]
        return message

    @property
    def consent(self) -> dict[str, Any] | None:
        """The consent of the sender."""
        consent: dict[str, Any] | None = self.stored_submission["consent"]
        return consent

    @property
    def status(self) -> LeadStatusCode:
        """The status of the submission."""
        status: LeadStatusCode = self.stored_submission["status"]
        return status

    @property
    def history(self) -> list[dict[str, Any]]:
        """The status history of the submission."""
        return list(self.stored_submission["history"])
