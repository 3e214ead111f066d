"""Load submissions."""

from chalicelib.features.leads.entities import Lead, LeadSubmission
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.item_reads import perform_reads


def load_submission_or_none(submission_id: str) -> LeadSubmission | None:
    """Return the submission with an id and its lead, or None. A merged submission takes a second read."""
    items = table.get_all([key := LeadSubmission.make_item_key(id=submission_id), Lead.make_item_key(id=submission_id)])
    if key not in items:
        return None
    submission = LeadSubmission.from_item(items[key])
    return submission.with_computed_fields_or_none(perform_reads(submission.related_reads(items), items))
