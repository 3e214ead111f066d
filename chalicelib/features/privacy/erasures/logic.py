"""Whom a request and the log speak of: pure decisions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, has_valid_entry_mac
from chalicelib.features.privacy.erasures.entities import Account, Room
from chalicelib.features.research.entities import ResearchJob
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.storage.entity import Container, Entity
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.record_types import child_types

_ANSWERS: Final = tuple(
    f"{place}.invitation.{outcome}" for place in ("organization", "platform") for outcome in ("accepted", "declined")
)
_PEOPLE: Final = ("user", "operator")
_LISTED_ELSEWHERE: Final = ((Organization, ResearchJob.in_organization),)
"""Lists of records that belong to a place and stand in none of its partitions."""

_OF_NO_PERSON: Final = {"id": None, "organizationId": None}


def refuse_other(records: Iterable[Entity], email: str | None) -> None:
    """Raise Invalid if one of the records that a user's id leads to is no user's, or of one with another address.

    `email`: that of another member, if they were named with one.
    """
    for record in records:
        if isinstance(record, ApiKey):
            advice = "This is the id of an API key, which is no person. Delete the key instead: DELETE {}"
            path = f"/organizations/{record.organization_id}/api-keys/{record.id}"
            raise ValidationProblem([FieldError("/userId", "api_key", advice.format(path))])
        if email and isinstance(record, Member) and record.email != email:
            advice = "This user is a member, and the email is another member's. Make one erasure for each person."
            raise ValidationProblem([FieldError("/userId", "another_person", advice)])


def rooms_of(kind: type[Container], place_id: str) -> list[Room]:
    """Return where all stands that is in a place: its partitions, the lists of places and of other records in it."""
    own = [kind.make_item_key(id=place_id)[0], *(template.format(id=place_id) for template in kind.extra_partitions)]
    lists = [inner.sibling_index for inner in child_types(kind)] + [
        listed for within, listed in _LISTED_ELSEWHERE if within is kind
    ]
    return [
        *({"pk": pk} for pk in own),
        *({"pk": each.pk.format_map({kind.parameter: place_id}), "index": each.index} for each in lists),
    ]


def names(entry: StoredEntry, person: PersonalData) -> bool:
    """Return whether an entry names the person. One that was erased names nobody."""
    return _said_of(person, entry) is not None


def accounts_in(entries: Iterable[StoredEntry], log: str, person: PersonalData) -> Iterator[Account]:
    """Yield the accounts that entries which name the person speak of; what somebody altered is not believed."""
    for entry in entries:
        said = _said_of(person, entry)
        if said is not None and has_valid_entry_mac(log, entry):
            yield from _accounts(said)


def _said_of(person: PersonalData, entry: StoredEntry) -> Any:
    """Return what an entry says, without the ids of what is no person, if that names the person; else None."""
    text = entry.body.decode(errors="replace") if isinstance(entry.body, bytes) else ""
    if not person.may_appear_in(text):
        return None
    try:
        said = _of_people(from_json(text))
    except ValueError:  # Somebody altered it: it is judged as the text it is.
        said = text
    return said if person.appears_in_value(said) else None


def _of_people(said: Any) -> Any:
    """Return an entry without the ids of what is no person: its own, its log's, its target's, an API key's."""
    try:
        actor = said["actor"] if said["actor"]["type"] in _PEOPLE else {**said["actor"], "id": None}
        data, target = {**(said["data"] or {}), **_OF_NO_PERSON}, {**said["target"], "id": None}
    except (KeyError, TypeError):  # Somebody altered it: nothing in it is taken for what it should be.
        return said
    return {**said, **_OF_NO_PERSON, "actor": actor, "target": target, "data": data}


def _accounts(said: Mapping[str, Any]) -> Iterator[Account]:
    """Yield the account that an entry speaks of, if it does.

    One about a membership has both id and address; one of an answer to an invitation has the actor's id and the address
    that they were seen to own.
    """
    data = said["data"] or {}
    user_id = said["actor"]["id"] if said["type"] in _ANSWERS else data.get("userId")
    if isinstance(user_id, str) and isinstance(email := data.get("email"), str):
        yield user_id, email
