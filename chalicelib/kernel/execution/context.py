"""Context: what a handler has at hand beside its arguments."""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.authorization.memberships import membership_key
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.ids import new_record_fields
from chalicelib.kernel.execution import pagination
from chalicelib.kernel.http.fields import RESERVED_SLUGS, slug_from
from chalicelib.kernel.http.models import CursorQuery, ListQuery, SmallListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous, ApiKeyPrincipal, Principal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.access_epochs import Epoch, Subject
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits import buckets
from chalicelib.kernel.rate_limits.buckets import RateLimitState
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Container, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item, record_type
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work.outbox import Origin

T = TypeVar("T")
E = TypeVar("E", bound=Entity)
P = TypeVar("P", bound=Container)


NO_ITEMS: Final[Mapping[ItemKey, Item]] = {}


class Records(list[Entity]):
    """Records of several kinds. `asked`: the keys that were looked at, and `read` the items that stood there."""

    def __init__(
        self, records: Iterable[Entity] = (), asked: Iterable[ItemKey] = (), read: Mapping[ItemKey, Item] = NO_ITEMS
    ) -> None:
        """Take records, and what they were found by."""
        super().__init__(records)
        self.asked, self.read = {*asked}, read

    def merged_with(self, others: "Records") -> "Records":
        """Return them with others."""
        return Records([*self, *others], self.asked | others.asked, {**self.read, **others.read})

    def instances_of(self, kind: type[E]) -> list[E]:
        """Return those of a kind."""
        return [record for record in self if isinstance(record, kind)]


@dataclass
class Effect:
    """What an operation does that can't be taken back: once for a request, however often its handler runs.

    `shares`: what the request was counted by before that; none of it yet, if it wasn't.
    """

    shares: Sequence[RateLimitState] = ()
    outcomes: list[Any] = field(default_factory=list)

    def charge(self, shares: Sequence[RateLimitState]) -> None:
        """Count the request, unless it is counted. Raises ConcurrentModification."""
        if not self.shares:
            buckets.charge(shares)
            self.shares = shares


@dataclass
class Context:
    """One operation being performed: who asks, where, with which role, and what is to change.

    `again`: whether what it would make was there already, as the handler found out. `headers`: those that the handler
    adds to its answer. `page_limit`: how many items a page has at most, where that is fewer than was asked for.
    """

    operation: Operation
    request: Request
    access: Access
    now: str
    attempt: int = 0
    effect: Effect = field(default_factory=Effect)
    changes: UnitOfWork = field(init=False)
    derived: bool = False
    already_existed: bool = False
    page_limit: int | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.changes = UnitOfWork(self.now)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        return self.access.principal

    @property
    def container(self) -> Container | None:
        """Where it is done."""
        return self.access.container

    @property
    def role(self) -> Role | None:
        """The caller's role at the place; of an API key, the one it acts as."""
        return self.access.role

    @property
    def max_grantable_role(self) -> Role:
        """The highest role the caller may give: their own, and editor for an API key without `admin`."""
        role = self.role or Role.MEMBER
        return Role.EDITOR if self.scopes is not None and role != Role.ADMIN else role

    @property
    def origin(self) -> Origin:
        """Where the entry says that the change came from. A user is an operator in what only operators can do."""
        request, actor = self.request, self.principal.actor
        if self.operation.access is Caller.OPERATOR:
            actor = {**actor, "type": "operator"}
        return Origin(actor, self.operation.id, self.operation.emits, request.id, request.ip, request.user_agent)

    @property
    def user(self) -> User:
        """The person asking; only for operations that refuse everyone else."""
        if not isinstance(self.principal, User):
            raise TypeError(f"{self.operation.id} lets in callers that are no users")
        return self.principal

    @property
    def scopes(self) -> list[str] | None:
        """The scopes of the API key asking, or None if it is a person."""
        return self.principal.credential.scopes if isinstance(self.principal, ApiKeyPrincipal) else None

    def find(self, entity: type[E], **names: str) -> E | None:
        """Return a record of the place itself, or None; records of other places are out of reach.

        What decided access, such as the caller's own membership, is not read again.
        """
        key = entity.make_item_key(**self.ids, **names)
        self._refuse_foreign(key[0])
        item = self.access.prefetched.get(key) or table.get(key)
        return entity.from_item(item) if item else None

    def find_all(self, *keys: ItemKey) -> list[Entity]:
        """Return those records of the place itself that stand at some keys, of whatever kind: one read."""
        for pk, _ in keys:
            self._refuse_foreign(pk)
        return [*map(record_from_item, table.get_all(keys).values())]

    def query_index(self, entity: type[E], facet: Facet, limit: int, **names: str) -> list[E]:
        """Return the first records of the place itself that an index of it holds: one Query.

        It is late by moments: if what it showed stood in the way of a transaction, the next attempt reads those records
        from the table. Of an index that holds several kinds, it returns those of one or, with what they all are, of
        each.
        """
        partition = facet.partition(**{**self.ids, **names})
        self._refuse_foreign(partition.pk)
        items = table.query(partition, limit=limit).items
        items = table.read_current(items) if self.attempt else items
        found = [(record_type(item["kind"]), item) for item in items if item.get(f"{facet.index}pk") == partition.pk]
        return [kind.from_item(item) for kind, item in found if issubclass(kind, entity)]

    def latest(self, entity: type[E], collection: Collection) -> E | None:
        """Return the last record of a list of the place, or of one above it, or None: one Query, late by moments."""
        found = table.query(collection.partition(**self.ids), limit=1, newest_first=True).items
        return entity.from_item(found[0]) if found else None

    def load(self, *sets: Collection, keys: Sequence[ItemKey] = (), **names: str) -> "Records":
        """Return all records of some small sets, and those at some keys, read side by side: one round trip.

        `names` fill the keys of sets, beside the place and those above it. In the order in which they were made. What
        stands at a key and is no record, such as a guard, is among their `read` alone.
        """
        ranges = [(each.pk.format_map({**self.ids, **names}), each.sk.partition("{")[0]) for each in sets]
        asks: list[Callable[[], Iterable[Item]]] = [partial(table.query_all, pk, begins) for pk, begins in ranges]
        asks += [lambda: table.get_all(keys).values()] if keys else []
        items = [item for found in table.gather(_answer, asks) for item in found]
        records = sorted((item for item in items if "kind" in item), key=lambda item: str(item["id"]))
        return Records(map(record_from_item, records), keys, {(item["pk"], item["sk"]): item for item in items})

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the place and of those above it, by their parameters."""
        return {place.parameter: place.id for place in (self.container, *self.access.ancestors.values()) if place}

    def _refuse_foreign(self, pk: str) -> None:
        own = self.container.item_key[0] if self.container else ""
        if not own or not (pk == own or pk.startswith(f"{own}#")):
            raise ValueError(f"{pk} is no partition of the place of {self.operation.id}")

    def new_record_fields(self, *, later_than: str = "") -> dict[str, Any]:
        """Return what a new record begins with: its id, and when it was made: after `later_than`, if given."""
        earliest = after(later_than, seconds=0.001) if later_than else ""
        return new_record_fields(max(self.now, earliest))

    def new_records(self, kind: type[E], fields: Sequence[Mapping[str, Any]], **ids: Any) -> "list[E]":
        """Return new records of some fields, all of the same places, in an order that is kept: that of their ids."""
        news = sorted((self.new_record_fields() for _ in fields), key=lambda new: str(new["id"]))
        return [kind(**new, **ids, **each) for new, each in zip(news, fields, strict=True)]

    def once(self, effect: Callable[[], T]) -> T:
        """Do what can't be taken back, and return what came of it; a handler that lost a race is told that again."""
        if not self.effect.outcomes:
            self.effect.outcomes.append(effect())
        outcome: T = self.effect.outcomes[0]
        return outcome

    def fence(self, pk: str, items: Mapping[ItemKey, Item], decisive: Mapping[str, Iterable[Entity]]) -> None:
        """Let the change fail if, before it, rights are lowered by which it is let in.

        `pk`: the organization's partition. `decisive`: the records that let it in, by whose access epoch vouches for
        them; `items` say the epochs. As long as one is so new that its records may have been read before it was set,
        they are conditions themselves.
        """
        for whose, records in decisive.items():
            epoch = Epoch.read(Subject(pk, whose), items)
            self.changes.fence(epoch)
            for record in () if epoch.is_settled(self.now) else records:
                self.changes.require_unchanged(record)

    def choose_slug(self, given: str | None, name: str, reserved: frozenset[str] = RESERVED_SLUGS) -> str:
        """Return the slug given or, if there is none, one derived from the name; the pipeline finds a free one."""
        if given:
            return given
        self.derived = True
        base = slug_from(name)
        if base and base not in reserved and not self.attempt:
            return base
        return f"{base[:50] or self.operation.group.rstrip('s')}-{secrets.token_hex(4)}".replace("--", "-")

    def allow_caching(self, *, by: str = "Authorization") -> None:
        """Let caches keep the answer: that to everybody for a minute, a caller's own to ask whether it is so still.

        `by`: the request's headers that decide how it looks.
        """
        public = isinstance(self.principal, Anonymous)
        self.headers |= {"Cache-Control": "public, max-age=60" if public else "private, no-cache", "Vary": by}

    def decode_cursor(self, query: CursorQuery) -> Item | None:
        """Return where the list goes on. Raises Problem `invalid_cursor`."""
        return pagination.decode_cursor(query.cursor, self._binding(query)) if query.cursor else None

    def encode_cursor(self, position: Item, query: CursorQuery) -> str:
        """Return the cursor of a position, good for this operation, tenant and these filters only."""
        return pagination.encode_cursor(position, self._binding(query))

    def build_page(self, items: list[T] | list[bytes], last: Item | None, query: ListQuery) -> ListPage[T]:
        """Return a page; `last` is where the next begins, or None at the end of the list."""
        return ListPage(items, self.encode_cursor(last, query) if last else None)

    def slice_page(self, whole: Sequence[T], query: SmallListQuery) -> ListPage[T]:
        """Return a page of a list that is at hand as a whole, in an order that lasts."""
        begin = int((self.decode_cursor(query) or {"after": 0})["after"])
        end = begin + query.limit if query.limit else len(whole)
        return ListPage([*whole[begin:end]], self.encode_cursor({"after": end}, query) if end < len(whole) else None)

    def list_records(
        self,
        entity: type[Entity],
        listed: Collection | Facet,
        query: ListQuery,
        show: Callable[[Any], T],
        **names: str | None,
    ) -> ListPage[T]:
        """Return a page of a list or a filter of it: one Query. `names` fill its key; `show` makes what callers see.

        Of a list that is spread over several partitions it is one Query of each, side by side.
        """
        words: dict[str, Any] = {
            "after": self.decode_cursor(query),
            "limit": query.limit,
            "newest_first": listed.newest_first,
            "attributes": entity.listed_attributes() if entity.fields_omitted_from_lists else (),
        }
        if isinstance(listed, Collection) and listed.shards:
            found = table.query_merged(listed.partitions(**names), **words)
        else:
            sk = listed.sk if isinstance(listed, Collection) else entity.sk
            found = table.query(listed.partition(**names), prefix=sk.partition("{")[0], **words)
        return self.build_page([show(entity.from_item(item)) for item in found.items], found.last_evaluated_key, query)

    def list_memberships(
        self, place: type[P], memberships: Collection, query: ListQuery, show: Callable[[P], T | None], **names: str
    ) -> ListPage[T]:
        """Return a page of the places the caller is a member of: a Query of memberships, and a read of their places.

        To an API key that is its organization. What is gone meanwhile, or `show` gives None for, is left out, and so is
        what the caller has left: the list of memberships is an index's, and whether they are there the table says.
        """
        position = self.decode_cursor(query)
        if isinstance(self.principal, ApiKeyPrincipal):
            keys, own, last = [place.make_item_key(id=self.principal.credential.organization_id)], [], None
        else:
            partition = memberships.partition(**{"user_id": self.principal.id, **names})
            found = table.query(partition, after=position, limit=query.limit)
            keys, last = (
                [place.make_item_key(id=item[place.parameter]) for item in found.items],
                found.last_evaluated_key,
            )
            own = [membership_key(key, self.principal.id) for key in keys]
        items = table.get_all([*keys, *own])
        left = {key for key, membership in zip(keys, own, strict=False) if membership not in items}
        shown = [show(place.from_item(items[key])) for key in keys if key in items and key not in left]
        return self.build_page([s for s in shown if s is not None], last, query)

    def _binding(self, query: CursorQuery) -> str:
        everyones = self.operation.access is Caller.PUBLIC
        tenant = self.container.id if self.container else "" if everyones else self.principal.id
        filters = query.model_dump(exclude={"limit", "cursor"}, exclude_none=True)
        return f"{self.operation.id}:{tenant}:{json.dumps([self.request.parameters, filters], sort_keys=True)}"


def _answer(ask: Callable[[], T]) -> T:
    return ask()
