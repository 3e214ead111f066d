"""After any history, an erasure removes all data of a person and no data of others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import to_base64url
from tests.catalogue import log_proof
from tests.harness import memory_aws, snapshots
from tests.harness.api import ApiClient, Json
from tests.harness.application_events import commit_application_event
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.callers import Issuer, Person
from tests.harness.declared_types import declare_event_type
from tests.harness.erasures import complete_erasure, keys_of_items_containing
from tests.harness.invitations import CreatedInvitation, decide_on_invitation, post_invitation
from tests.harness.memory_aws import Item
from tests.harness.organizations import CreatedOrganization, create_organization, post_api_key
from tests.harness.workers import Workers

NAMES: Final = ("emmy", "lise", "hedy")
CUSTOMERS: Final = ("17", "c-17", "c-170")
"""Ids of customers. They are parts of one another, and of other values in entries."""

SCHEMA: Final = {"properties": {"note": {"type": "string", "x-personal-data": True}}}
"""The schema of application events. It marks one of the fields in which they contain ids of customers."""

ADDRESSES: Final = 2

Identity = tuple[str, int]
"""A person's name, and the number of the e-mail address that they use."""


identities = st.tuples(st.sampled_from(NAMES), st.integers(0, ADDRESSES - 1))
ACTIONS: Final = [
    *("join", "join", "join", "invite", "accept", "decline", "leave", "remove", "promote", "rename", "make_key"),
    *("mention", "seal", "report", "report_about", "report_data"),
]
steps = st.tuples(st.sampled_from(ACTIONS), identities, identities)
"""An action of a person, possibly on another person."""


@dataclass
class History:
    """What people did in an organization. `verified_addresses`: the e-mail addresses that each person verified."""

    api: ApiClient
    workers: Workers
    organization: CreatedOrganization
    people: dict[Identity, Person]
    verified_addresses: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in NAMES})
    _invited: dict[Identity, CreatedInvitation] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def perform(self, action: str, actor: Identity, subject: Identity) -> None:
        """Perform a step. Steps that are not permitted have no effect."""
        person, other, path = self.people[actor], self.people[subject], self.organization.path
        number = next(self._numbers)
        requests: dict[str, tuple[str, str, Json | None]] = {
            "leave": ("POST", f"{path}/leave", None),
            "remove": ("DELETE", f"{path}/members/{other.id}", None),
            "promote": ("PATCH", f"{path}/members/{other.id}", {"role": "editor"}),
            "rename": ("PATCH", path, {"name": f"Name {number}", "companyAddress": "x" * 3000 * (number % 4 == 1)}),
        }
        match action:
            case "join":
                self._invite(self.organization.owner, actor, role="admin")
                self._respond(actor, "accept")
            case "invite":
                self._invite(person, subject, message="Come and join us.")
            case "accept" | "decline":
                self._respond(actor, action)
            case "make_key":
                post_api_key(self.api, self.organization, caller=person)
            case "mention":
                message = f"Greetings ({other.email.upper()})!"
                post_invitation(self.api, self.organization, f"guest-{number}@example.org", message=message)
            case "seal":
                self.workers.deliver()
            case "report" | "report_about" | "report_data":
                self._report(action, person, other, number)
            case _:
                method, url, body = requests[action]
                self.api.request(method, url, caller=person, json=body)

    def _report(self, action: str, person: Person, other: Person, number: int) -> None:
        """Report an application event that names a person in one of three places, and maybe another one as its actor.

        It also names a customer of the application, whose id is part of the ids of others, in one of three places.
        """
        reference = {"type": "user", "id": person.id, "name": person.name}
        customer = {"type": "customer", "id": CUSTOMERS[number % len(CUSTOMERS)], "name": None}
        data = {"userId": other.id, "email": person.email} if action == "report_data" else {"count": 17}
        commit_application_event(
            self.organization.id,
            actor=reference if action == "report" else customer,
            targets=[reference] if action == "report_about" else [customer] * (number % 2),
            data=data | {"note": f"for {CUSTOMERS[number % 2]}", "text": "n" * 5000 * (number % 3 == 0)},
        )

    def _invite(self, actor: Person, subject: Identity, **fields: str) -> None:
        response = post_invitation(self.api, self.organization, self.people[subject], caller=actor, **fields)
        if response.status == 201:
            self._invited[subject] = CreatedInvitation(response.json, response.location)

    def _respond(self, actor: Identity, decision: str) -> None:
        person, invited = self.people[actor], self._invited.get(actor)
        if invited and decide_on_invitation(self.api, invited, person, decision).status == 200:
            self.verified_addresses[actor[0]].add(person.email)


def unrelated_records(marks: set[str]) -> tuple[dict[tuple[str, str], Item], int]:
    """Return the items without any of the marks, and the number of log entries with one of them.

    Heads, counters and epochs are not included. Neither are guards and listing items of records that contain a mark,
    because they may change with the record.
    """
    items, marked_keys = snapshots.items_by_key(), {*keys_of_items_containing(*marks)}
    ids = {items[key]["id"] for key in marked_keys if "id" in items[key]}
    ids |= {sk for pk, sk in marked_keys if pk.startswith("B#")}  # Entries whose body is an item of its own.
    entries = sum(any(mark in entry.body.decode().lower() for mark in marks) for entry in log_proof.load_entries(items))
    others = {
        key: item
        for key, item in items.items()
        if key not in marked_keys
        and not ids & {item.get("ref"), key[1]}
        and not key[0].startswith("Q#")
        and not key[1].startswith(("COUNT#", "EPOCH#", "CLOSING-EPOCH#"))
    }
    return others, entries


@pytest.fixture
def people(issuer: Issuer) -> dict[Identity, Person]:
    return {
        (name, n): issuer.create_person(name, name.title(), email=f"{name}@{n}.example.org")
        for name in NAMES
        for n in range(ADDRESSES)
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6)
@given(st.lists(steps, min_size=3, max_size=14), identities, st.sampled_from(["email", "userId"]))
@example([("join", ("lise", 0), ("emmy", 0)), ("invite", ("lise", 0), ("emmy", 1))], ("lise", 0), "email")
def test_an_erasure_removes_all_data_of_the_person_and_no_other_data(
    api, workers, clock, ada, people, history_steps, subject, identified_by
):
    memory_aws.reset()
    history = History(api, workers, create_organization(api, ada), people)
    for step in history_steps:
        history.perform(*step)
    clock.shift(minutes=1)
    workers.run_until_idle()
    person, organization = people[subject], history.organization
    verified_addresses = history.verified_addresses[subject[0]]
    is_identified = identified_by == "userId" or person.email in verified_addresses
    marks = {person.id, *verified_addresses} if is_identified else {person.email}
    others, entries = unrelated_records(marks)
    report = verify_integrity(api, organization)
    identifier = {"email": person.email, "userId": person.id}[identified_by]
    record = complete_erasure(api, workers, clock, organization, **{identified_by: identifier})
    assert record["erasedEntries"] == entries
    assert keys_of_items_containing(*marks) == []
    items_after = snapshots.items_by_key()
    assert {key: items_after.get(key) for key in others} == others
    assert verify_integrity(api, organization, checkpoint=to_base64url(report["checkpoint"].encode()))["valid"]
    log_proof.assert_logs_are_proven(items_after)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6)
@given(st.lists(steps, min_size=3, max_size=14), st.sampled_from(CUSTOMERS))
@example([("report", ("lise", 0), ("emmy", 0)), ("report_about", ("lise", 0), ("emmy", 0))], "17")
def test_an_erasure_of_an_actor_erases_exactly_the_application_events_that_name_the_actor(
    api, workers, clock, ada, people, history_steps, customer_id
):
    memory_aws.reset()
    declare_event_type("invoice.approved", "{actor} approved {target}.", SCHEMA)
    history = History(api, workers, create_organization(api, ada), people)
    for step in history_steps:
        history.perform(*step)
    clock.shift(minutes=1)
    workers.run_until_idle()
    organization = history.organization
    before = list_entries(api, organization)
    actor = {"type": "customer", "id": customer_id}
    named = {entry["id"] for entry in before if _is_about(entry, actor)}
    record = complete_erasure(api, workers, clock, organization, actor=actor)
    assert (record["erasedEntries"], record["erasedRecords"]) == (len(named), 0)
    after = {entry["id"]: entry for entry in list_entries(api, organization)}
    assert {each for each, entry in after.items() if "erased" in entry} == named
    assert [after[entry["id"]] for entry in before if entry["id"] not in named] == [
        entry for entry in before if entry["id"] not in named
    ]
    assert verify_integrity(api, organization)["valid"]
    log_proof.assert_logs_are_proven(snapshots.items_by_key())


def _is_about(entry: Json, actor: Json) -> bool:
    """Return whether an application event has the actor as its actor or as a target, or in its only marked field."""
    references = [entry["actor"], *entry.get("targets", ())]
    is_in_personal_data = str((entry["data"] or {}).get("note")).endswith(f" {actor['id']}")
    return "receivedAt" in entry and (is_in_personal_data or any(actor.items() <= each.items() for each in references))
