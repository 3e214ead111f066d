"""What happens to an API key at its time."""

from typing import Any

from chalicelib.features.api_keys.entities import ApiKey
from chalicelib.kernel import tasks
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import now
from chalicelib.kernel.tasks import task


@task("api_keys.expire")
def stop_counting_expired_key(message: dict[str, Any]) -> None:
    """Let an expired API key no longer count towards the organization's limit; it stopped working by itself."""
    key = tasks.about(ApiKey, message)
    if key and key.live and key.status == "expired":
        changes = Changes(now())
        changes.settle(key, live=False)
        changes.commit()
