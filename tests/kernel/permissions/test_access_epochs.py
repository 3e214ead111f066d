"""Whose epochs end with a change, and when an epoch is old enough."""

import pytest

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.permissions.access_epochs import (
    EVERYONE,
    Epoch,
    EpochSubject,
    epoch_subjects_losing_access,
    organization_partition,
)
from chalicelib.kernel.permissions.roles import Role
from tests.harness.stored_records import new_id_and_time_fields

TIMESTAMP = "2026-11-20T09:30:00.000Z"


def subject(organization_id, subject_id):
    return EpochSubject(organization_partition(organization_id), subject_id)


def removals(organization_id, user_ids):
    fields = {**new_id_and_time_fields(TIMESTAMP), "role": Role.MEMBER}
    return [(Member(**fields, organization_id=organization_id, user_id=each), None) for each in user_ids]


def test_three_subjects_of_an_organization_are_everyone():
    assert epoch_subjects_losing_access([*removals("a", "12"), *removals("b", "345")]) == {
        subject("a", "1"),
        subject("a", "2"),
        subject("b", EVERYONE),
    }


@pytest.mark.parametrize("statuses", [("active", "deleted"), ("deleted", "active")])
def test_a_deletion_and_a_restoration_concern_everyone(statuses):
    fields = {**new_id_and_time_fields(TIMESTAMP), "name": "Engines", "slug": "engines"}
    before, changed = (Organization(**fields, owner_id="1", status=each) for each in statuses)
    assert epoch_subjects_losing_access([(before, before)]) == set()
    assert epoch_subjects_losing_access([(before, changed)]) == {subject(before.id, EVERYONE)}


def test_an_epoch_is_older_than_any_request_after_two_minutes():
    epoch = Epoch(subject("a", "1"), "value", since=TIMESTAMP)
    assert not epoch.is_older_than_any_request("2026-11-20T09:32:00.000Z")
    assert epoch.is_older_than_any_request("2026-11-20T09:32:00.001Z")
    assert Epoch(subject("a", "1")).is_older_than_any_request(TIMESTAMP)
