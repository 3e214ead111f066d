"""Leads change by fixed rules, and senders see only their own submissions and the operators' changes."""

from itertools import pairwise, product
from typing import Any, Final

from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from chalicelib.features.leads.entities import Lead, LeadSubmission
from chalicelib.features.leads.logic.lead_status import (
    NEXT_STATUSES,
    has_room_for_submission,
    merged_submission_fields,
    validated_operator_change_fields,
    validated_sender_change_fields,
)
from chalicelib.features.leads.models import LeadStatusCode
from chalicelib.kernel.core.clock import timestamp
from chalicelib.kernel.core.problems import Problem

OPERATOR: Final = "an operator"
STATUSES: Final = st.sampled_from(list(NEXT_STATUSES))
SENDERS: Final = st.integers(0, 2)
ACTIONS: Final = st.lists(
    st.tuples(st.just(OPERATOR), STATUSES)
    | st.tuples(SENDERS, st.sampled_from(["withdrawn", "new"]) | STATUSES)
    | st.tuples(st.just("send"), st.none()),
    max_size=12,
)
SINGLE_SENDER_ACTIONS: Final = st.lists(st.tuples(st.sampled_from([OPERATOR, 0]), STATUSES), max_size=12)


def build_submission(number: int, submitted_at: str) -> dict[str, object]:
    empty_fields = dict.fromkeys(("company_name", "message", "source", "consent"))
    history = [{"status": "new", "at": submitted_at}]
    sender = {"id": str(number), "contact_name": f"Sender {number}"}
    return {**empty_fields, **sender, "submitted_at": submitted_at, "status": "new", "history": history}


def build_lead() -> Lead:
    created_at = timestamp(0)
    history = [{"status": "new", "at": created_at, "by": None}]
    submissions = [build_submission(0, created_at)]
    fields: dict[str, Any] = {"id": "0", "created_at": created_at, "updated_at": created_at}
    return Lead(**fields, contact_email="a@example.org", submissions=submissions, history=history)


def changed_fields(lead: Lead, actor: str | int, status: LeadStatusCode | None, changed_at: str) -> dict[str, Any]:
    if status is None:
        submission = build_submission(len(lead.submissions), changed_at)
        return merged_submission_fields(lead, submission) if has_room_for_submission(lead, submission) else {}
    if actor == OPERATOR:
        return validated_operator_change_fields(lead, status, changed_at, OPERATOR)
    is_sender = str(actor) in [item["id"] for item in lead.submissions]
    return validated_sender_change_fields(lead, str(actor), status, changed_at) if is_sender else {}


def apply_action(lead: Lead, actor: str | int, status: LeadStatusCode | None, milliseconds: int) -> Lead:
    try:
        return lead.replace(**changed_fields(lead, actor, status, timestamp(milliseconds)))
    except Problem as problem:
        if problem.code != "invalid_transition":
            raise
        return lead


def build_states(actions: list[tuple[str | int, LeadStatusCode | None]]) -> list[Lead]:
    states = [build_lead()]
    for milliseconds, (actor, status) in enumerate(actions, 1):
        states.append(apply_action(states[-1], actor, status, milliseconds))
    return states


def status_changes(history: list[dict[str, Any]]) -> list[tuple[LeadStatusCode, LeadStatusCode]]:
    return [(first["status"], second["status"]) for first, second in pairwise(history)]


def test_every_status_is_reachable_and_none_follows_itself():
    assert {next_statuses for item in NEXT_STATUSES.values() for next_statuses in item} == set(NEXT_STATUSES)
    assert all(status not in next_statuses for status, next_statuses in NEXT_STATUSES.items())


def test_operators_can_make_exactly_the_listed_changes():
    for status, requested in product(NEXT_STATUSES, repeat=2):
        lead = apply_action(build_lead().replace(status=status), OPERATOR, requested, 1)
        assert lead.status == (requested if requested in NEXT_STATUSES[status] else status)


@given(SINGLE_SENDER_ACTIONS)
def test_lead_and_submission_of_a_single_sender_always_agree(actions):
    for lead in build_states([*actions]):
        view = LeadSubmission.of_lead(lead, "0")
        assert view.status == lead.status
        assert view.history == [{"status": item["status"], "at": item["at"]} for item in lead.history]


@effort(max_examples=200)
@given(ACTIONS)
def test_leads_and_submissions_change_only_by_the_rules(actions):
    states = build_states([*actions])
    for (actor, _), (before, after) in zip(actions, pairwise(states), strict=True):
        assert (after.contact_name, after.message, after.consent) == ("Sender 0", None, None)
        if actor == "send":
            assert (after.status, after.history) == (before.status, before.history)
        withdrawn = [item["status"] == "withdrawn" for item in after.submissions]
        assert after.status == "withdrawn" or not all(withdrawn)
        assert after.status != "withdrawn" or any(withdrawn)
        if before.status == "withdrawn" != after.status:
            assert actor == OPERATOR or not any(withdrawn)
        for item in before.submissions:
            if actor not in (OPERATOR, int(item["id"])):
                assert after.existing_submission(item["id"]) == item


@effort(max_examples=200)
@given(ACTIONS)
def test_every_history_follows_the_rules_and_starts_when_the_submission_was_sent(actions):
    lead = build_states([*actions])[-1]
    assert all(next_status in NEXT_STATUSES[status] for status, next_status in status_changes(lead.history))
    assert lead.history[-1]["status"] == lead.status
    for item in lead.submissions:
        assert item["history"][0] == {"status": "new", "at": item["submitted_at"]}
        assert all(entry["at"] >= item["submitted_at"] for entry in item["history"])
        assert item["history"][-1]["status"] == item["status"]
        assert all(first != second for first, second in status_changes(item["history"]))
