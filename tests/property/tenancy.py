"""An organization and its people as a model: who is what, who was invited, what was told; and no more than that."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

ROLES: Final = ("member", "editor", "admin", "owner")
INVITED_FOR_DAYS: Final = 7

NOT_FOUND, TOO_LOW = "404 not_found", "403 insufficient_role"
OWNER_STAYS, TOO_LATE = "409 owner_must_transfer", "409 invalid_transition"
USED, REVOKED, EXPIRED = "410 invitation_used", "410 invitation_revoked", "410 invitation_expired"


@dataclass(frozen=True)
class Told:
    """What an entry says: what happened, to whom, and by whom; the service itself is nobody."""

    what: str
    whom: str
    by: str | None


@dataclass
class Invitation:
    """Who was invited as what by whom, and for how long. `membership_ended`: of whoever accepted it."""

    whom: str
    role: str
    by: str
    until: int
    outcome: str = "pending"
    membership_ended: bool = False


@dataclass
class Tenancy:
    """An organization. Each method is something a person does, and returns what they should be answered.

    `members` is in the order in which they joined.
    """

    members: dict[str, str]
    invitations: list[Invitation] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    deleted: bool = False
    day: int = 0

    @property
    def owner(self) -> str:
        """Whose it is."""
        (owner,) = (person for person, role in self.members.items() if role == "owner")
        return owner

    def status(self, invitation: Invitation) -> str:
        """Return what has become of an invitation."""
        over = invitation.outcome == "pending" and invitation.until <= self.day
        return "expired" if over else invitation.outcome

    def invite(self, by: str, whom: str, role: str) -> str:
        """Invite a person."""
        if refused := self._refused(by, "admin"):
            return refused
        if whom in self.members:
            return "409 already_member"
        if any(invitation.whom == whom for invitation in self._pending()):
            return "409 already_exists"
        self.invitations.append(Invitation(whom, role, by, self.day + INVITED_FOR_DAYS))
        return self._tell("201", "invitation.created", whom, by)

    def revoke(self, by: str, invitation: Invitation) -> str:
        """Revoke an invitation."""
        if refused := self._refused(by, "admin"):
            return refused
        if self.status(invitation) == "revoked":
            return "204"
        if self.status(invitation) != "pending":
            return TOO_LATE
        invitation.outcome = "revoked"
        return self._tell("204", "invitation.revoked", invitation.whom, by)

    def answer(self, person: str, invitation: Invitation, outcome: str) -> str:
        """Let an invitation be accepted or declined."""
        status = self.status(invitation)
        if self.deleted:
            return NOT_FOUND
        if status in ("revoked", "expired"):
            return REVOKED if status == "revoked" else EXPIRED
        if status == "pending" and not self._covers(invitation.by, invitation.role):
            return REVOKED
        if person != invitation.whom:
            return "403 email_mismatch"
        if status != "pending":
            return USED if status != outcome or invitation.membership_ended else "200"
        invitation.outcome = outcome
        if outcome == "accepted":
            self.members[person] = invitation.role
        return self._tell("200", f"invitation.{outcome}", person, person)

    def give_role(self, by: str, whom: str, role: str) -> str:
        """Promote or demote a member."""
        if refused := self._refused(by, "admin", whom):
            return refused
        if self.members[whom] == role:
            return "200"
        if self.members[whom] == "owner":
            return OWNER_STAYS
        if not self._covers(by, role):
            return TOO_LOW
        if role == "owner":
            return OWNER_STAYS
        self.members[whom] = role
        return self._tell("200", "member.updated", whom, by)

    def remove(self, by: str, whom: str) -> str:
        """Remove a member."""
        return self._refused(by, "admin", whom) or self._end(whom, by)

    def leave(self, person: str) -> str:
        """Let a member leave."""
        return self._refused(person, "member") or self._end(person, person)

    def transfer(self, by: str, to: str) -> str:
        """Transfer the ownership."""
        if refused := self._refused(by, "owner"):
            return refused
        if to not in self.members:
            return "422 validation_failed"
        if to == by:
            return "200"
        self.members |= {by: "admin", to: "owner"}
        return self._tell("200", "ownership_transferred", "", by)

    def delete(self, by: str) -> str:
        """Delete the organization."""
        if refused := self._refused(by, "owner"):
            return refused
        self.deleted = True
        return self._tell("204", "deleted", "", by)

    def restore(self, by: str) -> str:
        """Ask for the organization to be as it was."""
        if not self.deleted:
            return self._refused(by, "admin") or "200"
        if by != self.owner:
            return NOT_FOUND
        self.deleted = False
        return self._tell("200", "restored", "", by)

    def sweep(self) -> None:
        """Let the service notice what is over."""
        for invitation in self.invitations:
            if self.status(invitation) == "expired" != invitation.outcome:
                invitation.outcome = "expired"
                self._tell("", "invitation.expired", invitation.whom, None)

    def _refused(self, by: str, needed: str, whom: str | None = None) -> str | None:
        if self.deleted or by not in self.members or (whom is not None and whom not in self.members):
            return NOT_FOUND
        return None if self._covers(by, needed) else TOO_LOW

    def _covers(self, by: str, role: str) -> bool:
        return ROLES.index(self.members[by]) >= ROLES.index(role)

    def _pending(self) -> Iterator[Invitation]:
        return (invitation for invitation in self.invitations if self.status(invitation) == "pending")

    def _end(self, whom: str, by: str) -> str:
        if self.members[whom] == "owner":
            return OWNER_STAYS
        del self.members[whom]
        for invitation in self._pending():
            if invitation.by == whom:
                invitation.outcome = "revoked"
        for invitation in self.invitations:
            invitation.membership_ended |= invitation.whom == whom
        return self._tell("204", "member.removed", whom, by)

    def _tell(self, answer: str, what: str, whom: str, by: str | None) -> str:
        self.told.append(Told(f"organization.{what}", whom, by))
        return answer
