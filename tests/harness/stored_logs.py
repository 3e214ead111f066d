"""A log as its owner reads it, as the ledger extends it, and as someone with access to the table alters it."""

from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel.audit_log.mac_chains import chain_shard_or_none
from chalicelib.kernel.core.encoding import to_base64url
from tests.harness import anchors, audit_logs, exports, memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.exports import CreatedExport
from tests.harness.memory_aws import Item
from tests.harness.organizations import CreatedOrganization
from tests.harness.workers import Workers

INTACT: Final = (None, None)
"""The failure of a log without faults."""


@dataclass(frozen=True)
class StoredLog:
    """The log of an organization."""

    api: ApiClient
    workers: Workers
    organization: CreatedOrganization

    @property
    def id(self) -> str:
        return self.organization.id

    @property
    def path(self) -> str:
        return f"{self.organization.path}/audit-log"

    @property
    def head(self) -> Item:
        return audit_logs.head_item(self.organization)

    @property
    def anchored_sizes(self) -> list[int]:
        return anchors.anchored_sizes(self.id)

    @property
    def awaits_anchor(self) -> bool:
        return anchors.awaits_anchor(self.id)

    def get(self, path: str = "", **query: Any) -> ApiResponse:
        """Send a GET request to the log or a path below, as the owner."""
        return self.api.get(self.path + path, caller=self.organization.owner, query=query)

    def entries(self, **query: object) -> list[Json]:
        """List the entries, the newest first."""
        return audit_logs.list_entries(self.api, self.organization, **query)

    def verify(self, **query: object) -> Json:
        return audit_logs.verify_integrity(self.api, self.organization, **query)

    def verify_all_windows(self, **query: object) -> list[Json]:
        """Return the reports of a verification, one for each window."""
        reports = [self.verify(**query)]
        while reports[-1]["nextCursor"]:
            reports.append(self.verify(cursor=reports[-1]["nextCursor"], **query))
        return reports

    def failure(self, **query: object) -> tuple[object, object]:
        """Return the failure and the first invalid sequence that a verification reports, or None and None."""
        return audit_logs.verification_failure(self.api, self.organization, **query)

    def rename(self, name: str, **options: Any) -> None:
        """Change the organization as the owner, which adds a pending entry."""
        owner = self.organization.owner
        assert self.api.patch(self.organization.path, caller=owner, json={"name": name}, **options).status == 200

    def append(self, count: int = 1) -> None:
        """Append entries by changing the organization."""
        audit_logs.add_entries(self.api, self.workers, self.organization, count)

    def anchor(self) -> None:
        anchors.run_anchoring(self.workers)

    def create_export(self, **body: Any) -> CreatedExport:
        return exports.create_export(self.api, self.organization, **body)

    def export(self, **body: Any) -> Json:
        return exports.create_completed_export(self.api, self.workers, self.organization, **body)

    def entry(self, sequence: int) -> Item:
        return audit_logs.entry_item(self.organization, sequence)

    def alter(self, sequence: int, **attributes: Any) -> None:
        audit_logs.alter_item(self.entry(sequence), **attributes)

    def alter_body(self, sequence: int, *, with_leaf: bool = False) -> None:
        """Replace the name of the actor in an entry, optionally together with the hash."""
        body = self.entry(sequence)["body"].replace(b"Ada", b"Eve")
        self.alter(sequence, body=body, **({"leaf": audit_logs.hash_leaf(body)} if with_leaf else {}))

    def alter_head(self, **attributes: Any) -> None:
        audit_logs.alter_item(self.head, **attributes)

    def remove(self, *sequences: int) -> None:
        for sequence in sequences:
            memory_aws.delete_item(self.entry(sequence))

    def remove_attributes(self, sequence: int, *names: str) -> None:
        memory_aws.put_item({name: value for name, value in self.entry(sequence).items() if name not in names})

    def head_and_chains(self) -> list[Item]:
        """Return the items that record the size of the log: its head and its chains."""
        items = [item for item in memory_aws.all_items() if item["pk"] == f"Q#{self.id}"]
        return [self.head, *(item for item in items if chain_shard_or_none(item) is not None)]

    def truncate(self, earlier_items: list[Item]) -> None:
        """Remove the entries after an earlier state, and restore the head and the chains of that state."""
        self.remove(*range(earlier_items[0]["size"] + 1, self.head["size"] + 1))
        for item in self.head_and_chains():
            memory_aws.delete_item(item)
        for item in earlier_items:
            memory_aws.put_item(item)

    def save_checkpoint(self) -> str:
        """Return the current checkpoint as a query parameter."""
        return to_base64url(str(self.verify()["checkpoint"]).encode())

    def sign_checkpoint(self, size: int, root: bytes = bytes(32)) -> str:
        """Return a signed checkpoint, by default of another tree, as a query parameter."""
        return to_base64url(audit_logs.sign_checkpoint(self.organization, size, root).encode())
