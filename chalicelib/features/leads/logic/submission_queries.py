"""Load submissions."""

from chalicelib.features.leads.entities import Lead, LeadSubmission
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.item_reads import perform_reads


def load_submission_or_none(submission_id: str) -> LeadSubmission | None:
    """Return the submission with an id and its lead, or None. A merged submission takes a second read."""
    items = table.get_all([key := LeadSubmission.make_item_key(id=submission_id), Lead.make_item_key(id=submission_id)])
    if key not in items:
        return None
    return perform_reads(LeadSubmission.from_item(items[key]).hydration_reads(items), items)[1]
