"""Fixtures of the tests of taxonomies."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.taxonomy import TaxonomyNodes


@pytest.fixture
def platform(api: ApiClient, organization: CreatedOrganization) -> CreatedPlatform:
    """A draft platform of Ada's organization."""
    return extended_scenario("platform", lambda: create_platform(api, organization))


@pytest.fixture
def nodes(api: ApiClient, platform: CreatedPlatform) -> TaxonomyNodes:
    """The nodes of the platform's taxonomy. There are none yet."""
    return TaxonomyNodes(api, platform)
