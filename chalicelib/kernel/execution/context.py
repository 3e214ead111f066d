"""The context of an operation, which its handler receives."""

import json
import operator
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from chalicelib.kernel.audit_log.application_events import ApplicationEvent, Reception, ReportedEvent, receive_events
from chalicelib.kernel.authorization.access import Access
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.ids import new_id_and_time_fields
from chalicelib.kernel.execution import pagination
from chalicelib.kernel.http.fields import RESERVED_SLUGS, derive_slug
from chalicelib.kernel.http.models import CursorQuery, ListQuery, SmallListQuery, SortedListQuery
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous, CredentialPrincipal, Principal
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.identity.signed_links import LinkHolder
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.inputs import RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.permissions.access_epochs import Epoch, EpochSubject
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.rate_limits import buckets
from chalicelib.kernel.rate_limits.buckets import RateLimitState
from chalicelib.kernel.rate_limits.volume_limits import count_volume, refund_volume
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Collection, Container, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.key_templates import render_prefix
from chalicelib.kernel.storage.record_types import get_record_type, record_from_item
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work.outbox import Origin

T = TypeVar("T")
E = TypeVar("E", bound=Entity)


NO_ITEMS: Final[Mapping[ItemKey, Item]] = {}


class Records(list[Entity]):
    """Records of several types. `requested_keys`: the keys that were read. `items_by_key`: the items there."""

    def __init__(
        self,
        records: Iterable[Entity] = (),
        requested_keys: Iterable[ItemKey] = (),
        items_by_key: Mapping[ItemKey, Item] = NO_ITEMS,
    ) -> None:
        """Initialize the list from records, the keys that were read, and the items at these keys."""
        super().__init__(records)
        self.requested_keys, self.items_by_key = {*requested_keys}, items_by_key

    def union(self, others: "Records") -> "Records":
        """Return these and other records."""
        return Records(
            [*self, *others], self.requested_keys | others.requested_keys, {**self.items_by_key, **others.items_by_key}
        )

    def instances_of(self, kind: type[E]) -> list[E]:
        """Return the records of a type."""
        return [record for record in self if isinstance(record, kind)]


@dataclass
class ExternalEffect:
    """An irreversible effect of an operation, which happens once per request, however often the handler runs.

    `rate_limit_states`: the limits that counted the request before the effect, empty if none did yet. `volume_states`:
    the limits that counted its volume for the subject `volume_subject`, or None if they did not yet.
    """

    rate_limit_states: Sequence[RateLimitState] = ()
    volume_states: Sequence[RateLimitState] | None = None
    volume_subject: str = ""
    results: list[Any] = field(default_factory=list)

    def charge_rate_limits_once(self, states: Sequence[RateLimitState]) -> None:
        """Count the request, unless it has been counted already. Raises ConcurrentModification."""
        if not self.rate_limit_states:
            buckets.count_request_in_own_transaction(states)
            self.rate_limit_states = states

    def count_volume_once(self, operation: Operation, body: Any, subject: str) -> None:
        """Count the volume of a body, unless it has been counted already. Raises Problem `rate_limited`."""
        if self.volume_states is None:
            self.volume_states = count_volume(operation.volume_limits, body, subject)
            self.volume_subject = subject

    def refund_volume(self) -> None:
        """Undo the counting of the volume, if it was counted, because the request wrote nothing."""
        refund_volume(self.volume_states or (), self.volume_subject)


@dataclass
class Context:
    """The context of an operation: caller, container, role and changes.

    `already_existed`: whether the handler found that the record to create exists. `was_created`: whether the handler
    created the record to replace. `headers`: response headers of the handler. `page_limit`: maximum number of items, if
    it is lower than requested. `has_derived_slug`: whether the slug was derived.
    """

    input: RequestInput
    access: Access
    now: str
    attempt: int = 0
    effect: ExternalEffect = field(default_factory=ExternalEffect)
    changes: UnitOfWork = field(init=False)
    has_derived_slug: bool = False
    already_existed: bool = False
    was_created: bool = False
    page_limit: int | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.operation.cache_control:
            self.headers["Cache-Control"] = self.operation.cache_control
        self.changes = UnitOfWork(self.now, self.access.chains)
        if self.operation.grants_access and self.access.container:
            self.add_access_not_revoked_conditions(
                self.access.outermost_container_pk, self.access.items, self.access.granting_records_by_subject
            )

    @property
    def operation(self) -> Operation:
        """Return the operation."""
        return self.input.operation

    @property
    def request(self) -> Request:
        """Return the request."""
        return self.input.request

    @property
    def principal_or_anonymous(self) -> Principal:
        """Return the caller."""
        return self.access.principal

    @property
    def container_or_none(self) -> Container | None:
        """Return the container of the operation."""
        return self.access.container

    @property
    def role(self) -> Role | None:
        """Return the caller's role in the container. An API key has the role of its scopes."""
        return self.access.role

    @property
    def required_role(self) -> Role:
        """Return the caller's role in the container. Only for operations that require one."""
        if self.role is None:
            raise TypeError(f"{self.operation.id} allows callers without a role")
        return self.role

    @property
    def max_grantable_role(self) -> Role:
        """Return the highest role that the caller can grant: their own, or editor for an API key without `admin`."""
        role = self.role or Role.MEMBER
        return Role.EDITOR if self.api_key_scopes is not None and role != Role.ADMIN else role

    @property
    def audit_origin(self) -> Origin:
        """Return the origin for log entries. The type of the actor is `operator` if only that admits the caller."""
        request, actor = self.request, self.principal_or_anonymous.actor
        if self.operation.access is Caller.OPERATOR or self.access.is_operator_role:
            actor = {**actor, "type": "operator"}
        return Origin(actor, self.operation.id, self.operation.emits, request.id, request.ip, request.user_agent)

    @property
    def user(self) -> User:
        """Return the calling user. Only for operations that reject all other callers."""
        if not isinstance(self.principal_or_anonymous, User):
            raise TypeError(f"{self.operation.id} allows callers that are not users")
        return self.principal_or_anonymous

    @property
    def link_holder(self) -> LinkHolder:
        """Return the holder of a signed link who calls. Only for operations that reject all other callers."""
        if not isinstance(self.principal_or_anonymous, LinkHolder):
            raise TypeError(f"{self.operation.id} allows callers that are not holders of a link")
        return self.principal_or_anonymous

    @property
    def api_key_scopes(self) -> list[str] | None:
        """Return the scopes of the calling API key or service key, or None for a user."""
        return (
            self.principal_or_anonymous.credential.scopes
            if isinstance(self.principal_or_anonymous, CredentialPrincipal)
            else None
        )

    def find_in_container(self, entity: type[E], **names: str) -> E | None:
        """Return a record of the container, or None. Records of other containers cannot be read.

        Items that decided about access, such as the caller's membership, are not read again.
        """
        key = entity.make_item_key(**self.container_ids_by_parameter, **names)
        self._require_own_partition(key[0])
        item = self.access.items.get(key) or table.get(key)
        return entity.from_item(item) if item else None

    def find_container_records_by_keys(self, *keys: ItemKey) -> list[Entity]:
        """Return the records of the container at some keys, of any type, with one read."""
        for pk, _ in keys:
            self._require_own_partition(pk)
        return [*map(record_from_item, table.get_all(keys).values())]

    def query_index(self, entity: type[E], facet: Facet, limit: int, **names: str) -> list[E]:
        """Return the first records of the container in an index, with one query.

        The index lags. If an outdated record made a transaction fail, the next attempt reads the records from the
        table. From an index with several types, it returns those of one type or base class.
        """
        partition = facet.partition(**{**self.container_ids_by_parameter, **names})
        self._require_own_partition(partition.pk)
        items = table.query(partition, limit=limit).items
        items = table.read_current(items) if self.attempt else items
        typed_items = [
            (get_record_type(item["kind"]), item) for item in items if item.get(f"{facet.index}pk") == partition.pk
        ]
        return [kind.from_item(item) for kind, item in typed_items if issubclass(kind, entity)]

    def query_last_record_or_none(self, entity: type[E], collection: Collection) -> E | None:
        """Return the last record of a collection of the container or an ancestor, or None. It queries an index."""
        items = table.query(collection.partition(**self.container_ids_by_parameter), limit=1, newest_first=True).items
        return entity.from_item(items[0]) if items else None

    def load_collections_and_keyed_records(
        self, *set_collections: Collection, keys: Sequence[ItemKey] = (), **names: str
    ) -> "Records":
        """Return all records of some small sets, and those at some keys, read in parallel in one round trip.

        `names` are further values for the keys of the sets. Records are in order of creation. Items that are not
        records are only in `items_by_key`.
        """
        ranges = [
            (each.pk.format_map({**self.container_ids_by_parameter, **names}), each.sk.partition("{")[0])
            for each in set_collections
        ]
        reads: list[Callable[[], Iterable[Item]]] = [partial(table.query_all, pk, prefix) for pk, prefix in ranges]
        reads += [lambda: table.get_all(keys).values()] if keys else []
        items = [item for batch in table.gather(operator.call, reads) for item in batch]
        records = sorted((item for item in items if "kind" in item), key=lambda item: str(item["id"]))
        return Records(map(record_from_item, records), keys, {(item["pk"], item["sk"]): item for item in items})

    @property
    def container_ids_by_parameter(self) -> dict[str, str]:
        """Return the ids of the container and its ancestors by path parameter."""
        return {
            container.parameter: container.id
            for container in (self.container_or_none, *self.access.ancestors.values())
            if container
        }

    def _require_own_partition(self, pk: str) -> None:
        own_pk = self.container_or_none.item_key[0] if self.container_or_none else ""
        if not own_pk or not (pk == own_pk or pk.startswith(f"{own_pk}#")):
            raise ValueError(f"{pk} is not a partition of the container of {self.operation.id}")

    def new_id_and_time_fields(self, *, later_than: str = "") -> dict[str, Any]:
        """Return the first fields of a new record, created after `later_than` if given."""
        earliest = after(later_than, seconds=0.001) if later_than else ""
        return new_id_and_time_fields(max(self.now, earliest))

    def new_records(self, kind: type[E], fields: Sequence[Mapping[str, Any]], **ids: Any) -> "list[E]":
        """Return a new record for each element of `fields`. The ids of the records have the same order."""
        new_fields = sorted((self.new_id_and_time_fields() for _ in fields), key=lambda new: str(new["id"]))
        return [kind(**new, **ids, **each) for new, each in zip(new_fields, fields, strict=True)]

    def report(self, log: str, reports: Sequence[ReportedEvent]) -> list[ApplicationEvent]:
        """Commit events that the caller reports, all or none, and return them with their ids in the same order."""
        origin = self.audit_origin
        reception = Reception(log, self.now, origin.actor, origin.operation_id, origin.request_id)
        events = receive_events(reports, reception)
        self.changes.report(events)
        return events

    def run_once(self, effect: Callable[[], T]) -> T:
        """Perform an irreversible effect, and return its result. A repeated handler gets the same result."""
        if not self.effect.results:
            self.effect.results.append(effect())
        result: T = self.effect.results[0]
        return result

    def add_access_not_revoked_conditions(
        self,
        organization_pk: str,
        items: Mapping[ItemKey, Item],
        granting_records_by_subject: Mapping[str, Iterable[Entity]],
    ) -> None:
        """Make the transaction fail if the rights by which the caller is admitted are revoked concurrently.

        `organization_pk`: the organization's partition. `granting_records_by_subject`: the records that grant access,
        by the subject of their access epoch; `items` contain the epochs. While an epoch is so new that records may be
        older, these records are conditions, too.
        """
        for subject_id, records in granting_records_by_subject.items():
            epoch = Epoch.from_items(EpochSubject(organization_pk, subject_id), items)
            self.changes.require_unchanged(epoch)
            for record in () if epoch.is_older_than_any_request(self.now) else records:
                self.changes.require_unchanged(record)

    def given_or_derived_slug(self, slug: str | None, name: str, reserved: frozenset[str] = RESERVED_SLUGS) -> str:
        """Return the given slug or, without one, a slug derived from the name. The pipeline retries if it is taken."""
        if slug:
            return slug
        self.has_derived_slug = True
        base = derive_slug(name)
        if base and base not in reserved and not self.attempt:
            return base
        return f"{base[:50] or self.operation.group.rstrip('s')}-{secrets.token_hex(4)}".replace("--", "-")

    def allow_caching(self, *, vary: str = "Authorization") -> None:
        """Allow caches to store the response: a public one for a minute, a private one with revalidation.

        `vary`: the request headers on which the response depends.
        """
        public = isinstance(self.principal_or_anonymous, Anonymous)
        self.headers |= {"Cache-Control": "public, max-age=60" if public else "private, no-cache", "Vary": vary}

    def decode_cursor(self, query: CursorQuery) -> Item | None:
        """Return the position where the list continues. Raises Problem `invalid_cursor`."""
        return pagination.decode_cursor(query.cursor, self._build_cursor_binding(query)) if query.cursor else None

    def encode_cursor(self, position: Item, query: CursorQuery) -> str:
        """Return the cursor of a position, valid only for this operation, tenant and filters."""
        return pagination.encode_cursor(position, self._build_cursor_binding(query))

    def build_page(self, items: list[T] | list[bytes], next_position: Item | None, query: ListQuery) -> ListPage[T]:
        """Return a page. `next_position`: where the next page starts, or None at the end of the list."""
        return ListPage(items, self.encode_cursor(next_position, query) if next_position else None)

    def slice_page(self, elements: Sequence[T], query: SmallListQuery) -> ListPage[T]:
        """Return a page of a complete list whose order does not change."""
        start = int((self.decode_cursor(query) or {"after": 0})["after"])
        end = start + query.limit if query.limit else len(elements)
        return ListPage(
            [*elements[start:end]], self.encode_cursor({"after": end}, query) if end < len(elements) else None
        )

    def list_records(
        self,
        entity: type[Entity],
        listing: Collection | Facet,
        query: ListQuery,
        to_output: Callable[[Any], T],
        **names: str | None,
    ) -> ListPage[T]:
        """Return a page of a list or of a filtered list, with one Query.

        `names` are the values of its key template. `to_output` converts a record to its response. A list that is spread
        over several partitions takes one Query for each, run in parallel.
        """
        options: dict[str, Any] = {
            "after": self.decode_cursor(query),
            "limit": query.limit,
            "newest_first": (
                query.is_newest_first(by_default=listing.newest_first)
                if isinstance(query, SortedListQuery)
                else listing.newest_first
            ),
            "attributes": entity.listed_attributes() if entity.fields_omitted_from_lists else (),
        }
        if isinstance(listing, Collection) and listing.shards:
            partitions = [listing.partition(**names, shard=shard) for shard in range(listing.shards)]
            result = table.query_merged(partitions, **options)
        else:
            sk = listing.sk if isinstance(listing, Collection) else entity.sk
            result = table.query(listing.partition(**names), prefix=render_prefix(sk, names), **options)
        return self.build_page(
            [to_output(entity.from_item(item)) for item in result.items], result.last_evaluated_key, query
        )

    def _build_cursor_binding(self, query: CursorQuery) -> str:
        is_public = self.operation.access is Caller.PUBLIC
        tenant = (
            self.container_or_none.id if self.container_or_none else "" if is_public else self.principal_or_anonymous.id
        )
        filters = query.model_dump(exclude={"limit", "cursor", "include"}, exclude_none=True)
        return f"{self.operation.id}:{tenant}:{json.dumps([self.request.parameters, filters], sort_keys=True)}"
