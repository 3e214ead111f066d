"""Proofs: of an entry of the log, and that a log has only grown. The offline verifier checks them."""

import base64
from typing import Final

from hypothesis import strategies as st

from chalicelib.features.audit.exports.logic.verify import Checkpoint, verify_checkpoint_note
from chalicelib.features.audit.exports.logic.verify_receipts import describe_consistency, describe_receipt
from tests.catalogue.log_proof import PUBLIC_KEY
from tests.model.actions import action, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

_KEYS: Final = (base64.b64decode(PUBLIC_KEY),)
_PROVEN_ENTRIES: Final = 4
"""Entries of each log that are proven at the end of a story."""


@action(place=record_index, position=st.integers(0, 40), at_saved_size=st.booleans())
def prove_entry(run: ModelRun, by: Sender, organization: ModelRecord, position: int, at_saved_size: bool) -> None:  # noqa: FBT001 - passed by name
    """Prove one of the newest entries, in the tree of the newest checkpoint or of a saved one, and save the newest."""
    entry = _entry_at(run, organization, position)
    refusal = None if entry["sequence"] else "409 conflict"
    sizes = [size for size, _ in run.model.checkpoints.get(organization.id, ()) if size >= (entry["sequence"] or size)]
    query = {"treeSize": sizes[-1]} if at_saved_size and sizes else {}
    options: Json = {"entry_id": entry["id"], "query": query, "refusal": refusal}
    if response := run.request(by, "prove_audit_entry", organization, **options):
        assert response.json["entry"]["id"] == entry["id"]
        describe_receipt(response.text.encode(), _KEYS)
        checkpoint = response.json["checkpoint"]
        saved = (_parse_checkpoint(checkpoint).size, checkpoint)
        run.model.checkpoints.setdefault(organization.id, []).append(saved)
        assert response.json["treeSize"] == query.get("treeSize", saved[0])


@action(weight=2, place=record_index, saved=st.integers(0, 5))
def prove_growth(run: ModelRun, by: Sender, organization: ModelRecord, saved: int) -> None:
    """Prove that a log begins with what a saved checkpoint signs."""
    if checkpoints := run.model.checkpoints.get(organization.id):
        size, checkpoint = checkpoints[saved % len(checkpoints)]
        options: Json = {"query": {"from": size}}
        if response := run.request(by, "prove_audit_log_consistency", organization, **options):
            describe_consistency(response.text.encode(), [_parse_checkpoint(checkpoint)], _KEYS)


def check_proofs(run: ModelRun, organization: ModelRecord, entries: list[Json]) -> None:
    """Assert that entries can be proven, and that the log begins with what each saved checkpoint signs."""
    owner = run.owner_of(organization)
    for entry in entries[:: max(1, len(entries) // _PROVEN_ENTRIES)]:
        path = f"{organization.path}/audit-log/{entry['id']}/proof"
        describe_receipt(run.api.get(path, caller=owner).expect(200).text.encode(), _KEYS)
    for size, checkpoint in {*run.model.checkpoints.get(organization.id, ())}:
        path = f"{organization.path}/audit-log/consistency"
        proof = run.api.get(path, caller=owner, query={"from": size}).expect(200)
        describe_consistency(proof.text.encode(), [_parse_checkpoint(checkpoint)], _KEYS)


def _entry_at(run: ModelRun, organization: ModelRecord, position: int) -> Json:
    """Return an entry of the log, counted from the newest, or one that is not there if the log is not visible."""
    listing = run.api.get(f"{organization.path}/audit-log", caller=run.owner_of(organization), query={"limit": 50})
    if not listing.json.get("items"):
        return {"id": organization.id, "sequence": 1}
    items: list[Json] = listing.json["items"]
    return items[position % len(items)]


def _parse_checkpoint(note: str) -> Checkpoint:
    return verify_checkpoint_note(note.encode(), *_KEYS)
