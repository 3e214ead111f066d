"""What the run of this machine promises, once more where the package is deployed and queue mappings do the work."""

import pytest

from tests.emulator.test_exports import (
    test_it_is_downloaded_by_its_address_and_proven_by_its_record,
    test_its_address_is_refused_if_it_was_altered_and_made_anew_each_time,
)
from tests.emulator.test_mail import test_an_invitation_is_accepted_by_the_link_in_its_mail
from tests.emulator.test_tour import (
    test_a_repeated_request_has_its_first_answer_and_no_second_effect,
    test_a_second_member_is_denied_and_the_log_is_whole,
    test_an_api_key_opens_its_organization_until_it_is_revoked,
    test_every_mutation_is_in_the_log_in_two_seconds,
    test_what_is_deleted_is_gone_until_its_owner_restores_it,
)

__all__ = [
    "test_a_repeated_request_has_its_first_answer_and_no_second_effect",
    "test_a_second_member_is_denied_and_the_log_is_whole",
    "test_an_api_key_opens_its_organization_until_it_is_revoked",
    "test_an_invitation_is_accepted_by_the_link_in_its_mail",
    "test_every_mutation_is_in_the_log_in_two_seconds",
    "test_it_is_downloaded_by_its_address_and_proven_by_its_record",
    "test_its_address_is_refused_if_it_was_altered_and_made_anew_each_time",
    "test_what_is_deleted_is_gone_until_its_owner_restores_it",
]

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("deployed")]
