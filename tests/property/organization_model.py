"""A model of an organization: members, roles, invitations and log entries."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

ROLES: Final = ("member", "editor", "admin", "owner")
INVITED_FOR_DAYS: Final = 7

NOT_FOUND, INSUFFICIENT_ROLE = "404 not_found", "403 insufficient_role"
OWNER_MUST_TRANSFER, INVALID_TRANSITION = "409 owner_must_transfer", "409 invalid_transition"
USED, REVOKED, EXPIRED = "410 invitation_used", "410 invitation_revoked", "410 invitation_expired"


@dataclass(frozen=True)
class LogEntry:
    """A log entry. `actor` is None if the service is the actor."""

    event_type: str
    subject: str
    actor: str | None


@dataclass
class Invitation:
    """An invitation. `subject` is the invited person, `actor` the inviter."""

    subject: str
    role: str
    actor: str
    expires_on_day: int
    outcome: str = "pending"
    has_membership_ended: bool = False


@dataclass
class OrganizationModel:
    """An organization. Each method is an action of a person, and returns the expected response.

    `members` is in the order in which they joined.
    """

    members: dict[str, str]
    invitations: list[Invitation] = field(default_factory=list)
    entries: list[LogEntry] = field(default_factory=list)
    is_deleted: bool = False
    day: int = 0

    @property
    def owner(self) -> str:
        """Return the name of the owner."""
        (owner,) = (person for person, role in self.members.items() if role == "owner")
        return owner

    def status(self, invitation: Invitation) -> str:
        """Return the status of an invitation."""
        has_expired = invitation.outcome == "pending" and invitation.expires_on_day <= self.day
        return "expired" if has_expired else invitation.outcome

    def invite(self, actor: str, subject: str, role: str) -> str:
        """Invite a person."""
        if rejection := self._rejection(actor, "admin"):
            return rejection
        if subject in self.members:
            return "409 already_member"
        if any(invitation.subject == subject for invitation in self._pending()):
            return "409 already_exists"
        self.invitations.append(Invitation(subject, role, actor, self.day + INVITED_FOR_DAYS))
        return self._log("201", "invitation.created", subject, actor)

    def revoke(self, actor: str, invitation: Invitation) -> str:
        """Revoke an invitation."""
        if rejection := self._rejection(actor, "admin"):
            return rejection
        if self.status(invitation) == "revoked":
            return "204"
        if self.status(invitation) != "pending":
            return INVALID_TRANSITION
        invitation.outcome = "revoked"
        return self._log("204", "invitation.revoked", invitation.subject, actor)

    def respond(self, person: str, invitation: Invitation, outcome: str) -> str:
        """Accept or decline an invitation."""
        status = self.status(invitation)
        if self.is_deleted:
            return NOT_FOUND
        if status in ("revoked", "expired"):
            return REVOKED if status == "revoked" else EXPIRED
        if status == "pending" and not self._has_role(invitation.actor, invitation.role):
            return REVOKED
        if person != invitation.subject:
            return "403 email_mismatch"
        if status != "pending":
            return USED if status != outcome or invitation.has_membership_ended else "200"
        invitation.outcome = outcome
        if outcome == "accepted":
            self.members[person] = invitation.role
        return self._log("200", f"invitation.{outcome}", person, person)

    def change_role(self, actor: str, subject: str, role: str) -> str:
        """Change the role of a member."""
        if rejection := self._rejection(actor, "admin", subject):
            return rejection
        if self.members[subject] == role:
            return "200"
        if self.members[subject] == "owner":
            return OWNER_MUST_TRANSFER
        if not self._has_role(actor, role):
            return INSUFFICIENT_ROLE
        if role == "owner":
            return OWNER_MUST_TRANSFER
        self.members[subject] = role
        return self._log("200", "member.updated", subject, actor)

    def remove(self, actor: str, subject: str) -> str:
        """Remove a member."""
        return self._rejection(actor, "admin", subject) or self._remove_member(subject, actor)

    def leave(self, person: str) -> str:
        """Let a member leave the organization."""
        return self._rejection(person, "member") or self._remove_member(person, person)

    def transfer(self, actor: str, new_owner: str) -> str:
        """Transfer ownership."""
        if rejection := self._rejection(actor, "owner"):
            return rejection
        if new_owner not in self.members:
            return "422 validation_failed"
        if new_owner == actor:
            return "200"
        self.members |= {actor: "admin", new_owner: "owner"}
        return self._log("200", "ownership_transferred", "", actor)

    def delete(self, actor: str) -> str:
        """Delete the organization."""
        if rejection := self._rejection(actor, "owner"):
            return rejection
        self.is_deleted = True
        return self._log("204", "deleted", "", actor)

    def restore(self, actor: str) -> str:
        """Restore the organization."""
        if not self.is_deleted:
            return self._rejection(actor, "admin") or "200"
        if actor != self.owner:
            return NOT_FOUND
        self.is_deleted = False
        return self._log("200", "restored", "", actor)

    def sweep(self) -> None:
        """Let the service expire invitations."""
        for invitation in self.invitations:
            if self.status(invitation) == "expired" != invitation.outcome:
                invitation.outcome = "expired"
                self._log("", "invitation.expired", invitation.subject, None)

    def _rejection(self, actor: str, required_role: str, subject: str | None = None) -> str | None:
        if self.is_deleted or actor not in self.members or (subject is not None and subject not in self.members):
            return NOT_FOUND
        return None if self._has_role(actor, required_role) else INSUFFICIENT_ROLE

    def _has_role(self, actor: str, role: str) -> bool:
        return ROLES.index(self.members[actor]) >= ROLES.index(role)

    def _pending(self) -> Iterator[Invitation]:
        return (invitation for invitation in self.invitations if self.status(invitation) == "pending")

    def _remove_member(self, subject: str, actor: str) -> str:
        if self.members[subject] == "owner":
            return OWNER_MUST_TRANSFER
        del self.members[subject]
        for invitation in self._pending():
            if invitation.actor == subject:
                invitation.outcome = "revoked"
        for invitation in self.invitations:
            invitation.has_membership_ended |= invitation.subject == subject
        return self._log("204", "member.removed", subject, actor)

    def _log(self, response: str, event_type: str, subject: str, actor: str | None) -> str:
        self.entries.append(LogEntry(f"organization.{event_type}", subject, actor))
        return response
