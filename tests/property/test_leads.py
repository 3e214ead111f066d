"""Leads change by fixed rules, and senders see only their own submissions and the operators' changes."""

from itertools import pairwise
from typing import Any, Final

import pytest
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
    history = [{"status": "new", "at": submitted_at}]
    return {
        "id": str(number),
        "submitted_at": submitted_at,
        "contact_name": f"Sender {number}",
        "company_name": None,
        "message": None,
        "source": None,
        "consent": None,
        "status": "new",
        "history": history,
    }


def build_lead() -> Lead:
    created_at = timestamp(0)
    history = [{"status": "new", "at": created_at, "by": None}]
    return Lead(
        id="0",
        created_at=created_at,
        updated_at=created_at,
        contact_email="a@example.org",
        submissions=[build_submission(0, created_at)],
        history=history,
    )


def apply_action(lead: Lead, actor: str | int, status: LeadStatusCode | None, milliseconds: int) -> Lead:
    """Return the lead after an action, or unchanged if the action is not permitted."""
    changed_at = timestamp(milliseconds)
    try:
        if status is None:
            submission = build_submission(len(lead.submissions), changed_at)
            return (
                lead.replace(**merged_submission_fields(lead, submission))
                if has_room_for_submission(lead, submission)
                else lead
            )
        if actor == OPERATOR:
            return lead.replace(**validated_operator_change_fields(lead, status, changed_at, OPERATOR))
        submission_ids = [item["id"] for item in lead.submissions]
        return (
            lead.replace(**validated_sender_change_fields(lead, str(actor), status, changed_at))
            if str(actor) in submission_ids
            else lead
        )
    except Problem as problem:
        if problem.code != "invalid_transition":
            raise
        return lead


def build_states(actions: list[tuple[str | int, LeadStatusCode | None]]) -> list[Lead]:
    """Return the states of a lead after each of several actions."""
    states = [build_lead()]
    for milliseconds, (actor, status) in enumerate(actions, 1):
        states.append(apply_action(states[-1], actor, status, milliseconds))
    return states


def status_changes(history: list[dict[str, Any]]) -> list[tuple[LeadStatusCode, LeadStatusCode]]:
    return [(first["status"], second["status"]) for first, second in pairwise(history)]


def test_every_status_is_reachable_and_none_follows_itself():
    assert {next_statuses for item in NEXT_STATUSES.values() for next_statuses in item} == set(NEXT_STATUSES)
    assert all(status not in next_statuses for status, next_statuses in NEXT_STATUSES.items())


@given(st.data())
def test_operators_can_make_only_permitted_changes(data):
    lead = build_lead()
    for milliseconds in range(1, data.draw(st.integers(1, 8))):
        status = data.draw(STATUSES)
        if status in NEXT_STATUSES[lead.status]:
            lead = lead.replace(**validated_operator_change_fields(lead, status, timestamp(milliseconds), OPERATOR))
            assert lead.status == status
        else:
            with pytest.raises(Problem, match="invalid_transition") as raised:
                validated_operator_change_fields(lead, status, timestamp(milliseconds), OPERATOR)
            assert all(repr(item) in raised.value.detail for item in NEXT_STATUSES[lead.status])


@given(SINGLE_SENDER_ACTIONS)
def test_lead_and_submission_of_a_single_sender_always_agree(actions):
    for lead in build_states([*actions]):
        view = LeadSubmission.of_lead(lead, "0")
        assert view.status == lead.status
        assert view.history == [{"status": item["status"], "at": item["at"]} for item in lead.history]


@effort(max_examples=200)
@given(ACTIONS)
def test_a_lead_is_withdrawn_if_all_submissions_are_and_only_if_one_is(actions):
    for lead in build_states([*actions]):
        withdrawn = [item["status"] == "withdrawn" for item in lead.submissions]
        assert lead.status == "withdrawn" or not all(withdrawn)
        assert lead.status != "withdrawn" or any(withdrawn)


@effort(max_examples=200)
@given(ACTIONS)
def test_a_later_submission_neither_ends_a_withdrawal_nor_replaces_data(actions):
    states = build_states([*actions])
    for (actor, _), (before, after) in zip(actions, pairwise(states), strict=True):
        assert (after.contact_name, after.message, after.consent) == ("Sender 0", None, None)
        if actor == "send":
            assert (after.status, after.history) == (before.status, before.history)
        withdrawal_ended = before.status == "withdrawn" != after.status
        assert (
            not withdrawal_ended
            or actor == OPERATOR
            or all(item["status"] != "withdrawn" for item in after.submissions)
        )


@effort(max_examples=200)
@given(ACTIONS)
def test_every_history_follows_the_rules(actions):
    lead = build_states([*actions])[-1]
    assert all(next_statuses in NEXT_STATUSES[status] for status, next_statuses in status_changes(lead.history))
    assert lead.history[-1]["status"] == lead.status
    for item in lead.submissions:
        assert item["history"][-1]["status"] == item["status"]
        assert all(first != second for first, second in status_changes(item["history"]))


@effort(max_examples=200)
@given(ACTIONS)
def test_a_submission_changes_only_by_operators_and_its_sender(actions):
    states = build_states([*actions])
    for (actor, _), (before, after) in zip(actions, pairwise(states), strict=True):
        for item in before.submissions:
            if actor not in (OPERATOR, int(item["id"])):
                assert after.existing_submission(item["id"]) == item


@effort(max_examples=200)
@given(ACTIONS)
def test_a_submissions_history_starts_when_it_was_sent(actions):
    for item in build_states([*actions])[-1].submissions:
        assert item["history"][0] == {"status": "new", "at": item["submitted_at"]}
        assert all(entry["at"] >= item["submitted_at"] for entry in item["history"])
