"""The model of the service: the records that should exist, the roles of users, and the expected log entries."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.model import interface_operations
from tests.model.interface_operations import OPERATIONS, InterfaceOperation, expand_scopes, role_suffices

Json = dict[str, Any]

DELETED_INDEX: Final = 99
"""The index that selects a deleted record, if there is one."""

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
    "log_stream": "get_log_stream",
    "erasure": "get_erasure",
    "service_key": "get_service_key",
}
"""The operation that reads a single record, by its kind."""

MEMBERS: Final = {"organization": "member", "platform": "platform_member", "space": "space_member"}
"""The kind of membership, by the kind of its container."""


@dataclass(eq=False)
class ModelRecord:
    """A record. `fields` is its representation for its owner; `internal` has secrets and what only the model knows."""

    kind: str
    fields: Json
    container: "ModelRecord | None" = None
    internal: Json = field(default_factory=dict)
    is_deleted: bool = False
    first_etag: str = '"none"'
    has_unseen_version: bool = False
    """Whether the service may have changed its version without a response that shows it."""

    @property
    def id(self) -> str:
        """The id of the record. A menu has the id that its creator chose."""
        return str(self.fields["id"])

    @property
    def parent(self) -> "ModelRecord":
        """The container, for records that always have one."""
        assert self.container
        return self.container

    @property
    def self_and_containers(self) -> "Iterator[ModelRecord]":
        yield self
        if self.container:
            yield from self.container.self_and_containers

    @property
    def log_id(self) -> str:
        """The id of the log that records its changes: its organization's log, or the system log."""
        return SYSTEM if self.kind in ("lead", "service_key") else [*self.self_and_containers][-1].id

    @property
    def path_parameters(self) -> dict[str, str]:
        own = self.fields["userId"] if self.kind in MEMBERS.values() else self.id
        parameter = OPERATIONS[READ_BY[self.kind]].path.rpartition("{")[2].rstrip("}")
        return {**(self.container.path_parameters if self.container else {}), parameter: own}

    @property
    def path(self) -> str:
        return OPERATIONS[READ_BY[self.kind]].path.format_map(self.path_parameters)

    def is_inside(self, container: "ModelRecord | None") -> bool:
        """Return whether the record is a container or lies in it."""
        return any(each is container for each in self.self_and_containers)

    def container_of_kind(self, kind: str) -> "ModelRecord | None":
        return next((record for record in self.self_and_containers if record.kind == kind), None)

    @property
    def exists(self) -> bool:
        """Whether neither the record nor any of its containers is deleted."""
        is_closed = any(record.fields.get("status") == "pending_deletion" for record in self.self_and_containers)
        return not is_closed and not any(record.is_deleted for record in self.self_and_containers)


@dataclass(frozen=True)
class Caller:
    """A caller. `kind` is `user`, `operator`, `api_key`, `service_key` or `nobody`. `key` is the record of a key."""

    kind: str
    id: str
    name: str = ""
    key: ModelRecord | None = None


@dataclass
class ExpectedEntry:
    """An entry of a log. `reporter_id` is that of an application event: the principal that reported it.

    `asserted_actor` is the actor that the caller named. `may_be_erased` or `is_erased`: an erasure of this actor began.
    """

    type: str
    target_id: str
    actor_id: str | None
    operation_id: str
    reporter_id: str | None = None
    asserted_actor: Json | None = None
    may_be_erased: bool = False
    is_erased: bool = False


@dataclass
class Model:
    """The expected state of the service.

    `event_types` has the declared types with their fields, among them the smallest amount of each version's schema.
    `erased_actors` has the actors of application events that were erased, by log. `checkpoints` has saved checkpoints.
    `expected_entries` has the entries of requests in order, by log; `expected_system_entries` those of the service
    itself. `email_counts` has, by address and window length, the end of the window and the number of emails in it.
    """

    records: list[ModelRecord] = field(default_factory=list)
    expected_entries: dict[str, list[ExpectedEntry]] = field(default_factory=dict)
    expected_system_entries: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    event_types: dict[str, Json] = field(default_factory=dict)
    erased_actors: dict[str, list[Json]] = field(default_factory=dict)
    checkpoints: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    former_slugs: dict[str, str] = field(default_factory=dict)
    email_counts: dict[str, dict[int, tuple[float, int]]] = field(default_factory=dict)

    def list_existing(self, kind: str, container: ModelRecord | None = None) -> list[ModelRecord]:
        return [record for record in self.list_all(kind, container) if record.exists]

    def list_all(self, kind: str | None, container: ModelRecord | None = None) -> list[ModelRecord]:
        """Return the existing and the deleted records of a kind, in order of their creation."""
        return [r for r in self.records if r.kind == kind and (container is None or r.container is container)]

    def pick(self, kind: str, record_index: int, container: ModelRecord | None = None) -> ModelRecord | None:
        """Return a record of a kind, counted from the newest, or a deleted one if none exists or it is asked for."""
        existing_records = self.list_existing(kind, container)[::-1]
        deleted_records = [record for record in self.list_all(kind, container) if not record.exists][-1:]
        prefers_deleted = record_index == DELETED_INDEX
        candidates = (prefers_deleted and deleted_records) or existing_records or deleted_records
        return candidates[record_index % len(candidates)] if candidates else None

    def membership(self, container: ModelRecord, user_id: str) -> ModelRecord | None:
        members = self.list_all(MEMBERS.get(container.kind), container)
        return next((m for m in members if m.fields["userId"] == user_id and not m.is_deleted), None)

    def slug_refusal(
        self, kind: str, slug: str | None, owner: ModelRecord | None = None, container: ModelRecord | None = None
    ) -> str | None:
        """Return the refusal of a slug that another record than the owner has or lately had."""
        records = self.list_all(kind, container)
        holder_ids = {record.id for record in records if record.fields["slug"] == slug and not record.is_deleted}
        if former_holder_id := self.former_slugs.get(f"{kind}/{slug}"):
            holder_ids.add(former_holder_id)
        return "409 slug_taken" if holder_ids - {owner and owner.id} else None

    def keep_former_slug(self, record: ModelRecord, former_slug: str) -> None:
        """Reserve the former slug of a record whose slug may have changed."""
        self.former_slugs[f"{record.kind}/{former_slug}"] = record.id
        self.former_slugs.pop(f"{record.kind}/{record.fields['slug']}", None)

    def effective_role(self, caller: Caller, container: ModelRecord) -> str | None:
        container_role = self.effective_role(caller, container.container) if container.container else None
        if container.kind not in MEMBERS:
            return container_role
        if role_suffices(container_role, "admin"):
            return "admin"
        is_private = container.fields.get("visibility") == "private"
        if caller.key:
            own_role = self._role_of_key(caller.key, container, is_private=is_private)
        else:
            member = self.membership(container, caller.id)
            own_role = str(member.fields["role"]) if member else None
        return own_role or ("member" if container_role and not is_private else None)

    @staticmethod
    def _role_of_key(key: ModelRecord, container: ModelRecord, *, is_private: bool) -> str | None:
        scopes = key.fields["scopes"]
        is_visible = not is_private or {"admin", "spaces:read", "spaces:write"} & {*scopes}
        return interface_operations.role_of_api_key(scopes) if key.log_id == container.log_id and is_visible else None

    def expected_refusal(
        self,
        caller: Caller,
        operation_row: InterfaceOperation,
        record: ModelRecord | None,
        alternative_container: ModelRecord | None = None,
    ) -> str | None:
        """Return the status and code with which an operation on a record or container rejects a caller.

        In `alternative_container`, a descendant, the caller may have the required role as well.
        """
        if principal_refusal := self._principal_refusal(caller, operation_row, record):
            return principal_refusal
        if caller.kind == "service_key":
            return self._service_key_refusal(caller, operation_row, record)
        scopes = caller.key.fields["scopes"] if caller.key else None
        has_scope = scopes is None or interface_operations.scopes_allow(scopes, operation_row)
        if record is None:
            return None if has_scope or operation_row.scope == "-" else "403 insufficient_scope"
        container, (kind, needed_role) = record, operation_row.required_role
        role = self.effective_role(caller, record)
        if (
            alternative_container
            and not caller.key
            and alternative_container.exists
            and role_suffices(self.effective_role(caller, alternative_container), needed_role)
            and role in (None, "member")
        ):
            role, container, kind = "member", alternative_container, alternative_container.kind
        is_public = operation_row.is_public_when_published and record.fields["status"] == "published"
        if not record.exists or not container.exists or (role is None and needed_role and not is_public):
            return NOT_FOUND
        if caller.key:
            return None if has_scope or is_public else "403 insufficient_scope"
        role_container = container.container_of_kind(kind) if needed_role else None
        is_visitor = is_public and role is None
        has_role = not role_container or role_suffices(self.effective_role(caller, role_container), needed_role)
        return None if is_visitor or has_role else "403 insufficient_role"

    @staticmethod
    def _service_key_refusal(caller: Caller, row: InterfaceOperation, record: ModelRecord | None) -> str | None:
        """Return the refusal of a service key, which can write and read application events in every organization."""
        assert caller.key
        if row.scope not in expand_scopes(caller.key.fields["scopes"]):
            return "403 insufficient_scope"
        return None if record is None or record.exists else NOT_FOUND

    @staticmethod
    def _principal_refusal(caller: Caller, operation_row: InterfaceOperation, record: ModelRecord | None) -> str | None:
        if caller.key and (ended := caller.key.fields["status"]) != "active":
            return f"401 api_key_{ended}"
        if operation_row.access in ("public", "lead-token", "preview-token"):
            return None
        if caller.kind == "nobody":
            if operation_row.is_public_when_published:
                is_published = record and record.exists and record.fields["status"] == "published"
                return None if is_published else NOT_FOUND
            return "401 unauthenticated"
        if operation_row.access == "operator" and caller.kind != "operator":
            return "403 forbidden"
        return "403 forbidden" if caller.key and operation_row.scope == "-" else None
