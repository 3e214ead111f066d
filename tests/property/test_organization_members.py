"""Random actions of members on an organization match a model, keep exactly one owner, and are all logged.

Six people, of whom two start as outsiders, also try what they may not do. The model predicts each response.
"""

from typing import Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import CreatedInvitation, open_invitation, post_invitation
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.harness.workers import Workers
from tests.property.organization_model import INVITED_FOR_DAYS, ROLES, LogEntry, OrganizationModel

NAMES: Final = ("ada", "grace", "edith", "mary", "stranger", "operator")
MEMBERS: Final = {"ada": "owner", "edith": "editor", "mary": "member", "grace": "admin"}
"""In the order in which they joined. The last one is drawn most often, and may invite and leave."""

OUTCOMES: Final = {"accept": "accepted", "decline": "declined"}

OWNER, NEWEST, OUTSIDER = "the owner", "the newest member", "an outsider"

actors = st.sampled_from([*[OWNER] * 4, *[NEWEST] * 4, *NAMES])
subjects = st.sampled_from([*[NEWEST] * 6, OWNER, *NAMES])
invitees = st.sampled_from([*[OUTSIDER] * 6, *NAMES])
invited_roles = st.sampled_from(ROLES[:-1])
decisions = st.sampled_from(["accept", "decline"])
waiting_days = st.sampled_from([0, INVITED_FOR_DAYS])


class OrganizationMachine(RuleBasedStateMachine):
    """Compares the service with the model."""

    invitations = Bundle("invitations")

    def __init__(self, api: ApiClient, workers: Workers, clock: Clock, people_by_name: dict[str, Person]) -> None:
        """Start with an organization that has a member of each role."""
        super().__init__()
        self.api, self.workers, self.clock, self.people = api, workers, clock, people_by_name
        self.model = OrganizationModel(dict(MEMBERS))
        self.invitations_sent: list[CreatedInvitation] = []
        self._entries_at_last_check = -1
        self.organization = snapshots.create_or_restore(("an organization of four",), self._create_organization)

    def _create_organization(self) -> CreatedOrganization:
        organization = create_organization(self.api, self.people["ada"])
        for name in list(MEMBERS)[1:]:
            add_organization_member(organization, self.people[name], MEMBERS[name])
        self.workers.run_until_idle()
        return organization

    @rule(target=invitations, actor=actors, subject=invitees, role=invited_roles)
    def invite(self, actor: str, subject: str, role: str) -> int | MultipleResults[int]:
        actor, subject = self._resolve_name(actor), self._resolve_name(subject)
        expected = self.model.invite(actor, subject, role)
        response = post_invitation(
            self.api, self.organization, self.people[subject], caller=self.people[actor], role=role
        )
        self._assert_response(response, expected)
        if response.status != 201:
            return multiple()
        self.invitations_sent.append(
            CreatedInvitation(response.json, f"{self.organization.path}/invitations/{response.json['id']}")
        )
        return len(self.invitations_sent) - 1

    @rule(target=invitations, role=invited_roles)
    def invite_and_accept(self, role: str) -> int | MultipleResults[int]:
        number = self.invite(OWNER, OUTSIDER, role)
        if isinstance(number, int):
            self.respond(number, OUTSIDER, "accept")
        return number

    @rule(number=invitations, actor=actors)
    def revoke(self, number: int, actor: str) -> None:
        actor = self._resolve_name(actor)
        expected = self.model.revoke(actor, self.model.invitations[number])
        self._assert_response(self.api.delete(self.invitations_sent[number].path, caller=self.people[actor]), expected)

    @rule(number=invitations, decision=decisions, days=waiting_days)
    def respond_as_invited(self, number: int, decision: str, days: int) -> None:
        if not self.model.is_deleted:
            self.days_pass(days)
        self.respond(number, self.model.invitations[number].subject, decision)

    @rule(number=invitations, person=subjects, decision=decisions)
    def respond(self, number: int, person: str, decision: str) -> None:
        person = self._resolve_name(person)
        expected = self.model.respond(person, self.model.invitations[number], OUTCOMES[decision])
        self._assert_response(
            open_invitation(self.api, self.invitations_sent[number], self.people[person], decision=decision), expected
        )

    @rule(actor=actors, subject=subjects, role=st.sampled_from(ROLES))
    def change_role(self, actor: str, subject: str, role: str) -> None:
        actor, subject = self._resolve_name(actor), self._resolve_name(subject)
        expected = self.model.change_role(actor, subject, role)
        self._assert_response(
            self.api.patch(self._member_path(subject), caller=self.people[actor], json={"role": role}), expected
        )

    @rule(actor=actors, subject=subjects)
    def remove(self, actor: str, subject: str) -> None:
        actor, subject = self._resolve_name(actor), self._resolve_name(subject)
        expected = self.model.remove(actor, subject)
        self._assert_response(self.api.delete(self._member_path(subject), caller=self.people[actor]), expected)

    @rule(person=subjects)
    def leave(self, person: str) -> None:
        person = self._resolve_name(person)
        expected = self.model.leave(person)
        self._assert_response(self.api.post(f"{self.organization.path}/leave", caller=self.people[person]), expected)

    @rule(actor=actors, new_owner=subjects)
    def transfer(self, actor: str, new_owner: str) -> None:
        actor, new_owner = self._resolve_name(actor), self._resolve_name(new_owner)
        expected, body = self.model.transfer(actor, new_owner), {"newOwnerId": self.people[new_owner].id}
        path = f"{self.organization.path}/transfer-ownership"
        self._assert_response(self.api.post(path, caller=self.people[actor], json=body), expected)

    @rule(actor=actors)
    def delete_or_restore(self, actor: str) -> None:
        actor = self._resolve_name(actor)
        path, person = self.organization.path, self.people[actor]
        if self.model.is_deleted:
            expected = self.model.restore(actor)
            response = self.api.patch(path, caller=person, json={"status": "active"})
        else:
            expected = self.model.delete(actor)
            response = self.api.delete(path, caller=person)
        self._assert_response(response, expected)

    @precondition(lambda self: not self.model.is_deleted)
    @rule(days=st.sampled_from([1, INVITED_FOR_DAYS]))
    def days_pass(self, days: int) -> None:
        self.model.day += days
        self.clock.shift(days=days)

    @rule()
    def settle(self) -> None:
        self.model.sweep()
        self.workers.run_until_idle()

    @invariant()
    def there_is_one_owner_and_every_member_has_a_role(self) -> None:
        if self.model.is_deleted or len(self.model.entries) == self._entries_at_last_check:
            return
        self._entries_at_last_check = len(self.model.entries)
        owner = self.people[self.model.owner]
        listed_members = self.api.get(f"{self.organization.path}/members", caller=owner).json["items"]
        assert [(member["username"], member["role"]) for member in listed_members] == list(self.model.members.items())
        assert [member["userId"] for member in listed_members if member["role"] == "owner"] == [owner.id]
        assert self.api.get(self.organization.path, caller=owner).json["ownerId"] == owner.id

    def teardown(self) -> None:
        """Compare the final state with the model."""
        if self.model.is_deleted:
            self.delete_or_restore(OWNER)
        self.clock.shift(minutes=1)  # Revocations are completed after a delay.
        self.settle()
        listed = self._list_records("invitations")
        assert [(i["id"], i["status"]) for i in listed] == [
            (invited.id, self.model.status(invitation))
            for invited, invitation in zip(self.invitations_sent, self.model.invitations, strict=True)
        ]
        owner = CreatedOrganization(self.organization.record, self.people[self.model.owner])
        entries = [self._to_log_entry(entry) for entry in reversed(list_entries(self.api, owner, limit=100))][
            len(MEMBERS) :
        ]
        assert sorted(entries, key=repr) == sorted(self.model.entries, key=repr)
        for subject in {entry.subject for entry in entries}:
            assert [t for t in entries if t.subject == subject] == [
                t for t in self.model.entries if t.subject == subject
            ]
        report = verify_integrity(self.api, owner)
        assert (report["valid"], report["pendingEntries"], report["treeSize"]) == (True, 0, len(entries) + len(MEMBERS))

    def _resolve_name(self, name: str) -> str:
        member_names = list(self.model.members)
        outsiders = [name for name in NAMES if name not in member_names]
        return {OWNER: self.model.owner, NEWEST: member_names[-1], OUTSIDER: (outsiders or member_names)[0]}.get(
            name, name
        )

    def _member_path(self, name: str) -> str:
        return f"{self.organization.path}/members/{self.people[name].id}"

    def _list_records(self, collection: str) -> list[Json]:
        owner = self.people[self.model.owner]
        return self.api.get_items(f"{self.organization.path}/{collection}", caller=owner, query={"limit": 100})

    def _to_log_entry(self, entry: Json) -> LogEntry:
        subject, actor = entry["target"]["name"], entry["actor"]["id"]
        names = {known_name: name for name, person in self.people.items() for known_name in (person.name, person.email)}
        return LogEntry(
            entry["type"], names.get(subject, ""), next((n for n, p in self.people.items() if p.id == actor), None)
        )

    @staticmethod
    def _assert_response(response: ApiResponse, expected: str) -> None:
        assert (response.status_and_code if response.status >= 400 else str(response.status)) == expected


@pytest.fixture
def people_by_name(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person
) -> dict[str, Person]:
    return {person.username: person for person in (ada, grace, edith, mary, stranger, operator)}


def test_an_organization_always_has_one_owner_and_a_complete_log(api, workers, clock, people_by_name):
    class Machine(OrganizationMachine):
        def __init__(self) -> None:
            super().__init__(api, workers, clock, people_by_name)

    run_state_machine_as_test(Machine, settings=settings(deadline=None, max_examples=10, stateful_step_count=25))
