"""What was sent under an id."""

from chalicelib.features.leads.entities import Lead, Submission
from chalicelib.kernel.storage import table


def submission_of(sent_id: str) -> Submission | None:
    """Return what was sent under an id, or None: one read, and one more if it was merged into another lead."""
    read = table.get_all([key := Submission.make_item_key(id=sent_id), Lead.make_item_key(id=sent_id)])
    return Submission.from_item(read[key]).hydrate(read) if key in read else None
