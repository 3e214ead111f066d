"""Background work of witnesses: collecting the anchors of all logs, and submitting their log to each witness."""

import time
from typing import Any, Final

from chalicelib.features.audit.witnesses.entities import Witness
from chalicelib.features.audit.witnesses.logic import (
    anchor_log,
    anchor_proofs,
    anchored_checkpoints,
    publication,
)
from chalicelib.features.audit.witnesses.logic.submission import CheckpointRefused, Submission, SubmissionFailed
from chalicelib.features.audit.witnesses.models.settings import WitnessSettings
from chalicelib.kernel.audit_log.ledger import BrokenHead
from chalicelib.kernel.core.logs import add_fields, add_metrics
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.crypto import cosignatures
from chalicelib.kernel.storage.log_ids import ANCHOR_LOG
from chalicelib.kernel.work import jobs, queues
from chalicelib.kernel.work.tasks import task

COLLECTION_TASK: Final = "witnesses.collect"
_ANCHORING_SECONDS: Final = 600
"""Time that the hourly anchoring of all logs usually takes. What is anchored later is collected an hour later."""

_REFUSAL_DELAY_SECONDS: Final = 3_600
_MAX_LOGGED_KEYS: Final = 20


def queue_collection() -> None:
    """Queue the collection of the anchors of this hour, if there are witnesses."""
    if section(WitnessSettings).witnesses:
        pk, sk = anchor_log.HEAD_KEY
        message = {"task": COLLECTION_TASK, "pk": pk, "sk": sk}
        queues.enqueue_message(message, delay_seconds=_ANCHORING_SECONDS)


@task(COLLECTION_TASK)
def collect_anchored_checkpoints(message: dict[str, Any]) -> None:
    """Append the anchored checkpoints of all logs to the log of anchors, and publish it to the witnesses.

    The metric WitnessesSilent counts the witnesses that have not cosigned for hours. A checkpoint that somebody altered
    is not appended. It stays pending, and the metric AnchorsRefused counts it each hour. If the head of the log of
    anchors was altered, nothing is appended, which the metric counts, too.
    """
    if (message["pk"], message["sk"]) != anchor_log.HEAD_KEY:
        return
    add_fields(tenant=ANCHOR_LOG)
    try:
        if not _append_pending_before_deadline():
            queues.enqueue_message(message)
            return
        witnesses = publication.publish_head()
    except BrokenHead:
        add_fields(refused="bad_signature")
        add_metrics(AnchorsRefused=1)
        return
    if silent := publication.silent_witness_names(witnesses):
        add_fields(silentWitnesses=silent)
        add_metrics(WitnessesSilent=len(silent))
    for witness in witnesses:
        if witness.lease_until is not None:
            queues.enqueue(Witness.task, witness.item_key)


def _append_pending_before_deadline() -> bool:
    """Append the pending checkpoints to the log of anchors, and return whether the time sufficed for all of them.

    Raises BrokenHead.
    """
    ends_at, count, altered = jobs.slice_deadline_monotonic(), 0, list[str]()
    for keys in anchored_checkpoints.iter_pending_batches():
        appended_count, altered_in_batch = anchor_log.append(keys)
        count, altered = count + appended_count, altered + altered_in_batch
        add_fields(collected=count)
        if altered:
            add_fields(alteredAnchors=altered[:_MAX_LOGGED_KEYS])
            add_metrics(AnchorsRefused=len(altered))
        if time.monotonic() > ends_at:
            return False
    return True


@task(Witness.task)
def submit_to_witness(message: dict[str, Any]) -> None:
    """Submit the published checkpoint to a witness, and store its cosignature.

    A submission that fails is repeated with growing delays, and the others do not wait for it. If the witness refuses
    the checkpoint, because it contradicts an earlier one, the metric WitnessesRefused counts it each hour.
    """
    witness = jobs.claim(Witness, message)
    log = publication.load_witnessed_log_or_none() if witness else None
    if witness is None or log is None:
        return
    add_fields(witness=witness.name)
    submission = Submission(log.published_note, anchor_proofs.load_consistency_path)
    key = cosignatures.parse_verifier_key(witness.verifier_key)
    try:
        cosignature = submission.submit(witness.url, key, witness.cosigned_size)
    except SubmissionFailed as failure:
        add_fields(witnessFailure=str(failure))
        jobs.release_with_growing_delay(witness)
    except CheckpointRefused as refusal:
        # If a later checkpoint was published meanwhile, this fails, and the refusal of the earlier one means nothing.
        jobs.release(witness, delay_seconds=_REFUSAL_DELAY_SECONDS, refusal=str(refusal))
        add_fields(witnessRefusal=str(refusal))
        add_metrics(WitnessesRefused=1)
    else:
        publication.store_cosignature(witness, log.published_note, cosignature)
        add_fields(cosigned=submission.size)
