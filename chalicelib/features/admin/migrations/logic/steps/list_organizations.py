"""Lists the organizations of earlier releases, so that operators find them by name and slug.

No function may scan the table, and no index contains all organizations. But each has a log, and each log either has an
anchor or waits for one. Logs of purged organizations have no record any more, and are skipped.
"""

from collections.abc import Sequence
from typing import Final

from chalicelib.features.admin.migrations.logic.id_positions import id_at_position, position_of_id
from chalicelib.features.audit.log.logic import unanchored_heads, whole_logs
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_ORGANIZATIONS_PER_TRANSACTION: Final = 30
_FIRST_SHARD: Final = -1
"""The position of the first shard of the logs that wait for an anchor. The others follow downwards."""


def step(position: int, _changes: UnitOfWork) -> int | None:
    """List up to 1,000 organizations with an anchor, or those of a shard of the others. A repetition changes nothing.

    A position above 0 stands for the id of the last organization with an anchor. The items are written in transactions
    of their own, because there are too many for one.
    """
    if position <= _FIRST_SHARD:
        shard = _FIRST_SHARD - position
        for heads in unanchored_heads.iter_unanchored_head_pages(shard):
            _list_organizations([head["pk"].partition("#")[2] for head in heads])
        return position - 1 if shard + 1 < ledger.UNANCHORED_SHARDS else None
    logs = whole_logs.list_anchored_logs(id_at_position(position) if position else "")
    ids = [log for log in logs if log not in SYSTEM_LOGS]  # The names of these logs follow all ids.
    _list_organizations(ids)
    return position_of_id(ids[-1]) if ids else _FIRST_SHARD


def _list_organizations(ids: Sequence[str]) -> None:
    for start in range(0, len(ids), _ORGANIZATIONS_PER_TRANSACTION):
        keys = [Organization.make_item_key(id=each) for each in ids[start : start + _ORGANIZATIONS_PER_TRANSACTION]]
        organizations = map(Organization.from_item, table.get_all(keys).values())
        rows = {(row["pk"], row["sk"]): row for each in organizations for row in each.derived_items}
        # The search ignores the rows of an organization that is renamed or purged meanwhile.
        changes = UnitOfWork(now())
        for key, row in rows.items():
            changes.add_write(Write("Put", key, item=row))
        if rows:
            changes.commit()
