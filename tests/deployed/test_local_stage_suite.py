"""Tests of the local stage that also run against the deployed stage, with its queue mappings."""

from typing import Final

import pytest

from tests.emulator import test_acceptance_races as acceptance
from tests.emulator import test_organization_races as organizations
from tests.emulator import test_tour as tour
from tests.emulator import test_workers as workers

pytestmark = [pytest.mark.emulator, pytest.mark.exhaustive, pytest.mark.xdist_group("deployed")]

SHARED_TESTS: Final = (
    acceptance.test_an_acceptance_and_a_concurrent_request_have_one_winner,
    organizations.test_concurrent_rotations_return_secrets_that_all_work,
    organizations.test_one_of_many_concurrent_requests_gets_a_slug_and_equal_names_get_distinct_ones,
    tour.test_every_mutation_is_logged_within_two_seconds,
    tour.test_member_is_denied_updates_and_the_log_is_complete,
    workers.test_export_is_downloaded_and_verified_offline_and_its_url_cannot_be_altered,
    workers.test_invitation_is_accepted_by_the_link_in_its_email,
)
globals().update({test.__name__: test for test in SHARED_TESTS})
