"""Tests of the local stage that also run against the deployed stage, with its queue mappings."""

import pytest

from tests.emulator.test_acceptance_races import (
    test_concurrent_accept_and_decline_have_one_winner,
    test_concurrent_accept_and_revoke_have_one_winner,
    test_concurrent_invitations_of_one_address_create_one,
    test_one_person_accepting_twice_at_once_creates_one_membership,
    test_only_one_of_two_people_with_the_same_address_can_accept,
)
from tests.emulator.test_emails import test_invitation_is_accepted_by_the_link_in_its_email
from tests.emulator.test_exports import (
    test_altered_download_urls_are_rejected_and_each_read_creates_a_new_url,
    test_export_is_downloaded_and_verified_offline,
)
from tests.emulator.test_organization_races import (
    test_concurrent_organization_creations_with_one_idempotency_key_create_one,
    test_concurrent_rotations_return_secrets_that_all_work,
    test_concurrently_created_organizations_of_one_name_get_distinct_slugs,
    test_growing_log_is_valid_at_any_time,
    test_one_of_many_concurrent_requests_gets_a_slug,
    test_one_of_many_conditional_updates_of_a_version_succeeds,
)
from tests.emulator.test_tour import (
    test_api_key_grants_access_until_it_is_revoked,
    test_deleted_organization_is_hidden_until_its_owner_restores_it,
    test_every_mutation_is_logged_within_two_seconds,
    test_member_is_denied_updates_and_the_log_is_complete,
    test_repeated_request_replays_the_first_response,
)

__all__ = [
    "test_altered_download_urls_are_rejected_and_each_read_creates_a_new_url",
    "test_api_key_grants_access_until_it_is_revoked",
    "test_concurrent_accept_and_decline_have_one_winner",
    "test_concurrent_accept_and_revoke_have_one_winner",
    "test_concurrent_invitations_of_one_address_create_one",
    "test_concurrent_organization_creations_with_one_idempotency_key_create_one",
    "test_concurrent_rotations_return_secrets_that_all_work",
    "test_concurrently_created_organizations_of_one_name_get_distinct_slugs",
    "test_deleted_organization_is_hidden_until_its_owner_restores_it",
    "test_every_mutation_is_logged_within_two_seconds",
    "test_export_is_downloaded_and_verified_offline",
    "test_growing_log_is_valid_at_any_time",
    "test_invitation_is_accepted_by_the_link_in_its_email",
    "test_member_is_denied_updates_and_the_log_is_complete",
    "test_one_of_many_concurrent_requests_gets_a_slug",
    "test_one_of_many_conditional_updates_of_a_version_succeeds",
    "test_one_person_accepting_twice_at_once_creates_one_membership",
    "test_only_one_of_two_people_with_the_same_address_can_accept",
    "test_repeated_request_replays_the_first_response",
]

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]
