"""Status changes of leads and their submissions, and the merging of submissions. Without I/O.

A lead contains several submissions, each with a status and a history. A status change by an operator applies to all of
them. A change by a sender applies to one submission, and to the lead if all submissions agree. Email addresses are not
verified, so a submission never replaces an earlier one and never undoes a withdrawal. A withdrawn lead becomes `new`
again if an operator sets that status, or if none of its submissions is withdrawn any more.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.leads.entities import Lead, StoredSubmission
from chalicelib.features.leads.models import LeadStatusCode
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem

NEXT_STATUSES: Final[Mapping[LeadStatusCode, Sequence[LeadStatusCode]]] = {
    "new": ("contacted", "unqualified", "spam", "withdrawn"),
    "contacted": ("qualified", "unqualified", "spam", "withdrawn"),
    "qualified": ("converted", "unqualified", "spam", "withdrawn"),
    "converted": (),
    "unqualified": ("new",),
    "spam": ("new",),
    "withdrawn": ("new",),
}
"""The statuses that can follow each status, in the usual order."""

MERGE_WINDOW_HOURS: Final = 24
"""Time after the last submission during which further submissions are merged into a lead."""

MAX_MERGED_SUBMISSIONS: Final = 20
"""Maximum number of submissions of a lead. Limits how much of a list page one sender can fill."""

MAX_MERGED_BYTES: Final = 32 * 1024
"""Maximum size of the submissions of a lead."""

MAX_SENDER_CHANGES: Final = 20
"""Maximum number of status changes of a submission by its sender. Limits how much of a lead one sender can fill."""

MAX_LEAD_BYTES: Final = 128 * 1024
"""Maximum size of a lead with notes and history: more than senders can fill, less than an item of the table."""


def has_room_for_submission(lead: Lead, submission: StoredSubmission) -> bool:
    """Return whether a submission can be merged into an open lead."""
    submissions = [*lead.submissions, submission]
    return len(submissions) <= MAX_MERGED_SUBMISSIONS and len(to_json(submissions)) <= MAX_MERGED_BYTES


def merged_submission_fields(lead: Lead, submission: StoredSubmission) -> dict[str, Any]:
    """Return the changed fields of a lead after merging a submission."""
    open_until = after(submission["submitted_at"], hours=MERGE_WINDOW_HOURS)
    return {"submissions": [*lead.submissions, submission], "open_until": open_until}


def validated_operator_change_fields(
    lead: Lead, status: LeadStatusCode, changed_at: str, operator_id: str
) -> dict[str, Any]:
    """Return the changed fields of a lead after a status change by an operator. Raises Problem `invalid_transition`.

    Withdrawn submissions do not change unless all submissions were withdrawn.
    """
    _require_transition(lead.status, status, NEXT_STATUSES[lead.status])
    unaffected_statuses = {status} if _is_every_submission_withdrawn(lead.submissions) else {status, "withdrawn"}
    submissions = [
        submission
        if submission["status"] in unaffected_statuses
        else _submission_with_status(submission, status, changed_at)
        for submission in lead.submissions
    ]
    return {"submissions": submissions, **_status_fields(lead, status, changed_at, operator_id)}


def validated_sender_change_fields(
    lead: Lead, submission_id: str, status: LeadStatusCode, changed_at: str
) -> dict[str, Any]:
    """Return the changed fields of a lead after the sender withdraws a submission or undoes the withdrawal.

    Raises Problem `invalid_transition`, and `limit_exceeded` after too many changes.
    """
    own_submission = lead.existing_submission(submission_id)
    allowed = [
        each
        for each in NEXT_STATUSES[own_submission["status"]]
        if each == "withdrawn" or own_submission["status"] == "withdrawn"
    ]
    _require_transition(own_submission["status"], status, allowed)
    if len(own_submission["history"]) > MAX_SENDER_CHANGES:
        raise Problem(
            "limit_exceeded", f"It has changed {MAX_SENDER_CHANGES} times, and stays {own_submission['status']!r} now."
        )
    submissions = [
        _submission_with_status(submission, status, changed_at) if submission["id"] == submission_id else submission
        for submission in lead.submissions
    ]
    is_withdrawal = _is_every_submission_withdrawn(submissions) and lead.status != "withdrawn"
    is_undone = lead.status == "withdrawn" and all(each["status"] != "withdrawn" for each in submissions)
    lead_fields = _status_fields(lead, status, changed_at, None) if is_withdrawal or is_undone else {}
    return {"submissions": submissions, **lead_fields}


def _is_every_submission_withdrawn(submissions: Sequence[StoredSubmission]) -> bool:
    return all(submission["status"] == "withdrawn" for submission in submissions)


def note_fields(lead: Lead, text: str, noted_at: str, operator_id: str) -> dict[str, Any]:
    """Return the changed fields of a lead after an operator adds a note."""
    return {"notes": [*lead.notes, {"text": text, "at": noted_at, "by": operator_id}]}


def reject_oversized(lead: Lead) -> None:
    """Raise Problem `limit_exceeded` if a lead is larger than the maximum size."""
    if (size := len(to_json(lead.domain_fields))) > MAX_LEAD_BYTES:
        detail = f"With this change the lead would take {size} bytes, and {MAX_LEAD_BYTES} are allowed."
        raise Problem("limit_exceeded", f"{detail} Shorten the note, or omit it.")


def _require_transition(current: LeadStatusCode, requested: LeadStatusCode, allowed: Sequence[LeadStatusCode]) -> None:
    if requested not in allowed:
        statuses = ", ".join(repr(each) for each in allowed) or "none"
        detail = f"The status is {current!r} and can't become {requested!r}. Possible next statuses: {statuses}."
        raise Problem("invalid_transition", detail)


def _status_fields(lead: Lead, status: LeadStatusCode, changed_at: str, operator_id: str | None) -> dict[str, Any]:
    return {"status": status, "history": [*lead.history, {"status": status, "at": changed_at, "by": operator_id}]}


def _submission_with_status(submission: StoredSubmission, status: LeadStatusCode, changed_at: str) -> StoredSubmission:
    return {**submission, "status": status, "history": [*submission["history"], {"status": status, "at": changed_at}]}
