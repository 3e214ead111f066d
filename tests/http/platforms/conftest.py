"""Fixtures of the tests of platforms and spaces."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform, PlatformClient, SpaceClient, create_platform, create_space

NewPlatform = Callable[..., PlatformClient]
NewSpace = Callable[..., SpaceClient]


@pytest.fixture
def new_platform(api: ApiClient, organization: CreatedOrganization) -> NewPlatform:
    """A function that creates a platform, by default of Ada's organization."""

    def new_platform(of: CreatedOrganization = organization, **fields: Any) -> PlatformClient:
        created = create_platform(api, of, **fields)
        return PlatformClient(created.record, created.owner, api=api, caller=created.owner)

    return new_platform


@pytest.fixture
def platform(new_platform: NewPlatform) -> PlatformClient:
    """A draft platform of Ada's organization."""
    return new_platform()


@pytest.fixture
def other_platform(new_platform: NewPlatform) -> PlatformClient:
    """Another platform of Ada's organization."""
    return new_platform(name="Looms")


@pytest.fixture
def new_space(api: ApiClient) -> NewSpace:
    """A function that creates a space in a platform, by default as the owner of the organization."""

    def new_space(of: CreatedPlatform, *, caller: Person | None = None, **fields: Any) -> SpaceClient:
        created = create_space(api, of, caller=caller, **fields)
        return SpaceClient(created.record, of, api=api, caller=caller or of.owner)

    return new_space


@pytest.fixture
def space(platform: PlatformClient, new_space: NewSpace) -> SpaceClient:
    """An open space of the platform."""
    return new_space(platform)


@pytest.fixture
def entries(api: ApiClient, organization: CreatedOrganization) -> Callable[..., list[Json]]:
    """A function that lists the entries of the organization's log, the newest first."""
    return partial(list_entries, api, organization)
