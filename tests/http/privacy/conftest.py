"""Fixtures of the tests of erasures."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.clock import Clock
from tests.harness.erasures import PersonEraser
from tests.harness.organizations import CreatedOrganization
from tests.harness.workers import Workers


@pytest.fixture
def erase(api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> PersonEraser:
    return PersonEraser(api, organization, workers, clock)
