"""What can become of a lead, and what each of those who sent something sees of that: pure decisions.

A lead holds everything that was sent, each with a status and a history of its own. What operators do to the lead
happens to all of that; what somebody does to what they sent happens to that alone, and to the lead if nothing else is
left of it. Anybody can send something by an address that is not theirs. So none of it replaces what was sent before,
and none of it ends a withdrawal: a lead that was withdrawn is `new` again once an operator says so, or once nothing of
it is withdrawn any more.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.leads.entities import Lead, Sent
from chalicelib.features.leads.models import Status
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.problems import Problem

NEXT: Final[Mapping[Status, Sequence[Status]]] = {
    "new": ("contacted", "unqualified", "spam", "withdrawn"),
    "contacted": ("qualified", "unqualified", "spam", "withdrawn"),
    "qualified": ("converted", "unqualified", "spam", "withdrawn"),
    "converted": (),
    "unqualified": ("new",),
    "spam": ("new",),
    "withdrawn": ("new",),
}
"""Each status, in the order in which a lead goes through them, and those that can follow."""

MERGED_HOURS: Final = 24
"""How long after the last of what was sent more is merged into a lead."""

MOST_MERGED: Final = 20
MOST_MERGED_BYTES: Final = 32 * 1024
"""What was sent up to here can be merged into: so that nobody fills a page of the list by sending more and more."""

MOST_CHANGES: Final = 20
"""After so many changes whoever sent something changes it no more: so that nobody fills a lead by that."""

MOST_BYTES: Final = 128 * 1024
"""Of a lead with its history and notes: more than all the public can fill, and less than an item of the table holds."""


def takes_more(lead: Lead, sent: Sent) -> bool:
    """Return whether something can be merged into a lead that was open until now."""
    together = [*lead.submissions, sent]
    return len(together) <= MOST_MERGED and len(to_json(together)) <= MOST_MERGED_BYTES


def merged(lead: Lead, sent: Sent) -> dict[str, Any]:
    """Return what changes of a lead that something is merged into: nothing but that it holds that, too."""
    open_until = after(sent["submitted_at"], hours=MERGED_HOURS)
    return {"submissions": [*lead.submissions, sent], "open_until": open_until}


def changed(lead: Lead, status: Status, at: str, by: str) -> dict[str, Any]:
    """Return what changes of a lead that an operator gives another status. Raises Problem `invalid_transition`.

    What was withdrawn stays so, unless all of it was and comes back.
    """
    _refuse(lead.status, status, NEXT[lead.status], "What can follow")
    stays = {status} if _is_withdrawn(lead.submissions) else {status, "withdrawn"}
    submissions = [sent if sent["status"] in stays else _turned(sent, status, at) for sent in lead.submissions]
    return {"submissions": submissions, **_given(lead, status, at, by)}


def changed_by_sender(lead: Lead, sent_id: str, status: Status, at: str) -> dict[str, Any]:
    """Return what changes of a lead when whoever sent something withdraws it, or brings it back.

    Raises Problem `invalid_transition`, and `limit_exceeded` after many changes.
    """
    own = lead.sent(sent_id)
    allowed = [each for each in NEXT[own["status"]] if each == "withdrawn" or own["status"] == "withdrawn"]
    _refuse(own["status"], status, allowed, "What you can make of it")
    if len(own["history"]) > MOST_CHANGES:
        raise Problem("limit_exceeded", f"It has changed {MOST_CHANGES} times, and stays {own['status']!r} now.")
    submissions = [_turned(sent, status, at) if sent["id"] == sent_id else sent for sent in lead.submissions]
    back = lead.status == "withdrawn" and all(sent["status"] != "withdrawn" for sent in submissions)
    follows = (_is_withdrawn(submissions) and lead.status != "withdrawn") or back
    return {"submissions": submissions, **(_given(lead, status, at, None) if follows else {})}


def _is_withdrawn(submissions: Sequence[Sent]) -> bool:
    return all(sent["status"] == "withdrawn" for sent in submissions)


def noted(lead: Lead, text: str, at: str, by: str) -> dict[str, Any]:
    """Return what changes of a lead that an operator notes something about."""
    return {"notes": [*lead.notes, {"text": text, "at": at, "by": by}]}


def refuse_excess(lead: Lead) -> None:
    """Raise Problem `limit_exceeded` if a lead would hold more than it can."""
    if (size := len(to_json(lead.domain_fields))) > MOST_BYTES:
        detail = f"With this the lead would take {size} bytes, and {MOST_BYTES} are kept."
        raise Problem("limit_exceeded", f"{detail} Shorten the note, or leave it out.")


def _refuse(present: Status, wanted: Status, allowed: Sequence[Status], what: str) -> None:
    if wanted not in allowed:
        named = ", ".join(repr(each) for each in allowed) or "nothing"
        raise Problem("invalid_transition", f"It is {present!r}, and can't be made {wanted!r}. {what}: {named}.")


def _given(lead: Lead, status: Status, at: str, by: str | None) -> dict[str, Any]:
    return {"status": status, "history": [*lead.history, {"status": status, "at": at, "by": by}]}


def _turned(sent: Sent, status: Status, at: str) -> Sent:
    return {**sent, "status": status, "history": [*sent["history"], {"status": status, "at": at}]}
