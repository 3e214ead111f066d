"""Who is meant by an entry: pure decisions about its canonical bytes."""

import json
import re
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.kernel.entity import Person

_LOCAL: Final = r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]"
_DOMAIN: Final = r"[a-z0-9-]|\.[a-z0-9]"


class Traces:
    """What a person leaves in a log: their user ids and addresses, wherever in an entry they stand."""

    def __init__(self, person: Person) -> None:
        self._person = person
        # A longer address that ends or begins like this one is another's.
        emails = (f"(?<!{_LOCAL}){_escaped(email)}(?!{_DOMAIN})" for email in sorted(person.emails))
        self._pattern = re.compile("|".join([*emails, *map(re.escape, sorted(person.user_ids))]))

    def in_entry(self, body: object) -> bool:
        """Return whether an entry's canonical bytes name the person. Of bytes that are gone nothing is said."""
        return isinstance(body, bytes) and bool(self._pattern.search(body.decode(errors="replace").lower()))

    def widened(self, body: bytes) -> Person:
        """Return the person, with what an entry that names them says of who they are besides.

        An entry about a membership has both id and address; one of an answer to an invitation has the actor's id and
        the address that they were seen to own.
        """
        entry = from_json(body)
        data: dict[str, Any] = entry.get("data") or {}
        user_id, email = data.get("userId"), data.get("email")
        if entry["type"] in ("organization.invitation.accepted", "organization.invitation.declined") and not user_id:
            user_id = entry["actor"]["id"]
        known = user_id in self._person.user_ids or email in self._person.emails
        if not known or not isinstance(user_id, str) or not isinstance(email, str):
            return self._person
        return Person(self._person.user_ids | {user_id}, self._person.emails | {email})


def _escaped(email: str) -> str:
    return re.escape(json.dumps(email, ensure_ascii=False)[1:-1])
