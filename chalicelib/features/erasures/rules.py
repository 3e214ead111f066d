"""Whom a request and the log speak of: pure decisions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.rules import StoredEntry, is_proven
from chalicelib.features.members.entities import Member
from chalicelib.kernel.events import canonical
from chalicelib.kernel.person import Person
from chalicelib.kernel.problems import FieldError, Invalid

Account = tuple[str, str]
"""A user id, and an e-mail address that was seen to be that user's."""

_ANSWERS: Final = ("organization.invitation.accepted", "organization.invitation.declined")


def refuse_another(member: Member | None, email: str | None) -> None:
    """Raise Invalid if a user who is a member has another address than the one that they were named with."""
    if member and member.email != email:
        advice = "This user is a member, and the email is another member's. Make one erasure for each person."
        raise Invalid([FieldError("/userId", "another_person", advice)])


def names(entry: StoredEntry, person: Person) -> bool:
    """Return whether an entry names the person. One that was erased names nobody."""
    text = _text(entry)
    return person.in_json(text) and person.in_json(_of_people(text))


def accounts_in(entries: Iterable[StoredEntry], log: str, person: Person) -> Iterator[Account]:
    """Yield the accounts that entries which name the person speak of; what somebody altered is not believed."""
    for entry in entries:
        if names(entry, person) and is_proven(log, entry):
            yield from _accounts(from_json(_text(entry)))


def _of_people(text: str) -> str:
    """Return an entry without the ids of what is no person: its own, its log's, its target's, an API key's."""
    try:
        said = from_json(text)
        actor = said["actor"] if said["actor"]["type"] in ("user", "operator") else None
        data = {**(said["data"] or {}), "id": None, "organizationId": None}
        target = {**said["target"], "id": None}
    except (ValueError, KeyError, TypeError):  # Somebody altered it: it is judged as the text it is.
        return text
    said |= {"id": None, "organizationId": None, "actor": actor, "target": target, "data": data}
    return canonical(said).decode()


def _text(entry: StoredEntry) -> str:
    return entry.body.decode(errors="replace") if isinstance(entry.body, bytes) else ""


def _accounts(said: Mapping[str, Any]) -> Iterator[Account]:
    """Yield the account that an entry speaks of, if it does.

    One about a membership has both id and address; one of an answer to an invitation has the actor's id and the address
    that they were seen to own.
    """
    data = said["data"] or {}
    user_id = said["actor"]["id"] if said["type"] in _ANSWERS else data.get("userId")
    if isinstance(user_id, str) and isinstance(email := data.get("email"), str):
        yield user_id, email
