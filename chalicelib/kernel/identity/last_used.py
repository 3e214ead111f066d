"""The time at which an API key was last used, to the minute, written in the background."""

from threading import Thread
from typing import Final

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.identity.auth import ApiKeyPrincipal, Principal
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate

_MINUTE_LENGTH: Final = len("2026-11-20T09:30")
_written_minutes: dict[str, str] = {}


def write_last_used_in_background(principal: Principal) -> None:
    """Store that an API key is in use, once per minute and process, without delaying the request."""
    if not isinstance(principal, ApiKeyPrincipal):
        return
    minute = now()[:_MINUTE_LENGTH] + ":00.000Z"
    if (principal.credential.last_used_at or "") < minute and _written_minutes.get(principal.id) != minute:
        _written_minutes[principal.id] = minute
        Thread(target=_try_write_last_used_at, args=(principal.record_key, minute), daemon=True).start()


def _try_write_last_used_at(key: ItemKey, minute: str) -> None:
    update = ItemUpdate(key, set={"last_used_at": minute}).to_write("attribute_exists(#pk)")
    try:
        table.write_transaction([update])
    except (TransactionCancelled, Problem):
        _written_minutes.clear()  # The next request retries.
