"""Erasures out of any history: nothing is left of whom it is about, and of everybody else everything."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64url
from tests.catalogue import evidence
from tests.harness import cloud, snapshots
from tests.harness.api import Api
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.cloud import Item
from tests.harness.erasures import erased, left_of
from tests.harness.invitations import Invited, asked_to_invite, decides
from tests.harness.logs import verify
from tests.harness.organizations import Founded, created_key, found
from tests.harness.workers import Workers

NAMES: Final = ("emmy", "lise", "hedy")
ADDRESSES: Final = 2

Named = tuple[str, int]
"""Somebody, and which of their addresses they use."""


@dataclass(frozen=True)
class Step:
    """Somebody does something, to somebody maybe."""

    what: str
    who: Named
    whom: Named


somebody = st.tuples(st.sampled_from(NAMES), st.integers(0, ADDRESSES - 1))
steps = st.builds(
    Step,
    what=st.sampled_from(
        [
            "join",
            "join",
            "join",
            "invite",
            "answer",
            "decline",
            "leave",
            "remove",
            "promote",
            "rename",
            "make_key",
            "mention",
            "seal",
        ]
    ),
    who=somebody,
    whom=somebody,
)


@dataclass
class History:
    """What people did in an organization. `seen`: the addresses that each of them was seen to own."""

    api: Api
    workers: Workers
    organization: Founded
    people: dict[Named, Person]
    seen: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in NAMES})
    _invited: dict[Named, Invited] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def happens(self, step: Step) -> None:
        """Let a step happen; what somebody may not do is refused."""
        getattr(self, f"_{step.what}")(step.who, step.whom)

    def _join(self, who: Named, _whom: Named) -> None:
        self._invite_by(self.organization.owner, who, role="admin")
        self._answer(who, who)

    def _invite(self, who: Named, whom: Named) -> None:
        self._invite_by(self.people[who], whom, message="Come and join us.")

    def _invite_by(self, who: Person, whom: Named, **words: str) -> None:
        answer = asked_to_invite(self.api, self.organization, self.people[whom], as_=who, **words)
        if answer.status == 201:
            self._invited[whom] = Invited(answer.json, answer.location)

    def _answer(self, who: Named, _whom: Named, decision: str = "accept") -> None:
        person = self.people[who]
        if who in self._invited and decides(self.api, self._invited[who], person, decision).status == 200:
            self.seen[who[0]].add(person.email)

    def _decline(self, who: Named, whom: Named) -> None:
        self._answer(who, whom, decision="decline")

    def _leave(self, who: Named, _whom: Named) -> None:
        self.api.post(f"{self.organization.path}/leave", as_=self.people[who])

    def _remove(self, who: Named, whom: Named) -> None:
        self.api.delete(f"{self.organization.path}/members/{self.people[whom].id}", as_=self.people[who])

    def _promote(self, who: Named, whom: Named) -> None:
        path = f"{self.organization.path}/members/{self.people[whom].id}"
        self.api.patch(path, as_=self.people[who], json={"role": "editor"})

    def _rename(self, who: Named, _whom: Named) -> None:
        body = {"name": f"Name {next(self._numbers)}", "companyAddress": "x" * 3000 * (next(self._numbers) % 4 == 1)}
        self.api.patch(self.organization.path, as_=self.people[who], json=body)

    def _make_key(self, who: Named, _whom: Named) -> None:
        created_key(self.api, self.organization, as_=self.people[who])

    def _mention(self, _who: Named, whom: Named) -> None:
        guest, message = f"guest-{next(self._numbers)}@example.org", f"Greetings ({self.people[whom].email.upper()})!"
        asked_to_invite(self.api, self.organization, guest, message=message)

    def _seal(self, _who: Named, _whom: Named) -> None:
        self.workers.deliver()


def records(marks: set[str]) -> tuple[dict[tuple[str, str], Item], int]:
    """Return what none of the marks is in, heads, counters and epochs aside, and how many entries one of them is in.

    What holds a value for a record that one is in has no part in that: it may go with the record's change.
    """
    items, named = snapshots.stored(), {*left_of(*marks)}
    ids = {items[key]["id"] for key in named if "id" in items[key]}
    entries = sum(any(mark in entry.body.decode().lower() for mark in marks) for entry in evidence.entries(items))
    others = {
        key: item
        for key, item in items.items()
        if key not in named
        and item.get("ref") not in ids
        and not key[0].startswith("Q#")
        and not key[1].startswith(("COUNT#", "EPOCH#", "CLOSING-EPOCH#"))
    }
    return others, entries


@pytest.fixture
def people(issuer: Issuer) -> dict[Named, Person]:
    return {
        (name, n): issuer.person(name, name.title(), email=f"{name}@{n}.example.org")
        for name in NAMES
        for n in range(ADDRESSES)
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=12)
@given(st.lists(steps, min_size=3, max_size=14), somebody, st.sampled_from(["email", "userId"]))
def test_whoever_is_erased_leaves_nothing_and_nobody_else_loses_anything(
    api: Api,
    workers: Workers,
    clock: Clock,
    ada: Person,
    people: dict[Named, Person],
    plan: list[Step],
    whom: Named,
    by: str,
) -> None:
    cloud.clear()
    history = History(api, workers, found(api, ada), people)
    for step in plan:
        history.happens(step)
    clock.shift(minutes=1)
    workers.settle()
    person, organization = people[whom], history.organization
    seen = history.seen[whom[0]]
    marks = {person.id, *seen} if by == "userId" or person.email in seen else {person.email}
    others, entries = records(marks)
    report = verify(api, organization)
    named = {"email": person.email, "userId": person.id}[by]
    record = erased(api, workers, clock, organization, **{by: named})
    assert record["erasedEntries"] == entries
    assert left_of(*marks) == []
    now = snapshots.stored()
    assert {key: now.get(key) for key in others} == others
    assert verify(api, organization, checkpoint=to_base64url(report["checkpoint"].encode()))["valid"]
    evidence.assert_proven(now)
