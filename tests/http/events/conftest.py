"""Fixtures of the tests of application events: declared types, and functions that write and list events."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.event_types import EVENT, declare_event_type
from tests.harness.organizations import CreatedOrganization


@pytest.fixture
def declared_types(api: ApiClient, operator: Person, organization: CreatedOrganization) -> None:
    """Three declared types, and an organization."""
    for name in ("invoice.approved", "invoice.paid", "patient_file.opened"):
        declare_event_type(api, operator, name)


@pytest.fixture
def post(api: ApiClient, organization: CreatedOrganization, ada: Person) -> Callable[..., ApiResponse]:
    """A function that writes an event with some fields."""

    def post(fields: dict[str, Any] | None = None, **options: Any) -> ApiResponse:
        options = {"caller": ada, **options}
        return api.post(f"{organization.path}/events", json={**EVENT, **(fields or {})}, **options)

    return post


@pytest.fixture
def post_batch(api: ApiClient, organization: CreatedOrganization, ada: Person) -> Callable[..., ApiResponse]:
    """A function that writes several events."""

    def post(events: Any, **options: Any) -> ApiResponse:
        return api.post(f"{organization.path}/events/batch", json={"events": events}, **{"caller": ada, **options})

    return post


@pytest.fixture
def list_events(api: ApiClient, organization: CreatedOrganization, ada: Person) -> Callable[..., list[Any]]:
    """A function that lists the events that match some filters."""

    def list_events(**query: Any) -> list[Any]:
        return api.get_items(f"{organization.path}/events", caller=ada, query=query)

    return list_events
