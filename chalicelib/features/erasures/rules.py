"""Whom the log speaks of: pure decisions about its entries."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.rules import Sealed, is_proven
from chalicelib.kernel.person import Person

Account = tuple[str, str]
"""A user id, and an e-mail address that was seen to be that user's."""

_ANSWERS: Final = ("organization.invitation.accepted", "organization.invitation.declined")


def names(entry: Sealed, person: Person) -> bool:
    """Return whether an entry names the person. One that was erased names nobody."""
    return person.in_json(_text(entry))


def accounts_in(entries: Iterable[Sealed], log: str, person: Person) -> Iterator[Account]:
    """Yield the accounts that entries which name the person speak of; what somebody altered is not believed."""
    for entry in entries:
        if names(entry, person) and is_proven(log, entry):
            yield from _accounts(from_json(_text(entry)))


def _text(entry: Sealed) -> str:
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
