"""What the run of this machine promises, once more where the package is deployed and queue mappings do the work."""

import pytest

from tests.emulator.test_acceptance_races import (
    test_an_address_invited_by_many_at_once_is_invited_once,
    test_of_two_people_with_one_address_one_becomes_a_member,
    test_two_browsers_of_one_person_make_one_member,
    test_what_is_accepted_and_revoked_at_once_is_one_of_them,
    test_who_accepts_and_declines_at_once_has_done_one_of_them,
)
from tests.emulator.test_exports import (
    test_it_is_downloaded_by_its_address_and_proven_by_its_record,
    test_its_address_is_refused_if_it_was_altered_and_made_anew_each_time,
)
from tests.emulator.test_mail import test_an_invitation_is_accepted_by_the_link_in_its_mail
from tests.emulator.test_races import (
    test_a_key_rotated_by_two_at_once_opens_with_each_secret_given_out,
    test_a_log_is_whole_at_every_moment_while_it_grows,
    test_an_organization_asked_for_ten_times_at_once_is_made_once,
    test_of_many_who_saw_one_version_one_may_change_it,
    test_one_of_many_gets_the_slug_that_all_want,
    test_organizations_of_one_name_made_at_once_have_slugs_of_their_own,
)
from tests.emulator.test_tour import (
    test_a_repeated_request_has_its_first_answer_and_no_second_effect,
    test_a_second_member_is_denied_and_the_log_is_whole,
    test_an_api_key_opens_its_organization_until_it_is_revoked,
    test_every_mutation_is_in_the_log_in_two_seconds,
    test_what_is_deleted_is_gone_until_its_owner_restores_it,
)

__all__ = [
    "test_a_key_rotated_by_two_at_once_opens_with_each_secret_given_out",
    "test_a_log_is_whole_at_every_moment_while_it_grows",
    "test_a_repeated_request_has_its_first_answer_and_no_second_effect",
    "test_a_second_member_is_denied_and_the_log_is_whole",
    "test_an_address_invited_by_many_at_once_is_invited_once",
    "test_an_api_key_opens_its_organization_until_it_is_revoked",
    "test_an_invitation_is_accepted_by_the_link_in_its_mail",
    "test_an_organization_asked_for_ten_times_at_once_is_made_once",
    "test_every_mutation_is_in_the_log_in_two_seconds",
    "test_it_is_downloaded_by_its_address_and_proven_by_its_record",
    "test_its_address_is_refused_if_it_was_altered_and_made_anew_each_time",
    "test_of_many_who_saw_one_version_one_may_change_it",
    "test_of_two_people_with_one_address_one_becomes_a_member",
    "test_one_of_many_gets_the_slug_that_all_want",
    "test_organizations_of_one_name_made_at_once_have_slugs_of_their_own",
    "test_two_browsers_of_one_person_make_one_member",
    "test_what_is_accepted_and_revoked_at_once_is_one_of_them",
    "test_what_is_deleted_is_gone_until_its_owner_restores_it",
    "test_who_accepts_and_declines_at_once_has_done_one_of_them",
]

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]
