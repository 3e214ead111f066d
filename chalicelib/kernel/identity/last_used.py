"""The time at which an API key or service key was last used, to the minute, written in the background of a request."""

from functools import partial
from typing import Final

from chalicelib.kernel.core import threads
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.identity.auth import CredentialPrincipal, Principal
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate

_MINUTE_LENGTH: Final = len("2026-11-20T09:30")
_written_minutes: dict[str, str] = {}


def write_last_used_in_background(principal: Principal) -> None:
    """Store that a key is in use, once per minute and process, while the request is performed.

    If the write does not end in time, the time may be stored late or not at all, and is wrong until the next use.
    """
    if not isinstance(principal, CredentialPrincipal):
        return
    minute = now()[:_MINUTE_LENGTH] + ":00.000Z"
    if (principal.credential.last_used_at or "") < minute and _written_minutes.get(principal.id) != minute:
        _written_minutes[principal.id] = minute
        threads.start_in_background(partial(_try_write_last_used_at, principal.record_key, minute), name="last-used")


def _try_write_last_used_at(key: ItemKey, minute: str) -> None:
    update = ItemUpdate(key, set={"last_used_at": minute}).to_write("attribute_exists(#pk)")
    try:
        table.write_transaction([update])
    except (TransactionCancelled, Problem):
        _written_minutes.clear()  # The next request retries.
