"""Search for members by e-mail address."""

from collections.abc import Iterable
from typing import Final

from chalicelib.features.tenancy.entities.memberships import ContainerMember, email_sort_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from chalicelib.kernel.storage.query_results import QueryResult

_MAX_MATCHES: Final = 10


def find_user_ids_with_emails(
    membership_type: type[ContainerMember], emails: Iterable[str], **container_ids: str
) -> set[str]:
    """Return the user ids of the members of a container that have one of the addresses.

    There are two queries for each address, all in parallel. One finds current members by derived items. The
    other also finds members from before these items existed, by an index. Their current items are read from the table,
    because the index lags.
    """
    pk, prefix = membership_type.make_item_key(**container_ids, user_id="")
    addresses = sorted({*emails})
    rows = [(Partition(pk), email_sort_key(email, "")) for email in addresses]
    indexes = [(membership_type.by_email.partition(**container_ids, email=email), prefix) for email in addresses]
    results = table.gather(_query_prefix_matches, rows + indexes)
    user_ids = {str(row["user_id"]) for each in results[: len(rows)] for row in each.items}
    indexed = [item for each in results[len(rows) :] for item in each.items if item["user_id"] not in user_ids]
    return user_ids | {item["user_id"] for item in table.read_current(indexed) if item.get("email") in addresses}


def _query_prefix_matches(partition_and_prefix: tuple[Partition, str]) -> QueryResult:
    partition, prefix = partition_and_prefix
    return table.query(partition, prefix=prefix, limit=_MAX_MATCHES)
