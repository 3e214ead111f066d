"""Rules about the people to whom requests and log entries refer by user id or e-mail address. No I/O."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.log.logic.entry_verification import StoredEntry, is_valid_at_claimed_sequence
from chalicelib.features.privacy.erasures.entities import Identity, ScanRange
from chalicelib.features.research.entities import ResearchJob
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log.application_events import is_application_entry_item, is_application_event
from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.permissions.grants import CREDENTIAL_TYPES
from chalicelib.kernel.storage.entity import Container, Entity
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.record_types import container_content_ranges

_RESPONSE_EVENTS: Final = tuple(
    f"{container_kind}.invitation.{outcome}"
    for container_kind in ("organization", "platform")
    for outcome in ("accepted", "declined")
)
_PERSON_ACTOR_TYPES: Final = ("user", "operator")
_EXTRA_COLLECTIONS: Final = ((Organization, ResearchJob.in_organization),)
"""Collections of records that belong to a container but are in none of its partitions."""

_IMPERSONAL_IDS: Final = {"id": None, "organizationId": None}


def reject_api_key_or_member_with_other_email(records: Iterable[Entity], email: str | None) -> None:
    """Raise ValidationProblem if a user id names an API key, or a member whose address is not the given `email`.

    `email`: the given address, if it is another member's.
    """
    for record in records:
        if isinstance(record, ApiKey):
            advice = "This is the id of an API key, not of a user. Delete the key instead: DELETE {}"
            path = f"/organizations/{record.organization_id}/api-keys/{record.id}"
            raise ValidationProblem([FieldError("/userId", "api_key", advice.format(path))])
        if email and isinstance(record, Member) and record.email != email:
            advice = "The email belongs to another member than the userId. Create one erasure for each person."
            raise ValidationProblem([FieldError("/userId", "another_person", advice)])


def container_scan_ranges(container_type: type[Container], container_id: str) -> list[ScanRange]:
    """Return the key ranges with everything in a container: its partitions, its child containers and other records."""
    lists = [each for owner_type, each in _EXTRA_COLLECTIONS if owner_type is container_type]
    return container_content_ranges(container_type, container_id) + [
        {"pk": each.pk.format_map({container_type.parameter: container_id}), "index": each.index} for each in lists
    ]


def mentions_person(entry: StoredEntry, person: PersonIdentifiers) -> bool:
    """Return whether an entry names the person. An erased entry names nobody."""
    return _personal_content_if_naming(person, entry) is not None


def iter_identities_in_mentioning_entries(
    entries: Iterable[StoredEntry], log_id: str, person: PersonIdentifiers
) -> Iterator[Identity]:
    """Yield the identities in the entries that name the person.

    Altered entries are ignored, and so are those of application events: an application may state any user id and any
    address.
    """
    for entry in entries:
        content = None if is_application_entry_item(entry.item) else _personal_content_if_naming(person, entry)
        if content is not None and is_valid_at_claimed_sequence(log_id, entry):
            yield from _iter_id_email_pair_if_present(content)


def _personal_content_if_naming(person: PersonIdentifiers, entry: StoredEntry) -> Any:
    """Return the content of an entry without the ids of non-persons if it names the person, or None."""
    text = entry.body.decode(errors="replace") if isinstance(entry.body, bytes) else ""
    if not person.may_appear_in(text):
        return None
    try:
        content = _without_impersonal_ids(from_json(text))
    except ValueError:  # The entry was altered. Its text is searched as it is.
        content = text
    return content if person.appears_in_value(content) else None


def _without_impersonal_ids(content: Any) -> Any:
    """Return an entry without ids that are not a person's: its own, its log's, its target's, an API key's.

    A target of an application event can be a person, and so can an actor of any type that the application names.
    """
    try:
        if is_application_event(content):
            reporter = content["reportedBy"]
            actor = content["actor"] if content["actor"].get("asserted") else _without_id_of_program(content["actor"])
            return {**content, **_IMPERSONAL_IDS, "actor": actor, "reportedBy": _without_id_of_program(reporter)}
        actor = (
            content["actor"] if content["actor"]["type"] in _PERSON_ACTOR_TYPES else {**content["actor"], "id": None}
        )
        data, target = {**(content["data"] or {}), **_IMPERSONAL_IDS}, {**content["target"], "id": None}
    except (KeyError, TypeError, AttributeError):  # The entry was altered. Its structure cannot be relied on.
        return content
    return {**content, **_IMPERSONAL_IDS, "actor": actor, "target": target, "data": data}


def _without_id_of_program(principal: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**principal, "id": None} if principal["type"] in CREDENTIAL_TYPES else principal


def _iter_id_email_pair_if_present(content: Mapping[str, Any]) -> Iterator[Identity]:
    """Yield the identity that an entry contains, if any.

    An entry about a membership contains both id and address. An entry about a response to an invitation contains the
    actor's id and the address that the actor proved to own.
    """
    data = content["data"] or {}
    user_id = content["actor"]["id"] if content["type"] in _RESPONSE_EVENTS else data.get("userId")
    if isinstance(user_id, str) and isinstance(email := data.get("email"), str):
        yield user_id, email
