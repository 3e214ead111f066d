"""Members as they are looked for by what is said of them."""

from collections.abc import Iterable
from typing import Final

from chalicelib.features.tenancy.entities.memberships import Joined, address_row
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from chalicelib.kernel.storage.table import QueryResult

_MOST: Final = 10


def users_with_address(kind: type[Joined], emails: Iterable[str], **place: str) -> set[str]:
    """Return the ids of the members of a place that have one of some addresses: two Queries for each, all at once.

    Rows of the table lead to them. The index, which lags, also knows who has been a member since before there were
    rows: whom it alone names is looked at.
    """
    pk, begins = kind.make_item_key(**place, user_id="")
    addresses = sorted({*emails})
    rows = [(Partition(pk), address_row(email, "")) for email in addresses]
    indexes = [(kind.by_email.partition(**place, email=email), begins) for email in addresses]
    found = table.gather(_look, rows + indexes)
    known = {str(row["user_id"]) for each in found[: len(rows)] for row in each.items}
    listed = [item for each in found[len(rows) :] for item in each.items if item["user_id"] not in known]
    return known | {item["user_id"] for item in table.read_current(listed) if item.get("email") in addresses}


def _look(where: tuple[Partition, str]) -> QueryResult:
    partition, begins = where
    return table.query(partition, prefix=begins, limit=_MOST)
