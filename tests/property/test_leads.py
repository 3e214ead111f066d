"""Leads: the rule by which they change, and what each who sent something sees, whatever the others do."""

from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from chalicelib.features.leads.entities import Lead, LeadSubmission
from chalicelib.features.leads.logic.lead_status import (
    NEXT_STATUSES,
    can_merge,
    merge_fields,
    operator_change_fields,
    sender_change_fields,
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
ALONE: Final = st.lists(st.tuples(st.sampled_from([OPERATOR, 0]), STATUSES), max_size=12)


def sent(number: int, at: str) -> dict[str, object]:
    history = [{"status": "new", "at": at}]
    return {
        "id": str(number),
        "submitted_at": at,
        "contact_name": f"Sender {number}",
        "company_name": None,
        "message": None,
        "source": None,
        "consent": None,
        "status": "new",
        "history": history,
    }


def begun() -> Lead:
    at = timestamp(0)
    history = [{"status": "new", "at": at, "by": None}]
    return Lead(
        id="0", created_at=at, updated_at=at, contact_email="a@example.org", submissions=[sent(0, at)], history=history
    )


def done(lead: Lead, who: str | int, status: LeadStatusCode | None, moment: int) -> Lead:
    """The lead after somebody did something, or as it was if they may not."""
    at = timestamp(moment)
    try:
        if status is None:
            more = sent(len(lead.submissions), at)
            return lead.replace(**merge_fields(lead, more)) if can_merge(lead, more) else lead
        if who == OPERATOR:
            return lead.replace(**operator_change_fields(lead, status, at, OPERATOR))
        known = [each["id"] for each in lead.submissions]
        return lead.replace(**sender_change_fields(lead, str(who), status, at)) if str(who) in known else lead
    except Problem as problem:
        if problem.code != "invalid_transition":
            raise
        return lead


def histories(actions: list[tuple[str | int, LeadStatusCode | None]]) -> list[Lead]:
    """Each state of a lead to which something is done, one after the other."""
    states = [begun()]
    for moment, (who, status) in enumerate(actions, 1):
        states.append(done(states[-1], who, status, moment))
    return states


def steps(history: list[dict[str, Any]]) -> list[tuple[LeadStatusCode, LeadStatusCode]]:
    return [(one["status"], other["status"]) for one, other in pairwise(history)]


def test_every_status_can_be_reached_and_none_follows_itself() -> None:
    assert {following for each in NEXT_STATUSES.values() for following in each} == set(NEXT_STATUSES)
    assert all(status not in following for status, following in NEXT_STATUSES.items())


@given(st.data())
def test_operators_do_what_the_rule_allows_and_nothing_else(data: st.DataObject) -> None:
    lead = begun()
    for moment in range(1, data.draw(st.integers(1, 8))):
        wanted = data.draw(STATUSES)
        if wanted in NEXT_STATUSES[lead.status]:
            lead = lead.replace(**operator_change_fields(lead, wanted, timestamp(moment), OPERATOR))
            assert lead.status == wanted
        else:
            with pytest.raises(Problem, match="invalid_transition") as refused:
                operator_change_fields(lead, wanted, timestamp(moment), OPERATOR)
            assert all(repr(each) in refused.value.detail for each in NEXT_STATUSES[lead.status])


@given(ALONE)
def test_of_a_lead_that_was_sent_at_once_both_views_agree_at_all_times(
    actions: list[tuple[str | int, LeadStatusCode]],
) -> None:
    for lead in histories([*actions]):
        view = LeadSubmission.from_lead(lead, "0")
        assert view.status == lead.status
        assert view.history == [{"status": each["status"], "at": each["at"]} for each in lead.history]


@effort(max_examples=200)
@given(ACTIONS)
def test_a_lead_is_withdrawn_if_all_that_was_sent_is_and_only_if_some_is(
    actions: list[tuple[str | int, LeadStatusCode | None]],
) -> None:
    for lead in histories([*actions]):
        withdrawn = [each["status"] == "withdrawn" for each in lead.submissions]
        assert lead.status == "withdrawn" or not all(withdrawn)
        assert lead.status != "withdrawn" or any(withdrawn)


@effort(max_examples=200)
@given(ACTIONS)
def test_who_sends_something_later_ends_no_withdrawal_and_replaces_nothing(
    actions: list[tuple[str | int, LeadStatusCode | None]],
) -> None:
    states = histories([*actions])
    for (who, _), (before, after) in zip(actions, pairwise(states), strict=True):
        assert (after.contact_name, after.message, after.consent) == ("Sender 0", None, None)
        if who == "send":
            assert (after.status, after.history) == (before.status, before.history)
        ended = before.status == "withdrawn" != after.status
        assert not ended or who == OPERATOR or all(each["status"] != "withdrawn" for each in after.submissions)


@effort(max_examples=200)
@given(ACTIONS)
def test_the_lead_goes_by_the_rule_whoever_does_what(actions: list[tuple[str | int, LeadStatusCode]]) -> None:
    lead = histories([*actions])[-1]
    assert all(following in NEXT_STATUSES[status] for status, following in steps(lead.history))
    assert lead.history[-1]["status"] == lead.status
    for each in lead.submissions:
        assert each["history"][-1]["status"] == each["status"]
        assert all(one != other for one, other in steps(each["history"]))


@effort(max_examples=200)
@given(ACTIONS)
def test_nobody_but_operators_and_oneself_changes_what_one_sees(
    actions: list[tuple[str | int, LeadStatusCode]],
) -> None:
    states = histories([*actions])
    for (who, _), (before, after) in zip(actions, pairwise(states), strict=True):
        for each in before.submissions:
            if who not in (OPERATOR, int(each["id"])):
                assert after.get_submission(each["id"]) == each


@effort(max_examples=200)
@given(ACTIONS)
def test_nobody_sees_what_happened_before_they_sent_anything(actions: list[tuple[str | int, LeadStatusCode]]) -> None:
    for each in histories([*actions])[-1].submissions:
        assert each["history"][0] == {"status": "new", "at": each["submitted_at"]}
        assert all(entry["at"] >= each["submitted_at"] for entry in each["history"])
