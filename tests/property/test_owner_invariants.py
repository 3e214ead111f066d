"""An organization against its model: whatever its people do to one another, it has one owner, and its log says it all.

Six people, two of them strangers at first, do what comes to their minds, also what they may not. The model says what
each has to be answered.
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
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import Invited, asked_to_invite, opens
from tests.harness.logs import log_of, verify
from tests.harness.organizations import Founded, found, joins
from tests.harness.workers import Workers
from tests.property.tenancy import INVITED_FOR_DAYS, ROLES, Tenancy, Told

NAMES: Final = ("ada", "grace", "edith", "mary", "stranger", "operator")
MEMBERS: Final = {"ada": "owner", "edith": "editor", "mary": "member", "grace": "admin"}
"""In the order in which they joined: the last, who is drawn most, may invite and may leave."""

OUTCOMES: Final = {"accept": "accepted", "decline": "declined"}

OWNER, NEWEST, OUTSIDER = "whoever is the owner", "whoever joined last", "somebody who is no member"

callers = st.sampled_from([*[OWNER] * 4, *[NEWEST] * 4, *NAMES])
members = st.sampled_from([*[NEWEST] * 6, OWNER, *NAMES])
invitees = st.sampled_from([*[OUTSIDER] * 6, *NAMES])
granted = st.sampled_from(ROLES[:-1])
decisions = st.sampled_from(["accept", "decline"])
some_days = st.sampled_from([0, INVITED_FOR_DAYS])


class World(RuleBasedStateMachine):
    """The service and the model, side by side."""

    invitations = Bundle("invitations")

    def __init__(self, api: Api, workers: Workers, clock: Clock, known: dict[str, Person]) -> None:
        """Begin with an organization that has a member of each role."""
        super().__init__()
        self.api, self.workers, self.clock, self.people = api, workers, clock, known
        self.model = Tenancy(dict(MEMBERS))
        self.sent: list[Invited] = []
        self._looked_after = -1
        self.organization = snapshots.once(("an organization of four",), self._found)

    def _found(self) -> Founded:
        organization = found(self.api, self.people["ada"])
        for name in list(MEMBERS)[1:]:
            joins(organization, self.people[name], MEMBERS[name])
        self.workers.settle()
        return organization

    @rule(target=invitations, by=callers, whom=invitees, role=granted)
    def invite(self, by: str, whom: str, role: str) -> int | MultipleResults[int]:
        by, whom = self._named(by), self._named(whom)
        expected = self.model.invite(by, whom, role)
        answer = asked_to_invite(self.api, self.organization, self.people[whom], as_=self.people[by], role=role)
        self._agree(answer, expected)
        if answer.status != 201:
            return multiple()
        self.sent.append(Invited(answer.json, f"{self.organization.path}/invitations/{answer.json['id']}"))
        return len(self.sent) - 1

    @rule(target=invitations, role=granted)
    def welcome(self, role: str) -> int | MultipleResults[int]:
        number = self.invite(OWNER, OUTSIDER, role)
        if isinstance(number, int):
            self.answer(number, OUTSIDER, "accept")
        return number

    @rule(number=invitations, by=callers)
    def revoke(self, number: int, by: str) -> None:
        by = self._named(by)
        expected = self.model.revoke(by, self.model.invitations[number])
        self._agree(self.api.delete(self.sent[number].path, as_=self.people[by]), expected)

    @rule(number=invitations, decision=decisions, days=some_days)
    def answer_as_invited(self, number: int, decision: str, days: int) -> None:
        if not self.model.deleted:
            self.days_pass(days)
        self.answer(number, self.model.invitations[number].whom, decision)

    @rule(number=invitations, person=members, decision=decisions)
    def answer(self, number: int, person: str, decision: str) -> None:
        person = self._named(person)
        expected = self.model.answer(person, self.model.invitations[number], OUTCOMES[decision])
        self._agree(opens(self.api, self.sent[number], self.people[person], decision=decision), expected)

    @rule(by=callers, whom=members, role=st.sampled_from(ROLES))
    def give_role(self, by: str, whom: str, role: str) -> None:
        by, whom = self._named(by), self._named(whom)
        expected = self.model.give_role(by, whom, role)
        self._agree(self.api.patch(self._member(whom), as_=self.people[by], json={"role": role}), expected)

    @rule(by=callers, whom=members)
    def remove(self, by: str, whom: str) -> None:
        by, whom = self._named(by), self._named(whom)
        expected = self.model.remove(by, whom)
        self._agree(self.api.delete(self._member(whom), as_=self.people[by]), expected)

    @rule(person=members)
    def leave(self, person: str) -> None:
        person = self._named(person)
        expected = self.model.leave(person)
        self._agree(self.api.post(f"{self.organization.path}/leave", as_=self.people[person]), expected)

    @rule(by=callers, to=members)
    def transfer(self, by: str, to: str) -> None:
        by, to = self._named(by), self._named(to)
        expected, body = self.model.transfer(by, to), {"newOwnerId": self.people[to].id}
        path = f"{self.organization.path}/transfer-ownership"
        self._agree(self.api.post(path, as_=self.people[by], json=body), expected)

    @rule(by=callers)
    def delete_or_restore(self, by: str) -> None:
        by = self._named(by)
        path, person = self.organization.path, self.people[by]
        if self.model.deleted:
            expected = self.model.restore(by)
            answer = self.api.patch(path, as_=person, json={"status": "active"})
        else:
            expected = self.model.delete(by)
            answer = self.api.delete(path, as_=person)
        self._agree(answer, expected)

    @precondition(lambda self: not self.model.deleted)
    @rule(days=st.sampled_from([1, INVITED_FOR_DAYS]))
    def days_pass(self, days: int) -> None:
        self.model.day += days
        self.clock.shift(days=days)

    @rule()
    def settle(self) -> None:
        self.model.sweep()
        self.workers.settle()

    @invariant()
    def there_is_one_owner_and_nobody_without_a_role(self) -> None:
        if self.model.deleted or len(self.model.told) == self._looked_after:
            return
        self._looked_after = len(self.model.told)
        owner = self.people[self.model.owner]
        members = self.api.get(f"{self.organization.path}/members", as_=owner).json["items"]
        assert [(member["username"], member["role"]) for member in members] == list(self.model.members.items())
        assert [member["userId"] for member in members if member["role"] == "owner"] == [owner.id]
        assert self.api.get(self.organization.path, as_=owner).json["ownerId"] == owner.id

    def teardown(self) -> None:
        """Hold what is left against the model, once all that was to be done is done."""
        if self.model.deleted:
            self.delete_or_restore(OWNER)
        self.clock.shift(minutes=1)  # A departure rests for a moment.
        self.settle()
        listed = self._read("invitations")
        assert [(i["id"], i["status"]) for i in listed] == [
            (invited.id, self.model.status(invitation))
            for invited, invitation in zip(self.sent, self.model.invitations, strict=True)
        ]
        owner = Founded(self.organization.record, self.people[self.model.owner])
        told = [self._told(entry) for entry in reversed(log_of(self.api, owner, limit=100))][len(MEMBERS) :]
        assert sorted(told, key=repr) == sorted(self.model.told, key=repr)
        for whom in {entry.whom for entry in told}:
            assert [t for t in told if t.whom == whom] == [t for t in self.model.told if t.whom == whom]
        report = verify(self.api, owner)
        assert (report["valid"], report["pendingEntries"], report["treeSize"]) == (True, 0, len(told) + len(MEMBERS))

    def _named(self, who: str) -> str:
        members = list(self.model.members)
        outside = [name for name in NAMES if name not in members]
        return {OWNER: self.model.owner, NEWEST: members[-1], OUTSIDER: (outside or members)[0]}.get(who, who)

    def _member(self, name: str) -> str:
        return f"{self.organization.path}/members/{self.people[name].id}"

    def _read(self, what: str) -> list[Json]:
        owner = self.people[self.model.owner]
        return self.api.items(f"{self.organization.path}/{what}", as_=owner, query={"limit": 100})

    def _told(self, entry: Json) -> Told:
        whom, by = entry["target"]["name"], entry["actor"]["id"]
        names = {called: name for name, person in self.people.items() for called in (person.name, person.email)}
        return Told(entry["type"], names.get(whom, ""), next((n for n, p in self.people.items() if p.id == by), None))

    @staticmethod
    def _agree(answer: Answer, expected: str) -> None:
        assert (answer.code if answer.status >= 400 else str(answer.status)) == expected


@pytest.fixture
def known(
    ada: Person, grace: Person, edith: Person, mary: Person, stranger: Person, operator: Person
) -> dict[str, Person]:
    return {person.username: person for person in (ada, grace, edith, mary, stranger, operator)}


def test_an_organization_has_one_owner_always_and_its_log_tells_all(
    api: Api, workers: Workers, clock: Clock, known: dict[str, Person]
) -> None:
    class Here(World):
        def __init__(self) -> None:
            super().__init__(api, workers, clock, known)

    run_state_machine_as_test(Here, settings=settings(deadline=None, max_examples=10, stateful_step_count=25))
