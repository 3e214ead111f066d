"""Fixtures of the tests of sites."""

import pytest

from tests.harness.api import ApiClient
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.organizations import CreatedOrganization
from tests.harness.sites import CreatedPage, CreatedSite, SitePages, create_published_page, create_site


@pytest.fixture
def site(api: ApiClient, organization: CreatedOrganization) -> CreatedSite:
    """A site of Ada's organization, published and empty."""
    return extended_scenario("site", lambda: create_site(api, organization))


@pytest.fixture
def home_page(api: ApiClient, site: CreatedSite) -> CreatedPage:
    """The published home page of the site."""
    return extended_scenario("home page", lambda: create_published_page(api, site, "Welcome"))


@pytest.fixture
def pages(api: ApiClient, site: CreatedSite, home_page: CreatedPage) -> SitePages:
    """The pages of the site, whose home page is Welcome."""
    return SitePages(api, site, home_page)
