"""What happens to an API key at its time."""

import time
from typing import Any

from chalicelib.features.tenancy.api_keys.entities import ApiKey, KeyRevocation
from chalicelib.features.tenancy.api_keys.logic.key_revocation import ending_with_key
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task


@task("api_keys.expire")
def stop_counting_expired_key(message: dict[str, Any]) -> None:
    """Let an expired API key no longer count towards the organization's limit; it stopped working by itself."""
    key = tasks.load_record(ApiKey, message)
    if key and key.live and key.status == "expired":
        changes = UnitOfWork(now())
        changes.update_untracked(key, live=False)
        changes.commit()


@task(KeyRevocation.task, emits={"organization.api_key.revoked": ApiKey})
def revoke_ended_keys(message: dict[str, Any]) -> None:
    """Revoke the keys that were listed as ended, each with its entry; nobody was let in by them since."""
    job, ends_at = jobs.claim(KeyRevocation, message), jobs.slice_ends_at()
    if job is None:
        return
    for key_id in job.reasons:
        if time.monotonic() > ends_at:
            jobs.release(job)
            return
        _revoke(job, key_id)
    jobs.remove(job)


def _revoke(job: KeyRevocation, key_id: str) -> None:
    """Revoke a listed key and what it made until then. Raises ConcurrentModification if the key changed meanwhile."""
    item = table.get(ApiKey.make_item_key(organization_id=job.organization_id, id=key_id))
    key = ApiKey.from_item(item) if item else None
    if key is None or not key.live:
        return
    changes, ending, because = UnitOfWork(now()), ending_with_key(key), job.reasons[key_id]
    revoked = key.revoked(changes.now, because["reason"], because["id"])
    changes.update(key.replace(revoked_keys=ending.named), **revoked)
    ending.revoke(changes)
    outbox.commit(changes, "organization.api_key.revoked", Origin.system(KeyRevocation.task))
