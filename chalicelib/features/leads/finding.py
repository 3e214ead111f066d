"""Load submissions."""

from chalicelib.features.leads.entities import Lead, Submission
from chalicelib.kernel.storage import table


def submission_of(sent_id: str) -> Submission | None:
    """Return the submission with an id and its lead, or None. A merged submission takes a second read."""
    items = table.get_all([key := Submission.make_item_key(id=sent_id), Lead.make_item_key(id=sent_id)])
    return Submission.from_item(items[key]).hydrate(items) if key in items else None
