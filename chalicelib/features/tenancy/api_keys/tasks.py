"""Tasks that expire and revoke API keys."""

import time
from typing import Any

from chalicelib.features.tenancy.api_keys.entities import ApiKey, KeyRevocation
from chalicelib.features.tenancy.api_keys.logic.key_revocation import plan_dependent_key_revocation
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.identity import key_secrets
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task


@task(ApiKey.expiry_task)
def stop_counting_expired_key(message: dict[str, Any]) -> None:
    """Stop counting an expired API key toward the quota. The key itself stopped working when it expired."""
    key_secrets.stop_counting_if_expired(ApiKey, message)


@task(KeyRevocation.task, emits={"organization.api_key.revoked": ApiKey})
def revoke_listed_keys(message: dict[str, Any]) -> None:
    """Revoke the listed keys, each with a log entry. They have been denied access since they were listed."""
    job, ends_at = jobs.claim(KeyRevocation, message), jobs.slice_deadline_monotonic()
    if job is None:
        return
    for key_id in job.reasons:
        if time.monotonic() > ends_at:
            jobs.release(job)
            return
        _revoke_key_and_dependents(job, key_id)
    jobs.remove(job)


def _revoke_key_and_dependents(job: KeyRevocation, key_id: str) -> None:
    """Revoke a listed key and the keys that it created. Raises ConcurrentModification if the key changed meanwhile."""
    item = table.get(ApiKey.make_item_key(organization_id=job.organization_id, id=key_id))
    key = ApiKey.from_item(item) if item else None
    if key is None or not key.is_live:
        return
    changes, plan, cause = UnitOfWork(now()), plan_dependent_key_revocation(key), job.reasons[key_id]
    revoked = key.revocation_fields(changes.now, cause["reason"], cause["id"])
    changes.event(changes.update(key.replace(revoked_keys=plan.revoked_key_summaries), **revoked))
    plan.add_revocations_and_return_count(changes)
    outbox.commit(changes, Origin.system(KeyRevocation.task))
