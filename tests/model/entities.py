"""The model: plain records of what there should be, who has which role, and what was told; and no more than that."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.model.interface import OPERATIONS, Row, covers, opens, role_of_key

Json = dict[str, Any]

GONE: Final = 99
"""Which is one that is gone, if there is one."""

SYSTEM: Final = "system"

NOT_FOUND: Final = "404 not_found"

READ_BY: Final = {
    "organization": "get_organization",
    "member": "get_organization_member",
    "invitation": "get_invitation",
    "api_key": "get_api_key",
    "webhook": "get_webhook",
    "channel": "get_integration_channel",
    "platform": "get_platform",
    "platform_member": "get_platform_member",
    "space": "get_space",
    "space_member": "get_space_member",
    "node": "get_taxonomy_node",
    "attachment": "get_taxonomy_attachment",
    "site": "get_site",
    "page": "get_page",
    "redirect": "get_redirect",
    "menu": "get_navigation_menu",
    "lead": "get_marketing_lead",
}
"""By which operation one of a kind is read."""

MEMBERS: Final = {"organization": "member", "platform": "platform_member", "space": "space_member"}
"""What a member is of each kind of place."""


@dataclass(eq=False)
class Thing:
    """A record: `shown` is all of it, as whoever may see it all is answered. `hidden`: what was told once only."""

    kind: str
    shown: Json
    within: "Thing | None" = None
    hidden: Json = field(default_factory=dict)
    gone: bool = False
    first_tag: str = '"none"'
    touched: bool = False
    """Whether it has another version by now that nobody was told of."""

    @property
    def id(self) -> str:
        """Its id; of a menu what its people call it."""
        return str(self.shown["id"])

    @property
    def chain(self) -> "Iterator[Thing]":
        """It, and the places that it lies in, the nearest first."""
        yield self
        if self.within:
            yield from self.within.chain

    @property
    def log(self) -> str:
        """The log that tells of it: its organization's, or that of the service."""
        return SYSTEM if self.kind == "lead" else [*self.chain][-1].id

    @property
    def names(self) -> dict[str, str]:
        """What names it and what it lies in, by path parameter."""
        own = self.shown["userId"] if self.kind in MEMBERS.values() else self.id
        parameter = OPERATIONS[READ_BY[self.kind]].path.rpartition("{")[2].rstrip("}")
        return {**(self.within.names if self.within else {}), parameter: own}

    @property
    def path(self) -> str:
        """Where it is read."""
        return OPERATIONS[READ_BY[self.kind]].path.format_map(self.names)

    def lies_in(self, place: "Thing | None") -> bool:
        """Return whether it is in a place, or is that."""
        return any(each is place for each in self.chain)

    def above(self, kind: str) -> "Thing | None":
        """Return the place of a kind that it is or lies in."""
        return next((thing for thing in self.chain if thing.kind == kind), None)

    @property
    def there(self) -> bool:
        """Whether neither it nor a place that it lies in is gone."""
        closed = any(thing.shown.get("status") == "pending_deletion" for thing in self.chain)
        return not closed and not any(thing.gone for thing in self.chain)


@dataclass(frozen=True)
class Caller:
    """Who calls. `kind`: user, operator, api_key, or nobody."""

    kind: str
    id: str
    name: str = ""
    key: Thing | None = None


@dataclass(frozen=True)
class Told:
    """What an entry says: what happened, to what, by whom, by which operation. `said`: the record then."""

    type: str
    target: str
    actor: str | None
    operation: str
    said: Json


@dataclass
class Model:
    """All there is. `told`: what each log tells of requests, in order; `later`: what it tells of the service's own.

    `mails`: of each address, by the length of the time that is counted, until when that lasts and how many it got.
    """

    things: list[Thing] = field(default_factory=list)
    told: dict[str, list[Told]] = field(default_factory=dict)
    later: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    former_slugs: dict[str, str] = field(default_factory=dict)
    mails: dict[str, dict[int, tuple[float, int]]] = field(default_factory=dict)

    def of(self, kind: str, within: Thing | None = None) -> list[Thing]:
        """Return those of a kind that are there, in the order in which they were made."""
        return [t for t in self.things if t.kind == kind and t.there and (within is None or t.within is within)]

    def pick(self, kind: str, which: int, within: Thing | None = None) -> Thing | None:
        """Return one of a kind, counted from the last; or, if there is none or it is asked for, one that is gone."""
        there = self.of(kind, within)[::-1]
        gone = [t for t in self.things if t.kind == kind and not t.there and (within is None or t.within is within)]
        known = gone[-1:] or there if which == GONE else there or gone[-1:]
        return known[which % len(known)] if known else None

    def membership(self, place: Thing, user_id: str) -> Thing | None:
        """Return the membership that a user has of a place itself."""
        members = (t for t in self.things if t.kind == MEMBERS.get(place.kind) and t.within is place and not t.gone)
        return next((member for member in members if member.shown["userId"] == user_id), None)

    def role(self, who: Caller, place: Thing) -> str | None:
        """Return what somebody is at a place, by the rules of the contract."""
        above = self.role(who, place.within) if place.within else None
        if place.kind in ("organization", "platform", "space"):
            own = self._key_role(who.key, place) if who.key else self._own_role(who, place)
        else:
            return above
        if above and covers(above, "admin"):
            return "admin"
        private = place.shown.get("visibility") == "private"
        return own or (None if private else "member" if above else None)

    def _own_role(self, who: Caller, place: Thing) -> str | None:
        member = self.membership(place, who.id)
        return str(member.shown["role"]) if member else None

    @staticmethod
    def _key_role(key: Thing, place: Thing) -> str | None:
        if key.log != place.log:
            return None
        scopes = key.shown["scopes"]
        sees_private = {"admin", "spaces:read", "spaces:write"} & {*scopes}
        private = place.shown.get("visibility") == "private"
        return role_of_key(scopes) if sees_private or not private else None

    def refused(
        self, who: Caller, row: Row, place: Thing | None, record: Thing | None = None, instead: Thing | None = None
    ) -> str | None:
        """Return with what somebody is refused who asks for something at a place, or about a record in it.

        `instead`: a place below, where the role that it needs may be held as well.
        """
        if wrong := self._wrong_kind(who, row, place):
            return wrong
        if place is None:
            closed = who.key and row.scope != "-" and not opens(who.key.shown["scopes"], row)
            return "403 insufficient_scope" if closed else None
        kind, needed = row.judged
        role = self.role(who, place)
        if instead and not who.key and instead.there and covers(self.role(who, instead), needed):
            role = role or "member"
            place = instead if role == "member" else place
            kind = place.kind
        public = row.published and place.shown["status"] == "published"
        if not place.there or (role is None and needed and not public) or (record and not record.there):
            return NOT_FOUND
        if public and (role is None or (who.key and not opens(who.key.shown["scopes"], row))):
            return None
        if who.key:
            return None if opens(who.key.shown["scopes"], row) else "403 insufficient_scope"
        judged = place.above(kind) if needed else None
        return None if judged is None or covers(self.role(who, judged), needed) else "403 insufficient_role"

    @staticmethod
    def _wrong_kind(who: Caller, row: Row, place: Thing | None) -> str | None:
        if who.key and (ended := who.key.shown["status"]) != "active":
            return f"401 api_key_{ended}"
        if row.access in ("public", "lead-token", "preview-token"):
            return None
        if who.kind == "nobody":
            if row.published:
                return None if place and place.there and place.shown["status"] == "published" else NOT_FOUND
            return "401 unauthenticated"
        if row.access == "operator" and who.kind != "operator":
            return "403 forbidden"
        return "403 forbidden" if who.key and row.scope == "-" else None
