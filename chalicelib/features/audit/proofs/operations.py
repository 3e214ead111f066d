"""Operations that prove the audit log: get an entry, its proof, and the proof that the log has only grown."""

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import StoredEntry
from chalicelib.features.audit.log.logic.log_head import LogHead
from chalicelib.features.audit.log.models import AuditEntry
from chalicelib.features.audit.proofs.logic.proofs import build_consistency_proof_fields, build_entry_proof_json
from chalicelib.features.audit.proofs.logic.tree_reading import SealedTree
from chalicelib.features.audit.proofs.models import ConsistencyProof, ConsistencyQuery, EntryProof, ProofQuery
from chalicelib.features.audit.witnesses.entities import WitnessedLog
from chalicelib.features.tenancy.entities.organizations import Organization, require_organization_role
from chalicelib.kernel.audit_log.entries import EntryItem, entry_key
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import SerializedOutput
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("organizations")


class AnchorLog(Prefetched):
    """The checkpoints of the log of anchors that witnesses have cosigned."""

    @classmethod
    def derive_keys(cls, _values: KnownValues) -> list[ItemKey]:
        """Return the key of their record."""
        return [WitnessedLog.make_item_key()]

    def witnessed_log_or_none(self) -> WitnessedLog | None:
        """Return the record, or None without witnesses."""
        item = self.items.get(WitnessedLog.make_item_key())
        return WitnessedLog.from_item(item) if item else None


class LoggedEntry(Prefetched):
    """The entry in the path."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the entry and, if it is long, of its bytes."""
        return logs.entry_item_keys(values.parameters["organization_id"], values.parameters["entry_id"])

    def existing_entry(self, organization: Organization, entry_id: str) -> StoredEntry:
        """Return the entry. Raises Problem `not_found` if the log does not show it."""
        log_id = organization.audit_log_id
        entry = self.items.get(entry_key(log_id, entry_id))
        if entry is None or not logs.is_visible_entry([log_id], entry):
            raise not_found()
        [stored] = logs.load_stored_entries(log_id, [entry], loaded=self.items)
        return stored


@routes.get(
    "/organizations/{organization_id}/audit-log/{entry_id}",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def get_audit_entry(
    _ctx: Context, organization: Organization, entry_id: Uuid, logged: LoggedEntry
) -> SerializedOutput[AuditEntry]:
    """Get an entry of the audit log, as the list shows it. An erased entry is returned as erased.

    Use it to look up what a webhook, a chat message or a receipt is about: the id of an event is that of its entry.
    """
    return SerializedOutput(_entry_json(logged.existing_entry(organization, entry_id)))


@routes.get(
    "/organizations/{organization_id}/audit-log/{entry_id}/proof",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def prove_audit_entry(
    _ctx: Context,
    organization: Organization,
    entry_id: Uuid,
    query: ProofQuery,
    logged: LoggedEntry,
    head: LogHead,
    anchors: AnchorLog,
) -> SerializedOutput[EntryProof]:
    """Prove that an entry is in the log. Save the response: it is a receipt, which `verify.py` checks offline.

    The proof leads from the entry to the root that the newest checkpoint signs. With `treeSize`, it leads to the root
    of an earlier tree, and from there to the checkpoint. An entry that is not in the signed tree yet is a `conflict`
    with `Retry-After`. If the hashes of the log have to be prepared first, the problem is `unavailable`. `witness`
    proves that witnesses outside of the service have seen the same history.
    """
    stored = logged.existing_entry(organization, entry_id)
    tree = SealedTree.from_head_item(organization.audit_log_id, head.first_item_or_none)
    entry_json, witnessed_log = _entry_json(stored), anchors.witnessed_log_or_none()
    return SerializedOutput(build_entry_proof_json(tree, stored, entry_json, query, witnessed_log))


@routes.get(
    "/organizations/{organization_id}/audit-log/consistency",
    access=require_organization_role(Role.ADMIN),
    scope="audit-log:read",
    emits=None,
)
def prove_audit_log_consistency(
    _ctx: Context, organization: Organization, query: ConsistencyQuery, head: LogHead
) -> ConsistencyProof:
    """Prove that the log at one size is the beginning of the log at another, so that no entry was changed or removed.

    Compare the roots with those of the checkpoints that you saved, or let `verify.py` do it. If the hashes of the log
    have to be prepared first, the problem is `unavailable`.
    """
    tree = SealedTree.from_head_item(organization.audit_log_id, head.first_item_or_none)
    return ConsistencyProof(**build_consistency_proof_fields(tree, query.from_, query.to))


def _entry_json(stored: StoredEntry) -> bytes:
    """Return an entry as JSON. Raises Problem `not_found` if its bytes are missing, as the list omits it then."""
    if not stored.has_body_or_is_erased:
        raise not_found()
    return logs.entry_to_json_bytes(EntryItem.from_item(stored.item), stored.body_bytes_or_none)
