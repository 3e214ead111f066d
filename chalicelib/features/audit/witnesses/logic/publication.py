"""The publication of the log of anchors: the checkpoint that all witnesses are asked to cosign, and their answers."""

from collections.abc import Collection
from hashlib import sha256
from typing import Any, Final

from chalicelib.features.audit.witnesses.entities import PARTITION, Witness, WitnessedLog
from chalicelib.features.audit.witnesses.logic import anchor_log
from chalicelib.features.audit.witnesses.models.settings import WitnessEndpoint, WitnessSettings
from chalicelib.kernel.core.clock import after, now, sleep_with_jittered_backoff
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.cosignatures import Cosignature
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs

MAX_SILENT_HOURS: Final = 3
"""Hours after which a witness that has not cosigned counts as silent."""

_ID_CHARACTERS: Final = 32
_MAX_TRIES: Final = 5


def publish_head() -> list[Witness]:
    """Publish the checkpoint of the head unless it is published, and return the witnesses in the settings.

    Each submission is due at once. Witnesses that are not in the settings any more are removed. Nothing happens before
    the first anchor. Raises BrokenHead, Problem `unavailable`, and ConcurrentModification if other workers keep
    changing the records.
    """
    for attempt in range(_MAX_TRIES):
        try:
            return _publish_head_once()
        except ConcurrentModification:
            sleep_with_jittered_backoff(attempt)
    return _publish_head_once()


def _publish_head_once() -> list[Witness]:
    items = table.query_all(PARTITION, "")
    log = next((WitnessedLog.from_item(item) for item in items if item.get("kind") == WitnessedLog.kind), None)
    stored = [Witness.from_item(item) for item in items if item.get("kind") == Witness.kind]
    # The head is read after the published checkpoint, so an intact log is not shorter.
    head = anchor_log.load_head_or_empty()
    if not head.tree.size:
        return []
    stored_witnesses, note = {witness.id: witness for witness in stored}, anchor_log.sign_note(head.tree)
    changes = UnitOfWork(now())
    # After a rotation of the signing key, an unchanged log has another signature and is published again.
    is_new = log is None or log.published_note != note
    if log is None:
        times: dict[str, Any] = {"created_at": changes.now, "updated_at": changes.now}
        changes.create(WitnessedLog(id=ANCHOR_LOG, published_note=note, published_size=head.tree.size, **times))
    elif is_new:
        changes.update(log, published_note=note, published_size=head.tree.size)
    witnesses = [
        _schedule_submission(changes, endpoint, stored_witnesses, is_new=is_new)
        for endpoint in section(WitnessSettings).witness_endpoints
    ]
    for witness_id in stored_witnesses.keys() - {witness.id for witness in witnesses}:
        changes.delete(stored_witnesses[witness_id])
    if not changes.is_empty:
        changes.commit()
    return witnesses


def _schedule_submission(
    changes: UnitOfWork, endpoint: WitnessEndpoint, stored_witnesses: dict[str, Witness], *, is_new: bool
) -> Witness:
    """Return the record of a witness, and make its submission due if there is something new to submit."""
    verifier_key = str(endpoint.key)
    witness_id = sha256(verifier_key.encode()).hexdigest()[:_ID_CHARACTERS]
    stored = stored_witnesses.get(witness_id)
    if stored is None:
        times: dict[str, Any] = {"created_at": changes.now, "updated_at": changes.now}
        due: dict[str, Any] = {"lease_until": changes.now, "waiting_since": changes.now}
        return changes.create(Witness(id=witness_id, verifier_key=verifier_key, url=endpoint.url, **times, **due))
    if not is_new and stored.url == endpoint.url:
        return stored
    waiting_since = stored.waiting_since or (changes.now if is_new else None)
    lease_until = changes.now if is_new or stored.lease_until else None
    return changes.update_untracked(stored, url=endpoint.url, lease_until=lease_until, waiting_since=waiting_since)


def store_cosignature(witness: Witness, note: str, cosignature: Cosignature) -> None:
    """Store a verified cosignature of a note, and finish the submission.

    Raises ConcurrentModification if the submission was started again meanwhile, for a newer note or by another worker.
    """
    size = checkpoints.parse(note).checkpoint.size
    for attempt in range(_MAX_TRIES):
        changes, log = UnitOfWork(now()), load_witnessed_log_or_none()
        if log:
            changes.update(log, cosigned=log.with_cosignature(note, witness.verifier_key, cosignature.line))
        try:
            jobs.finish(witness, changes, cosigned_size=size, waiting_since=None, refusal=None, failures=0)
        except ConcurrentModification:
            if attempt + 1 == _MAX_TRIES or not _is_current(witness):
                raise
        else:
            return


def load_witnessed_log_or_none() -> WitnessedLog | None:
    """Return the record of the published and the cosigned checkpoints, or None before the first publication."""
    item = table.get(WitnessedLog.make_item_key())
    return WitnessedLog.from_item(item) if item else None


def silent_witness_names(witnesses: Collection[Witness]) -> list[str]:
    """Return the names of the witnesses that have not cosigned for `MAX_SILENT_HOURS`."""
    latest = after(now(), hours=-MAX_SILENT_HOURS)
    return [each.name for each in witnesses if each.waiting_since and each.waiting_since <= latest]


def _is_current(witness: Witness) -> bool:
    item = table.get(witness.item_key)
    return item is not None and Witness.from_item(item).lease_until == witness.lease_until
